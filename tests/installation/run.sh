#!/usr/bin/env bash
# Installs a build into a private directory and runs the main job from there; then the same with its Debian package.
#   run.sh CMAKE BUILD_DIRECTORY PROGRAM
set -euo pipefail

fail() {
  echo "installation: $*" >&2
  exit 1
}

[[ $# -eq 3 ]] || fail "wrong usage"
cmake=$1 build=$2 program=$3
for name in "${!LIBCOLL_@}"; do unset "$name"; done
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
"$cmake" --install "$build" --prefix "$prefix" >/dev/null


export LIBCOLL_CACHE_DIR=$prefix/cache XDG_CONFIG_HOME=$prefix LIBCOLL_COST_MODEL=no
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mkdir "$prefix/cache"

# check FOLDER: the installation there serves calls.
check() {
  "$1/bin/libcoll" info >/dev/null
  timeout -k 5 100 "$1/bin/libcoll" run --stats="json:$prefix/stats.json" --topology hypercube:3 -- \
    mpirun --oversubscribe -n 8 "$program" allgather -m 4:4096 -i 5 -x 1
  grep -Eq '"allgather": \{"served": [1-9]' "$prefix/stats.json" || fail "nothing was served: $(cat "$prefix/stats.json")"
  rm "$prefix/stats.json"
}

# completes WORDS…: what the completion for bash makes of the last word.
completes() {
  # shellcheck source=/dev/null
  (source "$prefix/share/bash-completion/completions/libcoll"
    COMP_WORDS=("$prefix/bin/libcoll" "$@") COMP_CWORD=$#
    _libcoll
    printf '%s\n' "${COMPREPLY[@]}")
}

# check_api FOLDER: programs use the C API of the installation there, by pkg-config and by CMake.
check_api() {
  local libraries example build user
  libraries=$(dirname "$(find "$1" -name libcoll.so)")
  example=$1/share/doc/libcoll/examples build=$prefix/example
  rm -rf "$build"
  mkdir "$build"
  read -ra flags <<<"$(PKG_CONFIG_PATH=$libraries/pkgconfig pkg-config --cflags --libs libcoll)"
  cc -std=c11 -Wall -Wextra -Wpedantic -Werror "$example"/*.c "${flags[@]}" -o "$build/by_pkg_config"
  { "$cmake" -S "$example" -B "$build" -DCMAKE_PREFIX_PATH="$1" && "$cmake" --build "$build"; } >"$build.log" 2>&1 ||
    fail "CMake builds no example: $(cat "$build.log")"
  for user in "$build/by_pkg_config" "$build/allreduce"; do
    LD_LIBRARY_PATH=$libraries timeout 50 "$user" hypercube:3 >"$build/out" || fail "$user: $(cat "$build/out")"
    # 2 (N-1)/N of M (paper 000, section 3.2) in as many steps as twice the diameter.
    grep -q '8 hosts, 6 steps, T_B 1.75 M/B (bound 1.75)' "$build/out" || fail "other figures: $(cat "$build/out")"
    grep -qx '8 ranks have the right sums' "$build/out" || fail "nothing was run: $(cat "$build/out")"
  done
  "$1/bin/libcoll" plan hypercube:2 allreduce --algorithm swing --quiet --output "$build/swing.xml"
  LD_LIBRARY_PATH=$libraries timeout 50 "$build/allreduce" hypercube:2 "$build/swing.xml" >"$build/out"
  grep -q '^swing: 4 hosts' "$build/out" || fail "the example does not run a schedule file: $(cat "$build/out")"
}

cd "$prefix"
check "$prefix"
check_api "$prefix"
completes fab | grep -qx fabric || fail "fab is not completed: $(completes fab)"
completes doc | grep -qx doctor || fail "doc is not completed: $(completes doc)"
completes fabric cu | grep -qx cut || fail "fabric cu is not completed: $(completes fabric cu)"
completes run --topo | grep -qx -e --topology || fail "run --topo is not completed: $(completes run --topo)"
grep -qx "prepend-path PATH $prefix/bin" share/modulefiles/libcoll/* || fail "the modulefile has another path"
completes plan --algorithm fptas --eps | grep -qx -e --epsilon || fail "plan --algorithm fptas --eps is not completed"
# A page for every subcommand and file format. None of them has roff complain.
for page in libcoll.1 libcoll-runtime.7 libcoll-{routes,schedule,topology,tuning}.5 $(bin/libcoll --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]\+\).*/libcoll-\1.1/p'); do
  [[ -f share/man/man${page##*.}/$page ]] || fail "there is no manual page $page"
done
for page in share/man/man*/libcoll*; do
  faults=$(MANWIDTH=80 MANROFFOPT=-ww man -l --warnings "$page" 2>&1 >/dev/null)
  [[ -z $faults ]] || fail "the manual page $page has faults: $faults"
done
# What programs get needs the C library alone, and exports versioned names of MPI and libcoll.
libraries=$(dirname "$(find "$prefix" -name libcoll_pmpi.so)")
needed=$(objdump -p "$libraries/libcoll_pmpi.so" | awk '$1 == "NEEDED" {print $2}' | grep -v '^ld-linux' | paste -s -d ' ')
[[ $needed == libc.so.6 ]] || fail "the preload needs $needed"
others=$(nm -D --defined-only "$libraries/libcoll_pmpi.so" | awk '$2 != "A" {print $3}' | grep -v -E '^(P?MPIX?_|libcoll_).*@@LIBCOLL_1$' || true)
[[ -z $others ]] || fail "the preload exports $others"
others=$(nm -D --defined-only "$libraries/libcoll_core.so" | awk '$2 != "A" {print $3}' | grep -v '^libcoll_open_core@@' || true)
[[ -z $others ]] || fail "the core exports $others"
needed=$(objdump -p "$libraries/libcoll_core.so" | awk '$1 == "NEEDED" {print $2}' | grep -E 'mpi|libuc' || true)
[[ -z $needed ]] || fail "the core, which serves any MPI and loads UCX when it is needed, needs $needed"
others=$(nm -D --defined-only "$libraries/libcoll.so" | awk '$2 != "A" {print $3}' | grep -v '^libcoll_[a-z_]*@@LIBCOLL_API_1$' || true)
[[ -z $others ]] || fail "the library exports $others"
declared=$(grep -o 'libcoll_[a-z_]*(' include/libcoll.h | tr -d '(' | sort -u)
exported=$(nm -D --defined-only "$libraries/libcoll.so" | awk '$2 == "T" {sub("@.*", "", $3); print $3}' | sort -u)
for name in $exported; do grep -qx "$name" <<<"$declared" || fail "the header has no $name"; done
[[ $(grep -c . <<<"$exported") -ge 21 ]] || fail "the library exports $exported"
objdump -p "$libraries/libcoll.so" | grep -q 'SONAME *libcoll.so.[0-9]*$' || fail "the library has no SONAME with a number"
# GLPK is GPL-3: nothing that a program loads may bring it.
for library in "$libraries"/libcoll*.so; do
  ! ldd "$library" | grep -q glpk || fail "$library brings GLPK"
done

(cd "$build" && cpack -G DEB -B "$prefix/package" >"$prefix/cpack.log" 2>&1) || fail "no package: $(cat "$prefix/cpack.log")"
dpkg-deb -f "$prefix"/package/*.deb Depends | grep -q libopenmpi || fail "the package does not depend on Open MPI"
dpkg-deb -x "$prefix"/package/*.deb "$prefix/root"
check "$prefix/root/usr"
[[ -f $(find "$prefix/root" -name libcoll.pc) && -f $prefix/root/usr/include/libcoll.h ]] || fail "the package lacks the C API"
