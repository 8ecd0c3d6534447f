#!/usr/bin/env bash
# Two ranks on every node of a small fabric, under libcoll and natively.
#   nodes.sh LIBCOLL SWEEP
# SWEEP is benchmarks/collective_sweep: it checks every result, prints a checksum and how many calls libcoll served.
# shellcheck source-path=SCRIPTDIR source=common.sh
[[ $# == 2 ]] || exit 2
libcoll=$(realpath "$1") sweep=$(realpath "$2") case=nodes
source "$(dirname "$0")/common.sh"
export LIBCOLL_CACHE_DIR=$directory/cache LIBCOLL_COST_MODEL=no

bring_up torus:2x2x2 --rate 100mbit --ranks-per-node 2 --routes auto
for collective in allreduce allgather alltoall; do
  job=(mpirun -n 16 "$sweep" "$collective" -f -m 16:65536 -i 3 -x 1)
  fabric run -- "$libcoll" run -- "${job[@]}" </dev/null >with.out 2>err || fail "$collective under libcoll failed: $(cat err)"
  if grep 'not steered' err; then fail "$collective is not steered"; fi
  fabric run -- "${job[@]}" </dev/null >without.out || fail "$collective failed natively"
  [[ $(grep '^# Checksum: ' with.out) == "$(grep '^# Checksum: ' without.out)" ]] || fail "$collective: results differ"
  awk '!/^#/ && NF > 6 { lines++; if ($6 == 0 || $6 != $7) bad = 1 } END { exit !lines || bad }' with.out ||
    fail "$collective: calls were not served: $(cat with.out)"
done
