#include "types.h"

#include <string.h>

#include "check.h"
#include "derived.h"

/* ---- values ----------------------------------------------------------------------------------------------------- */

void store_value(const struct Type* type, struct Value value, unsigned char* element) {
  const int64_t parts[most_entries] = {value.first, value.second};
  for (int e = 0; e < type->entry_count; ++e)
    store_form(type->entries[e].form, parts[e], element + type->entries[e].offset);
}

struct Value load_value(const struct Type* type, const unsigned char* element) {
  int64_t parts[most_entries] = {0};
  for (int e = 0; e < type->entry_count; ++e) {
    parts[e] = load_form(type->entries[e].form, element + type->entries[e].offset);
  }
  const int bits = size_of_form(type->entries[0].form) * 8;
  if (type->kind == natural && bits < 64) parts[0] &= (INT64_C(1) << bits) - 1;
  return (struct Value){parts[0], parts[1]};
}

/* ---- derived types ---------------------------------------------------------------------------------------------- */

static MPI_Datatype vector_in_bytes(int count, int stride) {
  MPI_Datatype type;
  MPI_Type_create_hvector(count, 1, stride, MPI_INT, &type);
  return type;
}

static MPI_Datatype indexed_blocks(const int* displacements) {
  MPI_Datatype type;
  MPI_Type_create_indexed_block(4, 1, displacements, MPI_INT, &type);
  return type;
}

static MPI_Datatype indexed_in_bytes(const MPI_Aint* displacements) {
  MPI_Datatype type;
  const int lengths[2] = {1, 1};
  MPI_Type_create_hindexed(2, lengths, displacements, MPI_INT, &type);
  return type;
}

static MPI_Datatype structure(int number, const int* lengths, const MPI_Aint* displacements,
                              const MPI_Datatype* types) {
  MPI_Datatype type;
  MPI_Type_create_struct(number, lengths, displacements, types, &type);
  return type;
}

static MPI_Datatype structure_of_ints(void) {
  return structure(4, (const int[]){1, 2, 0, 1}, (const MPI_Aint[]){0, 8, 400, 20},
                   (const MPI_Datatype[]){MPI_INT, MPI_INT, MPI_DOUBLE, MPI_INT});
}

static MPI_Datatype structure_of_three(const MPI_Aint* displacements) {
  return structure(3, (const int[]){1, 1, 1}, displacements, (const MPI_Datatype[]){MPI_DOUBLE, MPI_INT8_T, MPI_SHORT});
}

static MPI_Datatype window_of_matrix(void) {
  MPI_Datatype type;
  MPI_Type_create_subarray(2, (const int[]){3, 4}, (const int[]){2, 2}, (const int[]){1, 1}, MPI_ORDER_C, MPI_INT,
                           &type);
  return type;
}

static MPI_Datatype every_other_of_eight(void) {
  MPI_Datatype type;
  MPI_Type_create_darray(2, 1, 1, (const int[]){8}, (const int[]){MPI_DISTRIBUTE_CYCLIC}, (const int[]){1},
                         (const int[]){2}, MPI_ORDER_C, MPI_INT, &type);
  return type;
}

/* ---- tables ----------------------------------------------------------------------------------------------------- */

enum { most_types = 128 };
static struct Type table[most_types];
static int table_size;
static int first_derived;

static void add(struct Type type) {
  CHECK(table_size < most_types, "the table of types is full");
  if (table_size >= first_derived && first_derived > 0) MPI_Type_commit(&type.handle);
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  int size = 0;
  MPI_Type_get_extent(type.handle, &lower_bound, &extent);
  MPI_Type_size(type.handle, &size);
  CHECK(lower_bound == type.lower_bound && extent == type.extent, "%s has bounds %ld and %ld, not %ld and %ld",
        type.name, (long)lower_bound, (long)extent, type.lower_bound, type.extent);
  CHECK(size == size_of_type(&type), "%s has %d bytes", type.name, size);
  table[table_size++] = type;
}

/* Extents are those of a C structure of the parts. */
static void add_predefined(const char* name, MPI_Datatype handle, enum Kind kind, enum Form form, enum Form second,
                           int is_fortran) {
  const int has_second = kind == imaginary || kind == pair;
  const long align = size_of_form(second);
  const long second_offset = (size_of_form(form) + align - 1) / align * align;
  const long widest = size_of_form(form) > align ? size_of_form(form) : align;
  const long end = has_second ? second_offset + align : size_of_form(form);
  add((struct Type){name,
                    handle,
                    kind,
                    is_fortran,
                    1 + has_second,
                    {{0, form}, {second_offset, second}},
                    0,
                    (end + widest - 1) / widest * widest,
                    no_family,
                    1});
}

#define NUMBERS(handle, kind, form) add_predefined(#handle, handle, kind, form, form, 0)
#define FORTRAN_NUMBERS(handle, kind, form) add_predefined(#handle, handle, kind, form, form, 1)
#define PAIRS(handle, form, second) add_predefined(#handle, handle, pair, form, second, 0)

static void add_all_predefined(void) {
  NUMBERS(MPI_SIGNED_CHAR, whole, form_i8);
  NUMBERS(MPI_SHORT, whole, form_i16);
  NUMBERS(MPI_INT, whole, form_i32);
  NUMBERS(MPI_LONG, whole, form_i64);
  NUMBERS(MPI_LONG_LONG, whole, form_i64);
  NUMBERS(MPI_LONG_LONG_INT, whole, form_i64);
  NUMBERS(MPI_INT8_T, whole, form_i8);
  NUMBERS(MPI_INT16_T, whole, form_i16);
  NUMBERS(MPI_INT32_T, whole, form_i32);
  NUMBERS(MPI_INT64_T, whole, form_i64);
  NUMBERS(MPI_UNSIGNED_CHAR, natural, form_i8);
  NUMBERS(MPI_UNSIGNED_SHORT, natural, form_i16);
  NUMBERS(MPI_UNSIGNED, natural, form_i32);
  NUMBERS(MPI_UNSIGNED_LONG, natural, form_i64);
  NUMBERS(MPI_UNSIGNED_LONG_LONG, natural, form_i64);
  NUMBERS(MPI_UINT8_T, natural, form_i8);
  NUMBERS(MPI_UINT16_T, natural, form_i16);
  NUMBERS(MPI_UINT32_T, natural, form_i32);
  NUMBERS(MPI_UINT64_T, natural, form_i64);
  FORTRAN_NUMBERS(MPI_AINT, whole, form_i64);
  FORTRAN_NUMBERS(MPI_OFFSET, whole, form_i64);
  FORTRAN_NUMBERS(MPI_COUNT, whole, form_i64);
  FORTRAN_NUMBERS(MPI_INTEGER, whole, form_i32);
  FORTRAN_NUMBERS(MPI_INTEGER1, whole, form_i8);
  FORTRAN_NUMBERS(MPI_INTEGER2, whole, form_i16);
  FORTRAN_NUMBERS(MPI_INTEGER4, whole, form_i32);
  FORTRAN_NUMBERS(MPI_INTEGER8, whole, form_i64);
  NUMBERS(MPI_FLOAT, real, form_float);
  NUMBERS(MPI_DOUBLE, real, form_double);
  NUMBERS(MPI_LONG_DOUBLE, real, form_long_double);
  NUMBERS(MPI_REAL, real, form_float);
  NUMBERS(MPI_DOUBLE_PRECISION, real, form_double);
  NUMBERS(MPI_REAL4, real, form_float);
  NUMBERS(MPI_REAL8, real, form_double);
  NUMBERS(MPI_REAL16, real, form_quad);
  NUMBERS(MPI_LOGICAL, logical, form_i32);
  NUMBERS(MPI_C_BOOL, logical, form_bool);
  NUMBERS(MPI_CXX_BOOL, logical, form_bool);
  NUMBERS(MPI_COMPLEX, imaginary, form_float);
  NUMBERS(MPI_DOUBLE_COMPLEX, imaginary, form_double);
  NUMBERS(MPI_COMPLEX8, imaginary, form_float);
  NUMBERS(MPI_COMPLEX16, imaginary, form_double);
  NUMBERS(MPI_COMPLEX32, imaginary, form_quad);
  NUMBERS(MPI_C_COMPLEX, imaginary, form_float);
  NUMBERS(MPI_C_FLOAT_COMPLEX, imaginary, form_float);
  NUMBERS(MPI_C_DOUBLE_COMPLEX, imaginary, form_double);
  NUMBERS(MPI_C_LONG_DOUBLE_COMPLEX, imaginary, form_long_double);
  NUMBERS(MPI_CXX_FLOAT_COMPLEX, imaginary, form_float);
  NUMBERS(MPI_CXX_DOUBLE_COMPLEX, imaginary, form_double);
  NUMBERS(MPI_CXX_LONG_DOUBLE_COMPLEX, imaginary, form_long_double);
  NUMBERS(MPI_BYTE, byte, form_i8);
  PAIRS(MPI_FLOAT_INT, form_float, form_i32);
  PAIRS(MPI_DOUBLE_INT, form_double, form_i32);
  PAIRS(MPI_LONG_INT, form_i64, form_i32);
  PAIRS(MPI_2INT, form_i32, form_i32);
  PAIRS(MPI_SHORT_INT, form_i16, form_i32);
  PAIRS(MPI_LONG_DOUBLE_INT, form_long_double, form_i32);
  PAIRS(MPI_2REAL, form_float, form_float);
  PAIRS(MPI_2DOUBLE_PRECISION, form_double, form_double);
  PAIRS(MPI_2INTEGER, form_i32, form_i32);
  NUMBERS(MPI_CHAR, opaque, form_i8);
  NUMBERS(MPI_WCHAR, opaque, form_i32);
  NUMBERS(MPI_CHARACTER, opaque, form_i8);
  NUMBERS(MPI_PACKED, opaque, form_i8);
}

/* Ways to say four ints. */
#define INTS_1(a)   \
  1, {              \
    { a, form_i32 } \
  }
#define INTS_2(a, b)               \
  2, {                             \
    {a, form_i32}, { b, form_i32 } \
  }
#define INTS_4(a, b, c, d)                                       \
  4, {                                                           \
    {a, form_i32}, {b, form_i32}, {c, form_i32}, { d, form_i32 } \
  }

static void add_layouts_of_ints(int family) {
  const struct Type types[] = {
      {"int", duplicate(contiguous(1)), layout, 0, INTS_1(0), 0, 4, family, 4},
      {"contiguous", contiguous(4), layout, 0, INTS_4(0, 4, 8, 12), 0, 16, family, 1},
      {"vector", vector(4, 2), layout, 0, INTS_4(0, 8, 16, 24), 0, 28, family, 1},
      {"vector in bytes", vector_in_bytes(2, 12), layout, 0, INTS_2(0, 12), 0, 16, family, 2},
      {"indexed", indexed(4, (const int[]){3, 0, 2, 1}), layout, 0, INTS_4(12, 0, 8, 4), 0, 16, family, 1},
      {"indexed blocks, negative lower bound", indexed_blocks((const int[]){-2, 1, -5, 3}), layout, 0,
       INTS_4(-8, 4, -20, 12), -20, 36, family, 1},
      {"interleaved", resized(indexed_in_bytes((const MPI_Aint[]){0, 12}), 0, 8), layout, 0, INTS_2(0, 12), 0, 8,
       family, 2},
      {"structure with gaps", structure_of_ints(), layout, 0, INTS_4(0, 8, 12, 20), 0, 24, family, 1},
      {"resized, negative lower bound", resized(contiguous(4), -8, 24), layout, 0, INTS_4(0, 4, 8, 12), -8, 24, family,
       1},
      {"resized, behind its lower bound", resized(indexed(4, (const int[]){2, 3, 4, 5}), 0, 32), layout, 0,
       INTS_4(8, 12, 16, 20), 0, 32, family, 1},
      {"window of a matrix", window_of_matrix(), layout, 0, INTS_4(20, 24, 36, 40), 0, 48, family, 1},
      {"distributed array", every_other_of_eight(), layout, 0, INTS_4(4, 12, 20, 28), 0, 32, family, 1},
      {"duplicate", duplicate(contiguous(2)), layout, 0, INTS_2(0, 4), 0, 8, family, 2},
      {"duplicate in disorder", duplicate(indexed(4, (const int[]){1, 0, 3, 2})), layout, 0, INTS_4(4, 0, 12, 8), 0, 16,
       family, 1},
  };
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) add(types[i]);
}

/* Ways to say a double, a byte and a short. */
#define THREE(a, b, c)                              \
  3, {                                              \
    {a, form_double}, {b, form_i8}, { c, form_i16 } \
  }

static void add_layouts_of_three(int family) {
  const struct Type types[] = {
      {"C structure", structure_of_three((const MPI_Aint[]){0, 8, 10}), layout, 0, THREE(0, 8, 10), 0, 16, family, 1},
      {"packed structure", resized(structure_of_three((const MPI_Aint[]){0, 8, 9}), 0, 11), layout, 0, THREE(0, 8, 9),
       0, 11, family, 1},
      {"structure backwards", resized(structure_of_three((const MPI_Aint[]){8, 4, 0}), 0, 16), layout, 0,
       THREE(8, 4, 0), 0, 16, family, 1},
      {"structure, negative lower bound", resized(structure_of_three((const MPI_Aint[]){-16, -1, 4}), -16, 32), layout,
       0, THREE(-16, -1, 4), -16, 32, family, 1},
  };
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) add(types[i]);
}

/* For the suite's own operations: two ints each. */
static void add_maps(void) {
  const struct Type types[] = {
      {"two ints", contiguous(2), map, 0, INTS_2(0, 4), 0, 8, no_family, 1},
      {"two ints with a gap", resized(vector(2, 2), 0, 16), map, 0, INTS_2(0, 8), 0, 16, no_family, 1},
      {"two ints, negative lower bound", resized(indexed_in_bytes((const MPI_Aint[]){-8, 4}), -8, 24), map, 0,
       INTS_2(-8, 4), -8, 24, no_family, 1},
      {"two ints, backwards", duplicate(indexed_in_bytes((const MPI_Aint[]){4, 0})), map, 0, INTS_2(4, 0), 0, 8,
       no_family, 1},
  };
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) add(types[i]);
}

const struct Type* all_types(int* number) {
  if (table_size == 0) {
    add_all_predefined();
    first_derived = table_size;
    add_layouts_of_ints(0);
    add_layouts_of_three(1);
    add((struct Type){"nothing", contiguous(0), layout, 0, 0, {{0, form_i8}}, 0, 0, no_family, 1});
    add_maps();
  }
  *number = table_size;
  return table;
}

void free_types(void) {
  for (int i = first_derived; i < table_size; ++i) MPI_Type_free(&table[i].handle);
  table_size = 0;
  first_derived = 0;
}

const struct Type* type_of(MPI_Datatype handle) {
  for (int i = 0; i < table_size; ++i) {
    if (table[i].handle == handle) return &table[i];
  }
  CHECK(0, "a datatype that nobody made");
}

const struct Type* relative_of(const struct Type* type, int i) {
  if (type->family == no_family) return type;
  int members = 0;
  for (int t = first_derived; t < table_size; ++t) members += table[t].family == type->family;
  CHECK(members > 0, "%s has no family", type->name);
  const struct Type* first = type;
  while (first > table && first[-1].family == type->family) --first;
  return first + (type - first + i) % members;
}

long size_of_type(const struct Type* type) {
  long size = 0;
  for (int e = 0; e < type->entry_count; ++e) size += size_of_form(type->entries[e].form);
  return size;
}
