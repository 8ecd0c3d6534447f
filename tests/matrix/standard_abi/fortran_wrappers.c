/* Fortran over MPI's standard binary interface, which has none of its own: procedures that a library beside MPI has,
 * and that call C. Handles of the program are default integers with the values of C's. */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

// NOLINTBEGIN(readability-identifier-naming): Fortran's names
void mpi_init_(int* error);
void mpi_comm_rank_(const int* comm, int* rank, int* error);
void mpi_comm_size_(const int* comm, int* size, int* error);
void mpi_allreduce_(const void* send, void* receive, const int* count, const int* datatype, const int* operation,
                    const int* comm, int* error);
void mpi_alltoall_(const void* send, const int* count, const int* datatype, void* receive, const int* receive_count,
                   const int* receive_datatype, const int* comm, int* error);
void mpi_finalize_(int* error);
// NOLINTEND(readability-identifier-naming)

static MPI_Comm comm_of(const int* comm) { return (MPI_Comm)(intptr_t)*comm; }
static MPI_Datatype type_of(const int* datatype) { return (MPI_Datatype)(intptr_t)*datatype; }

void mpi_init_(int* error) { *error = PMPI_Init(NULL, NULL); }
void mpi_comm_rank_(const int* comm, int* rank, int* error) { *error = PMPI_Comm_rank(comm_of(comm), rank); }
void mpi_comm_size_(const int* comm, int* size, int* error) { *error = PMPI_Comm_size(comm_of(comm), size); }

/* Some call the one name, some the other. */
void mpi_allreduce_(const void* send, void* receive, const int* count, const int* datatype, const int* operation,
                    const int* comm, int* error) {
  *error = PMPI_Allreduce(send, receive, *count, type_of(datatype), (MPI_Op)(intptr_t)*operation, comm_of(comm));
}
void mpi_alltoall_(const void* send, const int* count, const int* datatype, void* receive, const int* receive_count,
                   const int* receive_datatype, const int* comm, int* error) {
  *error =
      MPI_Alltoall(send, *count, type_of(datatype), receive, *receive_count, type_of(receive_datatype), comm_of(comm));
}
void mpi_finalize_(int* error) { *error = PMPI_Finalize(); }
