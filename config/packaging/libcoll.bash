# Completion of the libcoll command for bash, and for zsh by way of _libcoll. Subcommands and options are those that --help
# prints.

_libcoll() {
  local current=${COMP_WORDS[COMP_CWORD]} word help
  local path=("${COMP_WORDS[0]/#\~/$HOME}")
  COMPREPLY=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ $word == -- ]]; then  # another command's words follow
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
    fi
    help=$("${path[@]}" --help 2>/dev/null)
    if grep -q "^  $word  " <<<"$help"; then path+=("$word"); fi
  done
  help=$("${path[@]}" --help 2>/dev/null)
  if [[ $current == -* ]]; then
    for ((word = 1; word < COMP_CWORD; ++word)); do  # a planner's own options
      if [[ ${COMP_WORDS[word - 1]} == --algorithm ]]; then
        help+=$'\n'$("${path[@]}" --algorithm "${COMP_WORDS[word]}" --help 2>/dev/null)
      fi
    done
    mapfile -t COMPREPLY < <(compgen -W "$(grep -o '^  -[^ {=]*' <<<"$help" | tr ',' '\n')" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$(sed -n '/^Subcommands:/,/^$/s/^  \([a-z]\+\).*/\1/p' <<<"$help")" -- "$current"
      compgen -f -- "$current")
  fi
}
complete -o filenames -F _libcoll libcoll
