#!/usr/bin/env bash
# All-to-alls on whose length the ranks of several hosts do not agree: they end, as they do without libcoll.
#   lengths.sh LIBCOLL AGREEMENT TUNING_TABLE RANKS_PER_NODE
# By TUNING_TABLE the calls of rank 0 are MPI's, those of the others go by the plan.
# shellcheck source-path=SCRIPTDIR source=common.sh
[[ $# == 4 ]] || exit 2
libcoll=$(realpath "$1") agreement=$(realpath "$2") table=$(realpath "$3") case=lengths_$4
ranks=$((4 * $4))
source "$(dirname "$0")/common.sh"
export LIBCOLL_CACHE_DIR=$directory/cache LIBCOLL_LOG_LEVEL=info

bring_up ring:4 --rate 100mbit --ranks-per-node "$4"
# run NAME ARGUMENTS...: ends, or there is no libcoll in it
run() {
  local name=$1
  shift
  fabric run -- "$libcoll" run -- timeout 60 mpirun -n "$ranks" "$agreement" "$@" </dev/null >out 2>"$name" ||
    { cat "$name" && fail "$name: the job ended with $?"; }
  grep -q 'agreement: all ended' "$name" || fail "$name: not all ranks ended"
  grep -q 'MPI_COMM_WORLD .*: served over' "$name" || fail "$name: not served"
}

run by_default lengths alltoall 3000
run by_default_later later alltoall 3000
export LIBCOLL_TUNING_TABLE=$table
run by_table lengths alltoall 3000
run by_table_later later alltoall 3000
grep -q 'calls went different ways; MPI has' by_table_later || fail "all calls went the same way"
