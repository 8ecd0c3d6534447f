#include "operations.h"

#include "check.h"

enum { modulus = 1009 };

/* ---- the suite's own operations --------------------------------------------------------------------------------- */

static struct Value added(struct Value left, struct Value right) {
  return (struct Value){(left.first + right.first) % modulus, (left.second + right.second) % modulus};
}

static struct Value composed(struct Value left, struct Value right) {
  return (struct Value){left.first * right.first % modulus, (right.first * left.second + right.second) % modulus};
}

static void apply(struct Value (*combined)(struct Value, struct Value), const void* in, void* inout, int length,
                  MPI_Datatype handle) {
  const struct Type* type = type_of(handle);
  for (int i = 0; i < length; ++i) {
    const unsigned char* left = (const unsigned char*)in + i * type->extent;
    unsigned char* right = (unsigned char*)inout + i * type->extent;
    store_value(type, combined(load_value(type, left), load_value(type, right)), right);
  }
}

static void apply_add(void* in, void* inout, int* length, MPI_Datatype* type) {
  apply(&added, in, inout, *length, *type);
}

static void apply_compose(void* in, void* inout, int* length, MPI_Datatype* type) {
  apply(&composed, in, inout, *length, *type);
}

/* ---- tables ----------------------------------------------------------------------------------------------------- */

static MPI_Op own_add = MPI_OP_NULL;
static MPI_Op own_compose = MPI_OP_NULL;

MPI_Op handle_of(enum Op op) {
  if (own_add == MPI_OP_NULL) {
    MPI_Op_create(&apply_add, 1, &own_add);
    MPI_Op_create(&apply_compose, 0, &own_compose);
  }
  const MPI_Op handles[op_count] = {MPI_SUM,  MPI_PROD, MPI_MAX,  MPI_MIN,    MPI_LAND,   MPI_LOR, MPI_LXOR,
                                    MPI_BAND, MPI_BOR,  MPI_BXOR, MPI_MAXLOC, MPI_MINLOC, own_add, own_compose};
  return handles[op];
}

void free_operations(void) {
  if (own_add == MPI_OP_NULL) return;
  MPI_Op_free(&own_add);
  MPI_Op_free(&own_compose);
}

const char* name_of(enum Op op) {
  static const char* const names[op_count] = {"sum",  "prod", "max",  "min",    "land",   "lor",        "lxor",
                                              "band", "bor",  "bxor", "maxloc", "minloc", "add_modulo", "compose"};
  return names[op];
}

int is_own(enum Op op) { return op == add_modulo || op == compose; }

int is_defined(enum Op op, const struct Type* type) {
  const int integer = type->kind == whole || type->kind == natural;
  if (op <= prod) return integer || type->kind == real || type->kind == imaginary;
  if (op <= min) return integer || type->kind == real;
  if (op <= lxor) return (integer && !type->is_fortran) || type->kind == logical;
  if (op <= bxor) return integer || type->kind == byte;
  if (op <= minloc) return type->kind == pair;
  return type->kind == map;
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

/* The value as it is after lying in memory. */
static struct Value as_stored(const struct Type* type, struct Value value) {
  unsigned char memory[128];
  store_value(type, value, memory + 64);
  return load_value(type, memory + 64);
}

/* Whole numbers use all bits, so that sums and products wrap; others stay small enough to be exact in any order. */
struct Value input_value(const struct Type* type, int rank, int i) {
  const uint64_t bits = mixed((uint64_t)rank * 1000003 + (uint64_t)i);
  struct Value value = {(int64_t)bits, (int64_t)(bits >> 40 & 3) - 1};
  if (type->kind == real || type->kind == imaginary) value.first = (int64_t)(bits & 3) - 1;
  if (type->kind == logical) value.first = (bits & 7) != 0; /* some elements true everywhere, some not */
  if (type->kind == logical && i % 3 == 0) value.first = (bits & 7) == 0;
  if (type->kind == pair) value = (struct Value){(int64_t)(bits & 3), (rank * 7 + i) % 17}; /* many are equal */
  if (type->kind == map) value = (struct Value){(int64_t)(bits % modulus), (int64_t)(bits >> 32) % modulus};
  if ((type->kind == whole || type->kind == natural) && bits >> 61 == 0) value.first = 0; /* for logical operations */
  return as_stored(type, value);
}

/* In 64-bit arithmetic without a sign, which wraps; storing it cuts off what the type has not. */
static struct Value combined(enum Op op, const struct Type* type, struct Value a, struct Value b) {
  const uint64_t x = (uint64_t)a.first;
  const uint64_t y = (uint64_t)b.first;
  const int less = type->kind == natural ? x < y : a.first < b.first;
  switch (op) {
    case sum:
      return (struct Value){(int64_t)(x + y), a.second + b.second};
    case prod:
      if (type->kind != imaginary) return (struct Value){(int64_t)(x * y), 0};
      return (struct Value){a.first * b.first - a.second * b.second, a.first * b.second + a.second * b.first};
    case max:
      return less ? b : a;
    case min:
      return less ? a : b;
    case land:
      return (struct Value){x && y, 0};
    case lor:
      return (struct Value){x || y, 0};
    case lxor:
      return (struct Value){!x != !y, 0};
    case band:
      return (struct Value){(int64_t)(x & y), 0};
    case bor:
      return (struct Value){(int64_t)(x | y), 0};
    case bxor:
      return (struct Value){(int64_t)(x ^ y), 0};
    case maxloc:
    case minloc:
      if (a.first == b.first) return a.second < b.second ? a : b;
      return (a.first < b.first) == (op == minloc) ? a : b;
    case add_modulo:
      return added(a, b);
    case compose:
      return composed(a, b);
    case op_count:
      break;
  }
  CHECK(0, "operation %d", (int)op);
}

struct Value reduced_value(enum Op op, const struct Type* type, int ranks, int i) {
  struct Value result = input_value(type, 0, i);
  for (int rank = 1; rank < ranks; ++rank) {
    result = as_stored(type, combined(op, type, result, input_value(type, rank, i)));
  }
  return result;
}
