/* The part of MPI's standard binary interface (MPI-5.0, chapter 20 and appendix A) that libcoll uses: its types, its
 * values, and the functions that libcoll calls or serves. Any MPI that has a libmpi_abi has these. */
#ifndef LIBCOLL_PMPI_SHIM_STANDARD_ABI_MPI_H
#define LIBCOLL_PMPI_SHIM_STANDARD_ABI_MPI_H

#include <stdint.h>

/* Other headers have MPI_ABI_VERSION, too: MPI-5.0 demands it of all. */
#define LIBCOLL_STANDARD_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

/* ---- types */

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef int64_t MPI_Count;

/* A handle is an address, or one of the numbers below, which no address is. */
typedef struct MPI_ABI_Comm* MPI_Comm;
typedef struct MPI_ABI_Datatype* MPI_Datatype;
typedef struct MPI_ABI_Errhandler* MPI_Errhandler;
typedef struct MPI_ABI_Group* MPI_Group;
typedef struct MPI_ABI_Info* MPI_Info;
typedef struct MPI_ABI_Op* MPI_Op;
typedef struct MPI_ABI_Request* MPI_Request;

typedef struct {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int MPI_internal[5];
} MPI_Status;

/* ---- handles */

#define MPI_COMM_NULL ((MPI_Comm)0x100)
#define MPI_COMM_WORLD ((MPI_Comm)0x101)
#define MPI_COMM_SELF ((MPI_Comm)0x102)

#define MPI_GROUP_NULL ((MPI_Group)0x108)
#define MPI_GROUP_EMPTY ((MPI_Group)0x109)

#define MPI_INFO_NULL ((MPI_Info)0x130)

#define MPI_ERRHANDLER_NULL ((MPI_Errhandler)0x140)
#define MPI_ERRORS_ARE_FATAL ((MPI_Errhandler)0x141)
#define MPI_ERRORS_ABORT ((MPI_Errhandler)0x142)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)0x143)

#define MPI_REQUEST_NULL ((MPI_Request)0x180)

#define MPI_OP_NULL ((MPI_Op)0x20)
#define MPI_SUM ((MPI_Op)0x21)
#define MPI_MIN ((MPI_Op)0x22)
#define MPI_MAX ((MPI_Op)0x23)
#define MPI_PROD ((MPI_Op)0x24)
#define MPI_BAND ((MPI_Op)0x28)
#define MPI_BOR ((MPI_Op)0x29)
#define MPI_BXOR ((MPI_Op)0x2a)
#define MPI_LAND ((MPI_Op)0x30)
#define MPI_LOR ((MPI_Op)0x31)
#define MPI_LXOR ((MPI_Op)0x32)
#define MPI_MINLOC ((MPI_Op)0x38)
#define MPI_MAXLOC ((MPI_Op)0x39)

/* Without a fixed size, then those of C and Fortran whose size the platform decides, then those with a size. */
#define MPI_DATATYPE_NULL ((MPI_Datatype)0x200)
#define MPI_AINT ((MPI_Datatype)0x201)
#define MPI_COUNT ((MPI_Datatype)0x202)
#define MPI_OFFSET ((MPI_Datatype)0x203)
#define MPI_PACKED ((MPI_Datatype)0x207)
#define MPI_SHORT ((MPI_Datatype)0x208)
#define MPI_INT ((MPI_Datatype)0x209)
#define MPI_LONG ((MPI_Datatype)0x20a)
#define MPI_LONG_LONG ((MPI_Datatype)0x20b)
#define MPI_LONG_LONG_INT MPI_LONG_LONG
#define MPI_UNSIGNED_SHORT ((MPI_Datatype)0x20c)
#define MPI_UNSIGNED ((MPI_Datatype)0x20d)
#define MPI_UNSIGNED_LONG ((MPI_Datatype)0x20e)
#define MPI_UNSIGNED_LONG_LONG ((MPI_Datatype)0x20f)
#define MPI_FLOAT ((MPI_Datatype)0x210)
#define MPI_C_FLOAT_COMPLEX ((MPI_Datatype)0x212)
#define MPI_C_COMPLEX MPI_C_FLOAT_COMPLEX
#define MPI_CXX_FLOAT_COMPLEX ((MPI_Datatype)0x213)
#define MPI_DOUBLE ((MPI_Datatype)0x214)
#define MPI_C_DOUBLE_COMPLEX ((MPI_Datatype)0x216)
#define MPI_CXX_DOUBLE_COMPLEX ((MPI_Datatype)0x217)
#define MPI_LOGICAL ((MPI_Datatype)0x218)
#define MPI_INTEGER ((MPI_Datatype)0x219)
#define MPI_REAL ((MPI_Datatype)0x21a)
#define MPI_COMPLEX ((MPI_Datatype)0x21b)
#define MPI_DOUBLE_PRECISION ((MPI_Datatype)0x21c)
#define MPI_DOUBLE_COMPLEX ((MPI_Datatype)0x21d)
#define MPI_CHARACTER ((MPI_Datatype)0x21e)
#define MPI_LONG_DOUBLE ((MPI_Datatype)0x220)
#define MPI_C_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x224)
#define MPI_CXX_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x225)
#define MPI_FLOAT_INT ((MPI_Datatype)0x228)
#define MPI_DOUBLE_INT ((MPI_Datatype)0x229)
#define MPI_LONG_INT ((MPI_Datatype)0x22a)
#define MPI_2INT ((MPI_Datatype)0x22b)
#define MPI_SHORT_INT ((MPI_Datatype)0x22c)
#define MPI_LONG_DOUBLE_INT ((MPI_Datatype)0x22d)
#define MPI_2REAL ((MPI_Datatype)0x230)
#define MPI_2DOUBLE_PRECISION ((MPI_Datatype)0x231)
#define MPI_2INTEGER ((MPI_Datatype)0x232)
#define MPI_C_BOOL ((MPI_Datatype)0x238)
#define MPI_CXX_BOOL ((MPI_Datatype)0x239)
#define MPI_WCHAR ((MPI_Datatype)0x23c)
#define MPI_INT8_T ((MPI_Datatype)0x240)
#define MPI_UINT8_T ((MPI_Datatype)0x241)
#define MPI_CHAR ((MPI_Datatype)0x243)
#define MPI_SIGNED_CHAR ((MPI_Datatype)0x244)
#define MPI_UNSIGNED_CHAR ((MPI_Datatype)0x245)
#define MPI_BYTE ((MPI_Datatype)0x247)
#define MPI_INT16_T ((MPI_Datatype)0x248)
#define MPI_UINT16_T ((MPI_Datatype)0x249)
#define MPI_INT32_T ((MPI_Datatype)0x250)
#define MPI_UINT32_T ((MPI_Datatype)0x251)
#define MPI_INT64_T ((MPI_Datatype)0x258)
#define MPI_UINT64_T ((MPI_Datatype)0x259)
#define MPI_INTEGER1 ((MPI_Datatype)0x2c1)
#define MPI_INTEGER2 ((MPI_Datatype)0x2c9)
#define MPI_INTEGER4 ((MPI_Datatype)0x2d1)
#define MPI_REAL4 ((MPI_Datatype)0x2d2)
#define MPI_INTEGER8 ((MPI_Datatype)0x2d9)
#define MPI_REAL8 ((MPI_Datatype)0x2da)
#define MPI_COMPLEX8 ((MPI_Datatype)0x2db)
#define MPI_INTEGER16 ((MPI_Datatype)0x2e1)
#define MPI_REAL16 ((MPI_Datatype)0x2e2)
#define MPI_COMPLEX16 ((MPI_Datatype)0x2e3)
#define MPI_COMPLEX32 ((MPI_Datatype)0x2eb)

/* ---- other values */

#define MPI_BOTTOM ((void*)0)
#define MPI_IN_PLACE ((void*)1)
#define MPI_STATUS_IGNORE ((MPI_Status*)0)
#define MPI_STATUSES_IGNORE ((MPI_Status*)0)

enum {
  MPI_SUCCESS = 0,
  MPI_ERR_TYPE = 3,
  MPI_ERR_REQUEST = 7,
  MPI_ERR_OTHER = 16,
  MPI_ERR_IN_STATUS = 19,
  MPI_ERR_NO_MEM = 39,

  MPI_ANY_SOURCE = -1,
  MPI_ANY_TAG = -2,
  MPI_PROC_NULL = -3,
  MPI_ROOT = -4,
  MPI_UNDEFINED = -32766,

  MPI_THREAD_SINGLE = 0,
  MPI_THREAD_FUNNELED = 1024,
  MPI_THREAD_SERIALIZED = 2048,
  MPI_THREAD_MULTIPLE = 4096,

  MPI_COMBINER_NAMED = 101,
  MPI_COMBINER_DUP = 102,
  MPI_COMBINER_CONTIGUOUS = 103,

  MPI_KEYVAL_INVALID = 0,

  MPI_MAX_OBJECT_NAME = 128,
  MPI_MAX_PROCESSOR_NAME = 256
};

/* ---- functions */

typedef int MPI_Comm_copy_attr_function(MPI_Comm comm, int keyval, void* extra_state, void* attribute_in,
                                        void* attribute_out, int* flag);
typedef int MPI_Comm_delete_attr_function(MPI_Comm comm, int keyval, void* attribute, void* extra_state);
typedef int MPI_Grequest_query_function(void* extra_state, MPI_Status* status);
typedef int MPI_Grequest_free_function(void* extra_state);
typedef int MPI_Grequest_cancel_function(void* extra_state, int complete);

#define LIBCOLL_FUNCTION_OF_MPI(Name, parameters) \
  int MPI_##Name parameters;                      \
  int PMPI_##Name parameters;
#define LIBCOLL_INNER(...) __VA_ARGS__
#define LIBCOLL_ENTRY(name, Name, number, datatypes, parameters, ...)                 \
  LIBCOLL_FUNCTION_OF_MPI(Name, parameters)                                           \
  LIBCOLL_FUNCTION_OF_MPI(I##name, (LIBCOLL_INNER parameters, MPI_Request * request)) \
  LIBCOLL_FUNCTION_OF_MPI(Name##_init, (LIBCOLL_INNER parameters, MPI_Info info, MPI_Request * request))
#include "pmpi/entry_points.def"
#undef LIBCOLL_ENTRY
#define LIBCOLL_ENTRY(name, Name, number, datatypes, parameters, ...)                     \
  LIBCOLL_FUNCTION_OF_MPI(Name##_c, parameters)                                           \
  LIBCOLL_FUNCTION_OF_MPI(I##name##_c, (LIBCOLL_INNER parameters, MPI_Request * request)) \
  LIBCOLL_FUNCTION_OF_MPI(Name##_init_c, (LIBCOLL_INNER parameters, MPI_Info info, MPI_Request * request))
#define LIBCOLL_LARGE_COUNTS
#include "pmpi/entry_points.def"
#undef LIBCOLL_LARGE_COUNTS
#undef LIBCOLL_ENTRY
#undef LIBCOLL_INNER
#define LIBCOLL_COMPLETES_ONE(Name, number, parameters, ...) LIBCOLL_FUNCTION_OF_MPI(Name, parameters)
#define LIBCOLL_COMPLETES_MANY(Name, number, parameters, ...) LIBCOLL_FUNCTION_OF_MPI(Name, parameters)
#include "pmpi/request_points.def"
#undef LIBCOLL_COMPLETES_ONE
#undef LIBCOLL_COMPLETES_MANY

LIBCOLL_FUNCTION_OF_MPI(Barrier, (MPI_Comm comm))
LIBCOLL_FUNCTION_OF_MPI(Cancel, (MPI_Request * request))
LIBCOLL_FUNCTION_OF_MPI(Comm_call_errhandler, (MPI_Comm comm, int code))
LIBCOLL_FUNCTION_OF_MPI(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* made))
LIBCOLL_FUNCTION_OF_MPI(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made))
LIBCOLL_FUNCTION_OF_MPI(Comm_create_keyval, (MPI_Comm_copy_attr_function * copy, MPI_Comm_delete_attr_function* destroy,
                                             int* keyval, void* extra_state))
LIBCOLL_FUNCTION_OF_MPI(Comm_free, (MPI_Comm * comm))
LIBCOLL_FUNCTION_OF_MPI(Comm_get_attr, (MPI_Comm comm, int keyval, void* attribute, int* flag))
LIBCOLL_FUNCTION_OF_MPI(Comm_get_errhandler, (MPI_Comm comm, MPI_Errhandler* handler))
LIBCOLL_FUNCTION_OF_MPI(Comm_get_name, (MPI_Comm comm, char* name, int* length))
LIBCOLL_FUNCTION_OF_MPI(Comm_group, (MPI_Comm comm, MPI_Group* group))
LIBCOLL_FUNCTION_OF_MPI(Comm_rank, (MPI_Comm comm, int* rank))
LIBCOLL_FUNCTION_OF_MPI(Comm_set_attr, (MPI_Comm comm, int keyval, void* attribute))
LIBCOLL_FUNCTION_OF_MPI(Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler handler))
LIBCOLL_FUNCTION_OF_MPI(Comm_size, (MPI_Comm comm, int* size))
LIBCOLL_FUNCTION_OF_MPI(Comm_test_inter, (MPI_Comm comm, int* flag))
LIBCOLL_FUNCTION_OF_MPI(Errhandler_free, (MPI_Errhandler * handler))
LIBCOLL_FUNCTION_OF_MPI(Error_class, (int code, int* error_class))
LIBCOLL_FUNCTION_OF_MPI(Finalize, (void))
LIBCOLL_FUNCTION_OF_MPI(Finalized, (int* flag))
LIBCOLL_FUNCTION_OF_MPI(Get_count, (const MPI_Status* status, MPI_Datatype datatype, int* count))
LIBCOLL_FUNCTION_OF_MPI(Get_library_version, (char* version, int* length))
LIBCOLL_FUNCTION_OF_MPI(Get_processor_name, (char* name, int* length))
LIBCOLL_FUNCTION_OF_MPI(Grequest_complete, (MPI_Request request))
LIBCOLL_FUNCTION_OF_MPI(Grequest_start, (MPI_Grequest_query_function * query, MPI_Grequest_free_function* release,
                                         MPI_Grequest_cancel_function* cancel, void* extra_state, MPI_Request* request))
LIBCOLL_FUNCTION_OF_MPI(Group_free, (MPI_Group * group))
LIBCOLL_FUNCTION_OF_MPI(Group_size, (MPI_Group group, int* size))
LIBCOLL_FUNCTION_OF_MPI(Group_translate_ranks,
                        (MPI_Group group, int number, const int* ranks, MPI_Group other, int* translated))
LIBCOLL_FUNCTION_OF_MPI(Ibarrier, (MPI_Comm comm, MPI_Request* request))
LIBCOLL_FUNCTION_OF_MPI(Initialized, (int* flag))
LIBCOLL_FUNCTION_OF_MPI(Iprobe, (int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status))
LIBCOLL_FUNCTION_OF_MPI(Irecv, (void* buffer, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                                MPI_Request* request))
LIBCOLL_FUNCTION_OF_MPI(Isend, (const void* buffer, int count, MPI_Datatype datatype, int destination, int tag,
                                MPI_Comm comm, MPI_Request* request))
LIBCOLL_FUNCTION_OF_MPI(Issend, (const void* buffer, int count, MPI_Datatype datatype, int destination, int tag,
                                 MPI_Comm comm, MPI_Request* request))
LIBCOLL_FUNCTION_OF_MPI(Pack, (const void* from, int count, MPI_Datatype datatype, void* packed, int size,
                               int* position, MPI_Comm comm))
LIBCOLL_FUNCTION_OF_MPI(Query_thread, (int* level))
LIBCOLL_FUNCTION_OF_MPI(Recv, (void* buffer, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                               MPI_Status* status))
LIBCOLL_FUNCTION_OF_MPI(Reduce_local, (const void* in, void* inout, int count, MPI_Datatype datatype, MPI_Op op))
LIBCOLL_FUNCTION_OF_MPI(Request_free, (MPI_Request * request))
LIBCOLL_FUNCTION_OF_MPI(Request_get_status, (MPI_Request request, int* flag, MPI_Status* status))
LIBCOLL_FUNCTION_OF_MPI(Start, (MPI_Request * request))
LIBCOLL_FUNCTION_OF_MPI(Startall, (int count, MPI_Request* requests))
LIBCOLL_FUNCTION_OF_MPI(Status_set_cancelled, (MPI_Status * status, int flag))
LIBCOLL_FUNCTION_OF_MPI(Status_set_elements, (MPI_Status * status, MPI_Datatype datatype, int count))
LIBCOLL_FUNCTION_OF_MPI(Type_commit, (MPI_Datatype * datatype))
LIBCOLL_FUNCTION_OF_MPI(Type_create_hindexed, (int count, const int* lengths, const MPI_Aint* places,
                                               MPI_Datatype datatype, MPI_Datatype* made))
LIBCOLL_FUNCTION_OF_MPI(Type_dup, (MPI_Datatype datatype, MPI_Datatype* made))
LIBCOLL_FUNCTION_OF_MPI(Type_free, (MPI_Datatype * datatype))
LIBCOLL_FUNCTION_OF_MPI(Type_get_contents,
                        (MPI_Datatype datatype, int most_integers, int most_addresses, int most_datatypes,
                         int* integers, MPI_Aint* addresses, MPI_Datatype* datatypes))
LIBCOLL_FUNCTION_OF_MPI(Type_get_envelope,
                        (MPI_Datatype datatype, int* integers, int* addresses, int* datatypes, int* combiner))
LIBCOLL_FUNCTION_OF_MPI(Type_get_extent, (MPI_Datatype datatype, MPI_Aint* lower_bound, MPI_Aint* extent))
LIBCOLL_FUNCTION_OF_MPI(Type_size_x, (MPI_Datatype datatype, MPI_Count* size))
LIBCOLL_FUNCTION_OF_MPI(Unpack, (const void* packed, int size, int* position, void* to, int count,
                                 MPI_Datatype datatype, MPI_Comm comm))

#ifdef __cplusplus
}
#endif

#endif
