/* Describes the MPI whose mpi.h this is compiled with; LIBCOLL_DESCRIBE is the name of the function that does. */
#include "pmpi/shim/shim.h"

#include <mpi.h>
#include <stddef.h>

#ifdef OPEN_MPI
/* Its handles are addresses of objects in its library, which the preload does not need: they are found by name. */
static void* (*find_object)(const char* name);
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, object) ((type)find_object(#object))
#define NUMBER_OF(handle) ((libcoll_handle)(uintptr_t)(handle))
#elif defined(LIBCOLL_STANDARD_ABI)
#define NUMBER_OF(handle) ((libcoll_handle)(uintptr_t)(handle))
#else
#define NUMBER_OF(handle) ((libcoll_handle)(uint32_t)(handle))
#endif

static struct libcoll_mpi_interface described;

static void fill_constants(void) {
#define LIBCOLL_MPI_HANDLE(name, type, symbol) described.name = NUMBER_OF(symbol);
#define LIBCOLL_MPI_ADDRESS(name, type, symbol) described.name = (void*)(symbol);
#define LIBCOLL_MPI_NUMBER(name, symbol) described.name = (symbol);
#include "pmpi/mpi_constants.def"
#undef LIBCOLL_MPI_HANDLE
#undef LIBCOLL_MPI_ADDRESS
#undef LIBCOLL_MPI_NUMBER
}

static void fill_layout(void) {
  described.handle_bytes = sizeof(MPI_Comm);
  described.status_bytes = sizeof(MPI_Status);
  described.status_source = offsetof(MPI_Status, MPI_SOURCE);
  described.status_tag = offsetof(MPI_Status, MPI_TAG);
  described.status_error = offsetof(MPI_Status, MPI_ERROR);
}

static void fill_datatypes(void) {
  const struct libcoll_mpi_datatype list[] = {
#define LIBCOLL_DATATYPE(symbol, type_class, kernel) {NUMBER_OF(symbol), libcoll_##type_class, libcoll_kernel_##kernel},
#include "pmpi/shim/datatypes.def"
#undef LIBCOLL_DATATYPE
  };
  static struct libcoll_mpi_datatype datatypes[sizeof list / sizeof *list];
  described.datatypes = datatypes;
  described.datatype_count = sizeof list / sizeof *list;
  for (size_t i = 0; i < described.datatype_count; ++i) datatypes[i] = list[i];
}

static void fill_behaviour(void) {
#if defined(OPEN_MPI)
  static const char* const variables[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", NULL};
  described.packs_bottom = 1;
  described.answers_for_any_pair = 1;
  described.self_probe_progresses = 1;
  described.argument_check = "ompi_mpi_param_check";
  described.fortran_number = "PMPI_Comm_c2f";
  /* libopen-pal, opal/runtime/opal_progress.h */
  described.progress_hook = "opal_progress_register";
  described.seldom_progress_hook = "opal_progress_register_lp";
#elif defined(LIBCOLL_STANDARD_ABI)
  static const char* const variables[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", NULL};
#else
  static const char* const variables[] = {"MPI_LOCALNRANKS", NULL};
#endif
  described.local_size_variables = variables;
}

const struct libcoll_mpi_interface* LIBCOLL_DESCRIBE(void* (*find)(const char* name)) {
#ifdef OPEN_MPI
  find_object = find;
#else
  (void)find;
#endif
  fill_constants();
  fill_layout();
  fill_datatypes();
  fill_behaviour();
  return &described;
}
