/* Persistent collectives by the names of Open MPI 4, which came before the standard (MPI-4.0) had its own. */
#ifndef LIBCOLL_TESTS_PERSISTENT_NAMES_H
#define LIBCOLL_TESTS_PERSISTENT_NAMES_H

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#else
#define MPIX_Allreduce_init MPI_Allreduce_init
#define MPIX_Allgather_init MPI_Allgather_init
#define MPIX_Alltoall_init MPI_Alltoall_init
#define MPIX_Reduce_scatter_init MPI_Reduce_scatter_init
#define MPIX_Reduce_scatter_block_init MPI_Reduce_scatter_block_init
#define MPIX_Allgatherv_init MPI_Allgatherv_init
#define MPIX_Alltoallv_init MPI_Alltoallv_init
#define MPIX_Alltoallw_init MPI_Alltoallw_init
#define MPIX_Bcast_init MPI_Bcast_init
#define MPIX_Reduce_init MPI_Reduce_init
#endif

#endif
