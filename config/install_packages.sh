#!/usr/bin/env bash
# Installs the Debian packages that building and the demo need, and the tests (without "demo"), and this machine lacks.
# Quiet otherwise.
#
#   config/install_packages.sh [demo]
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

packages=(
  g++ gcc gfortran cmake ninja-build pkg-config ccache
  libopenmpi-dev openmpi-bin libucx-dev libfabric-dev libglpk-dev libhwloc-dev libpugixml-dev libtomlplusplus-dev
  libcli11-dev nlohmann-json3-dev libboost-dev libfftw3-dev libfftw3-mpi-dev jq iproute2
  libmpich-dev  # mpicc and mpirun stay Open MPI's
)
test_packages=(
  coinor-libclp-dev  # benchmarks/concurrent_flow_race.cpp
  libbenchmark-dev libgtest-dev clang-format clang-tidy
  clang libclang-rt-dev lld  # the builds with sanitizers
  python3  # tests/zoo and tests/matrix: 3.11 or later
  hpcc lammps python3-mpi4py python3-numpy libpetsc-real-dev  # the applications of tests/applications
  mpich
  dpkg-dev man-db  # tests/installation
  ibsim-utils opensm infiniband-diags  # tests/infiniband
  slurmctld slurmd slurm-client munge environment-modules  # tests/slurm
  g++-aarch64-linux-gnu gfortran-aarch64-linux-gnu mmdebstrap qemu-user-static  # the preset "aarch64"
  libsimgrid-dev  # tests/simgrid
)

installed() { dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -x installed >/dev/null; }
known() { apt-cache policy "$1" 2>/dev/null | grep '^  Candidate: [^(]' >/dev/null; }

# All of the second argument on, that do not satisfy the first.
without() {
  local test=$1 name
  shift
  for name in "$@"; do "$test" "$name" || printf '%s ' "$name"; done
}

require_debian() {
  local ID='' ID_LIKE=''
  if [ -r /etc/os-release ]; then source /etc/os-release; fi
  case " $ID $ID_LIKE " in *' debian '*) ;; *) fail "this is not a Debian system (${ID:-unknown}); install by hand the packages that this script lists." ;; esac
  command -v apt-get dpkg-query apt-cache >/dev/null || fail 'there is no apt here; install by hand the packages that this script lists.'
}

require_supported_mpi() {
  local version
  command -v mpirun >/dev/null || return "$1"
  version=$(mpirun --version 2>/dev/null | head -n 1)
  case $version in
    'mpirun (Open MPI) 4.1.'*) ;;
    *) fail "unsupported MPI: mpirun is \"${version:-unknown}\", and libcoll needs Open MPI 4.1 (Debian's openmpi-bin)." ;;
  esac
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

install_packages() {
  local missing=("$@") unknown status=0
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    fail "you are not root and there is no sudo; as root, run: apt-get install ${missing[*]}"
  fi
  export DEBIAN_FRONTEND=noninteractive
  printf 'Installing %d packages: %s\n' ${#missing[@]} "${missing[*]}"
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  as_root apt-get -q -o DPkg::Lock::Timeout=120 update >"$log" 2>&1 || status=$?
  unknown=$(without known "${missing[@]}")
  if [ -n "$unknown" ]; then
    if [ "$status" -ne 0 ] || grep -q '^\(Err\|W: Failed\)' "$log"; then
      fail "the package archives cannot be reached (no network?); still missing: ${missing[*]}"
    fi
    fail "this system's package archives do not have: ${unknown% }"
  fi
  as_root apt-get -q -y -o DPkg::Lock::Timeout=120 install --no-install-recommends "${missing[@]}" >"$log" 2>&1 && return
  tail -n 5 "$log" >&2
  if grep -q '^\(Err\|E: Failed to fetch\)' "$log"; then
    fail "packages could not be downloaded (no network?); still missing: ${missing[*]}"
  fi
  fail "apt-get could not install: ${missing[*]}"
}

require_debian
case ${1:-} in
  '') packages+=("${test_packages[@]}") ;;
  demo) ;;
  *) fail "wrong usage: found '$1', expected demo or nothing." ;;
esac
require_supported_mpi 0
read -ra missing <<<"$(without installed "${packages[@]}")"
if [ ${#missing[@]} -gt 0 ]; then install_packages "${missing[@]}"; fi
require_supported_mpi 1 || fail 'there is no mpirun although openmpi-bin is installed; is it in PATH?'
