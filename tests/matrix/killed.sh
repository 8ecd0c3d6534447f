#!/usr/bin/env bash
# Kills one of eight ranks in the middle of calls, with two on a node a leader and a rank that is none: the others get an
# error within the configured time, and no shared memory is left.
#   killed.sh LIBCOLL PROGRAM
set -euo pipefail

fail() {
  echo "killed.sh: $*" >&2
  exit 1
}

[[ $# == 2 ]] || fail "wrong usage"
libcoll=$(realpath "$1") program=$(realpath "$2")
for name in "${!LIBCOLL_@}"; do unset "$name"; done
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
mkdir session
export TMPDIR=$directory/session XDG_CONFIG_HOME=$directory LIBCOLL_CACHE_DIR=$directory/cache LIBCOLL_COST_MODEL=no
export LIBCOLL_TIMEOUT_SECONDS=3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
segments() { find /dev/shm -maxdepth 1 -name 'libcoll-*' | sort; }
# Names of other jobs that run now are gone once their ranks are attached; what is left stays.
are_gone() {
  segments | comm -23 - before >after
  for _ in {1..60}; do
    segments | comm -12 - after >left
    [[ -s left ]] || return 0
    sleep 1
  done
  cat left >&2
  return 1
}

segments >before
cat >on_node <<'WRAPPER'
#!/usr/bin/env bash
export LIBCOLL_HOST=node$((OMPI_COMM_WORLD_RANK / 2))
exec "$@"
WRAPPER
chmod +x on_node
# check NAME TOPOLOGY SECONDS PREFIX …
check() {
  local name=$1 topology=$2 seconds=$3
  shift 3
  # The killed rank makes the launcher's exit code; without recovery it would kill the others, too.
  timeout -k 5 60 "$libcoll" run --topology "$topology" -- mpirun --enable-recovery --oversubscribe -n 8 \
    "$@" "$program" 3 "$seconds" "${way[@]}" 2>err </dev/null || true
  cat err >&2
  [[ $(grep -c 'an error after the kill' err) == 7 ]] || fail "$name: not all survivors ended with an error in time"
  are_gone || fail "$name: shared memory is left"
}
way=()
LIBCOLL_LEADERS=0 check "all lead" ring:4 30 ./on_node
LIBCOLL_LEADERS=1 check "one leads" ring:4 30 ./on_node
way=(nonblocking)
LIBCOLL_LEADERS=0 check "all lead, nonblocking" ring:4 30 ./on_node
LIBCOLL_LEADERS=1 check "one leads, nonblocking" ring:4 30 ./on_node
way=()
# Where messages are sent again, the ends of those who have given up keep nobody waiting: for twice the time, that is.
LIBCOLL_TIMEOUT_SECONDS=6 LIBCOLL_RESEND_SECONDS=1 check "sent again" hypercube:3 10
