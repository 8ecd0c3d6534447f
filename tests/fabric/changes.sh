#!/usr/bin/env bash
# The topology file loses a cable under a running job, and gets it back.
#   changes.sh LIBCOLL ENDURE blocking|mixed|immediate|starts|nodes_blocking|nodes_starts|resent_blocking|resent_immediate|resent_starts|resent_cut|resent_cut_later
# resent_cut: another cable dies at the same time; resent_cut_later: when calls go by the new plans.
# ENDURE checks every result of its calls, and that they were served.
# shellcheck source-path=SCRIPTDIR source=common.sh
[[ $# == 3 ]] || exit 2
libcoll=$(realpath "$1") endure=$(realpath "$2") case=$3
source "$(dirname "$0")/common.sh"
export LIBCOLL_CACHE_DIR=$directory/cache LIBCOLL_LOG_LEVEL=info LIBCOLL_COST_MODEL=no
export LIBCOLL_BACKGROUND_PLANNING=no # which calls are served must be known

ranks=8 bytes=32768 options=() way=${case#*_}
cable=(0 1)
outage=0 # in seconds, until the fabric routes around the cable
# What the job says when it goes by new plans.
changes='from now on .*alltoall'
case $case in
  *immediate | *starts | resent_cut*) changes='from nonblocking call [0-9]* on, and from the next starts of [0-9]* persistent calls, .*alltoall' ;;
esac
case $case in
  blocking | mixed) outage=35 ;; # by UCX's defaults, connections that are idle would be given up
  immediate | starts) ;;
  nodes_blocking | nodes_starts) ranks=16 bytes=16384 options=(--ranks-per-node 2) ;;
  resent_cut*) export LIBCOLL_RESEND_SECONDS=2 cable=(2 3) way=immediate ;;
  resent_*) export LIBCOLL_RESEND_SECONDS=30 ;; # a cable that is found dead, which is out for longer, would stay out
  *) fail "wrong usage" ;;
esac

bring_up torus:2x2x2 --rate 100mbit "${options[@]}" --layers 4
cp "$(fabric run -- printenv LIBCOLL_TOPOLOGY)" whole.toml
{
  echo "removed_links = [[\"${cable[0]}\", \"${cable[1]}\"]]"
  cat whole.toml
} >cut.toml

# The file is another, as an editor or a script leaves it.
rewrite() {
  cp "$1" fabric.toml.new
  mv fabric.toml.new fabric.toml
}

rounds_done() { grep -c '^endure: round ' err || true; }

# Waits for so many more rounds.
wait_for_rounds() {
  local goal=$(($(rounds_done) + $1))
  until [[ $(rounds_done) -ge $goal ]]; do
    kill -0 "$job" 2>/dev/null || fail "the job ended too soon"
    sleep 0.2
  done
}

# Waits until the job has said that it goes by new plans, and what it says of links after that. Links that are found
# dead afterwards make it say so once more.
wait_for_new_plans() {
  until grep -q "WORLD: the topology file has changed; $changes.* by new plans$1\$" err; do
    kill -0 "$job" 2>/dev/null || fail "the job ended too soon"
    sleep 0.2
  done
}

# What crosses the cable in so many rounds, in bytes a round: at the least and at the most, as rounds go on while the
# counters are read.
bytes_of_cable() {
  bytes_of_links | awk -v a="${cable[0]}" -v b="${cable[1]}" \
    '($1 == a && $2 == b) || ($1 == b && $2 == a) { sum += $3 } END { printf "%.0f\n", sum }'
}
bytes_of_rounds() {
  local first begun before ended last bytes
  first=$(rounds_done) before=$(bytes_of_cable) begun=$(rounds_done)
  wait_for_rounds "$1"
  ended=$(rounds_done) bytes=$(($(bytes_of_cable) - before)) last=$(rounds_done)
  echo $((bytes / (last - first + 1))) $((bytes / (ended - begun)))
}

rewrite whole.toml
touch err
# What the job says is shown also where the test fails.
trap 'cat err >&2; clean_up' EXIT
# Where rank 0 told the others when to end, that would be a blocking call.
end=ENDURE_UNTIL
case $case in
  *immediate | *starts | resent_cut*) end=ENDURE_LAST ;;
esac
fabric run -- env "$end=$directory/enough" LIBCOLL_TOPOLOGY="$directory/fabric.toml" "$libcoll" run -- \
  mpirun -n "$ranks" "$endure" "$way" 0 "$bytes" >out 2>err </dev/null &
job=$!
wait_for_rounds 3
read -r usual usual_at_most <<<"$(bytes_of_rounds 10)"

[[ $case != resent_cut ]] || fabric cut 0 1
rewrite cut.toml
wait_for_new_plans ', without links that are gone'
[[ $case != resent_cut_later ]] || fabric cut 0 1
if [[ $case == resent_cut* ]]; then
  until grep -q 'WORLD: from call .* plans of .* for .*alltoall' err; do
    kill -0 "$job" 2>/dev/null || fail "the job ended too soon"
    sleep 0.2
  done
fi
wait_for_rounds 2 # calls that began before are over
read -r without_at_least without <<<"$(bytes_of_rounds 10)"
echo "bytes a round over the cable: $usual to $usual_at_most, without it $without_at_least to $without"
# MPI's own few messages go by the fabric's own routes, as ever.
((without < usual / 20)) || fail "calls cross the cable that is not in the file"

# Nobody needs it any more.
fabric cut "${cable[@]}"
sleep "$outage"
fabric routes auto
wait_for_rounds 5
fabric mend "${cable[@]}"
fabric routes auto

rewrite whole.toml
wait_for_new_plans ''
wait_for_rounds 2
read -r again_at_least again <<<"$(bytes_of_rounds 10)"
echo "bytes a round over the cable: $again_at_least to $again once it is back"
((again > usual / 2)) || fail "calls do not cross the cable that is back"

# What makes no sense changes nothing.
echo 'generator = "torus:' >broken.toml
rewrite broken.toml
until grep -q 'fabric.toml.*the plans stay as they are' err; do
  kill -0 "$job" 2>/dev/null || fail "the job ended too soon"
  sleep 0.2
done
wait_for_rounds 2
if [[ $end == ENDURE_LAST ]]; then
  echo $(($(rounds_done) + 100)) >last
  mv last enough
else
  touch enough
fi
code=0
wait "$job" || code=$?
[[ $code == 0 ]] || fail "the job ended with $code"
[[ $(grep -c 'rounds right' err) == "$ranks" ]] || fail "not all ranks ended well"
[[ $(grep -c 'the plans stay as they are' err) == 1 ]] || fail "the broken file is not told of once"
fabric down
