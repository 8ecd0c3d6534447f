/* Every predefined operation on every predefined type that the MPI standard allows it on, in allreduce, reduce and
 * reduce_scatter, against references computed here; user-defined operations; equal bits everywhere. Ranks: at most 16.
 */
#include <complex.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "forms.h"

enum { count = 37, most_ranks = 16, most_bytes = 32, per_block = 3, most_elements = most_ranks * (per_block + 1) };

enum Kind { whole, natural, real, logical, imaginary, byte, pair };

struct Type {
  const char* name;
  MPI_Datatype handle;
  enum Kind kind;
  enum Form form;   /* of the value, and of each part of a complex number */
  enum Form second; /* of a pair's index */
  int is_fortran;   /* integers of Fortran take no logical operations */
};

#define C_TYPE(handle, kind, form) \
  { #handle, handle, kind, form, form, 0 }
#define FORTRAN_TYPE(handle, kind, form) \
  { #handle, handle, kind, form, form, 1 }
#define PAIR_TYPE(handle, form, second) \
  { #handle, handle, pair, form, second, 0 }

static const struct Type* all_types(int* number) {
  static const struct Type types[] = {
      C_TYPE(MPI_SIGNED_CHAR, whole, form_i8),
      C_TYPE(MPI_SHORT, whole, form_i16),
      C_TYPE(MPI_INT, whole, form_i32),
      C_TYPE(MPI_LONG, whole, form_i64),
      C_TYPE(MPI_LONG_LONG, whole, form_i64),
      C_TYPE(MPI_LONG_LONG_INT, whole, form_i64),
      C_TYPE(MPI_INT8_T, whole, form_i8),
      C_TYPE(MPI_INT16_T, whole, form_i16),
      C_TYPE(MPI_INT32_T, whole, form_i32),
      C_TYPE(MPI_INT64_T, whole, form_i64),
      C_TYPE(MPI_UNSIGNED_CHAR, natural, form_i8),
      C_TYPE(MPI_UNSIGNED_SHORT, natural, form_i16),
      C_TYPE(MPI_UNSIGNED, natural, form_i32),
      C_TYPE(MPI_UNSIGNED_LONG, natural, form_i64),
      C_TYPE(MPI_UNSIGNED_LONG_LONG, natural, form_i64),
      C_TYPE(MPI_UINT8_T, natural, form_i8),
      C_TYPE(MPI_UINT16_T, natural, form_i16),
      C_TYPE(MPI_UINT32_T, natural, form_i32),
      C_TYPE(MPI_UINT64_T, natural, form_i64),
      FORTRAN_TYPE(MPI_AINT, whole, form_i64),
      FORTRAN_TYPE(MPI_OFFSET, whole, form_i64),
      FORTRAN_TYPE(MPI_COUNT, whole, form_i64),
      FORTRAN_TYPE(MPI_INTEGER, whole, form_i32),
      FORTRAN_TYPE(MPI_INTEGER1, whole, form_i8),
      FORTRAN_TYPE(MPI_INTEGER2, whole, form_i16),
      FORTRAN_TYPE(MPI_INTEGER4, whole, form_i32),
      FORTRAN_TYPE(MPI_INTEGER8, whole, form_i64),
      C_TYPE(MPI_FLOAT, real, form_float),
      C_TYPE(MPI_DOUBLE, real, form_double),
      C_TYPE(MPI_LONG_DOUBLE, real, form_long_double),
      C_TYPE(MPI_REAL, real, form_float),
      C_TYPE(MPI_DOUBLE_PRECISION, real, form_double),
      C_TYPE(MPI_REAL4, real, form_float),
      C_TYPE(MPI_REAL8, real, form_double),
      C_TYPE(MPI_REAL16, real, form_quad),
      C_TYPE(MPI_LOGICAL, logical, form_i32),
      C_TYPE(MPI_C_BOOL, logical, form_bool),
      C_TYPE(MPI_CXX_BOOL, logical, form_bool),
      C_TYPE(MPI_COMPLEX, imaginary, form_float),
      C_TYPE(MPI_DOUBLE_COMPLEX, imaginary, form_double),
      C_TYPE(MPI_COMPLEX8, imaginary, form_float),
      C_TYPE(MPI_COMPLEX16, imaginary, form_double),
      C_TYPE(MPI_COMPLEX32, imaginary, form_quad),
      C_TYPE(MPI_C_COMPLEX, imaginary, form_float),
      C_TYPE(MPI_C_FLOAT_COMPLEX, imaginary, form_float),
      C_TYPE(MPI_C_DOUBLE_COMPLEX, imaginary, form_double),
      C_TYPE(MPI_C_LONG_DOUBLE_COMPLEX, imaginary, form_long_double),
      C_TYPE(MPI_CXX_FLOAT_COMPLEX, imaginary, form_float),
      C_TYPE(MPI_CXX_DOUBLE_COMPLEX, imaginary, form_double),
      C_TYPE(MPI_CXX_LONG_DOUBLE_COMPLEX, imaginary, form_long_double),
      C_TYPE(MPI_BYTE, byte, form_i8),
      PAIR_TYPE(MPI_FLOAT_INT, form_float, form_i32),
      PAIR_TYPE(MPI_DOUBLE_INT, form_double, form_i32),
      PAIR_TYPE(MPI_LONG_INT, form_i64, form_i32),
      PAIR_TYPE(MPI_2INT, form_i32, form_i32),
      PAIR_TYPE(MPI_SHORT_INT, form_i16, form_i32),
      PAIR_TYPE(MPI_LONG_DOUBLE_INT, form_long_double, form_i32),
      PAIR_TYPE(MPI_2REAL, form_float, form_float),
      PAIR_TYPE(MPI_2DOUBLE_PRECISION, form_double, form_double),
      PAIR_TYPE(MPI_2INTEGER, form_i32, form_i32),
  };
  *number = (int)(sizeof types / sizeof *types);
  return types;
}

/* The kinds each operation is defined on: MPI 3.1, section 5.9.2 and 5.9.4. */
enum Op { sum, prod, max, min, land, lor, lxor, band, bor, bxor, maxloc, minloc, op_count };

static MPI_Op handle_of(enum Op op) {
  const MPI_Op handles[op_count] = {MPI_SUM,  MPI_PROD, MPI_MAX, MPI_MIN,  MPI_LAND,   MPI_LOR,
                                    MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
  return handles[op];
}

static int is_defined(enum Op op, const struct Type* type) {
  const int integer = type->kind == whole || type->kind == natural;
  if (op <= prod) return integer || type->kind == real || type->kind == imaginary;
  if (op <= min) return integer || type->kind == real;
  if (op <= lxor) return (integer && !type->is_fortran) || type->kind == logical;
  if (op <= bxor) return integer || type->kind == byte;
  return type->kind == pair;
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

/* A value of any type: two whole numbers, exact in every form they are stored in. */
struct Value {
  int64_t first;
  int64_t second; /* imaginary part or index */
};

/* Where the second part lies: as in a C structure of both. */
static int second_offset(const struct Type* type) {
  const int size = size_of_form(type->form);
  const int align = size_of_form(type->second);
  return (size + align - 1) / align * align;
}

static int has_second(const struct Type* type) { return type->kind == imaginary || type->kind == pair; }

static void store_value(const struct Type* type, struct Value value, unsigned char* at) {
  store_form(type->form, value.first, at);
  if (has_second(type)) store_form(type->second, value.second, at + second_offset(type));
}

static struct Value load_value(const struct Type* type, const unsigned char* at) {
  struct Value value = {load_form(type->form, at), 0};
  if (has_second(type)) value.second = load_form(type->second, at + second_offset(type));
  return value;
}

/* Whole numbers use all bits, so that sums and products wrap; others stay small enough to be exact in any order. */
static struct Value make_value(const struct Type* type, int rank, int i) {
  const uint64_t bits = mixed((uint64_t)rank * 1000 + (uint64_t)i);
  struct Value value = {(int64_t)bits, (int64_t)(bits >> 40 & 3) - 1};
  if (type->kind == real || type->kind == imaginary) value.first = (int64_t)(bits & 3) - 1;
  if (type->kind == logical) value.first = (bits & 7) != 0; /* some elements true everywhere, some not */
  if (type->kind == logical && i % 3 == 0) value.first = (bits & 7) == 0;
  if (type->kind == pair) value = (struct Value){(int64_t)(bits & 3), (rank * 7 + i) % 17}; /* many are equal */
  if ((type->kind == whole || type->kind == natural) && bits >> 61 == 0) value.first = 0;   /* for logical operations */
  return value;
}

/* ---- references ------------------------------------------------------------------------------------------------- */

/* In 64-bit arithmetic without a sign, which wraps; storing it cuts off what the type has not. */
static struct Value combine(enum Op op, const struct Type* type, struct Value a, struct Value b) {
  const uint64_t x = (uint64_t)a.first;
  const uint64_t y = (uint64_t)b.first;
  const int less = type->kind == natural ? x < y : a.first < b.first;
  struct Value result = {0, 0};
  switch (op) {
    case sum:
      return (struct Value){(int64_t)(x + y), a.second + b.second};
    case prod:
      if (type->kind != imaginary) return (struct Value){(int64_t)(x * y), 0};
      result.first = a.first * b.first - a.second * b.second;
      result.second = a.first * b.second + a.second * b.first;
      return result;
    case max:
      return less ? b : a;
    case min:
      return less ? a : b;
    case land:
      result.first = x && y;
      return result;
    case lor:
      result.first = x || y;
      return result;
    case lxor:
      result.first = !x != !y;
      return result;
    case band:
      result.first = (int64_t)(x & y);
      return result;
    case bor:
      result.first = (int64_t)(x | y);
      return result;
    case bxor:
      result.first = (int64_t)(x ^ y);
      return result;
    case maxloc:
    case minloc:
      if (a.first == b.first) return a.second < b.second ? a : b;
      return (a.first < b.first) == (op == minloc) ? a : b;
    case op_count:
      break;
  }
  return result;
}

/* The value as it is after lying in memory; without its sign where the type has none. */
static struct Value as_stored(const struct Type* type, struct Value value) {
  unsigned char memory[2 * most_bytes];
  store_value(type, value, memory);
  value = load_value(type, memory);
  const int bits = size_of_form(type->form) * 8;
  if (type->kind == natural && bits < 64) value.first &= (INT64_C(1) << bits) - 1;
  return value;
}

static struct Value expected_value(enum Op op, const struct Type* type, int ranks, int i) {
  struct Value result = as_stored(type, make_value(type, 0, i));
  for (int rank = 1; rank < ranks; ++rank) {
    result = as_stored(type, combine(op, type, result, as_stored(type, make_value(type, rank, i))));
  }
  /* Only the parts that count. */
  if (!has_second(type)) result.second = 0;
  return result;
}

/* ---- checks ----------------------------------------------------------------------------------------------------- */

enum Call { call_allreduce, call_reduce, call_reduce_scatter, call_reduce_scatter_block, call_count };
static const char* const call_names[call_count] = {"allreduce", "reduce", "reduce_scatter", "reduce_scatter_block"};

/* What a call gives one rank: elements [first, first + number) of the reduced vector of `total` elements. */
struct Share {
  int total;
  int first;
  int number;
};

/* Elements of a rank's block in a reduce_scatter, none among them; the variant moves them around. */
static int block_elements(enum Call call, int rank, int variant) {
  return call == call_reduce_scatter ? (rank * 2 + variant) % (per_block + 2) : per_block;
}

static struct Share share_of(enum Call call, int rank, int ranks, int variant) {
  const int root = variant % ranks;
  struct Share share = {count, 0, call == call_allreduce || rank == root ? count : 0};
  if (call == call_allreduce || call == call_reduce) return share;
  share.total = 0;
  for (int r = 0; r < ranks; ++r) {
    if (r == rank) share.first = share.total;
    share.total += block_elements(call, r, variant);
  }
  share.number = block_elements(call, rank, variant);
  return share;
}

static void do_call(enum Call call, const void* input, void* output, MPI_Datatype type, MPI_Op op, int ranks,
                    int variant, MPI_Comm comm) {
  int counts[most_ranks];
  for (int r = 0; r < ranks; ++r) counts[r] = block_elements(call, r, variant);
  if (call == call_allreduce) MPI_Allreduce(input, output, count, type, op, comm);
  if (call == call_reduce) MPI_Reduce(input, output, count, type, op, variant % ranks, comm);
  if (call == call_reduce_scatter) MPI_Reduce_scatter(input, output, counts, type, op, comm);
  if (call == call_reduce_scatter_block) MPI_Reduce_scatter_block(input, output, per_block, type, op, comm);
}

/* Whether a call of these is served. Nonblocking ones that MPI itself reduces are not where MPI's progress does not
 * call libcoll's. */
static int is_served(enum Op op, const struct Type* type) {
#if defined LIBCOLL_TESTS_VARIANTS_H && !defined OPEN_MPI
  if (type->kind == logical || type->kind == pair || type->form == form_long_double) return 0;
  return op <= bxor && (type->kind != imaginary || type->form == form_quad);
#else
  (void)op;
  (void)type;
  return 1;
#endif
}

/* In place, the result begins where the input does; a reduce is in place on its root only. */
static void check_call(enum Call call, enum Op op, const struct Type* type, MPI_Datatype handle, int rank, int ranks,
                       int variant, int in_place) {
  if (may_be_native() && type->form == form_quad) return; /* Open MPI 4.1.4 has no operations for them */
  unsigned char input[most_elements * most_bytes];
  unsigned char output[most_elements * most_bytes];
  const struct Share share = share_of(call, rank, ranks, variant);
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(handle, &lower_bound, &extent);
  CHECK(extent > 0 && extent <= most_bytes, "%s has extent %ld", type->name, (long)extent);
  CHECK(share.total <= most_elements, "%d elements", share.total);
  memset(input, 0, sizeof input);
  memset(output, 0x5a, sizeof output);
  for (int i = 0; i < share.total; ++i) store_value(type, make_value(type, rank, i), input + i * extent);
  if (call == call_reduce && rank != variant % ranks) in_place = 0;
  if (in_place) memcpy(output, input, sizeof output);
  const long before = served_calls(call_names[call]);
  do_call(call, in_place ? MPI_IN_PLACE : input, output, handle, handle_of(op), ranks, variant, MPI_COMM_WORLD);
  expect_call(call_names[call], share.total > 0 && is_served(op, type), type->name);
  /* MPI's own results are left out where it errs: Open MPI 4.1.4 compares one with a sign and the other without, MPICH
   * 4.0.2 compares all with a sign. */
  const int is_native = served_calls(call_names[call]) == before;
#ifdef OPEN_MPI
  const int is_misread = type->handle == MPI_UNSIGNED_LONG || type->handle == MPI_OFFSET;
#else
  const int is_misread = type->kind == natural;
#endif
  if (is_native && is_misread && (op == max || op == min)) return;
  for (int i = 0; i < share.number; ++i) {
    const struct Value found = as_stored(type, load_value(type, output + i * extent));
    const struct Value expected = expected_value(op, type, ranks, share.first + i);
    CHECK(found.first == expected.first && found.second == expected.second,
          "%s, %s, operation %d, element %d is %lld %lld, not %lld %lld", call_names[call], type->name, (int)op, i,
          (long long)found.first, (long long)found.second, (long long)expected.first, (long long)expected.second);
  }
  /* In place, MPI leaves what follows to us. */
  for (long i = share.number * extent; !in_place && i < (long)sizeof output; ++i) {
    CHECK(output[i] == 0x5a, "%s of %s wrote beyond its result", call_names[call], type->name);
  }
}

static void check_pair(enum Op op, const struct Type* type, MPI_Datatype handle, int rank, int ranks, int in_place) {
  for (enum Call call = call_allreduce; call < call_count; ++call) {
    check_call(call, op, type, handle, rank, ranks, (int)op + in_place, in_place);
  }
}

/* Every root and every variant of unequal blocks. */
static void check_roots(int rank, int ranks) {
  const struct Type type = C_TYPE(MPI_LONG, whole, form_i64);
  for (int variant = 0; variant < ranks + per_block + 2; ++variant) {
    for (int in_place = 0; in_place < 2; ++in_place) {
      for (enum Call call = call_reduce; call < call_count; ++call) {
        check_call(call, sum, &type, MPI_LONG, rank, ranks, variant, in_place);
      }
    }
  }
}

/* MPICH 4.0.2's own MPI_Reduce takes MPI_IN_PLACE for an address (a crash from some kilobytes on), but at root 0. It is
 * what is behind the standard interface here. */
static int crashes_in_place(void) {
#if defined(MPICH_VERSION) || defined(LIBCOLL_TESTS_STANDARD_ABI_MPI_H)
  return may_be_native();
#else
  return 0;
#endif
}

/* Larger than a message, a segment and (with a small LIBCOLL_ROUND_BYTES) a round; in place and not. */
static void check_large(int rank, int ranks) {
  enum { largest = 20011 };
  int counts[most_ranks];
  int total = 0;
  int first = 0;
  for (int r = 0; r < ranks; ++r) {
    counts[r] = r % 3 == 1 ? 0 : largest - 1000 * r;
    if (r == rank) first = total;
    total += counts[r];
  }
  uint64_t* input = allocate(sizeof(uint64_t) * (uint64_t)total);
  uint64_t* output = allocate(sizeof(uint64_t) * (uint64_t)total);
  for (int in_place = 0; in_place < 2; ++in_place) {
    for (int i = 0; i < total; ++i) input[i] = mixed((uint64_t)rank << 32) * (uint64_t)(i + 1);
    uint64_t factor = 0;
    for (int r = 0; r < ranks; ++r) factor += mixed((uint64_t)r << 32);
    const void* sent = in_place ? MPI_IN_PLACE : input;

    memcpy(output, input, sizeof(uint64_t) * (uint64_t)total);
    MPI_Reduce_scatter(sent, output, counts, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    expect_call("reduce_scatter", 1, "large");
    for (int i = 0; i < counts[rank]; ++i) {
      CHECK(output[i] == factor * (uint64_t)(first + i + 1), "reduce_scatter, element %d", i);
    }
    memcpy(output, input, sizeof(uint64_t) * (uint64_t)total);
    MPI_Reduce_scatter_block(sent, output, total / ranks, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    expect_call("reduce_scatter_block", 1, "large");
    for (int i = 0; i < total / ranks; ++i) {
      CHECK(output[i] == factor * (uint64_t)(rank * (total / ranks) + i + 1), "reduce_scatter_block, element %d", i);
    }
    const int root = in_place && crashes_in_place() ? 0 : ranks - 1;
    memcpy(output, input, sizeof(uint64_t) * (uint64_t)total);
    MPI_Reduce(rank == root ? sent : input, output, total, MPI_UINT64_T, MPI_SUM, root, MPI_COMM_WORLD);
    expect_call("reduce", 1, "large");
    for (int i = 0; rank == root && i < total; ++i)
      CHECK(output[i] == factor * (uint64_t)(i + 1), "reduce, element %d", i);
  }
  free(input);
  free(output);
}

/* Nothing to reduce, on one communicator and others that are not served. */
static void check_left_alone(int rank) {
  int values[2 * most_ranks] = {rank};
  int result[2 * most_ranks] = {-1};
  const int none[most_ranks] = {0};
  int two[1] = {2};
  MPI_Reduce(values, result, 0, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  expect_call("reduce", 0, "nothing");
  MPI_Reduce_scatter(values, result, none, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect_call("reduce_scatter", 0, "nothing");
  MPI_Reduce_scatter_block(values, result, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect_call("reduce_scatter_block", 0, "nothing");
  CHECK(result[0] == -1, "nothing was reduced to %d", result[0]);
  MPI_Reduce_scatter(values, result, two, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  expect_call("reduce_scatter", 0, "one rank");
  MPI_Reduce(values, result, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_SELF);
  expect_call("reduce", 0, "one rank");
  CHECK(result[0] == rank, "%d", result[0]);
}

static void check_all_pairs(int rank, int ranks) {
  int number = 0;
  const struct Type* types = all_types(&number);
  for (int t = 0; t < number; ++t) {
    int bytes = 0;
    MPI_Type_size(types[t].handle, &bytes);
    CHECK(bytes > 0, "this MPI has no %s", types[t].name);
    for (enum Op op = sum; op < op_count; ++op) {
      if (is_defined(op, &types[t])) check_pair(op, &types[t], types[t].handle, rank, ranks, (t + (int)op) % 2);
    }
  }
}

/* The same type by different handles on different ranks. */
static void check_duplicated_type(int rank, int ranks) {
  const struct Type type = C_TYPE(MPI_INT, whole, form_i32);
  MPI_Datatype handle = MPI_INT;
  if (rank % 2 == 1) MPI_Type_dup(MPI_INT, &handle);
  check_pair(sum, &type, handle, rank, ranks, 0);
  check_pair(max, &type, handle, rank, ranks, 1);
  if (rank % 2 == 1) MPI_Type_free(&handle);
}

static void add_modulo(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *length; ++i) ((int*)inout)[i] = (((int*)in)[i] + ((int*)inout)[i]) % 1009;
}

/* x → a·x + b after x → c·x + d, modulo 1009: does not commute. Pairs (factor, summand). */
static void compose(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *length; ++i) {
    const int* first = (int*)in + 2 * i;
    int* second = (int*)inout + 2 * i;
    const int summand = (second[0] * first[1] + second[1]) % 1009;
    second[0] = second[0] * first[0] % 1009;
    second[1] = summand;
  }
}

static void check_user_operations(int rank, int ranks) {
  MPI_Op op;
  int values[2 * count];
  for (int i = 0; i < count; ++i) values[i] = rank * 131 + i;
  MPI_Op_create(&add_modulo, 1, &op);
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT, op, MPI_COMM_WORLD);
  expect_call("allreduce", 0, "commutative user operation");
  for (int i = 0; i < count; ++i) {
    CHECK(values[i] == (131 * (ranks * (ranks - 1) / 2) + ranks * i) % 1009, "element %d is %d", i, values[i]);
  }
  int reduced[2 * count];
  int share[2];
  for (int i = 0; i < count; ++i) values[i] = rank * 131 + i;
  MPI_Reduce(values, reduced, count, MPI_INT, op, ranks - 1, MPI_COMM_WORLD);
  expect_call("reduce", 0, "commutative user operation");
  for (int i = 0; rank == ranks - 1 && i < count; ++i) {
    CHECK(reduced[i] == (131 * (ranks * (ranks - 1) / 2) + ranks * i) % 1009, "element %d is %d", i, reduced[i]);
  }
  MPI_Reduce_scatter_block(values, share, 2, MPI_INT, op, MPI_COMM_WORLD);
  expect_call("reduce_scatter_block", 0, "commutative user operation");
  CHECK(share[1] == (131 * (ranks * (ranks - 1) / 2) + ranks * (2 * rank + 1)) % 1009, "own block is %d", share[1]);
  MPI_Op_free(&op);

  MPI_Datatype map;
  MPI_Type_contiguous(2, MPI_INT, &map);
  MPI_Type_commit(&map);
  MPI_Op_create(&compose, 0, &op);
  int expected[2 * count];
  for (int i = 0; i < count; ++i) {
    int* result = expected + 2 * i;
    result[0] = 1;
    result[1] = 0;
    for (int r = 0; r < ranks; ++r) {
      int next[2] = {r + 2, (r * 17 + i) % 1009};
      int one = 1;
      compose(result, next, &one, &map);
      memcpy(result, next, sizeof next);
    }
    values[2 * i] = rank + 2;
    values[2 * i + 1] = (rank * 17 + i) % 1009;
  }
  MPI_Allreduce(MPI_IN_PLACE, values, count, map, op, MPI_COMM_WORLD);
  expect_call("allreduce", 0, "user operation that does not commute");
  CHECK(memcmp(values, expected, sizeof expected) == 0, "composition of maps");
  MPI_Op_free(&op);
  MPI_Type_free(&map);
}

/* Sums that depend on the order of their terms, which is never left to arrival. */
static void check_equal_bits(int rank, int ranks) {
  enum { length = 5001, repetitions = 10 };
  static double input[length];
  static double first[length];
  static double again[length];
  for (int i = 0; i < length; ++i) {
    const uint64_t bits = mixed((uint64_t)rank * 100000 + (uint64_t)i);
    input[i] = (double)(int64_t)bits / (double)(UINT64_C(1) << (bits % 60));
  }
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    double* output = repetition == 0 ? first : again;
    MPI_Allreduce(input, output, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect_call("allreduce", 1, "equal bits");
    CHECK(same_bits(output, first, sizeof first), "repetition %d differs", repetition);
  }
  /* Reductions to one rank, and to all a part each. */
  static double parts[2][length];
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    MPI_Reduce(input, again, length, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    expect_call("reduce", 1, "equal bits");
    if (repetition == 0) memcpy(parts[0], again, sizeof again);
    CHECK(rank != 0 || same_bits(again, parts[0], sizeof again), "reduce, repetition %d differs", repetition);
    MPI_Reduce_scatter_block(input, again, length / ranks, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect_call("reduce_scatter_block", 1, "equal bits");
    const size_t bytes = sizeof(double) * (size_t)(length / ranks);
    if (repetition == 0) memcpy(parts[1], again, bytes);
    CHECK(same_bits(again, parts[1], bytes), "reduce_scatter_block, repetition %d differs", repetition);
  }
  if (rank == 0) {
    for (int r = 1; r < ranks; ++r) MPI_Send(first, length, MPI_DOUBLE, r, 0, MPI_COMM_WORLD);
  } else {
    MPI_Recv(again, length, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(same_bits(again, first, sizeof first), "differs from rank 0");
  }
}

int CASE(reductions)(int argc, char** argv) {
  (void)argc;
  (void)argv;
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(ranks <= most_ranks, "too many ranks");
  check_all_pairs(rank, ranks);
  if (!may_be_native()) check_duplicated_type(rank, ranks); /* Open MPI 4.1.4 refuses such types */
  check_roots(rank, ranks);
  check_large(rank, ranks);
  check_left_alone(rank);
  check_user_operations(rank, ranks);
  check_equal_bits(rank, ranks);
  return 0;
}
