/* Derived datatypes of ints, not committed; those made of another type free it. */
#ifndef LIBCOLL_TESTS_DERIVED_H
#define LIBCOLL_TESTS_DERIVED_H

#include <mpi.h>

MPI_Datatype resized(MPI_Datatype type, int lower_bound, int extent);
MPI_Datatype duplicate(MPI_Datatype type);
MPI_Datatype contiguous(int count);
/* One int every `stride` ints. */
MPI_Datatype vector(int count, int stride);
/* One int at each of `count` displacements, at most 4, in ints. */
MPI_Datatype indexed(int count, const int* displacements);

#endif
