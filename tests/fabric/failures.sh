#!/usr/bin/env bash
# Cables and ranks that die in the middle of calls.
#   failures.sh LIBCOLL ENDURE cut|cuts|cut_WAY|cut_nodes|cut_nodes_WAY
#   failures.sh LIBCOLL ENDURE killed|killed_nonblocking|fatal
# ENDURE checks every result of its calls, and that they were served, and sends nothing else.
# shellcheck source-path=SCRIPTDIR source=common.sh
[[ $# == 3 ]] || exit 2
libcoll=$(realpath "$1") endure=$(realpath "$2") case=$3
source "$(dirname "$0")/common.sh"
export LIBCOLL_CACHE_DIR=$directory/cache LIBCOLL_LOG_LEVEL=info LIBCOLL_COST_MODEL=no
export LIBCOLL_BACKGROUND_PLANNING=no # which calls are served must be known

job() { fabric run -- "$libcoll" run -- mpirun "$@" </dev/null; }

# Waits until rank 0 has ended so many rounds, or the job has ended.
wait_for_round() {
  until grep -q "^endure: round $1 " err; do
    kill -0 "$job" 2>/dev/null || fail "the job ended too soon: $(cat err)"
    sleep 0.05
  done
}

case $case in
  cut | cuts | cut_*)
    # Every call ends, rightly; messages are sent again; the plans of later blocking calls do without the cable.
    ranks=8 bytes=65536 options=()
    if [[ $case == cut_nodes* ]]; then ranks=16 bytes=16384 options=(--ranks-per-node 2); fi
    case $case in
      cut | cuts | cut_nodes) way=blocking ;;
      *) way=${case##*_} ;;
    esac
    bring_up torus:2x2x2 --rate 100mbit "${options[@]}" --routes auto
    export LIBCOLL_RESEND_SECONDS=1 LIBCOLL_TIMEOUT_SECONDS=20
    job -n "$ranks" "$endure" "$way" 30 "$bytes" >out 2>err &
    job=$!
    wait_for_round 3
    fabric cut 0 1
    if [[ $case == cuts ]]; then
      wait_for_round 12
      fabric cut 6 2
    fi
    code=0
    wait "$job" || code=$?
    cat err >&2
    [[ $code == 0 ]] || fail "the job ended with $code"
    [[ $(grep -c 'all 30 rounds right' err) == "$ranks" ]] || fail "not all ranks ended well"
    grep -q 'messages were sent again' err || fail "nothing was sent again"
    grep -q 'dead links between nodes 0-1; from call' err || fail "the dead link was not found"
    if [[ $case == cuts ]]; then
      grep -q 'dead links between nodes .*2-6' err || fail "the second dead link was not found"
    fi
    for collective in allreduce allgather alltoall; do
      planned=$(grep -c "WORLD: $collective by " err)
      if [[ $case == cut_nonblocking ]]; then
        # They keep their plan, for only ranks that wait for each other can change it together.
        [[ $planned == 1 ]] || fail "$collective was planned $planned times"
      else
        [[ $planned -ge 2 ]] || fail "$collective was not planned again"
      fi
    done
    ;;
  killed | killed_nonblocking | fatal)
    # The survivors get MPI's own error behaviour within the time that was set.
    bring_up torus:2x2x2 --rate 100mbit --routes auto
    export LIBCOLL_RESEND_SECONDS=1 LIBCOLL_TIMEOUT_SECONDS=6
    options=(-n 8 --enable-recovery)
    [[ $case != fatal ]] || options+=(-x ENDURE_FATAL=yes)
    way=blocking
    [[ $case != killed_nonblocking ]] || way=nonblocking
    started=$SECONDS code=0
    job "${options[@]}" "$endure" "$way" 30 1048576 5 2 >out 2>err || code=$?
    cat err >&2
    ((SECONDS - started < 60)) || fail "the job took $((SECONDS - started)) s to end"
    # With recovery, the launcher's exit code says nothing.
    if grep -q 'rounds right' err; then fail "somebody thinks all is well"; fi
    if [[ $case == killed* ]]; then
      [[ $(grep -c 'an error after' err) == 7 ]] || fail "not all survivors got an error"
    else
      grep -q 'MPI_ERRORS_ARE_FATAL' err || fail "no fatal error"
    fi
    ;;
  *) fail "wrong usage" ;;
esac
fabric down
