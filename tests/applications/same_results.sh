#!/usr/bin/env bash
# Runs an unmodified MPI program as it is and under libcoll, each in a private directory, and compares their results.
#   same_results.sh -l LIBCOLL [OPTIONS] TOPOLOGY RANKS PROGRAM [ARGUMENTS]
#     -l LIBCOLL     the libcoll command
#     -d PACKAGE     Debian's package of the program; without the program the test counts as skipped
#     -i FILE        what the program finds in its directory; may be given again
#     -o FILE        what it leaves its results in, default its standard output
#     -f FILE        awk program that makes of them what is to be equal, default all of it
#     -e EXPRESSION  what results have to match (extended regular expression)
#     -s COLLECTIVE  calls of it must have been served; may be given again
#     -p NAME=VALUE  environment of both runs
#     -m LAUNCHER    of the program's MPI, default "mpirun --oversubscribe"
set -euo pipefail

fail() {
  echo "same_results.sh: $*" >&2
  exit 1
}

libcoll='' package='' inputs=() output=stdout filter='' expression=. collectives=() settings=() launcher=(mpirun --oversubscribe)
while getopts l:d:i:o:f:e:s:p:m: option; do
  case $option in
    l) libcoll=$OPTARG ;;
    d) package=$OPTARG ;;
    i) inputs+=("$(realpath "$OPTARG")") ;;
    o) output=$OPTARG ;;
    f) filter=$(realpath "$OPTARG") ;;
    e) expression=$OPTARG ;;
    s) collectives+=("$OPTARG") ;;
    p) settings+=("$OPTARG") ;;
    m) read -ra launcher <<<"$OPTARG" ;;
    *) fail "wrong usage" ;;
  esac
done
shift $((OPTIND - 1))
[[ $# -ge 3 && -n $libcoll ]] || fail "wrong usage"
libcoll=$(realpath "$libcoll") topology=$1 ranks=$2 program=$3
shift 3
if [[ ! -x $program ]]; then
  echo "Skipped: the program of Debian's package $package is not installed here (config/install_packages.sh does)."
  exit 77
fi

for name in "${!LIBCOLL_@}"; do unset "$name"; done
unset LD_PRELOAD
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
mkdir cache session native planned
export TMPDIR=$directory/session XDG_CONFIG_HOME=$directory LIBCOLL_CACHE_DIR=$directory/cache LIBCOLL_COST_MODEL=no
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 YIELD_SLEEP_EVERY=32
launch=("${launcher[@]}" -n "$ranks" "$program" "$@")

# run native|planned COMMAND…: leaves the results that are to be equal in FOLDER.results.
run() {
  local way=$1 code=0
  shift
  for input in "${inputs[@]}"; do cp "$input" "$way/"; done
  (cd "$way" && exec env "${settings[@]}" timeout -k 5 300 "$@" >stdout 2>stderr </dev/null) || code=$?
  cat "$way/stderr" >&2
  if [[ $code != 0 ]]; then
    tail -n 20 "$way/stdout" >&2
    fail "exit code $code ($way)"
  fi
  if [[ -n $filter ]]; then
    awk -f "$filter" "$way/$output" >"$way.results"
  else
    cp "$way/$output" "$way.results"
  fi
  grep -qE -- "$expression" "$way.results" || fail "no result like \"$expression\" ($way): $(head -n 20 "$way.results")"
}

# From the statistics: calls of a collective that were served.
served() { jq -r ".collectives.$1.served // 0" stats.json; }

run native "${launch[@]}"
run planned "$libcoll" run "--stats=json:$directory/stats.json" --topology "$topology" -- "${launch[@]}"
diff native.results planned.results >&2 || fail "the results differ (native <, with libcoll >)"
jq -e .collectives stats.json >/dev/null || fail "libcoll left no statistics"
for collective in "${collectives[@]}"; do
  [[ $(served "$collective") -gt 0 ]] || fail "no $collective was served; statistics: $(cat stats.json)"
done
cat planned.results
jq -c '.collectives | with_entries(select(.value.served + .value.fallen_through > 0))' stats.json
