#!/usr/bin/env bash
# Several ranks per node where /dev/shm is too small or cannot be written, as in some containers: MPI does all calls, the
# results are right, and one rank says why, once.
#   shared_memory.sh LIBCOLL PROGRAM MOUNT_OPTIONS
#     PROGRAM        multiprocess_matrix
#     MOUNT_OPTIONS  of the tmpfs that stands for /dev/shm
set -euo pipefail

fail() {
  echo "shared_memory.sh: $*" >&2
  exit 1
}

[[ $# == 3 ]] || fail "wrong usage"
libcoll=$(realpath "$1") program=$(realpath "$2") options=$3
for name in "${!LIBCOLL_@}"; do unset "$name"; done
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
mkdir session
cat >on_node <<'WRAPPER'
#!/usr/bin/env bash
LIBCOLL_HOST=node$((OMPI_COMM_WORLD_RANK / 2)) exec "$@"
WRAPPER
chmod +x on_node
export TMPDIR=$directory/session XDG_CONFIG_HOME=$directory LIBCOLL_CACHE_DIR=$directory/cache
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Open MPI's op/avx saturates sums of short integers, and its own memory goes elsewhere; it is not what is looked at.
export OMPI_MCA_op=^avx OMPI_MCA_btl_vader_backing_directory=$TMPDIR MATRIX_SERVED=any
namespaces=(--mount)
[[ $(id -u) == 0 ]] || namespaces+=(--map-root-user)
unshare "${namespaces[@]}" bash -c 'mount -t tmpfs -o "$0" tmpfs /dev/shm && exec "$@"' "$options" timeout -k 5 100 \
  "$libcoll" run "--stats=json:$directory/stats.json" --topology ring:3 -- mpirun --oversubscribe -n 6 ./on_node \
  "$program" collectives small + reductions </dev/null >"$directory/said" 2>&1 || fail "the job failed: $(tail -n 20 "$directory/said")"

said=$(grep -c 'libcoll\[[0-9]*\]: warning: shared memory: ' "$directory/said") || true
[[ $said == 1 ]] || fail "$said warnings of shared memory, expected 1: $(cat "$directory/said")"
grep -q 'the ranks of some node could not share memory' stats.json || fail "the statistics have no reason: $(cat stats.json)"
