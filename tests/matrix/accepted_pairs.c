/* Reductions beyond those of the MPI standard: what this MPI accepts as type and operation is served with its result,
 * and what it refuses stays its error. MPI_CHAR with MPI_SUM, which the OSU benchmarks use, is among them.
 * MPICH 4.0 stops by an assertion at some pairs of the types that it is not asked about here.
 *   accepted_pairs [default]   which calls are served is not known with default settings */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { count = 37, most_extent = 64, most_ranks = 16 };

static int ranks;
static int errors;
static int checks_calls;

static void count_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++errors;
}

/* Bytes that are small numbers, so that no sum is too large for any type and none depends on the order. */
static void fill(unsigned char* values, MPI_Aint extent, int rank, int elements) {
  memset(values, 0, (size_t)(extent * elements));
  for (int i = 0; i < elements; ++i) values[extent * i] = (unsigned char)((rank + i) % 2);
}

static void expect(const char* collective) {
  if (checks_calls) expect_call(collective, 1, "an accepted pair");
}

static void check_accepted(MPI_Datatype type, MPI_Op op, int number, MPI_Aint extent) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  MPI_Type_get_name(type, name, &length);
  static unsigned char mine[most_ranks * count * most_extent];
  static unsigned char ours[most_ranks * count * most_extent];
  static unsigned char native[most_ranks * count * most_extent];
  const int rank = rank_in(MPI_COMM_WORLD);
  const size_t bytes = (size_t)(extent * count);
  int counts[most_ranks];
  for (int r = 0; r < ranks; ++r) counts[r] = count;
  fill(mine, extent, rank, ranks * count);
  CHECK(MPI_Allreduce(mine, ours, count, type, op, MPI_COMM_WORLD) == MPI_SUCCESS, "allreduce");
  expect("allreduce");
  NATIVE(Allreduce)(mine, native, count, type, op, MPI_COMM_WORLD);
  CHECK(memcmp(ours, native, bytes) == 0, "%s, operation %d: allreduce differs from MPI's", name, number);
  CHECK(MPI_Reduce(mine, ours, count, type, op, ranks - 1, MPI_COMM_WORLD) == MPI_SUCCESS, "reduce");
  expect("reduce");
  CHECK(rank != ranks - 1 || memcmp(ours, native, bytes) == 0, "%s, operation %d: reduce differs from MPI's", name,
        number);
  CHECK(MPI_Reduce_scatter_block(mine, ours, count, type, op, MPI_COMM_WORLD) == MPI_SUCCESS, "reduce_scatter_block");
  expect("reduce_scatter_block");
  NATIVE(Reduce_scatter_block)(mine, native, count, type, op, MPI_COMM_WORLD);
  CHECK(memcmp(ours, native, bytes) == 0, "%s, operation %d: reduce_scatter_block differs from MPI's", name, number);
  CHECK(MPI_Reduce_scatter(mine, ours, counts, type, op, MPI_COMM_WORLD) == MPI_SUCCESS, "reduce_scatter");
  expect("reduce_scatter");
  CHECK(memcmp(ours, native, bytes) == 0, "%s, operation %d: reduce_scatter differs from MPI's", name, number);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  (void)argv;
  checks_calls = argc < 2;
  ranks = size_of(MPI_COMM_WORLD);
  CHECK(ranks <= most_ranks, "too many ranks");
  const MPI_Datatype types[] = {
#ifdef OPEN_MPI
      MPI_CHARACTER, MPI_LOGICAL1, MPI_LOGICAL2, MPI_LOGICAL4, MPI_LOGICAL8,        MPI_INTEGER,
      MPI_INTEGER8,  MPI_AINT,     MPI_FLOAT,    MPI_DOUBLE,   MPI_C_FLOAT_COMPLEX, MPI_C_BOOL,
#endif
      MPI_CHAR,      MPI_WCHAR,    MPI_BYTE,     MPI_INT,      MPI_SHORT_INT,       MPI_2INT};
  const MPI_Op ops[] = {MPI_SUM,  MPI_PROD, MPI_MAX, MPI_MIN,  MPI_LAND,   MPI_LOR,
                        MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
  MPI_Errhandler counting = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(&count_error, &counting);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting);
  /* Finding out what MPI accepts is nothing that the program hears of. */
  int one = 1;
  int sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect("allreduce");
  CHECK(errors == 0 && sum == ranks, "%d errors before there is any", errors);
  MPI_Errhandler found = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found);
  CHECK(found == counting, "another error handler");
  MPI_Errhandler_free(&found);
  int refused = 0;
  // NOLINTNEXTLINE(bugprone-sizeof-expression): handles are pointers
  for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    int size = 0;
    MPI_Type_get_extent(types[t], &lower, &extent);
    MPI_Type_size(types[t], &size);
    if (size == 0) continue;
    // NOLINTNEXTLINE(bugprone-sizeof-expression): as above
    for (size_t o = 0; o < sizeof ops / sizeof *ops; ++o) {
      unsigned char in[most_extent] = {0};
      unsigned char in_out[most_extent] = {0};
      errors = 0;
      if (MPI_Reduce_local(in, in_out, 1, types[t], ops[o]) == MPI_SUCCESS) {
        check_accepted(types[t], ops[o], (int)o, extent);
        CHECK(errors == 0, "%d errors in accepted pairs", errors);
      } else {
        ++refused;
        errors = 0;
        CHECK(MPI_Allreduce(in, in_out, 1, types[t], ops[o], MPI_COMM_WORLD) != MPI_SUCCESS && errors == 1,
              "a refused pair raised %d errors", errors);
      }
    }
  }
  CHECK(refused > 0, "this MPI accepts everything");
  MPI_Errhandler_free(&counting);
  MPI_Finalize();
  return 0;
}
