#!/usr/bin/env bash
# The main job: unmodified programs as they are (native) and with libcoll underneath, by its default settings, 8 ranks
# on the 8 nodes of an emulated 2x2x2 torus, in turn; by size, which way libcoll went and why. Where neither root nor
# user namespaces allow a fabric, or with --local, the ranks are plain local ones.
# Fails where results differ, where calls went another way than libcoll says, or where it was not loaded.
#
#   benchmarks/main_job.sh [--local] [BUILD_FOLDER]
# shellcheck source-path=SCRIPTDIR source=../config/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../config/common.sh"

local=no
if [ "${1:-}" = --local ]; then local=yes; shift; fi
build=$(cd "${1:-$build}" 2>/dev/null && pwd -P) || fail "there is no build in ${1:-$build}; build first."
libcoll=$build/bin/libcoll
table=$root/benchmarks/sweep_table.awk
topology=torus:2x2x2
rate=1gbit        # of every link
fabric=main-job-$$
ranks=8
rounds=3          # of the sweeps each way, in turn; medians count
fft_rounds=3
limit=120         # seconds, of one run
work=$(mktemp -d)
trap 'rm -rf "$work"; [ ${#over[@]} -eq 0 ] || "$libcoll" fabric --name "$fabric" down' EXIT
export LIBCOLL_CACHE_DIR=$work/cache # as on the first day: nothing is planned or measured yet
launch=(mpirun -n "$ranks" --oversubscribe)
over=()           # what runs a command over the fabric
quiet_waits=()
planning=(--topology "$topology")
collectives=(allreduce alltoall allgather)
sweep_options=(-f -m 64:1048576 -g 4 -i 50 -x 5)

# Brings the fabric up with the routes of the all-to-all plan, or says why not.
use_fabric() {
  local said
  if [ "$local" = yes ]; then
    said='--local was given'
  elif said=$("$libcoll" fabric --name "$fabric" up "$topology" --rate "$rate" --routes auto --share "$work" 2>&1); then
    printf '\nOn an emulated fabric: %s\n' "$said"
    printf '8 nodes share %d processors: both ways, a rank that yields sleeps 50 us (yield_sleep.so).\n' "$(nproc)"
    over=("$libcoll" fabric --name "$fabric" run --)
    planning=()   # the fabric says what it is
    launch=(mpirun -n "$ranks")
    # Waiting ranks of plain MPI would take the cores that carry the links from those that have work, both ways.
    quiet_waits=(env "LD_PRELOAD=$build/lib/yield_sleep.so")
    return
  fi
  printf '\nWithout an emulated fabric (%s): plain local ranks instead.\n' "${said#libcoll: }"
}

# native|with_libcoll NAME PROGRAM…: runs in the current folder; output to NAME.native or NAME.libcoll, seconds beside it.
native() { run "$1" native "${over[@]}" "${quiet_waits[@]}" "${launch[@]}" "${@:2}"; }
with_libcoll() {
  LIBCOLL_LOG_LEVEL=info run "$1" libcoll "${over[@]}" "${quiet_waits[@]}" "$libcoll" run "${planning[@]}" \
    "--stats=json:$work/$1.json" -- "${launch[@]}" "${@:2}"
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

# ---- what the statistics say

# choices NAME COLLECTIVE: "SIZE use algorithm chosen-by calls" by line, tabs between; the way of most calls of a size.
choices() {
  jq -r --arg call "$2" '[.communicators[] | select(.name == "MPI_COMM_WORLD") | .collectives[$call].choices // [] | .[] |
      . as $choice | .sizes[] | {bytes_from, calls, use: $choice.use, algorithm: $choice.algorithm, chosen_by: $choice.chosen_by}] |
    group_by(.bytes_from) | .[] | max_by(.calls) | [.bytes_from, .use, .algorithm, .chosen_by, .calls] | @tsv' "$work/$1.json"
}

# served NAME COLLECTIVE: "SIZE SERVED" by line.
served() {
  jq -r --arg call "$2" '[.communicators[] | select(.name == "MPI_COMM_WORLD") | .collectives[$call].choices // [] | .[] |
      . as $choice | .sizes[] | {bytes_from, served: (if $choice.use == "native" then 0 else .calls end)}] |
    group_by(.bytes_from) | .[] | [.[0].bytes_from, (map(.served) | add)] | @tsv' "$work/$1.json"
}

# What the cost model keeps, as JSON.
kept_choices() {
  "${over[@]}" "$libcoll" run "${planning[@]}" -- sh -c "'$libcoll' info --json --choices \"\$LIBCOLL_TOPOLOGY\"" 2>"$work/kept.errors"
}

# kept_use COLLECTIVE SIZE: the way that the cost model keeps for such calls; nothing where it keeps none.
kept_use() {
  jq -r --arg call "$1" --argjson bytes "$2" --argjson ranks "$ranks" '[.choices.jobs[] | select(.ranks == $ranks) | .choices[] |
    select(.call == $call and (.up_to_bytes == null or .up_to_bytes >= $bytes))] | min_by(.up_to_bytes // infinite) | .use // ""' \
    "$work/kept.json"
}

require_statistics() { jq -e .collectives "$work/$1.json" >/dev/null 2>&1 || fail "$1: libcoll left no statistics; was it loaded?"; }

# require_as_said RUN COLLECTIVE NAME: what the program saw served, by size, is what the statistics say and what the cost
# model keeps.
require_as_said() {
  local run=$1 call=$2 name=$3 size seen said use kept
  choices "$run" "$call" >"$work/$name.choices"
  served "$run" "$call" >"$work/$name.served"
  while read -r size seen; do
    said=$(awk -v size="$size" '$1 == size { print $2 }' "$work/$name.served")
    use=$(awk -F '\t' -v size="$size" '$1 == size { print $2 }' "$work/$name.choices")
    [ "$seen" = "$said" ] || fail "$name: $seen calls of $size bytes were served, and the statistics say ${said:-nothing}."
    if [ "$use" != native ] && [ "$seen" -eq 0 ]; then fail "$name: libcoll claims $use at $size bytes and served nothing."; fi
    kept=$(kept_use "$call" "$size")
    [ -z "$kept" ] || [ "$kept" = "$use" ] || fail "$name: calls of $size bytes went by $use, and the cost model keeps $kept."
  done < <(awk '!/^#/ && NF > 6 { print $1, $6 }' "$work/$name.libcoll")
  jq -e --arg call "$call" '.communicators[] | select(.name == "MPI_COMM_WORLD") | (.collectives[$call].choices | any(.use == "plan")) as $used |
    ([.plans[] | select(.collective == $call) | .rounds] | add // 0) as $rounds | ($used | not) or $rounds > 0' "$work/$run.json" >/dev/null ||
    fail "$name: the statistics have calls by a plan, and no plan was run."
}

# What the cost model saw of each way, from the log of the run that measured: "SIZE WAY MICROSECONDS" by line.
measured() {
  sed -n "s/.*MPI_COMM_WORLD: $2 measured, in microseconds: //p" "$work/$1.libcoll.errors" |
    awk -v RS=';' '{ sub(/ bytes:/, ","); count = split($0, part, ","); for (i = 2; i <= count; ++i) { split(part[i], word, " "); print part[1] + 0, word[1], word[2] } }'
}

# ---- the sweeps

# split_sweeps ROUND WAY: the output of one run by collective.
split_sweeps() {
  awk -v folder="$work" -v ending="$1.$2" '/^# MPI_/ { file = folder "/" tolower(substr($2, 5)) "." ending } file != "" { print >file }' \
    "$work/sweeps.$1.$2"
}

# All of them in one run, again and again; each round checked.
run_sweeps() {
  local round name
  for ((round = 1; round <= rounds; ++round)); do
    native "sweeps.$round" "$build/bin/collective_sweep" "${sweep_options[@]}" "${collectives[@]}"
    with_libcoll "sweeps.$round" "$build/bin/collective_sweep" "${sweep_options[@]}" "${collectives[@]}"
    require_statistics "sweeps.$round"
    split_sweeps "$round" native
    split_sweeps "$round" libcoll
    kept_choices >"$work/kept.json" || fail "libcoll info --choices failed: $(cat "$work/kept.errors")"
    for name in "${collectives[@]}"; do
      require_same "$name" "$(value "$name.$round.native" Checksum)" "$(value "$name.$round.libcoll" Checksum)"
      require_as_said "sweeps.$round" "$name" "$name.$round"
    done
  done
}

print_sweep() {
  local name=$1 round arguments=()
  for ((round = 1; round <= rounds; ++round)); do
    arguments+=(kind=native "$work/$name.$round.native" kind=libcoll "$work/$name.$round.libcoll")
  done
  measured sweeps.1 "$name" >"$work/$name.measured"
  printf '\nMPI_%s, medians of %d runs each way; ratio: native / libcoll\n' "${name^}" "$rounds"
  sed -n "s/^libcoll\[0\]: info: MPI_COMM_WORLD: $name by the cost model, \(.*\), as measured in \([0-9.]*\) s: \(.*\)/The cost model measured for \2 s (\1): \3./p" \
    "$work/sweeps.1.libcoll.errors"
  awk -v slow_rows="$work/slow" -f "$table" "${arguments[@]}" kind=choices "$work/$name.$rounds.choices" kind=measured "$work/$name.measured"
  printf 'Results equal: checksum %s. %s.\n' "$(value "$name.1.native" Checksum)" \
    "$(sed -n 's/^# \(Served by libcoll: .* calls\).*/\1/p' "$work/$name.$rounds.libcoll")"
}

# ---- the 3D FFT

median() { sort -g | awk '{ value[NR] = $1 } END { printf "%.3f", value[int((NR + 1) / 2)] }'; }

fft_times() { for ((round = 1; round <= fft_rounds; ++round)); do value "$1.$round.$2" Time; done | awk '{ print $1 * 1000 }'; }
run_times() { cat "$work/$1".*."$2.seconds"; }

fft_row() { printf '%-28s %11s %11s %7s  %s\n' "$@"; }

in_order() { sort -g <<<"$1" | paste -s -d ' '; }

# Of two lists of times, the second of which has the larger median.
overlap() {
  if awk -v a="$(sort -g <<<"$1" | tail -n 1)" -v b="$(sort -g <<<"$2" | head -n 1)" 'BEGIN { exit !(a >= b) }'; then
    printf 'the runs overlap'
  else
    printf 'the runs do not overlap'
  fi
}

# fft_figures LABEL NATIVE LIBCOLL NOTE: two lists of times, their medians and ratio; the note where libcoll is slower.
fft_figures() {
  local native libcoll
  native=$(median <<<"$2")
  libcoll=$(median <<<"$3")
  fft_row "$1" "$native" "$libcoll" "$(awk -v a="$native" -v b="$libcoll" 'BEGIN { printf "%.2f", a / b }')" ''
  if awk -v a="$native" -v b="$libcoll" 'BEGIN { exit !(a < 0.95 * b) }'; then
    printf '%8s slower than 0.95 x native: %s; native %s, libcoll %s%s\n' '' "$(overlap "$2" "$3")" "$(in_order "$2")" \
      "$(in_order "$3")" "$4"
    echo 1 >>"$work/slow"
  fi
}

fft() {
  local name=$1 round phase
  for ((round = 1; round <= fft_rounds; ++round)); do
    native "$name.$round" "$build/bin/$name" "${@:2}"
    with_libcoll "$name.$round" "$build/bin/$name" "${@:2}"
    require_same "$name" "$(value "$name.$round.native" Checksum)" "$(value "$name.$round.libcoll" Checksum)"
    require_statistics "$name.$round"
  done
  printf '\n%s, %d ranks on %s, medians of %d runs each way in turn\n' "$(sed -n '1s/^# //p' "$work/$name.1.native")" "$ranks" "$topology" "$fft_rounds"
  fft_row '' native libcoll ratio ''
  fft_figures 'whole pair of transforms, ms' "$(fft_times "$name" native)" "$(fft_times "$name" libcoll)" ''
  fft_figures 'from launch to exit, s' "$(run_times "$name" native)" "$(run_times "$name" libcoll)" \
    '; starting and setting up counted'
  for phase in FFT pack all-to-all unpack; do
    [ -n "$(value "$name.1.native" "Time in $phase")" ] || continue
    fft_row "  of it $phase, us" "$(value "$name.$fft_rounds.native" "Time in $phase")" "$(value "$name.$fft_rounds.libcoll" "Time in $phase")" '' '(last run)'
  done
  choices "$name.$fft_rounds" alltoall | awk -F '\t' '{ printf "Its %d all-to-alls of %d bytes went by %s (%s).\n", $5, $1, $2 ($3 == "" ? "" : " " $3), $4 }'
}

command -v mpirun jq >/dev/null || fail 'mpirun or jq is missing; config/install_packages.sh installs them.'
for file in libcoll collective_sweep fft3d_slab_alltoall; do
  [ -x "$build/bin/$file" ] || fail "$build/bin/$file is missing; build first."
done
cd "$work" || exit 1
: >"$work/slow"

use_fabric
run_sweeps
for collective in "${collectives[@]}"; do print_sweep "$collective"; done
fft fft3d_slab_alltoall 64 50
printf '\nAll results are equal. Rows slower than 0.95 x native: %d.\n' "$(awk '{ sum += $1 } END { print sum + 0 }' "$work/slow")"
