// Reductions that this MPI does beyond those of the standard: MPI_SUM on MPI_CHAR is what benchmarks use.
#pragma once

#include <cstdint>

#include "libcoll/serve/mpi.h"

namespace libcoll::serve {

/// Asks MPI_Reduce_local about every pair of a predefined type and a predefined operation that the standard does not
/// define; the program's error handler hears nothing of it. Once, before accepts_pair(); not while another thread calls
/// MPI on MPI_COMM_WORLD for the first time.
void find_accepted_pairs();

/// Whether it reduces elements of that type by that operation. False for pairs that were not asked about.
bool accepts_pair(MpiOp op, MpiDatatype type);

/// Of all answers: ranks that serve calls together must have the same.
std::uint64_t digest_of_accepted_pairs();

}  // namespace libcoll::serve
