/* The binary interfaces that libcoll knows, each described by one source that is compiled with its mpi.h. */
#ifndef LIBCOLL_PMPI_SHIM_SHIM_H
#define LIBCOLL_PMPI_SHIM_SHIM_H

#include "pmpi/mpi_interface.h"

/* `find` gives the address of an object of MPI's by its name, NULL where there is none. Valid until the process ends.
 */
typedef const struct libcoll_mpi_interface* libcoll_describe_function(void* (*find)(const char* name));

#ifdef __cplusplus
extern "C" {
#endif
libcoll_describe_function libcoll_describe_openmpi;
libcoll_describe_function libcoll_describe_mpich;
libcoll_describe_function libcoll_describe_standard_abi;
#ifdef __cplusplus
}
#endif

#endif
