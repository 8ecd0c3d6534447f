/* A binary interface of MPI: what the core has to know of the MPI of the process. The shim fills it in, which is
 * compiled with the mpi.h of each. Plain C, without MPI's types. */
#ifndef LIBCOLL_PMPI_MPI_INTERFACE_H
#define LIBCOLL_PMPI_MPI_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

/* MPI's handle as a number: an address, or an int without its sign. */
typedef uint64_t libcoll_handle;

/* Which reductions the MPI standard defines for a type (MPI-4.0, section 6.9.2); `other`: none. */
enum libcoll_type_class {
  libcoll_c_integer,
  libcoll_other_integer,
  libcoll_floating,
  libcoll_logical,
  libcoll_complex_number,
  libcoll_byte,
  libcoll_pair,
  libcoll_other,
  libcoll_type_class_count
};

/* Elements of reduction kernels; `none`: MPI_Reduce_local does it. */
enum libcoll_kernel_type {
  libcoll_kernel_none,
  libcoll_kernel_by_size_signed,
  libcoll_kernel_by_size_unsigned,
  libcoll_kernel_by_size_floating,
  libcoll_kernel_quad,
  libcoll_kernel_quad_complex
};

/* A datatype of MPI's own. */
struct libcoll_mpi_datatype {
  libcoll_handle handle; /* MPI_DATATYPE_NULL or 0: this MPI was built without it */
  enum libcoll_type_class type_class;
  enum libcoll_kernel_type kernel;
};

struct libcoll_mpi_interface {
#define LIBCOLL_MPI_HANDLE(name, type, symbol) libcoll_handle name;
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */
#define LIBCOLL_MPI_ADDRESS(name, type, symbol) void* name;
#define LIBCOLL_MPI_NUMBER(name, symbol) int name;
#include "pmpi/mpi_constants.def"
#undef LIBCOLL_MPI_HANDLE
#undef LIBCOLL_MPI_ADDRESS
#undef LIBCOLL_MPI_NUMBER

  /* How MPI keeps what it has in arrays. */
  size_t handle_bytes; /* 4 or 8 */
  size_t status_bytes;
  size_t status_source; /* bytes from a status to its int MPI_SOURCE, and so on */
  size_t status_tag;
  size_t status_error;

  /* In the same order in every process. */
  const struct libcoll_mpi_datatype* datatypes;
  size_t datatype_count;

  /* What this MPI does. */
  int packs_bottom;          /* MPI_Pack takes MPI_BOTTOM */
  int answers_for_any_pair;  /* MPI_Reduce_local returns an error for pairs of type and operation that it does not have
                              */
  int self_probe_progresses; /* a probe on MPI_COMM_SELF moves messages between processes, too */

  /* Names of MPI's own that are not part of its interface; NULL: it has none. */
  const char* argument_check;       /* a bool: arguments are looked at before they are used */
  const char* fortran_number;       /* int (MPI_Comm): a communicator's number in Fortran, else the handle is that */
  const char* progress_hook;        /* int (int (*)(void)): has MPI's progress call a function each time */
  const char* seldom_progress_hook; /* the same, one time in eight; either takes the function off the other's list */
  /* By which launchers say how many processes they have started on this host; the last is NULL. */
  const char* const* local_size_variables;
};

#endif
