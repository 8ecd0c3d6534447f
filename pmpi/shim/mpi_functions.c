#include "pmpi/shim/mpi_functions.h"

#include <stddef.h>
#include <stdint.h>

#include "pmpi/words.h"

enum {
#define LIBCOLL_MPI_FUNCTION(symbol, number) index_##symbol,
#include "pmpi/shim/mpi_functions.def"
#undef LIBCOLL_MPI_FUNCTION
  function_count
};

static const char* const names[] = {
#define LIBCOLL_MPI_FUNCTION(symbol, number) #symbol,
#include "pmpi/shim/mpi_functions.def"
#undef LIBCOLL_MPI_FUNCTION
};

static void* found[function_count];

const char* libcoll_find_mpi_functions(void* (*find)(const char* name)) {
  for (int each = 0; each < function_count; ++each) {
    found[each] = find(names[each]);
    if (found[each] == NULL) return names[each];
  }
  return NULL;
}

#define DEFINE(symbol, parameters, ...)                                                  \
  libcoll_word symbol(parameters) {                                                      \
    return ((libcoll_word(*)(parameters))(uintptr_t)found[index_##symbol])(__VA_ARGS__); \
  }
#define LIBCOLL_MPI_FUNCTION(symbol, number) DEFINE(symbol, LIBCOLL_PARAMETERS(number), LIBCOLL_ARGUMENTS(number))
#include "pmpi/shim/mpi_functions.def"
#undef LIBCOLL_MPI_FUNCTION
