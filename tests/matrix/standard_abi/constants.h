/* Values of MPI's names in two binary interfaces, in the same order (constants.c is compiled with the mpi.h of each).
 */
#ifndef LIBCOLL_TESTS_STANDARD_ABI_CONSTANTS_H
#define LIBCOLL_TESTS_STANDARD_ABI_CONSTANTS_H

enum Kind {
  stub_comm,
  stub_group,
  stub_info,
  stub_errhandler,
  stub_request,
  stub_op,
  stub_datatype,
  stub_buffer,
  stub_status,
  stub_rank,
  stub_tag,
  stub_error,
  stub_thread_level,
  stub_combiner,
  stub_keyval,
  stub_split_type,
  stub_same /* the same in both, which the stub relies on */
};

/* Handles that are addresses are small enough in the one, and in the other all are ints. */
struct stub_constant {
  enum Kind kind;
  unsigned value;
};

enum {
#define STUB_CONSTANT(kind, name) stub_index_of_##name##_in_##kind,
#include "constants.def"
#undef STUB_CONSTANT
  stub_constant_count
};

extern const struct stub_constant stub_standard[stub_constant_count];
extern const struct stub_constant stub_mpich[stub_constant_count];

#endif
