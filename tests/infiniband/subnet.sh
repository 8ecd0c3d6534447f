#!/usr/bin/env bash
# OpenSM installs the routes of a plan on a simulated InfiniBand subnet, and ibtracert follows every one of them; then a
# cable fails, and the routes planned anew are followed, too.
#   subnet.sh LIBCOLL TOPOLOGY [CUT [REMOVED_LINK]]
# TOPOLOGY is a specification, or a subnet as ibsim reads it (FILE.net), whose hosts have ports on several switches. CUT is
# the port that fails, as ibsim names it: NODE[PORT]. REMOVED_LINK ("0-1") punctures
# the topology. Without CUT, as tracing would take too long, OpenSM's own tables show the routes, and that is all.
set -euo pipefail
(($# >= 2 && $# <= 4)) || exit 2

# ibsim's sockets have fixed names: one for each network namespace.
if [[ ${LIBCOLL_IN_NAMESPACE:-} != yes ]]; then
  isolate=(unshare --net)
  [[ $(id -u) == 0 ]] || isolate=(unshare --map-root-user --net)
  "${isolate[@]}" true 2>/dev/null || exit 77
  LIBCOLL_IN_NAMESPACE=yes exec "${isolate[@]}" "$0" "$@"
fi

libcoll=$(realpath "$1") topology=$2 cut=${3:-} removed=${4:-}
[[ ! -f $topology ]] || topology=$(realpath "$topology")
PATH=$PATH:/usr/sbin
simulated=$(find /usr/lib -name libumad2sim.so -print -quit)
fail() {
  echo "${0##*/}: $*" >&2
  exit 1
}
[[ -n $simulated ]] || fail 'there is no libumad2sim.so; is ibsim-utils installed?'

directory=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)  # the tools make a tree of files each time
simulator=
clean_up() {
  if [[ -n $simulator ]]; then kill "$simulator" 2>/dev/null || true; fi
  rm -rf "$directory"
}
trap clean_up EXIT
cd "$directory"
export HOME=$directory

# subnet COMMAND…: as on the first host of the subnet.
subnet() { LD_PRELOAD=$simulated OSM_TMP_DIR=$directory/ OSM_CACHE_DIR=$directory/cache/ "$@"; }

# discover FILE: the wiring as staff would hand it over.
discover() { subnet ibnetdiscover >"$1" 2>discover.err || fail "ibnetdiscover failed: $(cat discover.err)"; }

# install FOLDER: OpenSM sweeps once with the tables of a folder.
install() {
  rm -rf cache && mkdir cache && cp "$1/guid2lid" cache/
  subnet opensm -F "$directory/$1/opensm.conf" -e -o -s 0 -D 0x43 -f "$directory/opensm.log" --dump_files_dir "$directory" \
    >opensm.out 2>&1 || fail "opensm failed: $(tail -n 5 opensm.out opensm.log)"
  if grep -E 'ERR|cannot' opensm.log; then fail 'OpenSM complains'; fi
}

# verify FOLDER FILE…: the command has to find every route.
verify() {
  local folder=$1 files=() file
  shift
  for file in "$@"; do files+=(--verify "$file"); done
  "$libcoll" routes --fabric now.ib --output "$folder" "${files[@]}" --json >verdict.json ||
    fail "routes of $folder by $*: $(cat verdict.json)"
  jq -e '.ok and .routes > 0 and .equal == .routes' verdict.json >verdict || fail "$(cat verdict.json)"
  echo "$folder by ${*##*/}: $(jq -r '"\(.equal) of \(.routes) routes"' verdict.json)"
}

# trace_routes FOLDER: every route by ibtracert, several at a time.
trace_routes() {
  local piece pieces=()
  rm -f piece.*
  split -n l/4 "$1/trace.sh" piece.
  for piece in piece.??; do
    subnet sh "$piece" >"$piece.out" 2>"$piece.err" &
    pieces+=($!)
  done
  wait "${pieces[@]}" || fail "ibtracert failed: $(tail -n 3 piece.*.err)"
  cat piece.*.out >traces
}

# check FOLDER: every route, by ibtracert, by OpenSM's dump and by the switches' own tables.
check() {
  install "$1"
  discover now.ib
  trace_routes "$1"
  verify "$1" traces
  verify "$1" opensm-lfts.dump
  local lid
  for lid in $(sed -n 's/^Switch.* lid \([0-9]*\) lmc.*/\1/p' now.ib); do subnet ibroute "$lid"; done >tables
  verify "$1" tables
}

# expect_few_lanes FILE: no more service levels than the lanes that OpenSM's own engines take on the subnet as it is.
expect_few_lanes() {
  local engine fewest=99 lanes
  for engine in lash dfsssp; do
    rm -rf cache && mkdir cache
    subnet opensm -R $engine -Q -e -o -s 0 -D 0x43 -f "$directory/$engine.log" >opensm.out 2>&1 || true
    lanes=$(sed -n 's/.*anes needed: \([0-9]*\).*/\1/p' "$engine.log" | tail -n 1)
    if [[ -n $lanes ]] && ((lanes < fewest)); then fewest=$lanes; fi
  done
  ((fewest < 99)) || fail "OpenSM says nothing of lanes: $(tail -n 5 lash.log dfsssp.log)"
  jq -e ".service_levels <= $fewest" "$1" >verdict || fail "OpenSM takes $fewest lanes, the plan $(jq .service_levels "$1")"
}

specification=$topology
if [[ -n $removed ]]; then
  printf 'generator = "%s"\nremoved_links = [["%s", "%s"]]\n' "$topology" "${removed%-*}" "${removed#*-}" >punctured.toml
  topology=punctured.toml
fi
if [[ $topology == *.net ]]; then
  cp "$topology" fabric.net
else
  "$libcoll" topo "$topology" --export ibsim --output fabric.net
fi
mkfifo console
exec 9<>console
ibsim -s fabric.net <&9 >ibsim.log 2>&1 &
simulator=$!
for _ in $(seq 100); do
  if subnet ibnetdiscover >first.ib 2>/dev/null && [[ $(grep -c '^Ca' first.ib) == $(grep -c '^Hca' fabric.net) ]]; then break; fi
  sleep 0.05
done

if [[ $topology == *.net ]]; then
  # Ports of a host have names in the binding, as many as there are; without them it would not say which is meant.
  if "$libcoll" routes --fabric first.ib --output refused --device mlx5_0:1 2>refused.err; then fail 'one device for two ports passes'; fi
  grep -q 'expected 2 with commas between them' refused.err || fail "$(cat refused.err)"
  plan=() devices=(--device mlx5_0:1,mlx5_1:1)
else
  plan=("$topology") devices=()
fi

# What was exported comes back.
fields='{nodes, hosts, switches, links, degree_min, degree_max, diameter, connected}'
if ((${#plan[@]})); then
  "$libcoll" topo "$topology" --json | jq -c "$fields" >expected
  "$libcoll" topo --import ibnetdiscover first.ib --json | jq -c "$fields" >imported
  diff expected imported || fail 'the imported topology is another one'
fi

"$libcoll" routes "${plan[@]}" --fabric first.ib --output planned "${devices[@]}" --json >planned.json || fail "$(cat planned.json)"
if [[ -z $cut ]]; then
  expect_few_lanes planned.json
  jq -c '{hosts, lmc, classes, service_levels, routes, F_planned, F_loss}' planned.json
  install planned
  discover now.ib
  verify planned opensm-lfts.dump
  # Routes of a plan that counted no lanes change where they need more, unless that is allowed.
  "$libcoll" plan "$topology" alltoall --algorithm mcf-path --output plan.xml >plan.out || fail "$(cat plan.out)"
  "$libcoll" routes plan.xml --fabric first.ib --json >few.json || fail "$(cat few.json)"
  expect_few_lanes few.json
  jq -e '.rerouted > 0 and .F_loss > 0' few.json >verdict || fail "$(cat few.json)"
  "$libcoll" routes plan.xml --fabric first.ib --max-service-levels 8 --json >many.json || fail "$(cat many.json)"
  jq -e ".F > $(jq .F few.json) and .service_levels > $(jq .service_levels few.json)" many.json >verdict || fail "$(cat many.json)"
  exit
fi
check planned
expect_few_lanes planned.json
jq -c '{topology: "'"$specification"'", lmc, classes, service_levels, routes, F_planned, F_loss}' planned.json
jq -e '.rerouted == 0 and .F_loss == 0' planned.json >verdict || fail 'routes had to change'
if ((${#devices[@]})); then
  jq -e '.ports == 2' planned.json >verdict || fail 'ports on several switches were not told apart'
  for device in mlx5_0:1 mlx5_1:1; do
    grep -q "^NET_DEVICES = \"$device\"" planned/route-binding.toml || fail "no class leaves by $device"
  done
fi

# One lane for each service level, in the ports' own tables.
levels=$(jq .service_levels planned.json)
if ((levels > 1)); then
  read -ra lanes <<<"$(subnet smpquery -D sl2vl 0 1 | sed -n 's/^ports: in *[0-9]*, out *[0-9]*: *|//p' | tr '|' ' ')"
  for ((level = 0; level < levels; ++level)); do
    [[ ${lanes[level]} == "$level" ]] || fail "service level $level is lane ${lanes[level]}: ${lanes[*]}"
  done
fi

# A route that differs is named: the first switch has another table.
awk '/^Unicast/ { ++switches } switches == 1 && /^0x/ { $2 = "001" } { print }' opensm-lfts.dump >wrong.dump
if "$libcoll" routes --fabric now.ib --output planned --verify wrong.dump >wrong; then fail 'wrong tables pass'; fi
grep -q '^the first that differs: route [0-9]* from .*: found ' wrong || fail "$(cat wrong)"

# A cable fails.
echo "Unlink \"${cut%%[*}\"[${cut#*[}" >&9
for _ in $(seq 100); do
  discover cut.ib
  if (($(grep -c '^\[' cut.ib) == $(grep -c '^\[' now.ib) - 2)); then break; fi
  sleep 0.05
done
if "$libcoll" routes planned/plan.xml --fabric cut.ib >refused 2>&1; then fail 'a plan over a dead cable passes'; fi
grep -q 'found no cable from' refused || fail "$(cat refused)"
"$libcoll" routes --fabric cut.ib --output again "${devices[@]}" --json >again.json || fail "$(cat again.json)"
[[ $(jq .routes_digest again.json) != $(jq .routes_digest planned.json) ]] || fail 'the routes are the same'
check again
expect_few_lanes again.json
jq -c '{topology: "without a cable", lmc, classes, service_levels, routes, F_planned, F_loss}' again.json
