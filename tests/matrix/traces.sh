#!/usr/bin/env bash
# Runs a program with many calls under way at a time, several ranks per node, and compares its traces with its statistics.
#   traces.sh LIBCOLL TOPOLOGY RANKS RANKS_PER_NODE PROGRAM
#     PROGRAM  multiprocess_matrix
set -euo pipefail

fail() {
  echo "traces.sh: $*" >&2
  exit 1
}

[[ $# == 5 ]] || fail "wrong usage"
libcoll=$(realpath "$1") topology=$2 ranks=$3 program=$(realpath "$5")
export RANKS_PER_NODE=$4
for name in "${!LIBCOLL_@}"; do unset "$name"; done
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
mkdir session
cat >on_node <<'WRAPPER'
#!/usr/bin/env bash
LIBCOLL_HOST=node$((OMPI_COMM_WORLD_RANK / RANKS_PER_NODE)) exec "$@"
WRAPPER
chmod +x on_node
export TMPDIR=$directory/session XDG_CONFIG_HOME=$directory LIBCOLL_CACHE_DIR=$directory/cache
export LIBCOLL_COST_MODEL=no LIBCOLL_BACKGROUND_PLANNING=no # which calls are served must be known
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
LIBCOLL_TRACE=$directory/trace-%r.json timeout -k 5 100 "$libcoll" run "--stats=json:$directory/stats.json" \
  --topology "$topology" -- mpirun --oversubscribe -n "$ranks" ./on_node "$program" persistent </dev/null

# All ranks have made the same calls; nothing was dropped.
jq -s -r 'add | [.[] | select(.cat == "call" and .args.served) | .name] | group_by(.)[] | "\(.[0]) \(length)"' \
  trace-*.json >traced
jq -r --argjson ranks "$ranks" '.collectives | to_entries | sort_by(.key)[] | select(.value.served > 0) |
  "\(.key) \(.value.served * $ranks)"' stats.json >counted
[[ -s counted ]] || fail "nothing was served"
diff counted traced >&2 || fail "other calls in the traces than in the statistics"
jq -s -e 'add | map(select(.name == "libcoll")) | length > 0 and all(.args.events_dropped == 0)' trace-*.json >/dev/null ||
  fail "events were dropped"
# What is sent is received.
events_of() {
  jq -s -r --arg kind "$1" 'add[] | select(.cat == $kind) | "\(.args.tag) \(.args.bytes) \(.args.step)"' trace-*.json | sort
}
events_of send >sent
events_of receive >received
[[ -s sent ]] || fail "no message was traced"
diff -q sent received >&2 || fail "sends and receives differ"
