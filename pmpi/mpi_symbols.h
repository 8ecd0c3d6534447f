// mpi.h of the MPI that the core is built for. The core is loaded when that MPI runs, and linked with it.
#pragma once

// The C++ bindings that mpi.h would pull in are not ours to compile.
#define OMPI_SKIP_MPICXX 1  // NOLINT(readability-identifier-naming)
#include <mpi.h>
