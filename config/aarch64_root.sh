#!/usr/bin/env bash
# Makes build-aarch64/root: arm64's packages that the preset "aarch64" compiles and links with, extracted, not installed.
# They stay apart from the machine's own, because the arm64 packages of Open MPI replace the native ones. Does nothing where
# the root is there and has the packages of the list.
#
#   config/aarch64_root.sh
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

packages=(
  libc6-dev libstdc++-12-dev libgfortran-12-dev
  libopenmpi-dev openmpi-bin libucx-dev libfabric-dev libhwloc-dev libpugixml-dev libtomlplusplus-dev libglpk-dev
  libcli11-dev nlohmann-json3-dev libboost-dev libfftw3-dev libfftw3-mpi-dev libgtest-dev libbenchmark-dev
)
folder=$root/build-aarch64/root
if [ "$(cat "$folder.packages" 2>/dev/null)" = "${packages[*]}" ]; then exit 0; fi

command -v mmdebstrap >/dev/null || fail 'there is no mmdebstrap; run config/install_packages.sh first.'
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
log=$(mktemp)
trap 'rm -f "$log"' EXIT
rm -rf "$folder" "$folder.packages"
mkdir -p "${folder%/*}"
mmdebstrap --variant=extract --architectures=arm64 --skip=chroot/mount --aptopt='Acquire::Retries "3"' \
  --include="$(IFS=, && echo "${packages[*]}")" "$suite" "$folder" >"$log" 2>&1 || {
  tail -n 5 "$log" >&2
  fail "arm64's packages could not be had from the archive of $suite (see above)."
}
# qemu looks here first for every file that a program opens. All but libraries and headers is the machine's.
find "$folder" -mindepth 1 -maxdepth 1 ! -name usr ! -name lib -exec rm -rf {} +
echo "${packages[*]}" >"$folder.packages"
