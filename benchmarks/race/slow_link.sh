#!/usr/bin/env bash
# A cable at a tenth of its rate: the all-to-all planned for the fabric as it is (heterogeneous) against the one planned
# for the fabric as it was (homogeneous), in turn, medians of the calls of all repetitions.
#
#   benchmarks/race/slow_link.sh [TOPOLOGY] [RATE] [BYTES_PER_PAIR] [REPETITIONS]
# shellcheck source-path=SCRIPTDIR source=../../config/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../config/common.sh"

topology=${1:-torus:2x2x2} rate=${2:-100mbit} size=${3:-1048576} repetitions=${4:-3}
libcoll=$build/bin/libcoll
fabric=slow-link-$$
work=$(mktemp -d)
trap '"$libcoll" fabric --name "$fabric" down >/dev/null 2>&1; rm -rf "$work"' EXIT
export LIBCOLL_CACHE_DIR=$work/cache LIBCOLL_COST_MODEL=no LD_PRELOAD=$build/lib/yield_sleep.so

fabric() { "$libcoll" fabric --name "$fabric" "$@"; }
ranks=$("$libcoll" topo "$topology" --json | jq .nodes)

# plan NAME TOPOLOGY: its file and the time of one call on the fabric as it is, by the load of its busiest link.
plan() { "$libcoll" plan "$2" alltoall --output "$work/$1.xml" --quiet || fail "there is no plan for $2."; }

# race NAME TOPOLOGY_FILE: seconds of every call.
race() {
  fabric routes "$work/$1.xml" >/dev/null || fail "the routes of the $1 plan are refused."
  LIBCOLL_TOPOLOGY=$2 fabric run -- "$libcoll" run -- mpirun -n "$ranks" "$build/bin/collective_race" alltoall \
    -s "$size" -i 5 -w 1 </dev/null 2>>"$work/errors" >"$work/out" || { cat "$work/errors" >&2; fail "the $1 job failed."; }
  jq -es '[.[] | select(.calls)] | length > 0 and all(.served == .calls and .correct)' "$work/out" >/dev/null || fail "$1: not all calls were served: $(tail -n 3 "$work/out" "$work/errors")"
  jq '.seconds // empty' "$work/out" >>"$work/$1.seconds"
}

median() { sort -g "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
spread() { sort -g "$1" | awk 'NR == 1 { low = $1 } END { printf "%.1f .. %.1f", low * 1000, $1 * 1000 }'; }

fabric up "$topology" --rate "$rate" --layers 4 --share "$work" || exit 1
file=$(fabric run -- printenv LIBCOLL_TOPOLOGY)
cp "$file" "$work/was.toml"
fabric rate 0 1 "$(awk -v rate="$rate" 'BEGIN { print rate / 10 }')${rate##*[0-9]}" || exit 1
plan homogeneous "$work/was.toml"
plan heterogeneous "$file"
"$libcoll" plan "$file" alltoall | grep '  F  '
for ((i = 0; i < repetitions; ++i)); do
  race homogeneous "$work/was.toml"
  race heterogeneous "$file"
done
printf '%s, cable 0-1 at a tenth of %s, all-to-all of %s bytes per pair\n' "$topology" "$rate" "$size"
for name in homogeneous heterogeneous; do
  printf '  %-14s median %8.1f ms, from %s ms\n' "$name" "$(awk -v s="$(median "$work/$name.seconds")" 'BEGIN { print s * 1000 }')" \
    "$(spread "$work/$name.seconds")"
done
awk -v a="$(median "$work/homogeneous.seconds")" -v b="$(median "$work/heterogeneous.seconds")" 'BEGIN { printf "  ratio %.2f\n", a / b }'
