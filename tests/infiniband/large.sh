#!/usr/bin/env bash
# A torus of 6x6 switches with eight hosts each: more hosts than libcoll routes makes a plan for each number of lanes for.
#   large.sh LIBCOLL
set -euo pipefail
[[ $# == 1 ]] || exit 2
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
side=6 hosts=8
{
  for ((host = 0; host < side * side * hosts; ++host)); do printf '[[node]]\nname = "h%d"\n' "$host"; done
  for ((switch = 0; switch < side * side; ++switch)); do printf '[[node]]\nname = "s%d"\nswitch = true\n' "$switch"; done
  for ((host = 0; host < side * side * hosts; ++host)); do
    printf '[[link]]\nfrom = "h%d"\nto = "s%d"\n' "$host" $((host / hosts))
  done
  for ((switch = 0; switch < side * side; ++switch)); do
    row=$((switch / side)) column=$((switch % side))
    printf '[[link]]\nfrom = "s%d"\nto = "s%d"\n' "$switch" $(((row + 1) % side * side + column))
    printf '[[link]]\nfrom = "s%d"\nto = "s%d"\n' "$switch" $((row * side + (column + 1) % side))
  done
} >"$directory/torus.toml"
"${0%/*}/subnet.sh" "$1" "$directory/torus.toml"
