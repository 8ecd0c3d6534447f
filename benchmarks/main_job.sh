#!/usr/bin/env bash
# The main job: every program once as it is (native) and once with libcoll underneath, 8 ranks on the 8 nodes of an
# emulated 2x2x2 torus, side by side. Where neither root nor user namespaces allow one, the ranks are plain local ones.
# Fails where results differ or where libcoll served nothing.
#
#   benchmarks/main_job.sh [BUILD_FOLDER]
# shellcheck source-path=SCRIPTDIR source=../config/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../config/common.sh"

build=$(cd "${1:-$build}" 2>/dev/null && pwd -P) || fail "there is no build in ${1:-$build}; build first."
libcoll=$build/bin/libcoll
topology=torus:2x2x2
rate=1gbit        # of every link; hpcc's 2 MB messages would take minutes on slower ones
fabric=main-job-$$
ranks=8
rounds=2          # of each program each way, alternating; the better time counts
limit=180         # seconds, of one run
work=$(mktemp -d)
trap 'rm -rf "$work"; [ ${#over[@]} -eq 0 ] || "$libcoll" fabric --name "$fabric" down' EXIT
export LIBCOLL_CACHE_DIR=$work/cache LIBCOLL_COST_MODEL=no # plans are what is shown
launch=(mpirun -n "$ranks" --oversubscribe)
over=()           # what runs a command over the fabric
quiet_waits=()
planning=(--topology "$topology")
sweep_options=(-f)

# Brings the fabric up with the routes of the all-to-all plan, or says why not.
use_fabric() {
  local said
  if said=$("$libcoll" fabric --name "$fabric" up "$topology" --rate "$rate" --routes auto 2>&1); then
    printf '\nOn an emulated fabric: %s\n' "$said"
    over=("$libcoll" fabric --name "$fabric" run --)
    planning=()   # the fabric says what it is
    launch=(mpirun -n "$ranks")
    # Waiting ranks of plain MPI would take the cores that carry the links from those that have work, both ways.
    quiet_waits=(env "LD_PRELOAD=$build/lib/yield_sleep.so")
    sweep_options=(-f -i 5 -x 2 -m 64:1048576)
  else
    printf '\nWithout an emulated fabric (%s): plain local ranks instead.\n' "${said#libcoll: }"
  fi
}

# native|planned NAME PROGRAM…: runs in the current folder; output to NAME.native or NAME.planned and seconds beside it.
native() { run "$1" native "${over[@]}" "${quiet_waits[@]}" "${launch[@]}" "${@:2}"; }
planned() {
  LIBCOLL_STATS=json:$work/$1.json run "$1" planned "${over[@]}" "${quiet_waits[@]}" "$libcoll" run "${planning[@]}" -- \
    "${launch[@]}" "${@:2}"
}

run() {
  local name=$1 way=$2 status=0 started=$EPOCHREALTIME
  shift 2
  timeout -k 10 "$limit" "$@" >"$work/$name.$way" 2>"$work/$name.$way.errors" </dev/null || status=$?
  awk -v from="$started" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.2f\n", to - from }' >"$work/$name.$way.seconds"
  if grep 'not steered' "$work/$name.$way.errors"; then fail "$name ($way): the fabric does not have the plan's routes."; fi
  [ "$status" -eq 0 ] && return
  tail -n 20 "$work/$name.$way" "$work/$name.$way.errors" >&2
  if [ "$status" -ge 124 ]; then fail "$name ($way) was stopped after $limit s."; fi
  fail "$name ($way) ended with exit code $status."
}

# value NAME.WAY LABEL: what follows "# LABEL: " in an output, up to the first blank.
value() { sed -n "s/^# $2: \([^ ]*\).*/\1/p" "$work/$1"; }

require_same() {
  if [ -z "$2" ] || [ "$2" != "$3" ]; then fail "$1: the results differ, native \"$2\", with libcoll \"$3\"."; fi
}

# From the statistics of one run: calls served, and all calls, of a collective.
served() { jq -r ".collectives.$2.served // 0" "$work/$1.json"; }
calls() { jq -r ".collectives.$2 | (.served // 0) + (.fallen_through // 0)" "$work/$1.json"; }
why_not() { jq -c '.reasons // {}' "$work/$1.json"; }

require_statistics() { jq -e .collectives "$work/$1.json" >/dev/null 2>&1 || fail "$1: libcoll left no statistics; was it loaded?"; }

require_served() {
  [ "$(served "$1" "$2")" -gt 0 ] || fail "$1: libcoll served no $2; reasons it gives: $(why_not "$1")"
}

# ---- the sweeps

# Least average time of every size over the rounds of one way, "SIZE TIME" by line.
least_times() {
  cat "$work/$1".*."$2" | awk '!/^#/ && NF > 1 { if (!($1 in t) || $2 < t[$1]) t[$1] = $2 } END { for (s in t) print s, t[s] }' | sort -n
}

# "SIZE SERVED CALLS" by line, of the first round.
served_by_size() { awk '!/^#/ && NF > 6 { print $1, $6, $7 }' "$work/$1.1.planned"; }

sweep() {
  local name=$1 round
  for ((round = 1; round <= rounds; ++round)); do
    native "$name.$round" "$build/bin/collective_sweep" "$name" "${sweep_options[@]}"
    planned "$name.$round" "$build/bin/collective_sweep" "$name" "${sweep_options[@]}"
    require_same "$name" "$(value "$name.$round.native" Checksum)" "$(value "$name.$round.planned" Checksum)"
    grep -q '^# Served' "$work/$name.$round.planned" || fail "$name: libcoll was not loaded."
  done
  print_sweep "$name"
}

print_sweep() {
  local name=$1
  printf '\nMPI_%s, %d ranks on %s\n' "${name^}" "$ranks" "$topology"
  "$libcoll" plan "$topology" "$name" | grep -E ' by |T_L|T_B|  F  '
  printf '%10s %14s %14s %15s %9s %15s\n' size 'native us' 'libcoll us' native/libcoll checked served/calls
  join <(least_times "$name" native | sort) <(least_times "$name" planned | sort) | join - <(served_by_size "$name" | sort) | sort -n |
    awk '{ printf "%10d %14.1f %14.1f %15.2f %9s %15s\n", $1, $2, $3, $2 / $3, "yes", $4 "/" $5 }'
  printf 'Results equal: checksum %s. %s.\n' "$(value "$name.1.native" Checksum)" \
    "$(sed -n 's/^# \(Served by libcoll: .* calls\).*/\1/p' "$work/$name.1.planned")"
  if served_by_size "$name" | awk '$2 == 0 { found = 1 } END { exit !found }'; then
    fail "$name: libcoll served no call at some size."
  fi
}

# ---- the programs

program_row() { printf '%-20s %12s %12s   %-8s %s\n' "$@"; }

fft() {
  local name=$1 round
  for ((round = 1; round <= rounds; ++round)); do
    native "$name" "$build/bin/$name" "${@:2}"
    value "$name.native" Time >>"$work/$name.native.times"
    planned "$name" "$build/bin/$name" "${@:2}"
    value "$name.planned" Time >>"$work/$name.planned.times"
    require_same "$name" "$(value "$name.native" Checksum)" "$(value "$name.planned" Checksum)"
  done
  require_statistics "$name"
}

run_hpcc() {
  local way
  for way in native planned; do
    mkdir -p "$work/$way"
    cp "$root/config/hpcc/hpccinf.txt" "$work/$way/"
    cd "$work/$way" || exit 1
    $way hpcc hpcc
    awk -f "$root/config/hpcc/verdict.awk" hpccoutf.txt >"$work/hpcc.$way"
  done
  cd "$work" || exit 1
  require_statistics hpcc
  require_same hpcc "$(cat "$work/hpcc.native")" "$(cat "$work/hpcc.planned")"
  grep -q '^Success=1, [1-9][0-9]* passed, 0 failed, STREAM valid, MPIFFT exact$' "$work/hpcc.planned" ||
    fail "hpcc: not all of its own checks passed: $(cat "$work/hpcc.planned")"
}

# hpcc_figure WAY NAME: from what hpcc wrote.
hpcc_figure() { sed -n "s/^$2=//p" "$work/$1/hpccoutf.txt"; }

# Every collective a program called, "allreduce 12/12, …".
all_served() {
  local collective list=''
  for collective in allreduce alltoall allgather; do
    [ "$(calls "$1" "$collective")" -eq 0 ] || list+="${list:+, }$collective $(served "$1" "$collective")/$(calls "$1" "$collective")"
  done
  printf '%s' "$list"
}

milliseconds() { sort -g "$1" | awk 'NR == 1 { printf "%.1f ms", $1 * 1000 }'; }

print_programs() {
  local name
  printf '\nUnmodified programs, %d ranks on %s\n' "$ranks" "$topology"
  program_row program native libcoll results 'served/calls'
  program_row hpcc "$(cat "$work/hpcc.native.seconds") s" "$(cat "$work/hpcc.planned.seconds") s" equal "$(all_served hpcc)"
  for name in fft3d_slab_fftw fft3d_slab_alltoall; do
    program_row "$name" "$(milliseconds "$work/$name.native.times")" "$(milliseconds "$work/$name.planned.times")" \
      equal "$(all_served "$name")"
  done
  printf 'hpcc: %s.\n' "$(cat "$work/hpcc.planned")"
  printf 'hpcc, native and libcoll: MPIFFT %s and %s Gflop/s, PTRANS %s and %s Gbyte/s.\n' \
    "$(hpcc_figure native MPIFFT_Gflops)" "$(hpcc_figure planned MPIFFT_Gflops)" \
    "$(hpcc_figure native PTRANS_GBs)" "$(hpcc_figure planned PTRANS_GBs)"
  sed -n 's/^# Transposes: /fft3d_slab_fftw with libcoll: transposes /p' "$work/fft3d_slab_fftw.planned"
}

print_phases() {
  printf '\nPhases of fft3d_slab_alltoall\n%-20s %12s %12s\n' '' native libcoll
  local phase
  for phase in FFT pack all-to-all unpack; do
    printf '%-20s %9s us %9s us\n' "$phase" "$(value fft3d_slab_alltoall.native "Time in $phase")" \
      "$(value fft3d_slab_alltoall.planned "Time in $phase")"
  done
}

command -v mpirun hpcc jq >/dev/null || fail 'mpirun, hpcc or jq is missing; config/install_packages.sh installs them.'
for file in libcoll collective_sweep fft3d_slab_fftw fft3d_slab_alltoall; do
  [ -x "$build/bin/$file" ] || fail "$build/bin/$file is missing; build first."
done
cd "$work" || exit 1

use_fabric
for collective in allreduce alltoall allgather; do sweep "$collective"; done
run_hpcc
fft fft3d_slab_fftw
fft fft3d_slab_alltoall 64 100   # so often that what is set up at the first call does not count
print_programs
print_phases
require_served hpcc allreduce
require_served hpcc alltoall
require_served fft3d_slab_fftw allreduce
require_served fft3d_slab_fftw alltoall
require_served fft3d_slab_alltoall alltoall
printf '\nAll results are equal, and libcoll served calls of every program.\n'
