#include "derived.h"

MPI_Datatype resized(MPI_Datatype type, int lower_bound, int extent) {
  MPI_Datatype result;
  MPI_Type_create_resized(type, lower_bound, extent, &result);
  MPI_Type_free(&type);
  return result;
}

MPI_Datatype duplicate(MPI_Datatype type) {
  MPI_Datatype result;
  MPI_Type_dup(type, &result);
  MPI_Type_free(&type);
  return result;
}

MPI_Datatype contiguous(int count) {
  MPI_Datatype type;
  MPI_Type_contiguous(count, MPI_INT, &type);
  return type;
}

MPI_Datatype vector(int count, int stride) {
  MPI_Datatype type;
  MPI_Type_vector(count, 1, stride, MPI_INT, &type);
  return type;
}

MPI_Datatype indexed(int count, const int* displacements) {
  MPI_Datatype type;
  const int lengths[] = {1, 1, 1, 1};
  MPI_Type_indexed(count, lengths, displacements, MPI_INT, &type);
  return type;
}
