#!/usr/bin/env bash
# Runs an MPI program under libcoll in a private directory and checks how it ended.
#   run.sh -l LIBCOLL [OPTIONS] TOPOLOGY RANKS PROGRAM [ARGUMENTS]
#     -l LIBCOLL             the libcoll command
#     -e NAME=VALUE          environment of every rank
#     -r RANK:NAME=VALUE     environment of one rank; RANK "all" for what libcoll run would set itself
#     -b RANK:PROCESSORS     what one rank is bound to, as taskset has it
#     -n                     no plans beforehand
#     -c                     corrupt plans in the cache
#     -w COUNT:TEXT          lines with TEXT on stderr; may be given more than once
#     -j TEXT                TEXT must be in the JSON statistics; may be given more than once
#     -x CODE                expected exit code, default 0
set -euo pipefail

fail() {
  echo "run.sh: $*" >&2
  exit 1
}

libcoll='' settings=() rank_settings=() corrupt=no warnings=() statistics=() expected_code=0 options=()
while getopts l:e:r:b:ncw:j:x: option; do
  case $option in
    l) libcoll=$OPTARG ;;
    e) settings+=("$OPTARG") ;;
    r) rank_settings+=("$OPTARG") ;;
    b) rank_settings+=("${OPTARG%%:*}:PROCESSORS=${OPTARG#*:}") ;;
    n) options+=(--no-plan) ;;
    c) corrupt=yes ;;
    w) warnings+=("$OPTARG") ;;
    j) statistics+=("$OPTARG") ;;
    x) expected_code=$OPTARG ;;
    *) fail "wrong usage" ;;
  esac
done
shift $((OPTIND - 1))
[[ $# -ge 3 && -n $libcoll ]] || fail "wrong usage"
libcoll=$(realpath "$libcoll") topology=$1 ranks=$2 program=$(realpath "$3")
shift 3
set -- "$program" "$@"

for name in "${!LIBCOLL_@}"; do unset "$name"; done
directory=$(mktemp -d)
# Processes of this run are those that carry its directory in their environment.
processes() {
  grep -lzs "^LIBCOLL_CACHE_DIR=$directory/" /proc/[0-9]*/environ | cut -d/ -f3 || true
}
clean_up() {
  local process
  for process in $(processes); do kill -9 "$process" 2>/dev/null || true; done
  rm -rf "$directory"
}
trap clean_up EXIT

# Settings of one rank are set by what mpirun starts, which then becomes the program.
if [[ ${#rank_settings[@]} -gt 0 ]]; then
  cat >"$directory/with_settings" <<'WRAPPER'
#!/usr/bin/env bash
while [[ $1 != -- ]]; do
  if [[ ${1%%:*} == all || ${1%%:*} == "$OMPI_COMM_WORLD_RANK" ]]; then export "${1#*:}"; fi
  shift
done
shift
exec ${PROCESSORS:+taskset -c "$PROCESSORS"} "$@"
WRAPPER
  chmod +x "$directory/with_settings"
  set -- "$directory/with_settings" "${rank_settings[@]}" -- "$@"
fi

# No configuration file, plan or session directory but our own.
cd "$directory"
mkdir cache session
environment=(TMPDIR="$directory/session" XDG_CONFIG_HOME="$directory" LIBCOLL_CACHE_DIR="$directory/cache"
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  LIBCOLL_BACKGROUND_PLANNING=no LIBCOLL_COST_MODEL=no "${settings[@]}") # which calls are served must be known
if [[ $corrupt == yes ]]; then
  env "${environment[@]}" "$libcoll" run --topology "$topology" -- true
  for file in cache/*.xml; do
    [[ -s $file ]] || fail "there is no plan to corrupt"
    truncate -s 100 "$file"
  done
  options+=(--no-plan)
fi

code=0
env "${environment[@]}" timeout -k 5 120 "$libcoll" run "${options[@]}" "--stats=json:$directory/stats.json" \
  --topology "$topology" -- mpirun --oversubscribe -n "$ranks" "$@" 2>stderr </dev/null || code=$?
cat stderr >&2
[[ $code == "$expected_code" ]] || fail "exit code $code, expected $expected_code"
# After an abort mpirun does not wait for those it has killed.
for ((tries = 0; tries < 50; ++tries)); do
  left=$(processes)
  [[ -n $left ]] || break
  sleep 0.1
done
[[ -z $left ]] || fail "processes are left: $left"
for warning in "${warnings[@]}"; do
  count=$(grep -cF -- "${warning#*:}" stderr || true)
  [[ $count == "${warning%%:*}" ]] || fail "\"${warning#*:}\" was said $count times"
done
for text in "${statistics[@]}"; do
  grep -qF -- "$text" stats.json || fail "\"$text\" is not in the statistics: $(cat stats.json)"
done
