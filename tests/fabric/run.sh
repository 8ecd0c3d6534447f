#!/usr/bin/env bash
# Brings up small fabrics and checks one thing about them.
#   run.sh LIBCOLL PROBE routes|links|crash|neighbours|launch
# shellcheck source-path=SCRIPTDIR source=common.sh
[[ $# == 3 ]] || exit 2
libcoll=$(realpath "$1") probe=$(realpath "$2") case=$3
source "$(dirname "$0")/common.sh"

# command_of FOLDER: sets `command` to the words of a process, a folder in /proc; to none where it is dead.
command_of() {
  command=()
  { mapfile -d '' -t command <"$1/cmdline"; } 2>/dev/null || true
}

# wait_for_guest PROCESS: until what runs inside the fabric is `sleep 600`.
wait_for_guest() {
  local command
  until command_of "/proc/$1" && [[ ${command[*]} == 'sleep 600' ]]; do sleep 0.1; done
}

# Processes of a fabric that hold it; the dead that nobody has waited for yet have no command line.
holders() {
  local process command
  for process in /proc/[0-9]*; do
    command_of "$process"
    if [[ ${command[*]} == "libcoll fabric-hold $1" ]]; then
      echo "${process#/proc/}"
    fi
  done
}

expect_gone() {
  local left
  left=$(holders "$1")
  [[ -z $left ]] || fail "processes of $1 are left: $left"
  [[ ! -e $directory_of_fabrics/$1 ]] || fail "$directory_of_fabrics/$1 is left"
}

bring_up torus:2x2x2 --rate 1gbit --json
directory_of_fabrics=$(dirname "$(jq -r .directory up.out)")
links_of_this_machine=$(ls /sys/class/net)

case $case in
  routes)
    # Random paths in three classes; class 0 and pairs without a path follow the default routes.
    "$probe" routes torus:2x2x2 routes.xml 3
    fabric up torus:2x2x2 --rate 1gbit --routes routes.xml
    "$probe" verify "$fabric" routes.xml 100000
    fabric routes --none
    if "$probe" verify "$fabric" routes.xml 100000 >verify.log 2>&1; then fail "the routes are still there"; fi
    fabric routes routes.xml
    "$probe" verify "$fabric" routes.xml 100000
    if fabric up torus:2x2x2 --routes routes.xml --layers 2 2>err; then fail "two classes for three"; fi
    grep -q 'routes need 3' err || fail "$(cat err)"
    ;;
  links)
    send() { "$probe" send "$fabric" "$@"; }
    send 0 0 1 1000 10
    fabric cut 0 1
    # Packets vanish, in both directions, and only there.
    if send 0 0 1 1000 2; then fail "a cut cable carries"; fi
    if send 0 1 0 1000 2; then fail "a cut cable carries backwards"; fi
    send 0 0 2 1000 10
    [[ $("$libcoll" topo "$directory_of_fabrics/$fabric/topology.toml" --json | jq .links) == 22 ]] || fail "topology"
    [[ $(fabric status --json | jq '[.links[] | select(.state == "cut")] | length') == 2 ]] || fail "status"
    fabric routes
    send 0 0 1 1000 10
    fabric mend 0 1
    fabric routes
    "$probe" routes torus:2x2x2 routes.xml 1
    fabric routes routes.xml
    "$probe" verify "$fabric" routes.xml 50000
    # 2 MB take at least (2 MB - 128 KB) · 8 / 10 Mbit/s = 1.5 s, and 16 ms at the first rate.
    fabric rate 0 1 10mbit
    slow=$(send 0 0 1 2000000 60)
    [[ $(jq -n "$slow > 1.45") == true ]] || fail "2 MB in $slow s at 10 Mbit/s"
    fabric rate 0 1 1gbit
    fast=$(send 0 0 1 2000000 60)
    [[ $(jq -n "$fast < 1.4") == true ]] || fail "2 MB in $fast s at 1 Gbit/s"
    ;;
  crash)
    # Killing the control process takes everything along but guests; the next up and down take those, too.
    control=$(fabric status --json | jq .control_pid)
    "$libcoll" fabric --name "$fabric" exec n3 -- sleep 600 &
    guest=$!
    wait_for_guest "$guest"
    kill -9 "$control"
    until [[ -z $(holders "$fabric") ]]; do sleep 0.1; done
    if fabric status 2>err; then fail "status of a ruin"; fi
    fabric up torus:2x2x2
    wait "$guest" && fail "the guest lives"
    fabric exec n7 -- hostname | grep -x n7
    # The record is lost, the processes are found.
    rm -r "${directory_of_fabrics:?}/$fabric"
    fabric down
    expect_gone "$fabric"
    # Down ends those who are inside.
    fabric up ring:3
    "$libcoll" fabric --name "$fabric" exec n1 -- sh -c 'trap "" TERM; echo ready >ready; while :; do sleep 600; done' &
    guest=$!
    until [[ -s ready ]]; do sleep 0.1; done
    fabric down
    wait "$guest" && fail "the stubborn guest lives"
    expect_gone "$fabric"
    ;;
  neighbours)
    # Two fabrics do not see each other, and this machine sees none of their devices.
    other() { "$libcoll" fabric --name "$fabric-b" "$@"; }
    other up ring:3 --rate 1gbit
    "$probe" send "$fabric" 0 0 7 100000 10
    "$probe" send "$fabric-b" 0 0 2 100000 10
    [[ $(fabric status --json | jq '[.links[].bytes] | add') -gt 300000 ]] || fail "three hops"
    [[ $(other status --json | jq '[.links[].bytes] | add') -lt 150000 ]] || fail "one hop"
    [[ $(other exec 2 -- hostname) == n2 ]] || fail "host name"
    [[ $(ls /sys/class/net) == "$links_of_this_machine" ]] || fail "devices of this machine changed"
    if other exec n5 -- true 2>/dev/null; then fail "a node of another fabric"; fi
    other down
    expect_gone "$fabric-b"
    "$probe" send "$fabric" 1 6 1 100000 10
    # Memory is shared on a node, and not between nodes.
    fabric exec n0 -- sh -c 'echo here >/dev/shm/probe'
    [[ $(fabric exec n0 -- cat /dev/shm/probe) == here ]] || fail "/dev/shm of a node"
    if fabric exec n1 -- test -e /dev/shm/probe; then fail "/dev/shm of another node"; fi
    [[ ! -e /dev/shm/probe ]] || fail "/dev/shm of this machine"
    # So are /tmp, /run and /var, but for the directory the fabric was brought up in.
    for place in /tmp /run /var /var/tmp /run/lock; do
      fabric exec n0 -- touch "$place/of-$fabric"
      if fabric exec n1 -- test -e "$place/of-$fabric"; then fail "$place of another node"; fi
      [[ ! -e $place/of-$fabric ]] || fail "$place of this machine"
    done
    fabric exec n0 -- touch "$directory/shared"
    [[ -e shared ]] || fail "nodes do not share $directory with this machine"
    fabric exec n1 -- test -e "$directory/shared" || fail "nodes do not share $directory"
    fabric exec n0 -- test -r "$directory_of_fabrics/$fabric/topology.toml" || fail "the fabric's files are not there"
    code=0
    fabric exec n0 -- sh -c 'exit 42' || code=$?
    [[ $code == 42 ]] || fail "exit code $code"
    ;;
  launch)
    # Rank k lands on node k, also with two ranks on a node.
    fabric up torus:2x2x2 --rate 1gbit --ranks-per-node 2
    launchers=(mpirun)
    if command -v mpiexec.mpich >/dev/null; then launchers+=(mpiexec.mpich); fi
    for ranks in 8 16; do
      for launcher in "${launchers[@]}"; do
        fabric run -- "$launcher" -n "$ranks" sh -c 'echo "${OMPI_COMM_WORLD_RANK-$PMI_RANK} $(hostname)"' </dev/null 2>err |
          sort -n >ranks
        for ((rank = 0; rank < ranks; ++rank)); do echo "$rank n$((rank % 8))"; done | diff - ranks
        [[ $launcher == mpirun || ! -s err ]] || fail "$launcher said: $(cat err)"
      done
    done
    ;;
  *) fail "wrong usage" ;;
esac
fabric down
expect_gone "$fabric"
