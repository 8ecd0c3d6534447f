#!/usr/bin/env bash
# Two ranks on every node of a small fabric, under libcoll and natively.
#   nodes.sh LIBCOLL SWEEP results|links
# SWEEP is benchmarks/collective_sweep: it checks every result, prints a checksum and how many calls libcoll served.
# shellcheck source-path=SCRIPTDIR source=common.sh
[[ $# == 3 ]] || exit 2
libcoll=$(realpath "$1") sweep=$(realpath "$2") case=$3
source "$(dirname "$0")/common.sh"
export LIBCOLL_CACHE_DIR=$directory/cache LIBCOLL_COST_MODEL=no

case $case in
  results)
    bring_up torus:2x2x2 --rate 100mbit --ranks-per-node 2 --routes auto
    job=(mpirun -n 16 "$sweep" allreduce allgather alltoall -f -m 16:65536 -g 4 -i 2 -x 1)
    fabric run -- "$libcoll" run -- "${job[@]}" </dev/null >with.out 2>err ||
      fail "the job under libcoll failed: $(cat with.out err)"
    if grep 'not steered' err; then fail "a collective is not steered"; fi
    fabric run -- "${job[@]}" </dev/null >without.out || fail "the native job failed: $(cat without.out)"
    same_results with.out without.out 3
    all_served with.out
    ;;
  links)
    # The leaders of a node share its links by the plan's routes: two for pairs of one side, which default routes would
    # not take. Between two nodes go four blocks.
    "$libcoll" plan complete_bipartite:4,4 alltoall --output routes.xml --quiet
    bring_up complete_bipartite:4,4 --rate 500mbit --ranks-per-node 2 --routes routes.xml
    size=262144
    bytes_of_links >before
    fabric run -- "$libcoll" run -- mpirun -n 16 "$sweep" alltoall -f -m "$size:$size" -i 3 -x 1 </dev/null >out 2>err ||
      fail "alltoall failed: $(cat err)"
    if grep 'not steered' err; then fail "alltoall is not steered"; fi
    made=$(awk '!/^#/ && NF > 6 && $6 == $7 { print $7 }' out)
    [[ $made -ge 4 ]] || fail "not all calls were served: $(cat out)"
    check_links before routes.xml $((4 * size * made)) 32
    ;;
  *) fail "wrong usage" ;;
esac
