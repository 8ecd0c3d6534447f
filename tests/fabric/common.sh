# shellcheck shell=bash
# Sourced by the tests after they set `libcoll` and `case`: a private folder, a fabric of its own that goes with it.
set -euo pipefail

fail() {
  echo "${0##*/}: $*" >&2
  exit 1
}

for name in "${!LIBCOLL_@}" "${!OMPI_@}" "${!UCX_@}"; do unset "$name"; done
# All nodes share the processors of one machine: a rank that waits in Open MPI sleeps where it would spin,
# long for links on which a message takes milliseconds.
# shellcheck disable=SC2154
LD_PRELOAD=$(dirname "$libcoll")/../lib/yield_sleep.so
export LD_PRELOAD YIELD_SLEEP_MICROSECONDS=1000
fabric=test-$$-$case
directory=$(mktemp -d)
cd "$directory"

clean_up() {
  "$libcoll" fabric --name "$fabric" down >/dev/null 2>&1 || true
  "$libcoll" fabric --name "$fabric-b" down >/dev/null 2>&1 || true
  rm -rf "$directory"
}
trap clean_up EXIT

fabric() { "$libcoll" fabric --name "$fabric" "$@"; }

# Skips the test where a fabric is not allowed.
bring_up() {
  local code=0
  fabric up "$@" >up.out 2>up.err || code=$?
  cat up.out up.err
  if [[ $code == 2 ]] && grep -q 'neither is allowed here' up.err; then exit 77; fi
  [[ $code == 0 ]] || fail "up ended with $code"
}

bytes_of_links() { fabric status --json | jq -r '.links[] | "\(.from) \(.to) \(.bytes)"'; }

# Chunks on every link of a schedule file, "FROM TO CHUNKS", and chunks per shard before them.
planned_chunks() {
  awk '
    BEGIN { links = routes = 0 }
    function value(name) { return match($0, " " name "=\"[^\"]*\"") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4) : "" }
    /<libcoll_schedule/ { print "chunks", value("chunks_per_shard") }
    /<link /  { from[links] = value("from"); to[links++] = value("to") }
    /<route / { path[routes++] = value("links") }
    /<t /     { n = split(path[value("r") + 0], hop, " "); for (i = 1; i <= n; ++i) load[hop[i]] += value("cnt") }
    END { for (l = 0; l < links; ++l) print from[l], to[l], load[l] + 0 }' "$1"
}

# check_links BEFORE SCHEDULE BYTES LINKS: what has crossed each of so many links since bytes_of_links wrote BEFORE is
# what the schedule says for shards of so many bytes in all, and headers, and what MPI itself says to itself.
check_links() {
  bytes_of_links >after
  planned_chunks "$2" >chunks
  join <(awk '{ print $1 "-" $2, $3 }' "$1" | sort) <(awk '{ print $1 "-" $2, $3 }' after | sort) |
    join - <(awk 'NF == 3 { print $1 "-" $2, $3 }' chunks | sort) >links
  awk -v bytes="$3" -v expected="$4" -v chunks="$(awk '/^chunks/ { print $2 }' chunks)" '
    { sent = $3 - $2; plan = $4 / chunks * bytes; ratio = plan > 0 ? sent / plan : 0; n++
      if (plan == 0 || ratio < 1 || ratio > 1.03) { print "link " $1 ": " sent " bytes, planned " plan; bad = 1 } }
    END { if (n != expected) { print n " links, expected " expected; bad = 1 } exit bad }' links ||
    fail "the links do not carry what was planned"
}

# collective_sweep prints a checksum of each collective's results, and by size how many calls libcoll served.
checksum() { sed -n 's/^# Checksum: //p' "$1"; }

# same_results WITH WITHOUT COLLECTIVES: what two jobs wrote.
same_results() {
  [[ $(checksum "$1" | wc -l) == "$3" && $(checksum "$1") == "$(checksum "$2")" ]] || fail "results differ: $(cat "$1" "$2")"
}

# all_served OUTPUT: every call of every size.
all_served() {
  awk '/^[0-9]/ && NF > 6 { lines++; if ($6 == 0 || $6 != $7) bad = 1 } END { exit !lines || bad }' "$1" ||
    fail "$1: calls were not served: $(cat "$1" "$1.err" 2>/dev/null)"
}
