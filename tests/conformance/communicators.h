/* The communicators that calls are made on. */
#ifndef LIBCOLL_TESTS_CONFORMANCE_COMMUNICATORS_H
#define LIBCOLL_TESTS_CONFORMANCE_COMMUNICATORS_H

#include <mpi.h>

/* `reversed` has the ranks backwards, `half` every other one, `row` a line of the grid, `later` all but rank 0. */
enum Shape { world, duplicated, reversed, grid, half, row, later, self, shape_count };

const char* name_of_shape(enum Shape shape);

/* MPI_COMM_NULL on ranks that are not in it. */
void make_communicators(MPI_Comm* communicators);
void free_communicators(MPI_Comm* communicators);

#endif
