#include "constants.h"

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef MPICH_VERSION
/* The layout that the stub has of it. */
_Static_assert(sizeof(MPI_Status) == 5 * sizeof(int), "MPI_Status");
_Static_assert(offsetof(MPI_Status, MPI_SOURCE) == 2 * sizeof(int), "MPI_Status");
#define VALUES stub_mpich
#else
#define VALUES stub_standard
#endif

const struct stub_constant VALUES[stub_constant_count] = {
#define STUB_CONSTANT(kind, name) {kind, (unsigned)(uintptr_t)(name)},
#include "constants.def"
#undef STUB_CONSTANT
};
