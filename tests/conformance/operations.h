/* Operations and what they are to give: predefined ones, and two of the suite's own on pairs of ints. */
#ifndef LIBCOLL_TESTS_CONFORMANCE_OPERATIONS_H
#define LIBCOLL_TESTS_CONFORMANCE_OPERATIONS_H

#include "types.h"

enum Op { sum, prod, max, min, land, lor, lxor, band, bor, bxor, maxloc, minloc, add_modulo, compose, op_count };

/* add_modulo adds both numbers modulo 1009 and commutes; compose takes a pair (a, b) as the map x → a·x + b and puts
 * the left one first, which does not. */
MPI_Op handle_of(enum Op op);
const char* name_of(enum Op op);
int is_own(enum Op op);
int is_defined(enum Op op, const struct Type* type);
void free_operations(void);

/* Element i of rank's input. */
struct Value input_value(const struct Type* type, int rank, int i);

/* Element i of the inputs of all ranks, reduced in the order of the ranks. */
struct Value reduced_value(enum Op op, const struct Type* type, int ranks, int i);

#endif
