#!/usr/bin/env bash
# Every setting that `libcoll info --config --json` lists, another value of it on one rank than on the others: the program
# ends as it does natively, with right results. A new setting is tried without being named here.
#   settings.sh LIBCOLL PROGRAM RANK TOGETHER [PATTERN]
#     RANK      whose settings they are
#     TOGETHER  values of so many settings in one job; where a job fails, each of its values is tried alone
#     PATTERN   of names; all of them without it
set -euo pipefail

fail() {
  echo "settings.sh: $*" >&2
  exit 1
}

[[ $# == 4 || $# == 5 ]] || fail "wrong usage"
libcoll=$(realpath "$1") program=$(realpath "$2") rank=$3 together=$4 pattern=${5:-.}
for name in "${!LIBCOLL_@}"; do unset "$name"; done
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
mkdir session cache other
export TMPDIR=$directory/session XDG_CONFIG_HOME=$directory LIBCOLL_CACHE_DIR=$directory/cache
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cat >with_settings <<'WRAPPER'
#!/usr/bin/env bash
rank=$1
shift
while [[ $1 != -- ]]; do
  if [[ $rank == "$OMPI_COMM_WORLD_RANK" ]]; then export "$1"; fi
  shift
done
shift
exec "$@"
WRAPPER
chmod +x with_settings

# Jobs, one a line, each with values that differ from the default: all of a choice, one within a number's bounds, a word for
# a text. No job has two values of a setting. A setting that hides the others is in a job of its own.
"$libcoll" info --config --json | python3 -c '
import json, re, sys
together, pattern = int(sys.argv[1]), sys.argv[2]
found = []
for setting in json.load(sys.stdin)["settings"]:
    name, default, bounds = setting["name"], setting["default"], setting["bounds"]
    if not re.match(f"[^ ]*{pattern}", name):
        continue
    if setting["type"] == "boolean":
        values = ["no" if default == "yes" else "yes"]
    elif setting["type"] == "choice":
        values = ["json:other/stats.json" if value == "json:FILE" else value for value in bounds.split("|")]
    elif setting["type"] == "text":
        values = ["native", "ring", "other"]
    else:
        low, high = bounds.split("..")
        values = [low, "2", high]
    found += [(name, value) for value in values if value != default]
jobs = []
for name, value in found:
    hides = name in ("enable", "topology")
    free = [job for job in jobs if not hides and len(job) < together and not {name, "enable", "topology"} & job.keys()]
    if not free:
        jobs.append({})
    (free[0] if free else jobs[-1])[name] = value
for job in jobs:
    print(*(f"LIBCOLL_{name.upper()}={value}" for name, value in job.items()))
' "$together" "$pattern" >jobs
[[ -s jobs ]] || fail "there are no settings"

# run VALUE…: what cannot be on any rank (out of bounds) is warned of and changes nothing.
run() {
  code=0
  timeout -k 5 30 "$libcoll" run --topology uniring:3 -- mpirun --oversubscribe -n 3 \
    ./with_settings "$rank" "$@" -- "$program" every >out 2>&1 </dev/null || code=$?
  [[ $code == 0 ]] || { cat out >&2; echo "settings.sh: $* on rank $rank: exit code $code" >&2; return 1; }
}
tried=0
while read -ra values <&3; do
  if ! run "${values[@]}"; then
    if [[ ${#values[@]} -gt 1 ]]; then
      for value in "${values[@]}"; do run "$value" || true; done
    fi
    exit 1
  fi
  tried=$((tried + ${#values[@]}))
done 3<jobs
echo "$tried values in $(wc -l <jobs) jobs"
