#!/usr/bin/env bash
# Installs a build into a private directory and runs the main job from there.
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

cd "$prefix"
export LIBCOLL_CACHE_DIR=$prefix/cache XDG_CONFIG_HOME=$prefix LIBCOLL_COST_MODEL=no
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mkdir cache
bin/libcoll info >/dev/null
timeout -k 5 100 bin/libcoll run --stats=json:stats.json --topology hypercube:3 -- \
  mpirun --oversubscribe -n 8 "$program" allgather -m 4:4096 -i 5 -x 1
grep -Eq '"allgather": \{"served": [1-9]' stats.json || fail "nothing was served: $(cat stats.json)"
