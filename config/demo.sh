#!/usr/bin/env bash
# Installs what is missing, builds, and runs the main job: unmodified MPI programs with and without libcoll.
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$root/config/install_packages.sh" demo || exit 1
installed=$SECONDS
step 'Configuring' configure release || fail 'configuring failed; see above.'
step 'Building' cmake --build "$build" --target libcoll_command libcoll_pmpi collective_sweep fft3d_slab_alltoall \
  yield_sleep || fail 'the build failed; see above.'
built=$SECONDS
"$root/benchmarks/main_job.sh" "$build" || exit 1
printf '\nFrom nothing to here: %d s (packages %d, building %d, programs %d).\n' "$SECONDS" "$installed" $((built - installed)) \
  $((SECONDS - built))
