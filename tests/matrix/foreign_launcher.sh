#!/usr/bin/env bash
# Starts a program of one MPI by the launcher of another: each process is a job of its own, runs as it would without
# libcoll, and the first one says so; LINES is 0 where libcoll cannot know.
#   foreign_launcher.sh LIBRARY LINES RANKS PROGRAM LAUNCHER [OPTIONS]
set -euo pipefail

fail() {
  echo "foreign_launcher.sh: $*" >&2
  exit 1
}

[[ $# -ge 5 ]] || fail "wrong usage"
library=$(realpath "$1") lines=$2 ranks=$3 program=$(realpath "$4")
shift 4
for variable in "${!LIBCOLL_@}"; do unset "$variable"; done
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
export TMPDIR=$directory  # a launcher's session folder is not shared with jobs beside it
# Each process is a job: two that make and remove one session folder at the same time disturb each other.
# shellcheck disable=SC2016 # for the shell of the process
alone='TMPDIR=$(mktemp -d) exec "$@"'
timeout -k 5 60 "$@" -n "$ranks" sh -c "$alone" alone env XDG_CONFIG_HOME="$directory" LIBCOLL_TOPOLOGY="complete:$ranks" \
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 LD_PRELOAD="$library" "$program" 2>stderr </dev/null || fail "exit code $?: $(cat stderr)"
cat stderr >&2
[[ $(grep -c '^libcoll: warning: the program has .* and was started by a launcher of ' stderr) == "$lines" ]] ||
  fail "expected $lines warnings"
