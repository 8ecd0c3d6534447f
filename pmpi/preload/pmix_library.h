/* Where MPI will find PMIx, before it has looked for it. */
#ifndef LIBCOLL_PMPI_PRELOAD_PMIX_LIBRARY_H
#define LIBCOLL_PMPI_PRELOAD_PMIX_LIBRARY_H

#include <stdbool.h>

/* PMIx's functions; all NULL where there is no PMIx, or it is not certain that it is MPI's. */
struct libcoll_pmix {
  void* init;
  void* finalize;
  void* put;
  void* get;
};

/* Loads what MPI_Init would load for it. */
struct libcoll_pmix libcoll_find_pmix(void);
/* After MPI_Init: what MPI has loaded for it, wherever that was. */
struct libcoll_pmix libcoll_find_loaded_pmix(void);
/* Whether the process has a PMIx server, which its launcher is: the variables say where, and something listens there.
 * They outlive their job in a shell that was part of it, and PMIx cannot begin again after it has failed twice. */
bool libcoll_has_pmix_server(void);

#endif
