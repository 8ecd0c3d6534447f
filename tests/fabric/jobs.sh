#!/usr/bin/env bash
# MPI jobs on a small fabric, under libcoll and natively.
#   jobs.sh LIBCOLL SWEEP collectives|rooted|cut_before|cut_during
# SWEEP is benchmarks/collective_sweep: it checks every result, prints a checksum and how many calls libcoll served.
# shellcheck source-path=SCRIPTDIR source=common.sh
[[ $# == 3 ]] || exit 2
libcoll=$(realpath "$1") sweep=$(realpath "$2") case=$3
source "$(dirname "$0")/common.sh"
export LIBCOLL_CACHE_DIR=$directory/cache LIBCOLL_COST_MODEL=no

planned() { fabric run -- "$libcoll" run -- mpirun -n 8 "$sweep" "$@" </dev/null; }
native() { fabric run -- mpirun -n 8 "$sweep" "$@" </dev/null; }

# check_equal SIZES: of three collectives every result is right and the same as natively, and every call was served.
check_equal() {
  local sweeps=(allreduce allgather alltoall -f -m "$1" -g 4 -i 2 -x 1)
  planned "${sweeps[@]}" >with.out 2>err || fail "the job under libcoll failed: $(cat with.out err)"
  if grep 'not steered' err; then fail "a collective is not steered"; fi
  native "${sweeps[@]}" >without.out || fail "the native job failed: $(cat without.out)"
  same_results with.out without.out 3
  all_served with.out
}

case $case in
  collectives)
    # Two routes for pairs of one side: the routes follow the plan only if steering works.
    "$libcoll" plan complete_bipartite:4,4 alltoall --output routes.xml --quiet
    bring_up complete_bipartite:4,4 --rate 500mbit --routes routes.xml
    check_equal 64:262144
    # One job of known size. Pairs of default routes would load links by up to twice as much.
    size=1048576 calls=4
    bytes_of_links >before
    LIBCOLL_LOG_LEVEL=info planned alltoall -f -m "$size:$size" -i 3 -x 1 >out 2>err
    grep -qE ': alltoall was set up in [0-9.]+ s: contexts [0-9.]+, addresses [0-9.]+, plan [0-9.]+, connections' err ||
      fail "nobody said what it took: $(cat err)"
    made=$(awk '!/^#/ && NF > 6 { print $7 }' out)
    [[ $made -ge $calls ]] || fail "$made calls, expected $calls at least"
    check_links before routes.xml $((size * made)) 32
    ;;
  rooted)
    # Each of the root's three links carries a third of a broadcast, or of a reduction, and no link more.
    bring_up hypercube:3 --rate 500mbit
    sweeps=(bcast reduce -f -m 1048576:1048576 -i 2 -x 1)
    bytes_of_links >before
    planned "${sweeps[@]}" >with.out 2>err || fail "the job under libcoll failed: $(cat with.out err)"
    bytes_of_links >after
    all_served with.out
    native "${sweeps[@]}" >without.out || fail "the native job failed: $(cat without.out)"
    same_results with.out without.out 2
    made=$(awk '!/^#/ && NF > 6 { made += $7 } END { print made }' with.out)
    most=$(join <(awk '{ print $1 "-" $2, $3 }' before | sort) <(awk '{ print $1 "-" $2, $3 }' after | sort) |
      awk '{ if ($3 - $2 > most) most = $3 - $2 } END { print most }')
    # Links out of the root have broadcasts only, links into it reductions: half of the calls.
    awk -v most="$most" -v all="$((made * 1048576 / 2))" 'BEGIN { exit !(most > all / 3 && most < 1.1 * all * 2 / 3) }' ||
      fail "the busiest link has carried $most bytes of $made calls"
    ;;
  cut_before)
    # A cable is gone before the job starts: plans are made for what is left, and nothing uses it.
    bring_up torus:2x2x2 --rate 500mbit --layers 4
    fabric cut 0 1
    fabric routes auto
    check_equal 64:65536
    [[ $(fabric status --json | jq '[.links[] | select(.state == "cut") | .packets] | add') == 0 ]] ||
      fail "packets on a cut cable"
    ;;
  cut_during)
    # A cable is cut in the middle of a call, and nothing is sent again: the job ends, with an error, within the time that
    # was set. The call takes some seconds: between calls, the job's barrier would wait for the cable by MPI.
    "$libcoll" plan torus:2x2x2 alltoall --output routes.xml --quiet
    bring_up torus:2x2x2 --rate 20mbit --routes routes.xml
    export LIBCOLL_TIMEOUT_SECONDS=3 LIBCOLL_RESEND_SECONDS=0
    planned alltoall -f -m 4194304:4194304 -i 1000 -x 1 >out 2>err &
    job=$!
    until [[ $(fabric status --json | jq '[.links[].bytes] | add') -gt 20000000 ]]; do
      kill -0 "$job" 2>/dev/null || fail "the job ended too soon: $(cat err)"
      sleep 0.2
    done
    fabric cut 0 1
    started=$SECONDS code=0
    while kill -0 "$job" 2>/dev/null; do
      ((SECONDS - started < 30)) || fail "the job has not ended after $((SECONDS - started)) s: $(cat err)"
      sleep 0.2
    done
    wait "$job" || code=$?
    [[ $code != 0 ]] || fail "1000 calls over a cut cable ended well"
    grep -q 'nothing moved for 3 s' err || fail "nobody said why: $(cat err)"
    # The fabric is as good as new once the cable is back.
    fabric mend 0 1
    planned alltoall -f -m 65536:65536 -i 2 -x 1 >out
    grep -q '^# Served by libcoll: [1-9]' out || fail "nothing served after mending"
    ;;
  *) fail "wrong usage" ;;
esac
