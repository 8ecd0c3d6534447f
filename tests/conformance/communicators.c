#include "communicators.h"

const char* name_of_shape(enum Shape shape) {
  static const char* const names[shape_count] = {"world", "duplicate", "reversed", "grid",
                                                 "half",  "row",       "later",    "self"};
  return names[shape];
}

static MPI_Comm all_but_first(int rank) {
  MPI_Group all;
  MPI_Group group;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_excl(all, 1, (const int[]){0}, &group);
  if (rank > 0) MPI_Comm_create_group(MPI_COMM_WORLD, group, 11, &comm);
  MPI_Group_free(&group);
  MPI_Group_free(&all);
  return comm;
}

void make_communicators(MPI_Comm* communicators) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int sides[2] = {0, 0};
  MPI_Dims_create(size, 2, sides);
  communicators[world] = MPI_COMM_WORLD;
  communicators[self] = MPI_COMM_SELF;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicators[duplicated]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &communicators[reversed]);
  MPI_Cart_create(MPI_COMM_WORLD, 2, sides, (const int[]){1, 0}, 1, &communicators[grid]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &communicators[half]);
  MPI_Cart_sub(communicators[grid], (const int[]){1, 0}, &communicators[row]);
  communicators[later] = all_but_first(rank);
}

void free_communicators(MPI_Comm* communicators) {
  for (enum Shape shape = world; shape < shape_count; ++shape) {
    if (shape != world && shape != self && communicators[shape] != MPI_COMM_NULL) MPI_Comm_free(&communicators[shape]);
  }
}
