#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests: format, all of ctest, sanitizers on a subset, clang-tidy.
# Ends with one line: N passed, N failed, N skipped.
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

jobs=$(nproc)
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
problems=()

# Every source of ours, tracked or new, as NUL-separated paths relative to the root.
sources() {
  (cd "$root" && find benchmarks libcoll planner pmpi tests \( -name '*.cpp' -o -name '*.h' -o -name '*.c' \) -print0)
}

# Lists the files that clang-format would change.
check_format() {
  (cd "$root" && sources | xargs -0 clang-format --dry-run -Werror 2>&1 | sed -n 's/^\([^: ]*\):[0-9].*/\1/p' | sort -u | tee /dev/stderr | wc -l | grep -x 0)
}

# Sources of the build, many in one where it compiles them so, without others it generates.
check_tidy() {
  local commands=$root/build-tidy
  configure tidy && (cd "$root" && jq -r '.[].file' "$commands/compile_commands.json" | grep -v "^$commands/.*\.cpp$\|\.[fF]90$" | sort -u |
    xargs -d '\n' -P "$jobs" -n 1 clang-tidy -p "$commands" --quiet 2>&1 | sed '/ warnings\? generated/d')
}

# build_with PRESET [TARGET…]
build_with() {
  local preset=$1
  shift
  configure "$preset" && (cd "$root" && cmake --build --preset "$preset" ${1:+--target "$@"})
}

# run_tests NAME FOLDER CTEST_OPTIONS…: leaves NAME.xml and NAME.log in the results.
run_tests() {
  local name=$1 folder=$2 status=0
  shift 2
  ctest --test-dir "$folder" --output-on-failure --no-tests=error --output-junit "$results/$name.xml" "$@" || status=$?
  cp "$folder/Testing/Temporary/LastTest.log" "$results/$name.log" 2>/dev/null
  return "$status"
}

unit_targets() { (shopt -s nullglob && cd "$root/tests/unit" && for file in $1; do printf '%s\n' "${file%.cpp}"; done); }
labelled() { ctest --test-dir "$1" -N -L "$2" | sed -n 's/^Total Tests: //p'; }

# attribute NAME: its sum over everything that ran.
attribute() {
  cat "$results"/*.xml 2>/dev/null | awk -F'"' -v name="$1" '$1 ~ "^[ \t]*" name "=$" { sum += $2 } END { print sum + 0 }'
}

# Tests inside an executable that skipped themselves: ctest does not see them.
skipped_inside() { cat "$results"/*.log 2>/dev/null | grep -c '^\[  SKIPPED \] .* ms)$'; }

note() { problems+=("$1"); }

"$root/config/install_packages.sh" || exit 1
step 'Checking the format' check_format || note 'format'
step 'Building' build_with developer || fail 'the build failed; see above.'
step 'Unit tests' run_tests unit "$build" -L unit -j "$jobs" || note 'unit tests'
if [ "$(ctest --test-dir "$build" -N -LE unit | sed -n 's/^Total Tests: //p')" != 0 ]; then
  step 'Multi-process and other tests' run_tests other "$build" -LE unit || note 'multi-process tests'
fi

mapfile -t asan_targets < <(unit_targets '*_test.cpp')
[ "$(labelled "$build" '^multiprocess-small$')" = 0 ] || asan_targets=(all)
step 'Building with ASan and UBSan' build_with asan "${asan_targets[@]}" || fail 'the build with ASan failed; see above.'
step 'Tests with ASan and UBSan' run_tests asan "$root/build-asan" -L '^(unit|multiprocess-small)$' -j "$jobs" ||
  note 'tests with ASan and UBSan'

mapfile -t tsan_targets < <(unit_targets '*threads*_test.cpp')
if [ ${#tsan_targets[@]} -gt 0 ]; then
  step 'Building with TSan' build_with tsan "${tsan_targets[@]}" multiprocess_of_threads || fail 'the build with TSan failed; see above.'
  # UCX's hook on madvise takes a lock while a thread ends, when TSan has let go of that thread: a crash in TSan itself.
  UCX_MEM_MMAP_HOOK_MODE=none step 'Tests with TSan' run_tests tsan "$root/build-tsan" -L '^(threads|multiprocess-threads)$' -j "$jobs" ||
    note 'tests with TSan'
else
  note 'there is no test of threads'
fi

step 'clang-tidy' check_tidy || note 'clang-tidy'

failed=$(attribute failures)
outside=$(($(attribute skipped) + $(attribute disabled)))
passed=$(($(attribute tests) - failed - outside))
skipped=$((outside + $(skipped_inside)))
if [ "$skipped" -gt 0 ] && [ "${CI:-}" = true ]; then note 'skipped tests'; fi
if [ "$passed" -eq 0 ]; then note 'no test ran'; fi
if [ ${#problems[@]} -gt 0 ]; then
  printf 'Not good:%s.\n' "$(printf ' %s;' "${problems[@]}" | sed 's/;$//')"
fi
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ ${#problems[@]} -eq 0 ]
