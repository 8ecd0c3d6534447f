#!/usr/bin/env bash
# Cables and ranks that die in the middle of calls.
#   failures.sh LIBCOLL ENDURE cut|cuts|cut_WAY|cut_nodes|cut_nodes_WAY|cut_led
#   failures.sh LIBCOLL ENDURE renewed_WAY|renewed_nodes_WAY
#   failures.sh LIBCOLL ENDURE killed|killed_nonblocking|fatal|killed_planning_WAY
# ENDURE checks every result of its calls, and that they were served, and sends nothing else.
# shellcheck source-path=SCRIPTDIR source=common.sh
[[ $# == 3 ]] || exit 2
libcoll=$(realpath "$1") endure=$(realpath "$2") case=$3
source "$(dirname "$0")/common.sh"
export LIBCOLL_CACHE_DIR=$directory/cache LIBCOLL_LOG_LEVEL=info LIBCOLL_COST_MODEL=no
export LIBCOLL_BACKGROUND_PLANNING=no # which calls are served must be known

job() { fabric run -- "$libcoll" run -- mpirun "$@" </dev/null; }

# Waits until the job has said what matches, or has ended.
wait_for() {
  until grep -q "$1" err; do
    kill -0 "$job" 2>/dev/null || fail "the job ended too soon: $(cat err)"
    sleep 0.05
  done
}
# Until rank 0 has ended so many rounds.
wait_for_round() { wait_for "^endure: round $1 "; }

# end_after ROUNDS: the job ends when all ranks have ended so many more rounds.
end_after() {
  local round
  round=$(sed -n 's/^endure.*: round \([0-9]*\).*/\1/p' err | sort -n | tail -n 1)
  echo $((round + $1)) >last.new
  mv last.new last
}

# all_end_well RANKS: the job comes to its end, with right results, after messages were sent again.
all_end_well() {
  local code=0
  wait "$job" || code=$?
  cat err >&2
  [[ $code == 0 ]] || fail "the job ended with $code"
  [[ $(grep -c 'rounds right' err) == "$1" ]] || fail "not all ranks ended well"
  grep -q 'messages were sent again' err || fail "nothing was sent again"
}

# When the last message between nodes 0 and 1 was, as rank $1 saw it, in its trace.
last_crossing() {
  jq '[.[] | select(.ph == "M" and .name == "thread_name" and (.args.name | test("(0→1|1→0)"))) | .tid] as $tracks |
      [.[] | select(.ph == "X") | select(.tid as $tid | $tracks | index($tid)) | .ts + .dur] | max // 0' "trace.$1"
}

# calls_after RANK TIME NAME: how many calls of that name the rank began later, and libcoll served.
calls_after() {
  jq --argjson time "$2" --arg name "$3" \
    '[.[] | select(.ph == "X" and .name == $name and .args.served and .ts > $time)] | length' "trace.$1"
}

case $case in
  renewed_*)
    # Where no call waits for the others once the first round is over: later calls go by plans without the cable, and
    # nothing of theirs crosses it any more.
    way=${case#renewed_} ranks=8 options=() of_nodes=(0 1)
    if [[ $way == nodes_* ]]; then
      way=${way#nodes_} ranks=16 options=(--ranks-per-node 2) of_nodes=(0 1 8 9)
    fi
    names=(iallreduce iallgather ialltoall ialltoallv) who=WORLD
    case $way in
      starts) names=(allreduce_init allgather_init alltoall_init alltoallv_init) ;;
      part | lone_part) who=communicator ;;
    esac
    bring_up torus:2x2x2 --rate 100mbit "${options[@]}" --routes auto
    export LIBCOLL_RESEND_SECONDS=1 LIBCOLL_TIMEOUT_SECONDS=30 LIBCOLL_TRACE=$directory/trace
    ENDURE_LAST=$directory/last job -n "$ranks" "$endure" "$way" 0 8192 >out 2>err &
    job=$!
    wait_for_round 3
    fabric cut 0 1
    wait_for "$who.*: from call .* plans of .*without 0-1.* for allgather, allreduce, alltoall$"
    end_after 30
    all_end_well "$ranks"
    for rank in "${of_nodes[@]}"; do
      last=$(last_crossing "$rank")
      [[ $last != 0 ]] || fail "rank $rank saw no message between nodes 0 and 1 at all"
      for name in "${names[@]}"; do
        (($(calls_after "$rank" "$last" "$name") >= 5)) || fail "rank $rank: $name still crosses the dead link"
      done
    done
    ;;
  killed_planning_*)
    # A rank dies while plans are made anew: the others get their error all the same.
    bring_up torus:2x2x2 --rate 100mbit --routes auto
    cat >planner <<PLANNER
#!/usr/bin/env bash
if [[ \$* == */proc/self/fd/* ]]; then
  touch $directory/planning
  sleep 2
fi
exec $libcoll "\$@"
PLANNER
    chmod +x planner
    export LIBCOLL_RESEND_SECONDS=1 LIBCOLL_TIMEOUT_SECONDS=12
    job -n 8 --enable-recovery env LIBCOLL_COMMAND="$directory/planner" "$endure" "${case##*_}" 1000 8192 5 -1 >out 2>err &
    job=$!
    wait_for_round 3
    fabric cut 0 1
    until [[ -e planning ]]; do
      kill -0 "$job" 2>/dev/null || fail "the job ended too soon: $(cat err)"
      sleep 0.05
    done
    kill -9 "$(awk '/^endure\[5\]: process/ { print $3 }' err)"
    wait "$job" || true
    cat err >&2
    if grep -q 'rounds right' err; then fail "somebody thinks all is well"; fi
    [[ $(grep -c 'an error after' err) == 7 ]] || fail "not all survivors got an error"
    # Once and no more is the time limit waited for, from the last message on.
    awk '/an error after/ && $5 > 24 { late = 1 } END { exit late }' err || fail "an error came too late"
    ;;
  cut | cuts | cut_*)
    # Every call ends, rightly; messages are sent again; later calls go by plans without the cable.
    ranks=8 bytes=65536 options=()
    if [[ $case == cut_nodes* || $case == cut_led ]]; then ranks=16 bytes=16384 options=(--ranks-per-node 2); fi
    if [[ $case == cut_led ]]; then export LIBCOLL_LEADERS=1; fi # the others have no messages
    case $case in
      cut | cuts | cut_nodes | cut_led) way=blocking ;;
      *) way=${case##*_} ;;
    esac
    bring_up torus:2x2x2 --rate 100mbit "${options[@]}" --routes auto
    export LIBCOLL_RESEND_SECONDS=1 LIBCOLL_TIMEOUT_SECONDS=20
    ENDURE_LAST=$directory/last job -n "$ranks" "$endure" "$way" 0 "$bytes" >out 2>err &
    job=$!
    wait_for_round 3
    fabric cut 0 1
    if [[ $case == cuts ]]; then
      wait_for 'dead links between nodes 0-1; plans'
      fabric cut 6 2
    fi
    end_after 40
    all_end_well "$ranks"
    grep -q 'dead links between nodes 0-1; plans' err || fail "the dead link was not found"
    if [[ $case == cuts ]]; then
      grep -q 'dead links between nodes .*2-6' err || fail "the second dead link was not found"
    fi
    for collective in allreduce allgather alltoall; do
      planned=$(grep -c "WORLD: $collective by " err)
      [[ $planned -ge 2 ]] || fail "$collective was not planned again"
    done
    ;;
  killed | killed_nonblocking | fatal)
    # The survivors get MPI's own error behaviour within the time that was set.
    bring_up torus:2x2x2 --rate 100mbit --routes auto
    export LIBCOLL_RESEND_SECONDS=1 LIBCOLL_TIMEOUT_SECONDS=4
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
