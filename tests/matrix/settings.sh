#!/usr/bin/env bash
# Every setting that `libcoll info --config --json` lists, another value of it on one rank than on the others: the program
# ends as it does natively, with right results. A new setting is tried without being named here.
#   settings.sh LIBCOLL PROGRAM RANK [PATTERN]     RANK: whose setting it is; PATTERN: of names, all of them without it
set -euo pipefail

fail() {
  echo "settings.sh: $*" >&2
  exit 1
}

[[ $# == 3 || $# == 4 ]] || fail "wrong usage"
libcoll=$(realpath "$1") program=$(realpath "$2") rank=$3 pattern=${4:-.}
for name in "${!LIBCOLL_@}"; do unset "$name"; done
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
mkdir session cache other
export TMPDIR=$directory/session XDG_CONFIG_HOME=$directory LIBCOLL_CACHE_DIR=$directory/cache
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cat >with_setting <<'WRAPPER'
#!/usr/bin/env bash
if [[ $1 == "$OMPI_COMM_WORLD_RANK" ]]; then export "$2"; fi
shift 2
exec "$@"
WRAPPER
chmod +x with_setting

# Values that differ from the default, one a line: all of a choice, one within a number's bounds, a word for a text.
"$libcoll" info --config --json | python3 -c '
import json, sys
for setting in json.load(sys.stdin)["settings"]:
    default, bounds = setting["default"], setting["bounds"]
    if setting["type"] == "boolean":
        values = ["no" if default == "yes" else "yes"]
    elif setting["type"] == "choice":
        values = ["json:other/stats.json" if value == "json:FILE" else value for value in bounds.split("|")]
    elif setting["type"] == "text":
        values = ["native", "ring", "other"]
    else:
        low, high = bounds.split("..")
        values = [low, "2", high]
    for value in values:
        if value != default:
            print(setting["name"], value)
' | grep -E "^[^ ]*$pattern" >values
[[ -s values ]] || fail "there are no settings"

tried=0
while read -r name value; do
  # What cannot be on any rank (out of bounds) is warned of and changes nothing.
  code=0
  timeout -k 5 30 "$libcoll" run --topology uniring:3 -- mpirun --oversubscribe -n 3 \
    ./with_setting "$rank" "LIBCOLL_${name^^}=$value" "$program" every >out 2>&1 </dev/null || code=$?
  [[ $code == 0 ]] || { cat out >&2; fail "LIBCOLL_${name^^}=$value on rank $rank: exit code $code"; }
  tried=$((tried + 1))
done <values
echo "$tried values"
