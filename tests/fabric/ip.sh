#!/usr/bin/env bash
# What libcoll routes --ip writes for hosts, installed by ip -batch in the fabric's namespaces in place of the emulator's
# own routes: every message of a class crosses the links of the plan's route, and no others.
#   ip.sh LIBCOLL PROBE TOPOLOGY
# shellcheck source-path=SCRIPTDIR source=common.sh
[[ $# == 3 ]] || exit 2
libcoll=$(realpath "$1") probe=$(realpath "$2") topology=$3 case=ip
source "$(dirname "$0")/common.sh"

"$libcoll" plan "$topology" alltoall --output plan.xml --quiet
classes=$("$libcoll" routes plan.xml --ip --json | jq .classes)
bring_up "$topology" --rate 1gbit --layers "$classes"
"$libcoll" routes plan.xml --ip --output planned --json >planned.json
[[ $(jq .classes planned.json) == "$classes" ]] || fail "$(cat planned.json)"
[[ $(jq -r .routes_digest planned.json) == "$(sed -n 's/^routes = "\(.*\)"/\1/p' planned/route-binding.toml)" ]] ||
  fail "the binding is for other routes"
"$libcoll" verify planned/plan.xml

# Without them the routes are not there: default routes lead elsewhere.
if "$probe" verify "$fabric" planned/plan.xml 50000 >before.log 2>&1; then fail "default routes are the plan's"; fi
nodes=$(jq .hosts planned.json)
for ((node = 0; node < nodes; ++node)); do
  # A second time, too: they take the place of what an earlier one made.
  for _ in 1 2; do
    fabric exec "$node" -- ip -batch - <"planned/hosts/$node.routes" || fail "ip refuses the routes of node $node"
  done
done
"$probe" verify "$fabric" planned/plan.xml 50000
