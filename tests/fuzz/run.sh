#!/usr/bin/env bash
# Fuzzes every reader of files for SECONDS each (default 600), one process per processor: tests/fuzz/run.sh [SECONDS].
# What is found lies in build-fuzz/findings; ends with one line per target and exit code 1 when there is any.
set -u
seconds=${1:-600}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
targets=(topology specification schedule binding config cache tuning exchange placement doctor)
command -v clang++ >/dev/null || { echo 'tests/fuzz/run.sh: clang++ is missing (Debian: clang)' >&2; exit 2; }
(cd "$root" && cmake --preset fuzz >/dev/null && cmake --build --preset fuzz --target "${targets[@]/#/fuzz_}") || exit 2
findings=$root/build-fuzz/findings
mkdir -p "$findings"
status=0
for target in "${targets[@]}"; do
  corpus=$root/build-fuzz/corpus/$target
  mkdir -p "$corpus"
  log=$root/build-fuzz/$target.log
  if "$root/build-fuzz/bin/fuzz_$target" "$corpus" "$root/tests/fuzz/corpus/$target" -max_total_time="$seconds" \
    -fork="$(nproc)" -timeout=25 -rss_limit_mb=4096 -max_len=65536 -artifact_prefix="$findings/$target-" >"$log" 2>&1; then
    printf '%s: no finding in %s s; %s\n' "$target" "$seconds" "$(grep -o 'cov: [0-9]* .*corp: [0-9]*' "$log" | tail -n 1)"
  else
    printf '%s: FINDING, see %s and %s\n' "$target" "$log" "$findings"
    status=1
  fi
done
exit "$status"
