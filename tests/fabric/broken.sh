#!/usr/bin/env bash
# Connections that break under calls between two nodes, with default settings: calls fail or come to the right end, and no
# process ends by it.
#   broken.sh LIBCOLL AGREEMENT RANKS_PER_NODE
# AGREEMENT checks results, and says how many connections it broke and what became of its calls.
# shellcheck source-path=SCRIPTDIR source=common.sh
[[ $# == 3 ]] || exit 2
libcoll=$(realpath "$1") agreement=$(realpath "$2") case=broken_$3
ranks=$((2 * $3))
source "$(dirname "$0")/common.sh"
export LIBCOLL_CACHE_DIR=$directory/cache LIBCOLL_LOG_LEVEL=info

bring_up ring:2 --rate 100mbit --ranks-per-node "$3"
code=0
fabric run -- "$libcoll" run -- timeout 60 mpirun -n "$ranks" "$agreement" broken </dev/null >out 2>err || code=$?
cat err
[[ $code == 0 ]] || fail "the job ended with $code"
grep -q 'agreement: [1-9][0-9]* connections lost' err || fail "no connection broke"
[[ $(grep -c 'agreement: a call ' err) == "$ranks" ]] || fail "not all ranks came to the end of their calls"
grep -q 'agreement: a call failed' err || fail "nobody was told"
grep -q 'agreement: all ended' err || fail "not all ranks ended"
