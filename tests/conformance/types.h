/* The datatypes of the suite, each with its type map written down here, and values of them: what MPI makes of a type is
 * compared with what the map says. */
#ifndef LIBCOLL_TESTS_CONFORMANCE_TYPES_H
#define LIBCOLL_TESTS_CONFORMANCE_TYPES_H

#include <mpi.h>
#include <stdint.h>

#include "forms.h"

/* What operations are defined on (MPI 3.1, section 5.9.2 and 5.9.4): none on `opaque` and `layout`, the suite's own two
 * on `map`. */
enum Kind { whole, natural, real, logical, imaginary, byte, pair, opaque, layout, map };

enum { most_entries = 4, no_family = -1 };

struct Entry {
  long offset; /* bytes from the element's address */
  enum Form form;
};

struct Type {
  const char* name;
  MPI_Datatype handle;
  enum Kind kind;
  int is_fortran; /* integers of Fortran take no logical operations */
  int entry_count;
  struct Entry entries[most_entries];
  long lower_bound;
  long extent;
  int family; /* types of a family have equal signatures, `unit` elements each */
  int unit;
};

/* All of them, predefined ones first, made and committed at the first call; `number` of them. */
const struct Type* all_types(int* number);
void free_types(void);

/* The row of a handle; ends the job when there is none. */
const struct Type* type_of(MPI_Datatype handle);

/* The i-th member of the type's family, counted round from the type itself. */
const struct Type* relative_of(const struct Type* type, int i);

long size_of_type(const struct Type* type);

/* Two whole numbers, exact in every form they are stored in: a number and, where the type has one, an imaginary part,
 * an index, a second coefficient. */
struct Value {
  int64_t first;
  int64_t second;
};

void store_value(const struct Type* type, struct Value value, unsigned char* element);
/* Without a sign where the type has none. */
struct Value load_value(const struct Type* type, const unsigned char* element);

#endif
