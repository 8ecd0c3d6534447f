#!/usr/bin/env bash
# Each rank searches for a library that is not loaded a few times, not once for each of MPI's functions or for each
# communicator: a search goes through the directories of the dynamic linker.
#   library_searches.sh LIBRARY SEARCHED MOST PROGRAM [ARGUMENT …]
# SEARCHED is how the name of what is searched for begins. MOST 0: it is not searched for at all.
set -euo pipefail

fail() {
  echo "library_searches.sh: $*" >&2
  exit 1
}

[[ $# -ge 4 ]] || fail "wrong usage"
library=$(realpath "$1") searched=$2 most=$3 program=$(realpath "$4")
shift 4
for variable in "${!LIBCOLL_@}"; do unset "$variable"; done
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
TMPDIR=$directory timeout -k 5 60 mpirun --oversubscribe -n 4 -x XDG_CONFIG_HOME="$directory" -x LIBCOLL_TOPOLOGY=ring:4 \
  -x LIBCOLL_COST_MODEL=no -x LIBCOLL_CACHE_DIR="$directory/cache" -x LD_PRELOAD="$library" -x LD_DEBUG=libs \
  -x LD_DEBUG_OUTPUT="$directory/linker" "$program" "$@" </dev/null
ranks=0
for output in linker.*; do
  grep -q 'calling init: .*/libcoll_core\.so$' "$output" || continue
  ((ranks += 1))
  searches=$(grep -c "find library=$searched" "$output") || ((most == 0)) || fail "$searched was not searched for"
  echo "rank: $searches searches"
  ((searches <= most)) || fail "a rank searched $searches times for $searched, expected at most $most"
done
((ranks == 4)) || fail "the core was loaded by $ranks processes, expected 4"
