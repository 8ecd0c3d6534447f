#include "check.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void check_failed(const char* file, int line, const char* condition, const char* format, ...) {
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fprintf(stderr, "%s:%d: rank %d: %s: not (%s)\n", file, line, rank, text, condition);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}

void* native_symbol(const char* name) {
#if defined OPEN_MPI
  void* mpi = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);
#elif defined LIBCOLL_STANDARD_ABI
  void* mpi = dlopen("libmpi_abi.so.1", RTLD_LAZY | RTLD_NOLOAD);
#else
  void* mpi = dlopen("libmpich.so.12", RTLD_LAZY | RTLD_NOLOAD);
#endif
  void* symbol = dlsym(mpi == NULL ? RTLD_DEFAULT : mpi, name);
  CHECK(symbol != NULL, "no %s", name);
  return symbol;
}

long served_calls(const char* collective) {
  long (*count)(const char*) = NULL;
  *(void**)(&count) = dlsym(RTLD_DEFAULT, "libcoll_calls_served");
  CHECK(count != NULL, "the library is not preloaded");
  return count(collective);
}

enum { names_count = 30 };
static const char* const names[names_count] = {"allreduce",
                                               "allgather",
                                               "alltoall",
                                               "reduce_scatter",
                                               "reduce_scatter_block",
                                               "allgatherv",
                                               "alltoallv",
                                               "alltoallw",
                                               "bcast",
                                               "reduce",
                                               "iallreduce",
                                               "iallgather",
                                               "ialltoall",
                                               "ireduce_scatter",
                                               "ireduce_scatter_block",
                                               "iallgatherv",
                                               "ialltoallv",
                                               "ialltoallw",
                                               "ibcast",
                                               "ireduce",
                                               "allreduce_init",
                                               "allgather_init",
                                               "alltoall_init",
                                               "reduce_scatter_init",
                                               "reduce_scatter_block_init",
                                               "allgatherv_init",
                                               "alltoallv_init",
                                               "alltoallw_init",
                                               "bcast_init",
                                               "reduce_init"};
static long expected[names_count];
static int any_served;

void begin_case(void) {
  const char* served = getenv("MATRIX_SERVED");
  any_served = served != NULL && strcmp(served, "any") == 0;
  for (int i = 0; i < names_count; ++i) expected[i] = served_calls(names[i]);
}

int may_be_native(void) { return any_served; }

static int (*check_at_end)(void);

void after_finalize(int (*is_right)(void)) { check_at_end = is_right; }

int finalized_well(void) { return check_at_end == NULL || check_at_end(); }

void add_expected(const char* collective, int served) {
  for (int i = 0; i < names_count; ++i) {
    if (strcmp(names[i], collective) == 0) expected[i] += served;
  }
}

void expect_call(const char* collective, int served, const char* what) {
  add_expected(collective, served);
  for (int i = 0; i < names_count; ++i) {
    const long found = served_calls(names[i]);
    if (any_served && found < expected[i]) expected[i] = found;
    CHECK(found == expected[i], "%s (%s): %ld %s calls served, expected %ld", collective, what, found, names[i],
          expected[i]);
  }
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

int nodes_spanned(MPI_Comm comm) {
  enum { name_bytes = 64 };
  char mine[name_bytes] = "";
  int world_rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  const char* host = getenv("LIBCOLL_HOST");
  snprintf(mine, sizeof mine, "%s%.0d", host != NULL ? host : "rank", host != NULL ? 0 : world_rank + 1);
  int size = 0;
  MPI_Comm_size(comm, &size);
  char* all = allocate((uint64_t)size * name_bytes);
  NATIVE(Allgather)(mine, name_bytes, MPI_CHAR, all, name_bytes, MPI_CHAR, comm); /* is not counted */
  int nodes = 0;
  for (int r = 0; r < size; ++r) {
    int seen = 0;
    for (int s = 0; s < r; ++s) seen |= strcmp(all + r * name_bytes, all + s * name_bytes) == 0;
    nodes += !seen;
  }
  free(all);
  return nodes;
}

void order_ranks(int number, int ranks, int* order) {
  for (int i = 0; i < ranks; ++i) order[i] = i;
  for (int i = 0; i < ranks; ++i) {
    const int left = ranks - i;
    const int chosen = i + number % left;
    const int rank = order[chosen];
    for (int k = chosen; k > i; --k) order[k] = order[k - 1];
    order[i] = rank;
    number /= left;
  }
}

int same_bits(const void* one, const void* other, uint64_t bytes) { return memcmp(one, other, bytes) == 0; }

void* allocate(uint64_t bytes) {
  void* memory = malloc(bytes > 0 ? bytes : 1);
  CHECK(memory != NULL, "no memory");
  return memory;
}
