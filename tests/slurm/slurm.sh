#!/usr/bin/env bash
# Jobs of a real Slurm on an emulated fabric: slurmctld, a slurmd on every node, munge, PMIx.
#   slurm.sh LIBCOLL SWEEP jobs|parts|batch|doctor
#   slurm.sh LIBCOLL SWEEP mpich LIBRARY
# SWEEP is benchmarks/collective_sweep, compiled for MPICH in the last case: it checks every result, prints a checksum
# and how many calls libcoll served. LIBRARY is what MPICH needs on an emulated fabric.
# shellcheck source-path=SCRIPTDIR source=../fabric/common.sh
[[ $# == 3 || $# == 4 ]] || exit 2
[[ $(id -u) == 0 ]] || exit 77 # slurmd is a daemon of root's
libcoll=$(realpath "$1") sweep=$(realpath "$2") case=slurm-$3 for_mpich=${4:-}
source "$(dirname "$0")/../fabric/common.sh"
PATH=$PATH:/usr/sbin
library=$(realpath "$(dirname "$libcoll")/../lib/libcoll_pmpi.so")
for name in "${!SLURM_@}" "${!SBATCH_@}" "${!PMIX_@}"; do unset "$name"; done
export LIBCOLL_CACHE_DIR=$directory/cache LIBCOLL_COST_MODEL=no LIBCOLL_LOG_LEVEL=info SLURM_CONF=$directory/slurm.conf
# Slurm's PMIx lets some ranks leave the fence of MPI_Init before others enter it, now and then, and Open MPI's ob1 crashes
# when a message comes before it is set up (open-mpi/ompi#12495), with libcoll and without; its ucx keeps such messages.
export OMPI_MCA_pml=ucx OMPI_MCA_osc=ucx
pids=()
patience=120 # seconds; a busy machine is slow, and Slurm waits for ever

for program in slurmctld slurmd munged srun sbatch; do
  command -v "$program" >/dev/null || fail "there is no $program; config/install_packages.sh installs it"
done

end_slurm() {
  if [[ -f munged.pid ]]; then kill "$(<munged.pid)" 2>/dev/null || true; fi
  clean_up # ends what runs inside the fabric
}
trap end_slurm EXIT

# until_true COMMAND…: as often as it takes.
until_true() {
  local deadline=$((SECONDS + patience))
  until "$@"; do
    ((SECONDS < deadline)) || fail "not true within $patience s: $*; $(tail -n 5 log/* 2>&1)"
    sleep 0.1
  done
}

configure_slurm() {
  cat >slurm.conf <<END
ClusterName=emulated
SlurmctldHost=fabric-control(172.31.255.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$directory/munge.socket
CredType=cred/munge
MpiDefault=pmix
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SchedulerType=sched/builtin
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
ReturnToService=2
SlurmdTimeout=600
InactiveLimit=0
SlurmdParameters=config_overrides
StateSaveLocation=$directory/state
SlurmctldPidFile=$directory/slurmctld.pid
SlurmctldLogFile=$directory/log/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmdPidFile=/run/slurmd.pid
SlurmdLogFile=$directory/log/slurmd.%n
NodeName=n[0-7] CPUs=2 RealMemory=1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP
END
  printf 'CgroupAutomount=no\nCgroupPlugin=cgroup/v1\n' >cgroup.conf
}

idle_nodes() { fabric run -- sinfo -h -N -t idle -o %N 2>/dev/null | sort -u | wc -l; }
all_idle() { [[ $(idle_nodes) == 8 ]]; }

# A fabric with a slurmd on every node, and everything of Slurm's inside it or in this folder.
start_slurm() {
  local node
  bring_up torus:2x2x2 --rate 100mbit --ranks-per-node 2 --routes auto
  mkdir log state
  configure_slurm
  (umask 077 && head -c 1024 /dev/urandom >munge.key)
  munged --force --socket="$directory/munge.socket" --key-file="$directory/munge.key" --pid-file="$directory/munged.pid" \
    --log-file="$directory/log/munged" --seed-file="$directory/munge.seed" --num-threads=2
  fabric run -- slurmctld -D -f "$SLURM_CONF" >log/slurmctld.out 2>&1 </dev/null &
  for node in 0 1 2 3 4 5 6 7; do
    fabric exec "n$node" -- slurmd -D -N "n$node" -f "$SLURM_CONF" >"log/slurmd.n$node.out" 2>&1 </dev/null &
  done
  until_true all_idle
}

# planned SRUN_OPTION… -- COMMAND…, native …: a job of srun, with libcoll and without.
planned() { fabric run -- timeout "$patience" "$libcoll" run -- srun "$@" </dev/null; }
native() { fabric run -- timeout "$patience" srun "$@" </dev/null; }

on_topology() { grep -qE "\($1 ranks\): served over $2 by " "$3" || fail "not served over $2: $(cat "$3")"; }

case ${case#slurm-} in
  jobs)
    start_slurm
    # One rank a node, then two: equal results, all calls served, routes followed.
    for ranks in 8 16; do
      job=("--nodes=8" "--ntasks=$ranks" "--distribution=cyclic" "$sweep" allreduce alltoall -f -m 64:65536 -g 32 -i 2 -x 1)
      planned "${job[@]}" >with.out 2>with.out.err || fail "the job on $ranks ranks failed: $(cat with.out with.out.err)"
      native "${job[@]}" >without.out 2>err || fail "the job on $ranks ranks failed natively: $(cat err)"
      same_results with.out without.out 2
      all_served with.out
      on_topology "$ranks" torus:2x2x2 with.out.err
      if grep 'not steered' with.out.err; then fail "a collective is not steered"; fi
    done
    # Nodes have their own /tmp, as machines do: srun's tasks see the one of their node.
    native --nodes=8 --ntasks=8 sh -c 'test ! -e /tmp/of_this_node && touch /tmp/of_this_node' || fail "nodes share /tmp"
    # A node that the topology does not have is named, once, and results stay right.
    sed 's/"n7"/"elsewhere"/' "$(fabric run -- printenv LIBCOLL_TOPOLOGY)" >other.toml
    LIBCOLL_TOPOLOGY=$directory/other.toml LIBCOLL_ROUTE_BINDING='' planned --nodes=8 --ntasks=8 "$sweep" allreduce -f -m 64:64 -i 2 \
      >out 2>err || fail "$(cat err)"
    [[ $(grep -c "is on 'n7', which the topology" err) == 1 ]] || fail "n7 is not named once: $(cat err)"
    grep -q 'falls through' err || fail "$(cat err)"
    # A placement file says where that one is.
    for rank in 0 1 2 3 4 5 6; do echo "rank $rank=n$rank"; done >places
    echo 'rank 7=elsewhere' >>places
    LIBCOLL_PLACEMENT=$directory/places LIBCOLL_TOPOLOGY=$directory/other.toml LIBCOLL_ROUTE_BINDING='' \
      planned --nodes=8 --ntasks=8 "$sweep" allreduce -f -m 64:64 -i 2 >placed.out 2>placed.out.err || fail "$(cat placed.out.err)"
    all_served placed.out
    ;;
  parts)
    start_slurm
    # A job on half of the nodes has a plan for these.
    planned --nodes=4 --nodelist='n[0-3]' --ntasks=4 "$sweep" allgather -f -m 64:65536 -g 32 -i 2 -x 1 >part.out 2>part.out.err ||
      fail "$(cat part.out.err)"
    all_served part.out
    on_topology 4 'torus:2x2x2 part 0-3' part.out.err
    # A task without the preload, which Slurm's PMIx tells of: nothing is served, and nobody waits.
    # shellcheck disable=SC2016 # for sh on the nodes
    planned --nodes=4 --nodelist='n[0-3]' --ntasks=4 sh -c '[ "$SLURM_PROCID" != 2 ] || unset LD_PRELOAD; exec "$@"' sh \
      "$sweep" allreduce -f -m 64:64 -i 2 -x 1 >lacking.out 2>lacking.out.err || fail "$(cat lacking.out.err)"
    grep -q 'not all ranks have libcoll .* (rank 2 on n2[^ ]* has none); every call falls through' lacking.out.err ||
      fail "nobody tells of the task without libcoll: $(cat lacking.out.err)"
    # Two at once: each begins when the other one runs.
    # shellcheck disable=SC2016 # for sh on the nodes
    both='touch "$0"; until [ -e "$1" ]; do sleep 0.1; done; shift; exec "$@"'
    for half in a b; do
      nodes='n[0-3]' other=b
      if [[ $half == b ]]; then nodes='n[4-7]' other=a; fi
      planned --nodes=4 --nodelist="$nodes" --ntasks=8 sh -c "$both" "$directory/$half.runs" "$directory/$other.runs" \
        "$sweep" allreduce -f -m 64:65536 -g 32 -i 2 -x 1 >"$half.out" 2>"$half.out.err" &
      pids[${#pids[@]}]=$!
    done
    for pid in "${pids[@]}"; do wait "$pid" || fail "$(cat a.out.err b.out.err)"; done
    for half in a b; do
      all_served "$half.out"
      # Parts that are translations of each other share a plan.
      on_topology 8 'torus:2x2x2 part 0-3' "$half.out.err"
    done
    [[ $(checksum a.out) == "$(checksum b.out)" ]] || fail "results differ"
    ;;
  batch)
    start_slurm
    # A site's modulefile: everything is in the environment, and srun is called as always.
    mkdir modules
    {
      printf '#%%Module1.0\nprepend-path LD_PRELOAD %s\n' "$library"
      fabric run -- env | sed -n 's/^\(\(OMPI\|UCX\|LIBCOLL\)_[A-Z_a-z0-9]*\)=\(.*\)/setenv \1 {\3}/p'
      printf 'setenv LIBCOLL_BACKGROUND_PLANNING no\n'
    } >modules/libcoll-site
    cat >job.sh <<END
#!/bin/bash
#SBATCH --nodes=8 --ntasks=16 --distribution=cyclic --output=$directory/batch.out
. /usr/share/modules/init/bash
module use $directory/modules
module load libcoll-site
export SLURM_EXPORT_ENV=ALL # --export=NONE of sbatch is srun's, too
srun --mpi=pmix $sweep allreduce -f -m 64:65536 -g 32 -i 2 -x 1
END
    env -i PATH="$PATH" HOME="$HOME" SLURM_CONF="$SLURM_CONF" \
      "$libcoll" fabric --name "$fabric" run -- timeout "$patience" sbatch --export=NONE --wait job.sh </dev/null ||
      fail "the batch job failed: $(cat batch.out)"
    all_served batch.out
    on_topology 16 torus:2x2x2 batch.out
    # An array: its tasks run at once, each on two nodes, and share a plan cache.
    rm -rf cache
    cat >array.sh <<END
#!/bin/bash
#SBATCH --array=0-3 --nodes=2 --ntasks=2 --output=$directory/array.%a.out
$libcoll run -- srun $sweep allgather -f -m 64:65536 -g 32 -i 2 -x 1
END
    fabric run -- timeout "$patience" sbatch --wait array.sh </dev/null || fail "the array failed: $(cat array.*.out)"
    for task in 0 1 2 3; do
      all_served "array.$task.out"
      if grep 'libcoll: warning' "array.$task.out"; then fail "task $task warns"; fi
    done
    find cache -name '.*' -type f | grep . && fail "left-overs in the cache"
    # The plans of the whole fabric, each once, and that of two neighbouring nodes.
    grep -lE 'torus:2x2x2 part' -r cache >parts || fail "no part's plan is in the cache: $(ls cache)"
    ;;
  doctor)
    start_slurm
    code=0
    fabric run -- timeout "$patience" "$libcoll" doctor --no-links -- srun --nodes=8 --ntasks=16 </dev/null >report.txt 2>err ||
      code=$?
    cat report.txt
    [[ $code == 0 ]] || fail "exit code $code: $(cat err)"
    grep -q '16 of 16 ranks on 8 hosts' report.txt || fail "$(cat report.txt)"
    : >nothing
    fabric exec n5 -- mount --bind "$directory/nothing" "$library"
    code=0
    fabric run -- timeout "$patience" "$libcoll" doctor --no-links -- srun --nodes=8 --ntasks=8 </dev/null >report.txt 2>err ||
      code=$?
    cat report.txt
    [[ $code == 1 ]] || fail "exit code $code: $(cat err)"
    grep -q '^fault: n5: libcoll is not preloaded' report.txt || fail "$(cat report.txt)"
    ;;
  mpich)
    # MPICH 4.0 speaks PMI 1, which Slurm's pmi2 knows too.
    start_slurm
    export LIBCOLL_BACKGROUND_PLANNING=no
    for shape in '4 4' '2 4'; do
      read -r nodes ranks <<<"$shape"
      job=(--mpi=pmi2 "--nodes=$nodes" "--ntasks=$ranks" "$sweep" allreduce alltoall -f -m 64:4096 -g 64 -i 2 -x 1)
      for how in native planned; do
        LD_PRELOAD=$(realpath "$for_mpich") "$how" "${job[@]}" >"$how.out" 2>"$how.out.err" ||
          fail "$how on $shape: $(cat "$how.out" "$how.out.err")"
      done
      same_results planned.out native.out 2
      all_served planned.out
      on_topology "$ranks" "torus:2x2x2 part 0-$((nodes - 1))" planned.out.err
    done
    ;;
  *) fail "wrong usage" ;;
esac
