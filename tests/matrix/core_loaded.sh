#!/usr/bin/env bash
# The core is loaded when a topology is set, in a configuration file or the environment, on any rank of the job, and else
# not: by no process without MPI either. What the settings lack is told without it.
#   core_loaded.sh LIBRARY PROGRAM
#     PROGRAM  an MPI program
set -euo pipefail

fail() {
  echo "core_loaded.sh: $*" >&2
  exit 1
}

[[ $# == 2 ]] || fail "wrong usage"
library=$(realpath "$1") program=$(realpath "$2")
for variable in "${!LIBCOLL_@}"; do unset "$variable"; done
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
mkdir libcoll session other
export TMPDIR=$directory/session XDG_CONFIG_HOME=$directory LIBCOLL_CACHE_DIR=$directory/cache
ranks=4

# job EXPECTED TEXT VARIABLE=VALUE…: that many of the ranks load the core, and TEXT is said (nothing: no line at all). A
# variable after "first:" is the first rank's alone.
job() {
  local expected=$1 text=$2 variable
  shift 2
  local all=(-x XDG_CONFIG_HOME -x LIBCOLL_CACHE_DIR -x LD_PRELOAD="$library" -x LD_DEBUG=libs
    -x LD_DEBUG_OUTPUT="$directory/linker") first=()
  for variable; do
    if [[ $variable == first:* ]]; then first+=(-x "${variable#first:}"); else all+=(-x "$variable"); fi
  done
  rm -f linker.*
  timeout -k 5 60 mpirun --oversubscribe -n 1 "${all[@]}" "${first[@]}" "$program" : \
    -n $((ranks - 1)) "${all[@]}" "$program" </dev/null >said 2>&1 || fail "exit code $?: $(cat said)"
  local loaded
  loaded=$(grep -l 'calling init: .*/libcoll_core\.so$' linker.* | wc -l) || true
  [[ $loaded == "$expected" ]] || fail "$*: $loaded processes loaded the core, expected $expected; $(cat said)"
  if [[ -n $text ]]; then
    [[ $(grep -cF "$text" said) == 1 ]] || fail "$*: expected one line with '$text', found: $(cat said)"
  elif grep libcoll said >&2; then
    fail "$*: expected no line"
  fi
}

job 0 ''
job 0 '' LIBCOLL_TOPOLOGY= LIBCOLL_IN_FLIGHT=4
job 0 'no topology is set; every call falls through' LIBCOLL_LOG_LEVEL=info
job 0 'no topology is set, so there are no statistics; every call falls through' LIBCOLL_STATS=summary
job 0 'unknown variable LIBCOLL_TOPOLGY, it has no effect; did you mean LIBCOLL_TOPOLOGY?' LIBCOLL_TOPOLGY=ring:4
job 0 '' LIBCOLL_TOPOLGY=ring:4 LIBCOLL_LOG_LEVEL=error
job 0 '' LIBCOLL_TOPOLGY=ring:4 LIBCOLL_ENABLE=no
job "$ranks" '' LIBCOLL_TOPOLOGY=ring:4
job "$ranks" '' first:LIBCOLL_TOPOLOGY=ring:4
echo 'topolgy = "ring:4"  # mistyped' >libcoll/libcoll.toml
job 0 "libcoll.toml:1: unknown key \"topolgy\", it has no effect; did you mean \"topology\"?"
printf '%s\n' '# the fabric' "topology = 'ring:4'" >libcoll/libcoll.toml
job "$ranks" ''
job 0 '' LIBCOLL_TOPOLOGY=

# A program without MPI has neither, whatever is set.
LIBCOLL_TOPOLOGY=ring:4 LD_PRELOAD=$library LD_DEBUG=libs LD_DEBUG_OUTPUT=$directory/other/linker /bin/true
grep -q 'calling init: .*/libcoll_pmpi\.so$' other/linker.* || fail "the preload was not loaded"
if grep -E 'calling init: .*/(libcoll_core|libpmix|mca_)' other/linker.*; then fail "a program without MPI loads this"; fi

# A shell that was part of a job has the variables of its launcher, which is gone: the program runs alone, as natively.
mapfile -t variables < <(mpirun -n 1 env </dev/null | grep ^PMIX_)
[[ ${variables[*]} == *PMIX_SERVER_URI* ]] || fail "the launcher has no PMIx: ${variables[*]}"
env "${variables[@]}" LIBCOLL_TOPOLOGY=ring:4 LD_PRELOAD="$library" timeout -k 5 60 "$program" </dev/null >said 2>&1 ||
  fail "the program does not run after its shell's job: $(cat said)"
