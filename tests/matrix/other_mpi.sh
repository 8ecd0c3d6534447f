#!/usr/bin/env bash
# Runs a program of an MPI that libcoll does not know, with the preload on the ranks: it must run as without, and each rank
# say once why nothing is served.
#   other_mpi.sh LIBRARY LAUNCHER RANKS NAME PROGRAM [ARGUMENTS]
#     NAME  what the warnings call this MPI
set -euo pipefail

fail() {
  echo "other_mpi.sh: $*" >&2
  exit 1
}

[[ $# -ge 5 ]] || fail "wrong usage"
library=$(realpath "$1") launcher=$2 ranks=$3 name=$4 program=$(realpath "$5")
shift 5
for variable in "${!LIBCOLL_@}"; do unset "$variable"; done
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"

# run WARNINGS SETTING …: so many ranks must warn.
run() {
  local warnings=$1 code=0
  shift
  timeout -k 5 60 "$launcher" -n "$ranks" env XDG_CONFIG_HOME="$directory" LIBCOLL_CACHE_DIR="$directory/cache" \
    LIBCOLL_TOPOLOGY="complete:$ranks" "$@" LD_PRELOAD="$library" "$program" "${arguments[@]}" 2>stderr </dev/null || code=$?
  cat stderr >&2
  [[ $code == 0 ]] || fail "exit code $code"
  [[ $(grep -c '^libcoll: ' stderr || true) == "$warnings" ]] || fail "expected $warnings lines of libcoll's with $*"
  [[ $(grep -cF "libcoll: warning: unsupported MPI (built for Open MPI v4.x, found $name" stderr || true) == "$warnings" ]] ||
    fail "expected $warnings warnings with $*"
}

arguments=("$@")
run "$ranks" LIBCOLL_LOG_LEVEL=trace LIBCOLL_STATS=summary
run 0 LIBCOLL_LOG_LEVEL=error
run 0 LIBCOLL_ENABLE=no
