#!/usr/bin/env bash
# Each rank searches for MPI libraries that are not loaded a few times, not once for each of MPI's functions: a search goes
# through the directories of the dynamic linker.
#   library_searches.sh LIBRARY PROGRAM
set -euo pipefail

fail() {
  echo "library_searches.sh: $*" >&2
  exit 1
}

[[ $# == 2 ]] || fail "wrong usage"
library=$(realpath "$1") program=$(realpath "$2")
for variable in "${!LIBCOLL_@}"; do unset "$variable"; done
most=12
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
TMPDIR=$directory timeout -k 5 60 mpirun --oversubscribe -n 2 -x XDG_CONFIG_HOME="$directory" -x LIBCOLL_TOPOLOGY=ring:2 \
  -x LD_PRELOAD="$library" -x LD_DEBUG=libs -x LD_DEBUG_OUTPUT="$directory/linker" "$program" </dev/null
ranks=0
for output in linker.*; do
  grep -q 'calling init: .*/libcoll_core\.so$' "$output" || continue
  ((ranks += 1))
  searches=$(grep -c 'find library=libmpi' "$output")
  ((searches <= most)) || fail "a rank searched $searches times, expected at most $most"
done
((ranks == 2)) || fail "the core was loaded by $ranks processes, expected 2"
