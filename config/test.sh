#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests. Ends with one line: N passed, N failed, N skipped.
#
#   config/test.sh [--all]
#     --all  what a release needs besides: messages above 2 GiB, fuzzing, unit tests of the optimised build, every source
#            compiled by itself, clang-tidy on everything instead of on what changed since the last release, the planner
#            and the command under ASan and UBSan
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

jobs=$(nproc)
fuzz_seconds=60
results=$(mktemp -d)
background=
trap '[ -z "$background" ] || kill -- "-$background" 2>/dev/null; rm -rf "$results"' EXIT
problems=() times=() all=no
borrowed=$build  # the build whose planner and command the sanitizers' builds use; with --all they have their own
case ${1:-} in
  '') ;;
  --all) all=yes borrowed= ;;
  *) fail "wrong usage: found '$1', expected --all or nothing." ;;
esac

note() { problems+=("$1"); }

# part TITLE COMMAND…: a step whose time is in the list at the end.
part() {
  local started=$SECONDS status=0
  step "$@" || status=$?
  times+=("$(printf '%6d s  %s' $((SECONDS - started)) "$1")")
  return "$status"
}

# Every source of ours, tracked or new, as NUL-separated paths relative to the root.
sources() {
  (cd "$root" && find benchmarks libcoll planner pmpi tests \( -name '*.cpp' -o -name '*.h' -o -name '*.c' \) -print0)
}

# Lists the files that clang-format would change.
check_format() {
  (cd "$root" && sources | xargs -0 clang-format --dry-run -Werror 2>&1 | sed -n 's/^\([^: ]*\):[0-9].*/\1/p' | sort -u | tee /dev/stderr | wc -l | grep -x 0)
}

# The commit that gave the project its present version number; nothing where the history is not there.
last_release() { git -C "$root" log -1 --format=%H -G'^project\(libcoll VERSION' -- CMakeLists.txt 2>/dev/null; }

# changed_files SINCE: those in which more changed than what they include, their namespaces, and where they are.
changed_files() {
  local added deleted file
  git -C "$root" diff -M --numstat -z --diff-filter=d -I'^(#include|using namespace|namespace|}  // namespace) ' "$1" -- '*.cpp' '*.c' '*.h' |
    while IFS=$'\t' read -r -d '' added deleted file; do
      if [ -z "$file" ]; then read -r -d '' && read -r -d '' file; fi # renamed: its name before, and now
      if [ $((added + deleted)) -gt 0 ]; then printf '%s\n' "$file"; fi
    done
}

# Sources that changed since the last release, and for each header that did its own source, or one that includes it.
changed_sources() {
  local release file
  release=$(last_release)
  [ -n "$release" ] || { (cd "$root" && git ls-files '*.cpp' '*.c'); return; }
  { changed_files "$release" && git -C "$root" ls-files --others --exclude-standard '*.cpp' '*.c' '*.h'; } |
    while read -r file; do
      case $file in
        *.h) if [ -f "$root/${file%.h}.cpp" ]; then echo "${file%.h}.cpp"; else
               (cd "$root" && grep -rlF --include='*.cpp' --include='*.c' "\"$file\"" benchmarks libcoll planner pmpi tests | head -n 1); fi ;;
        *) echo "$file" ;;
      esac
    done | sort -u
}

# check_tidy everything|changed: all checks on everything; without the static analyzer, which takes more than half of the
# time, on what changed. Many sources are read as the build compiles them, several in one, all of which are read then.
# What was clean before is not read again.
check_tidy() {
  local commands=$root/build-tidy many=60 unity=ON checks=()
  if [ "$1" = changed ]; then
    sed '/^  clang-analyzer-\*,$/d' "$root/.clang-tidy" >"$results/checks"
    checks=(--config-file="$results/checks")
    changed_sources >"$results/changed"
    if [ "$(wc -l <"$results/changed")" -le "$many" ]; then unity=OFF; fi
  fi
  configure tidy -DLIBCOLL_UNITY="$unity" || return
  jq -r '.[].file' "$commands/compile_commands.json" | grep -v "^$commands/.*\.cpp$\|\.[fF]90$" | sort -u >"$results/chosen"
  if [ "$1" = changed ]; then
    sed "s|^|$root/|" "$results/changed" | sort >"$results/changed_paths"
    # Sources that are compiled by themselves, and those of several that include one.
    { comm -12 "$results/changed_paths" "$results/chosen" && grep "^$commands/" "$results/chosen" | xargs -r -d '\n' grep -lFf "$results/changed_paths"; } |
      sort >"$results/both"
    mv "$results/both" "$results/chosen"
  fi
  printf '%d files\n' "$(wc -l <"$results/chosen")"
  (cd "$root" && run_clang xargs -r -d '\n' -a "$results/chosen" -P "$jobs" -n 1 config/tidy_unit.sh "$commands" "${checks[@]}")
}

# Clang asks for memory in small steps: huge pages save it most page faults. (gcc gets slower.)
run_clang() { GLIBC_TUNABLES=glibc.malloc.hugetlb=1 "$@"; }

# build_with PRESET [TARGET…]
build_with() {
  local preset=$1
  shift
  configure "$preset" && (cd "$root" && cmake --build --preset "$preset" ${1:+--target "$@"})
}

# begin COMMAND…: one command that takes what the parts beside it leave of the processors. finish: waits for it.
begin() {
  set -m # a process group of its own
  (renice -n 19 "$BASHPID" && "$@") >"$results/background" 2>&1 </dev/null &
  background=$!
  set +m
}
finish() {
  local status=0
  wait "$background" || status=$?
  background=
  cat "$results/background"
  return "$status"
}

# run_tests NAME FOLDER CTEST_OPTIONS…: leaves NAME.xml and NAME.cases/ in the results.
run_tests() {
  local name=$1 folder=$2 status=0
  shift 2
  mkdir -p "$results/$name.cases"
  rm -rf "$folder/Testing/cases"
  ctest --test-dir "$folder" --output-on-failure --no-tests=error \
    --output-junit "$results/$name.xml" -j "$jobs" "$@" || status=$?
  cp "$folder"/Testing/cases/* "$results/$name.cases/" 2>/dev/null
  return "$status"
}

build_with_asan() {
  configure asan -DLIBCOLL_PLANNER_BUILD="$borrowed" -DLIBCOLL_TEST_COMMAND="${borrowed:+$borrowed/bin/libcoll}" && (cd "$root" && cmake --build --preset asan --target sanitized_tests)
}

build_with_tsan() {
  configure tsan -DLIBCOLL_PLANNER_BUILD="$borrowed" && (cd "$root" && cmake --build --preset tsan --target unit_threads multiprocess_of_threads)
}

build_with_sanitizers() { run_clang build_with_asan && build_with_tsan; }

# What goes on beside the tests: builds for those that follow and, unless all sources are read, clang-tidy.
beside_tests() {
  build_with_sanitizers || return
  if [ "$all" = no ]; then
    local status=0
    check_tidy changed >"$results/tidy" 2>&1 || status=$?
    echo "$status" >"$results/tidy_status"
  fi
  build_aarch64
}
found_by_tidy() { cat "$results/tidy" && return "$(cat "$results/tidy_status")"; }

# The runtime's unit tests, and jobs that libcoll serves; the tests run under qemu.
build_aarch64() {
  "$root/config/aarch64_root.sh" && build_with aarch64 libcoll_pmpi unit_node unit_threads unit_transport multiprocess_matrix
}
aarch64_tests='^(unit\.(node|threads|transport|reduce)|matrix-emulated)'

"$root/config/install_packages.sh" || exit 1
# Jobs that run side by side share processors: a rank that waits makes room also where its own job would have enough.
export OMPI_MCA_mpi_yield_when_idle=1
# No test needs hwloc's plugins for GPUs and displays, which launchers and ranks would open with all their libraries, nor
# what is on the PCI bus, which takes milliseconds a device to read in a virtual machine.
export HWLOC_PLUGINS_PATH=$results HWLOC_COMPONENTS=-linux:pci
# Open MPI's launchers clear megabytes of memory for what they tell their ranks, unless they are to send it. Jobs with
# default settings (tests/matrix/launches.toml) start as users' do.
export PMIX_MCA_gds=hash
part 'Format' check_format || note 'format'
part 'Layers' "$root/config/layers.py" || note 'layers'
part 'Build' build_with developer || fail 'the build failed; see above.'
# Tests leave some of the processors' time: jobs start and end, and those on the fabric wait for links that are slow or dead.
begin beside_tests
part 'Tests' run_tests tests "$build" -LE '^(unit|large|release|fabric)$' -j $((jobs + (jobs + 1) / 2)) || note 'tests'
part 'Tests on the emulated fabric' run_tests fabric "$build" -L '^fabric$' -j $((3 * jobs)) || note 'tests on the emulated fabric'
part 'Builds with ASan, UBSan and TSan and for aarch64, clang-tidy: the rest' finish || fail 'one of these builds failed; see above.'
part 'Tests with ASan and UBSan' run_tests asan "$root/build-asan" -L '^(unit|unit-planner|zoo|matrix-small)$' || note 'tests with ASan and UBSan'
# UCX's hook on madvise takes a lock while a thread ends, when TSan has let go of that thread: a crash in TSan itself.
UCX_MEM_MMAP_HOOK_MODE=none part 'Tests with TSan' run_tests tsan "$root/build-tsan" -L '^(threads|matrix-threads)$' || note 'tests with TSan'
part 'Tests for aarch64' run_tests aarch64 "$root/build-aarch64" -R "$aarch64_tests" || note 'tests for aarch64'
if [ "$all" = no ]; then
  part 'clang-tidy on what changed, beside the tests' found_by_tidy || note 'clang-tidy'
else
  part 'clang-tidy' check_tidy everything || note 'clang-tidy'
  part 'Build of the unit tests' build_with developer unit_tests || fail 'the unit tests do not compile; see above.'
  part 'Unit tests' run_tests unit "$build" -L '^unit$' || note 'unit tests'
  part 'Messages above 2 GiB, all settings' run_tests large "$build" -L '^(large|release)$' || note 'messages above 2 GiB'
  part 'Fuzzing' "$root/tests/fuzz/run.sh" "$fuzz_seconds" || note 'fuzzing'
  part 'Build, each source by itself' build_with single || note 'each source by itself'
fi

printf '\nTime by part:\n'
printf '%s\n' "${times[@]}" "$(printf '%6d s  all' "$SECONDS")"
python3 -B "$root/tests/report.py" "$results" >"$results/report" || note 'failed tests'
if [ "${CI:-}" = true ] && ! grep -q ', 0 skipped$' "$results/report"; then note 'skipped tests'; fi
sed '$d' "$results/report"
if [ ${#problems[@]} -gt 0 ]; then
  printf 'Not good:%s.\n' "$(printf ' %s;' "${problems[@]}" | sed 's/;$//')"
fi
tail -n 1 "$results/report"
[ ${#problems[@]} -eq 0 ]
