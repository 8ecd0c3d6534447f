/* mpi.h of MPI's standard binary interface for the programs of this folder: what libcoll's has, and what they need
 * besides. */
#ifndef LIBCOLL_TESTS_STANDARD_ABI_MPI_H
#define LIBCOLL_TESTS_STANDARD_ABI_MPI_H

#include "pmpi/shim/standard_abi/mpi.h"

enum {
  MPI_ERR_BUFFER = 1,
  MPI_ERR_COUNT = 2,
  MPI_ERR_TAG = 4,
  MPI_ERR_COMM = 5,
  MPI_ERR_RANK = 6,
  MPI_ERR_ROOT = 8,
  MPI_ERR_GROUP = 9,
  MPI_ERR_OP = 10,
  MPI_ERR_TOPOLOGY = 11,
  MPI_ERR_DIMS = 12,
  MPI_ERR_ARG = 13,
  MPI_ERR_UNKNOWN = 14,
  MPI_ERR_TRUNCATE = 15,
  MPI_ERR_INTERN = 17,
  MPI_ERR_PENDING = 18,
  MPI_ERR_KEYVAL = 36,

  MPI_COMM_TYPE_SHARED = 221,
  MPI_TAG_UB = 501
};

typedef void MPI_User_function(void* in, void* inout, int* length, MPI_Datatype* datatype);

#define MPI_COMM_NULL_COPY_FN ((MPI_Comm_copy_attr_function*)0)
#define MPI_COMM_DUP_FN ((MPI_Comm_copy_attr_function*)1)
#define MPI_COMM_NULL_DELETE_FN ((MPI_Comm_delete_attr_function*)0)

double MPI_Wtime(void);
LIBCOLL_FUNCTION_OF_MPI(Abort, (MPI_Comm comm, int code))
LIBCOLL_FUNCTION_OF_MPI(Cart_coords, (MPI_Comm comm, int rank, int most, int* coordinates))
LIBCOLL_FUNCTION_OF_MPI(Cart_create, (MPI_Comm comm, int dimensions, const int* lengths, const int* periodic,
                                      int reorder, MPI_Comm* made))
LIBCOLL_FUNCTION_OF_MPI(Cart_sub, (MPI_Comm comm, const int* kept, MPI_Comm* made))
LIBCOLL_FUNCTION_OF_MPI(Comm_dup, (MPI_Comm comm, MPI_Comm* made))
LIBCOLL_FUNCTION_OF_MPI(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* made))
LIBCOLL_FUNCTION_OF_MPI(Comm_idup, (MPI_Comm comm, MPI_Comm* made, MPI_Request* request))
LIBCOLL_FUNCTION_OF_MPI(Comm_set_name, (MPI_Comm comm, const char* name))
LIBCOLL_FUNCTION_OF_MPI(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made))
LIBCOLL_FUNCTION_OF_MPI(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made))
LIBCOLL_FUNCTION_OF_MPI(Dist_graph_create_adjacent,
                        (MPI_Comm comm, int sources, const int* source, const int* source_weights, int destinations,
                         const int* destination, const int* destination_weights, MPI_Info info, int reorder,
                         MPI_Comm* made))
LIBCOLL_FUNCTION_OF_MPI(Gather, (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                 int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm))
LIBCOLL_FUNCTION_OF_MPI(Get_address, (const void* place, MPI_Aint* address))
LIBCOLL_FUNCTION_OF_MPI(Get_library_version, (char* version, int* length))
LIBCOLL_FUNCTION_OF_MPI(Group_incl, (MPI_Group group, int number, const int* ranks, MPI_Group* made))
LIBCOLL_FUNCTION_OF_MPI(Group_range_incl, (MPI_Group group, int number, int ranges[][3], MPI_Group* made))
LIBCOLL_FUNCTION_OF_MPI(Group_rank, (MPI_Group group, int* rank))
LIBCOLL_FUNCTION_OF_MPI(Init, (int* argc, char*** argv))
LIBCOLL_FUNCTION_OF_MPI(Init_thread, (int* argc, char*** argv, int required, int* provided))
LIBCOLL_FUNCTION_OF_MPI(Intercomm_create,
                        (MPI_Comm local, int local_leader, MPI_Comm peer, int remote_leader, int tag, MPI_Comm* made))
LIBCOLL_FUNCTION_OF_MPI(Op_create, (MPI_User_function * function, int commutes, MPI_Op* made))
LIBCOLL_FUNCTION_OF_MPI(Op_free, (MPI_Op * op))
LIBCOLL_FUNCTION_OF_MPI(Recv_init, (void* buffer, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                                    MPI_Request* request))
LIBCOLL_FUNCTION_OF_MPI(Send,
                        (const void* buffer, int count, MPI_Datatype datatype, int destination, int tag, MPI_Comm comm))
LIBCOLL_FUNCTION_OF_MPI(Send_init, (const void* buffer, int count, MPI_Datatype datatype, int destination, int tag,
                                    MPI_Comm comm, MPI_Request* request))
LIBCOLL_FUNCTION_OF_MPI(Sendrecv, (const void* sendbuf, int sendcount, MPI_Datatype sendtype, int destination,
                                   int sendtag, void* recvbuf, int recvcount, MPI_Datatype recvtype, int source,
                                   int recvtag, MPI_Comm comm, MPI_Status* status))
LIBCOLL_FUNCTION_OF_MPI(Test_cancelled, (const MPI_Status* status, int* flag))
LIBCOLL_FUNCTION_OF_MPI(Type_contiguous, (int count, MPI_Datatype datatype, MPI_Datatype* made))
LIBCOLL_FUNCTION_OF_MPI(Type_create_resized,
                        (MPI_Datatype datatype, MPI_Aint lower_bound, MPI_Aint extent, MPI_Datatype* made))
LIBCOLL_FUNCTION_OF_MPI(Type_create_struct, (int count, const int* lengths, const MPI_Aint* places,
                                             const MPI_Datatype* datatypes, MPI_Datatype* made))
LIBCOLL_FUNCTION_OF_MPI(Type_indexed,
                        (int count, const int* lengths, const int* places, MPI_Datatype datatype, MPI_Datatype* made))
LIBCOLL_FUNCTION_OF_MPI(Type_size, (MPI_Datatype datatype, int* size))
LIBCOLL_FUNCTION_OF_MPI(Type_vector, (int count, int length, int stride, MPI_Datatype datatype, MPI_Datatype* made))

#endif
