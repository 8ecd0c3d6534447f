# shellcheck shell=bash
# Sourced by the scripts: where the repository is, a hermetic environment, quiet steps.

set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
# shellcheck disable=SC2034  # used by those who source this
build=$root/build

# A user's settings, and a preload of an earlier run, must not decide what is measured or tested here.
unset "${!LIBCOLL_@}" LD_PRELOAD
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export LC_ALL=C.UTF-8

# fail SENTENCE: the one clear sentence a script stops with.
fail() {
  printf '%s: %s\n' "${0##*/}" "$1" >&2
  exit 1
}

# step TITLE COMMAND…: runs quietly and says how long it took; shows the end of what it said only where it fails.
step() {
  local title=$1 log started=$SECONDS status=0
  shift
  log=$(mktemp)
  if [ -t 1 ]; then printf '%-44s …' "$title"; fi
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if [ -t 1 ]; then printf '\r'; fi
  if [ "$status" -eq 0 ]; then
    printf '%-44s %4d s\n' "$title" $((SECONDS - started))
  else
    printf '%-44s failed after %d s; the end of its output:\n' "$title" $((SECONDS - started))
    tail -n 40 "$log"
  fi
  rm -f "$log"
  return "$status"
}

# configure PRESET [OPTIONS]: into the preset's own folder.
configure() { (cd "$root" && cmake --preset "$@"); }
