#!/usr/bin/env bash
# clang-tidy on one source, unless it was clean before and nothing that it reads has changed since.
#   tidy_unit.sh BUILD_FOLDER [OPTIONS OF CLANG-TIDY …] SOURCE
set -uo pipefail

folder=$1 source=${*: -1}
options=("${@:2:$#-2}")
command=$(jq -r --arg source "$source" 'first(.[] | select(.file == $source)).command' "$folder/compile_commands.json")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/libcoll-tidy
# What else decides: the command line, the checks, the tool. A record has a checksum for every file that is read.
record=$cache/$(printf '%s\n' "$command" "$(clang-tidy --version)" "$(clang-tidy "${options[@]}" -p "$folder" --dump-config "$source")" |
  sha256sum | cut -d ' ' -f 1)
if [ -s "$record" ] && sha256sum --check --status "$record" 2>/dev/null; then exit 0; fi

clang-tidy "${options[@]}" -p "$folder" --quiet "$source" 2>&1 | sed '/ warnings\? generated/d'
status=${PIPESTATUS[0]}
[ "$status" -eq 0 ] || exit "$status"

# The compiler lists what it reads, in the form of a makefile's rule.
mkdir -p "$cache"
dependencies=$(cd "$folder" && eval "${command/ -o / -M -MF /dev/stdout -o }" 2>/dev/null | sed 's/^[^:]*://; s/\\$//' | tr -s ' ' '\n' | sed '/^$/d')
if [ -n "$dependencies" ]; then
  (cd "$folder" && xargs -d '\n' realpath <<<"$dependencies" | sort -u | xargs -d '\n' sha256sum >"$record.$$") && mv "$record.$$" "$record"
fi
exit 0
