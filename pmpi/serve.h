// The collectives libcoll serves, with MPI's arguments in C form.
#pragma once

#include <optional>

#include "pmpi/mpi_symbols.h"

namespace libcoll::pmpi {

/// Each returns MPI's return code when libcoll served the call, nothing when it is to fall through: the same on
/// every rank of the communicator. No exception leaves them.
std::optional<int> serve_allreduce(const void* send_buffer, void* receive_buffer, int count, MPI_Datatype datatype,
                                   MPI_Op op, MPI_Comm comm) noexcept;
std::optional<int> serve_allgather(const void* send_buffer, int send_count, MPI_Datatype send_type,
                                   void* receive_buffer, int receive_count, MPI_Datatype receive_type,
                                   MPI_Comm comm) noexcept;
std::optional<int> serve_alltoall(const void* send_buffer, int send_count, MPI_Datatype send_type, void* receive_buffer,
                                  int receive_count, MPI_Datatype receive_type, MPI_Comm comm) noexcept;

}  // namespace libcoll::pmpi
