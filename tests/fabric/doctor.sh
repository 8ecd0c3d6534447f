#!/usr/bin/env bash
# libcoll doctor on a good fabric and on broken ones: it has to name what is broken, and nothing else.
#   doctor.sh LIBCOLL good|mpich|cable|switches|switch_port|wiring|library|host|missing
# shellcheck source-path=SCRIPTDIR source=common.sh
[[ $# == 2 ]] || exit 2
libcoll=$(realpath "$1") case=$2
source "$(dirname "$0")/common.sh"
export LIBCOLL_CACHE_DIR=$directory/cache
library=$(realpath "$(dirname "$libcoll")/../lib/libcoll_pmpi.so")

# examine EXIT_CODE [OPTION…] -- LAUNCHER…: into report.json and, for people, report.txt.
examine() {
  local expected=$1 code=0
  shift
  fabric run -- "$libcoll" doctor "$@" </dev/null >report.txt 2>err || code=$?
  cat report.txt
  [[ $code == "$expected" ]] || fail "exit code $code, expected $expected: $(cat err)"
  code=0
  fabric run -- "$libcoll" doctor --json "$@" </dev/null >report.json 2>err || code=$?
  [[ $code == "$expected" ]] || fail "exit code $code with --json, expected $expected: $(cat err report.json)"
}

# The checks that have faults, each once.
faulty() { jq -r '[.findings[] | select(.severity == "fault") | .check] | unique | join(" ")' report.json; }
# said TEXT: some fault says so, in both forms.
said() {
  jq -r '.findings[] | select(.severity == "fault") | .text' report.json | grep -qF -- "$1" || fail "no fault says '$1': $(cat report.json)"
  grep -F 'fault: ' report.txt | grep -qF -- "$1" || fail "no line says '$1'"
}
only() { [[ $(faulty) == "$1" ]] || fail "faults: $(faulty), expected $1: $(jq -c .findings report.json)"; }

# Every link is measured, and most are what the file says.
measured() {
  jq -e --argjson links "$1" '(.links | length) == $links and .links_of_topology == $links and
      all(.links[]; .alone_bytes_per_second > 0 and .together_bytes_per_second > 0 and .latency_seconds > 0)' \
    report.json >verdict || fail "not all links were measured: $(jq -c .links report.json)"
}

mpirun=(mpirun -n 8)
case $case in
  good)
    bring_up torus:2x2x2 --rate 20mbit --ranks-per-node 2 --routes auto
    examine 0 -- mpirun -n 16
    grep -qx 'verdict: good' report.txt || fail "$(cat report.txt)"
    only ""
    measured 24
    jq -e '.good and (.ranks | length) == 16 and ([.ranks[].node] | unique | length) == 8 and
        all(.links[]; .alone_bytes_per_second / .bandwidth_bytes_per_second | . > 0.8 and . < 1.4)' report.json >verdict ||
      fail "$(cat report.json)"
    # Without a topology file's names, ranks are nodes; the hosts alone are looked at.
    LIBCOLL_ROUTE_BINDING='' examine 0 torus:2x2x2 --no-links -- mpirun -n 8
    ;;
  mpich)
    bring_up ring:3 --rate 20mbit
    examine 0 -- mpiexec.mpich -n 3
    measured 6
    only ""
    ;;
  cable)
    bring_up torus:2x2x2 --rate 20mbit
    cp "$(dirname "$(fabric run -- printenv LIBCOLL_TOPOLOGY)")/topology.toml" before.toml
    fabric rate n0 n1 2mbit
    examine 1 before.toml -- "${mpirun[@]}"
    only link
    said 'n0 -> n1: carries '
    said 'n1 -> n0: carries '
    [[ $(jq '[.findings[] | select(.severity == "fault")] | length' report.json) == 2 ]] || fail "other links are blamed"
    ;;
  switches | switch_port)
    # No process is on a switch: a slow cable of one shows in what hosts measure across it.
    {
      echo 'name = "leaves"'
      for node in n0 n1 n2 n3; do printf '[[node]]\nname = "%s"\nhost = "%s"\n' $node $node; done
      for node in s0 s1; do printf '[[node]]\nname = "%s"\nswitch = true\n' $node; done
      for ends in n0:s0 n1:s0 n2:s1 n3:s1 s0:s1; do printf '[[link]]\nfrom = "%s"\nto = "%s"\n' ${ends%:*} ${ends#*:}; done
    } >leaves.toml
    bring_up leaves.toml --rate 20mbit
    cp "$(fabric run -- printenv LIBCOLL_TOPOLOGY)" before.toml
    if [[ $case == switches ]]; then
      examine 0 before.toml -- mpirun -n 4
      jq -e '.links_of_switches == 10 and .links_of_switches_measured == 10 and (.paths | length) >= 4' report.json >verdict ||
        fail "not all links of switches were measured: $(jq -c .paths report.json)"
      grep -q 'links of switches *10 of 10 measured, by ' report.txt || fail "nothing is said of switches"
      a='node s0' b='node s1'
    else
      # Of two hosts on one switch the links between switches cannot be seen.
      examine 0 before.toml -- mpirun -n 2 --host n0,n1
      grep -q 'links of switches *4 of 10 measured, by 2 paths between hosts; the others cannot be' report.txt ||
        fail "nothing is said of what cannot be measured"
      a=n1 b='node s0'
    fi
    fabric rate "${a#node }" "${b#node }" 5mbit
    examine 1 before.toml -- mpirun -n 4
    only link
    said "$a -> $b: carries "
    said "$b -> $a: carries "
    [[ $(jq '[.findings[] | select(.severity == "fault")] | length' report.json) == 2 ]] || fail "other links are blamed"
    ;;
  wiring)
    # The file has the cable n0-n1 as n0-n2: packets take two links of others.
    bring_up ring:8 --rate 20mbit
    file=$(fabric run -- printenv LIBCOLL_TOPOLOGY)
    python3 - "$file" >wrong.toml <<'END'
import re, sys
text = open(sys.argv[1]).read()
for a, b, c, d in ((0, 1, 0, 2), (1, 0, 2, 0)):
    text, found = re.subn(rf'from = "{a}"(\s+)to = "{b}"', rf'from = "{c}"\1to = "{d}"', text)
    if found != 1:
        sys.exit(f"{found} links from {a} to {b}")
print(text, end="")
END
    examine 1 wrong.toml -- "${mpirun[@]}"
    only link
    said 'when all links carry at once'
    said 'n0 -> n2'
    ;;
  library)
    bring_up torus:2x2x2 --rate 20mbit
    : >nothing
    printf 'const char libcoll_preload_version[] = "0.1.0";\n' >old.c
    cc -shared -fPIC -o old.so old.c
    fabric exec n5 -- mount --bind "$directory/nothing" "$library"
    fabric exec n3 -- mount --bind "$directory/old.so" "$library"
    examine 1 --no-links -- "${mpirun[@]}"
    only "preload version"
    said 'n5: libcoll is not preloaded: '
    said "n3: $library is of version 0.1.0, expected "
    ;;
  host)
    bring_up torus:2x2x2 --rate 20mbit
    sed 's/"n7"/"elsewhere"/' "$(fabric run -- printenv LIBCOLL_TOPOLOGY)" >other.toml
    grep -q elsewhere other.toml || fail "no host was renamed: $(cat other.toml)"
    examine 1 other.toml -- "${mpirun[@]}"
    only host
    said "rank 7 is on 'n7', which the topology 'torus:2x2x2' does not have"
    # A placement file says where it is.
    for rank in 0 1 2 3 4 5 6; do echo "rank $rank=n$rank slot=0"; done >places
    echo 'rank 7=elsewhere' >>places
    LIBCOLL_PLACEMENT=$directory/places examine 0 other.toml --no-links -- "${mpirun[@]}"
    sed -i '$d' places
    LIBCOLL_PLACEMENT=$directory/places examine 1 other.toml --no-links -- "${mpirun[@]}"
    only host
    ;;
  missing)
    # The job does not start: the command is not on one host.
    bring_up ring:3 --rate 20mbit
    mkdir empty
    fabric exec n2 -- mount --bind "$directory/empty" "$(dirname "$libcoll")"
    examine 1 -- mpirun -n 3
    only launch
    ;;
  *) fail "wrong usage" ;;
esac
