/* Functions of MPI under the names of MPI's profiling interface, for the shim alone: they are found where the preloaded
 * library says, not by the linker. So the shim names no library of MPI's, and its own calls are never intercepted. */
#ifndef LIBCOLL_PMPI_SHIM_MPI_FUNCTIONS_H
#define LIBCOLL_PMPI_SHIM_MPI_FUNCTIONS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Looks them all up; the name of one that is missing, or NULL. Once, before any is called. */
const char* libcoll_find_mpi_functions(void* (*find)(const char* name));

#ifdef __cplusplus
}
#endif

#endif
