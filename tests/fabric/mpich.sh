#!/usr/bin/env bash
# Jobs of MPICH on a small fabric, with default settings: hydra starts them as mpirun does those of Open MPI.
#   mpich.sh LIBCOLL SWEEP LIBRARY RANKS_PER_NODE
# SWEEP is benchmarks/collective_sweep for MPICH: it checks every result, prints a checksum and how many calls libcoll served.
# LIBRARY is what MPICH needs here, see mpich_on_few_processors.c.
# shellcheck source-path=SCRIPTDIR source=common.sh
[[ $# == 4 ]] || exit 2
libcoll=$(realpath "$1") sweep=$(realpath "$2") library=$(realpath "$3") case=$4
source "$(dirname "$0")/common.sh"
for name in "${!HYDRA_@}" "${!MPIR_@}"; do unset "$name"; done
export LIBCOLL_CACHE_DIR=$directory/cache

# run COMMAND…: on the fabric, preloaded with what MPICH needs; that stays behind libcoll.
run() { fabric run -- env LD_PRELOAD="$library:$LD_PRELOAD" "$@" </dev/null; }

bring_up torus:2x2 --rate 100mbit --ranks-per-node "$case" --routes auto
job=(mpiexec.mpich -n $((4 * case)) "$sweep" allreduce allgather alltoall -f -m 16:1048576 -g 16 -i 2 -x 1)
run "$libcoll" run -- "${job[@]}" >with.out 2>err || fail "the job under libcoll failed: $(cat with.out err)"
[[ ! -s err ]] || fail "it says: $(cat err)"
run "${job[@]}" >without.out || fail "the native job failed: $(cat without.out)"
same_results with.out without.out 3
# Up to 256 KiB calls are MPI's where it was measured to be faster. Longer ones are not measured, but served.
awk '$1 == 1048576 { found += $6 > 0 && $6 == $7 } END { exit found != 3 }' with.out ||
  fail "calls were not served: $(cat with.out)"
fabric down
