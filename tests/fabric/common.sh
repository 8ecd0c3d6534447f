# shellcheck shell=bash
# Sourced by the tests after they set `libcoll` and `case`: a private folder, a fabric of its own that goes with it.
set -euo pipefail

fail() {
  echo "${0##*/}: $*" >&2
  exit 1
}

for name in "${!LIBCOLL_@}" "${!OMPI_@}" "${!UCX_@}"; do unset "$name"; done
# shellcheck disable=SC2154
fabric=test-$$-$case
directory=$(mktemp -d)
cd "$directory"

clean_up() {
  "$libcoll" fabric --name "$fabric" down >/dev/null 2>&1 || true
  "$libcoll" fabric --name "$fabric-b" down >/dev/null 2>&1 || true
  rm -rf "$directory"
}
trap clean_up EXIT

fabric() { "$libcoll" fabric --name "$fabric" "$@"; }

# Skips the test where a fabric is not allowed.
bring_up() {
  local code=0
  fabric up "$@" >up.out 2>up.err || code=$?
  cat up.out up.err
  if [[ $code == 2 ]] && grep -q 'neither is allowed here' up.err; then exit 77; fi
  [[ $code == 0 ]] || fail "up ended with $code"
}
