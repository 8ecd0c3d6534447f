#!/usr/bin/env bash
# Sums have the same bits in every run, with default settings, whatever the machine has to do besides.
#   [LAUNCHER=COMMAND] same_bits.sh LIBCOLL PROGRAM RUNS LARGEST_BYTES TOPOLOGY RANKS [NAME=VALUE …]
# Every run has fresh caches; every other one makes its plans while it runs, and every third one has the processors to
# itself.
set -euo pipefail

fail() {
  echo "same_bits.sh: $*" >&2
  exit 1
}

[[ $# -ge 6 ]] || fail "wrong usage"
libcoll=$(realpath "$1") program=$(realpath "$2") runs=$3 largest=$4 topology=$5 ranks=$6
read -ra launcher <<<"${LAUNCHER:-mpirun --oversubscribe}"
shift 6

for name in "${!LIBCOLL_@}"; do unset "$name"; done
directory=$(mktemp -d)
load=()
stop_load() {
  for process in "${load[@]}"; do kill "$process" 2>/dev/null || true; done
  load=()
}
clean_up() {
  stop_load
  rm -rf "$directory"
}
trap clean_up EXIT

cd "$directory"
for ((run = 0; run < runs; ++run)); do
  mkdir "cache$run" "session$run"
  options=()
  if ((run % 2 == 1)); then options+=(--no-plan); fi
  if ((run % 3 != 0)); then
    for ((busy = 0; busy <= run % 3; ++busy)); do
      while :; do :; done &
      load+=($!)
    done
  fi
  env TMPDIR="$directory/session$run" XDG_CONFIG_HOME="$directory" LIBCOLL_CACHE_DIR="$directory/cache$run" \
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$@" \
    timeout -k 5 300 "$libcoll" run "${options[@]}" --topology "$topology" -- \
    "${launcher[@]}" -n "$ranks" "$program" "$largest" </dev/null >>bits || fail "run $run failed"
  stop_load
  rm -rf "cache$run" "session$run"
done
differing=$(sort -u bits | cut -d' ' -f1,2 | uniq -d)
[[ -z $differing ]] || fail "in $runs runs other bits: $differing"
sizes=$(sort -u bits | wc -l)
((sizes > 0)) || fail "nothing was said"
echo "$sizes calls and sizes had the same bits in $runs runs"
