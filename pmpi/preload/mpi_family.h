/* Which MPI the process has. */
#ifndef LIBCOLL_PMPI_PRELOAD_MPI_FAMILY_H
#define LIBCOLL_PMPI_PRELOAD_MPI_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

#include "pmpi/words.h"

/* MPIs with one binary interface, and the core for them. */
struct libcoll_mpi_family {
  const char* name;
  const char* core;
  /* Handles that the preload itself needs. */
  libcoll_word (*world)(void);
  libcoll_word (*int_type)(void);
  libcoll_word (*min_operation)(void);
  /* By which its launcher says how many processes it has started; NULL: there is none that is its alone. */
  const char* size_variable;
  const char* rank_variable;
};

/* The family of the MPI that is loaded; NULL where there is none, or no core for it. `reason`, where there is one, is
 * a sentence about that, else empty. MPI need not be initialised. */
const struct libcoll_mpi_family* libcoll_find_mpi_family(char* reason, size_t size);

/* Its processes talk to hydra, which expects of those that begin to do so that they go on to the end. */
bool libcoll_uses_hydra(const struct libcoll_mpi_family* family);

/* The process is a job of its own although a launcher has started several, for it is that of another MPI; then `text`
 * says so. */
bool libcoll_is_foreign_launcher(const struct libcoll_mpi_family* family, char* text, size_t size);

#endif
