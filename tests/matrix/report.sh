#!/usr/bin/env bash
# Runs one large call under libcoll and checks what its statistics and traces say against the plan that served it.
#   report.sh LIBCOLL TOPOLOGY RANKS PROGRAM CALL
#     PROGRAM  multiprocess_matrix
#     CALL     allreduce or alltoall
set -euo pipefail

fail() {
  echo "report.sh: $*" >&2
  exit 1
}

[[ $# == 5 ]] || fail "wrong usage"
libcoll=$(realpath "$1") topology=$2 ranks=$3 program=$(realpath "$4") call=$5
for name in "${!LIBCOLL_@}"; do unset "$name"; done
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
mkdir cache session
export TMPDIR=$directory/session XDG_CONFIG_HOME=$directory LIBCOLL_CACHE_DIR=$directory/cache LIBCOLL_COST_MODEL=no
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# A size that cuts into whole chunks, so that the plan says exactly what crosses each link.
"$libcoll" plan "$topology" "$call" --quiet --cache --output plan.xml
chunks=$(grep -o 'chunks_per_shard="[0-9]*"' plan.xml | tr -dc 0-9)
chunk_bytes=8000
bytes=$((chunks * chunk_bytes * ($([[ $call == allreduce ]] && echo "$ranks" || echo 1))))

LIBCOLL_STATS=json:$directory/stats.json LIBCOLL_TRACE=$directory/trace-%r.json LIBCOLL_LOG_LEVEL=warn \
  timeout -k 5 100 "$libcoll" run --no-plan --topology "$topology" -- \
  mpirun --oversubscribe -n "$ranks" "$program" large "$call" "$bytes" </dev/null

# "FROM TO BYTES" by the plan: every transfer on its link, or on all links of its route.
awk -v size="$chunk_bytes" '
  function value(name) {
    return match($0, " " name "=\"[^\"]*\"") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4) : "none"
  }
  /^ *<link / { ends[links++] = value("from") " " value("to") }
  /^ *<route / { route[routes++] = value("links") }
  /^ *<t / {
    if (value("r") == "none") {
      sent[value("u") " " value("v")] += value("cnt")
    } else {
      count = split(route[value("r")], crossed, " ")
      for (i = 1; i <= count; ++i) sent[ends[crossed[i]]] += value("cnt")
    }
  }
  END { for (link in sent) print link, sent[link] * size }' plan.xml | sort >expected
[[ -s expected ]] || fail "the plan has no transfers"
jq -r '.links[] | "\(.from) \(.to) \(.bytes)"' stats.json | sort >counted
diff expected counted >&2 || fail "other bytes on links than the plan has"
jq -r --arg call "$call" '.communicators[0].plans[] | select(.collective == $call) | .links[] | "\(.from) \(.to) \(.bytes)"' \
  stats.json | sort | diff expected - >&2 || fail "the communicator's plan has other bytes"

# The rest of the statistics.
jq -e --arg call "$call" --argjson ranks "$ranks" --argjson bytes "$bytes" '
  .ranks == $ranks and .ranks_reported == $ranks and .collectives[$call].served == 1 and
  (.communicators | length == 1) and
  (.communicators[0] |
    .name == "MPI_COMM_WORLD" and .size == $ranks and .nodes == $ranks and
    (.collectives[$call] |
      .served == 1 and .fallen_through == 0 and .algorithm != "" and .reasons == {} and
      .choices == [{use: "plan", algorithm: .algorithm, chosen_by: "configuration", sizes: .served_sizes}] and
      (.served_sizes | length == 1) and
      (.served_sizes[0] | .bytes_from <= $bytes and .bytes_to >= $bytes and .calls == 1 and
        .seconds_total > 0 and .seconds_min == .seconds_max and .seconds_max == .seconds_total)))' \
  stats.json >/dev/null || fail "statistics: $(cat stats.json)"

# Traces: one file per rank; over all of them each message was sent once and received once, within the call.
for ((rank = 0; rank < ranks; ++rank)); do
  jq -e --argjson rank "$rank" --arg call "$call" '
    all(.pid == $rank) and any(.name == "libcoll" and .args.events_dropped == 0) and
    ([.[] | select(.ph == "X" and .cat == "call")] as $calls |
      ($calls | length == 1) and ($calls[0] | .name == $call and .args.served) and
      all(.[] | select(.ph == "X" and .cat != "call");
          .ts + 1 >= $calls[0].ts and .ts + .dur <= $calls[0].ts + $calls[0].dur + 1))' \
    "trace-$rank.json" >/dev/null || fail "trace of rank $rank: $(head -c 2000 "trace-$rank.json")"
done
[[ $(ls trace-*.json | wc -l) == "$ranks" ]] || fail "there are other traces: $(ls)"
messages() {
  jq -r --arg kind "$1" '(map(select(.name == "thread_name")) | map({key: "\(.tid)", value: (.args.name | split(" ")[1])}) |
      from_entries) as $links |
    .[] | select(.cat == $kind) | "\($links["\(.tid)"]) \(.args.tag) \(.args.bytes) \(.args.step)"' trace-*.json | sort
}
messages send >sent
messages receive >received
[[ -s sent ]] || fail "no message was traced"
diff sent received >&2 || fail "sends and receives differ"
[[ $(uniq -d sent | wc -l) == 0 ]] || fail "a message was traced twice"
# Where hosts forward, messages are what crosses the links.
if ! grep -q '<route ' plan.xml; then
  awk '{ split($1, ends, "→"); sent[ends[1] " " ends[2]] += $3 } END { for (link in sent) print link, sent[link] }' sent |
    sort | diff expected - >&2 || fail "other bytes in the traces than the plan has"
fi
