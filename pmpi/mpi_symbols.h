// mpi.h with everything we use of it weak: the library is loaded into programs without MPI too (the launcher,
// shells), and must neither need libmpi there nor bring one along.
#pragma once

// The C++ bindings that mpi.h would pull in are not ours to compile.
#define OMPI_SKIP_MPICXX 1  // NOLINT(readability-identifier-naming)
#include <mpi.h>

#pragma weak ompi_mpi_byte
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_mpi_comm_self
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_datatype_null
#pragma weak ompi_mpi_errors_return
#pragma weak ompi_mpi_op_bor
#pragma weak ompi_mpi_op_null
#pragma weak ompi_request_null
#pragma weak PMPI_Allgather
#pragma weak PMPI_Allreduce
#pragma weak PMPI_Alltoall
#pragma weak PMPI_Bcast
#pragma weak PMPI_Cancel
#pragma weak PMPI_Comm_c2f
#pragma weak PMPI_Comm_call_errhandler
#pragma weak PMPI_Comm_create
#pragma weak PMPI_Comm_create_group
#pragma weak PMPI_Comm_create_keyval
#pragma weak PMPI_Comm_free
#pragma weak PMPI_Comm_f2c
#pragma weak PMPI_Comm_get_attr
#pragma weak PMPI_Comm_get_errhandler
#pragma weak PMPI_Comm_get_name
#pragma weak PMPI_Comm_group
#pragma weak PMPI_Comm_rank
#pragma weak PMPI_Comm_set_attr
#pragma weak PMPI_Comm_set_errhandler
#pragma weak PMPI_Comm_size
#pragma weak PMPI_Comm_test_inter
#pragma weak PMPI_Errhandler_free
#pragma weak PMPI_Finalized
#pragma weak PMPI_Get_count
#pragma weak PMPI_Get_library_version
#pragma weak PMPI_Get_processor_name
#pragma weak PMPI_Grequest_complete
#pragma weak PMPI_Grequest_start
#pragma weak PMPI_Group_free
#pragma weak PMPI_Group_size
#pragma weak PMPI_Group_translate_ranks
#pragma weak PMPI_Ibarrier
#pragma weak PMPI_Ibcast
#pragma weak PMPI_Initialized
#pragma weak PMPI_Iprobe
#pragma weak PMPI_Irecv
#pragma weak PMPI_Isend
#pragma weak PMPI_Issend
#pragma weak PMPI_Op_f2c
#pragma weak PMPI_Pack
#pragma weak PMPI_Query_thread
#pragma weak PMPI_Recv
#pragma weak PMPI_Reduce
#pragma weak PMPI_Reduce_local
#pragma weak PMPI_Reduce_scatter_block
#pragma weak PMPI_Request_c2f
#pragma weak PMPI_Request_f2c
#pragma weak PMPI_Request_free
#pragma weak PMPI_Request_get_status
#pragma weak PMPI_Status_set_cancelled
#pragma weak PMPI_Status_set_elements
#pragma weak PMPI_Test
#pragma weak PMPI_Testsome
#pragma weak PMPI_Type_commit
#pragma weak PMPI_Type_create_hindexed
#pragma weak PMPI_Type_dup
#pragma weak PMPI_Type_f2c
#pragma weak PMPI_Type_free
#pragma weak PMPI_Type_get_contents
#pragma weak PMPI_Type_get_envelope
#pragma weak PMPI_Type_get_extent
#pragma weak PMPI_Type_size_x
#pragma weak PMPI_Unpack
