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

cd "$prefix"
check "$prefix"
completes fab | grep -qx fabric || fail "fab is not completed: $(completes fab)"
completes fabric cu | grep -qx cut || fail "fabric cu is not completed: $(completes fabric cu)"
completes run --topo | grep -qx -e --topology || fail "run --topo is not completed: $(completes run --topo)"
grep -qx "prepend-path PATH $prefix/bin" share/modulefiles/libcoll/* || fail "the modulefile has another path"
for page in man1/libcoll-routes.1 man7/libcoll-runtime.7; do
  man -l --warnings "share/man/$page" 2>&1 >/dev/null | grep . && fail "the manual page $page has faults"
done
# What programs get needs the C library alone, and exports versioned names of MPI, PMIx and libcoll.
libraries=$(dirname "$(find "$prefix" -name libcoll_pmpi.so)")
needed=$(objdump -p "$libraries/libcoll_pmpi.so" | awk '$1 == "NEEDED" {print $2}' | grep -v '^ld-linux' | paste -s -d ' ')
[[ $needed == libc.so.6 ]] || fail "the preload needs $needed"
others=$(nm -D --defined-only "$libraries/libcoll_pmpi.so" | awk '$2 != "A" {print $3}' | grep -v -E '^(P?MPIX?_|PMIx_Init|OPAL_MCA_PMIX3X_PMIx_Init|libcoll_).*@@LIBCOLL_1$' || true)
[[ -z $others ]] || fail "the preload exports $others"
others=$(nm -D --defined-only "$libraries/libcoll_core.so" | awk '$2 != "A" {print $3}' | grep -v '^libcoll_' || true)
[[ -z $others ]] || fail "the core exports $others"

(cd "$build" && cpack -G DEB -B "$prefix/package" >"$prefix/cpack.log" 2>&1) || fail "no package: $(cat "$prefix/cpack.log")"
dpkg-deb -f "$prefix"/package/*.deb Depends | grep -q libopenmpi || fail "the package does not depend on Open MPI"
dpkg-deb -x "$prefix"/package/*.deb "$prefix/root"
check "$prefix/root/usr"
