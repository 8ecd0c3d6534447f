/* Which MPI the process has. */
#ifndef LIBCOLL_PMPI_PRELOAD_MPI_FAMILY_H
#define LIBCOLL_PMPI_PRELOAD_MPI_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

#include "pmpi/shim/shim.h"

/* MPIs with one binary interface. */
struct libcoll_mpi_family {
  const char* name;
  libcoll_describe_function* describe; /* NULL: this build of libcoll has no shim for them */
  /* By which its launcher says how many processes it has started; NULL: there is none that is its alone. */
  const char* size_variable;
  const char* rank_variable;
};

/* The family of the MPI that is loaded; NULL where there is none, or no shim for it. `reason`, where there is one, is
 * a sentence about that, else empty. MPI need not be initialised. */
const struct libcoll_mpi_family* libcoll_find_mpi_family(char* reason, size_t size);

const struct libcoll_mpi_interface* libcoll_describe_mpi(const struct libcoll_mpi_family* family);

/* Its processes talk to hydra, which expects of those that begin to do so that they go on to the end. */
bool libcoll_uses_hydra(const struct libcoll_mpi_family* family);

/* The process is a job of its own although a launcher has started several, for it is that of another MPI; then `text`
 * says so. */
bool libcoll_is_foreign_launcher(const struct libcoll_mpi_family* family, char* text, size_t size);

#endif
