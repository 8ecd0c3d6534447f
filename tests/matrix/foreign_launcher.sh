#!/usr/bin/env bash
# Starts a program of one MPI by the launcher of another: each process is a job of its own, runs as it would without
# libcoll, and the first one says so.
#   foreign_launcher.sh LIBRARY RANKS PROGRAM LAUNCHER [OPTIONS]
set -euo pipefail

fail() {
  echo "foreign_launcher.sh: $*" >&2
  exit 1
}

[[ $# -ge 4 ]] || fail "wrong usage"
library=$(realpath "$1") ranks=$2 program=$(realpath "$3")
shift 3
for variable in "${!LIBCOLL_@}"; do unset "$variable"; done
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
timeout -k 5 60 "$@" -n "$ranks" env XDG_CONFIG_HOME="$directory" LIBCOLL_TOPOLOGY="complete:$ranks" \
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 LD_PRELOAD="$library" "$program" 2>stderr </dev/null || fail "exit code $?: $(cat stderr)"
cat stderr >&2
[[ $(grep -c '^libcoll: warning: the program has .* and was started by a launcher of ' stderr) == 1 ]] ||
  fail "expected one warning"
