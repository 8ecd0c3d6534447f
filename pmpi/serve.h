// The collectives libcoll serves, with MPI's arguments in C form.
#pragma once

#include <optional>

#include "pmpi/mpi_symbols.h"

namespace libcoll::pmpi {

/// serve_NAME for every entry point: MPI's return code when libcoll served the call, nothing when it is to fall
/// through: the same on every rank of the communicator. No exception leaves them.
#define LIBCOLL_ENTRY(name, Name, NAME, number, parameters, ...) std::optional<int> serve_##name parameters noexcept;
#include "pmpi/entry_points.def"
#undef LIBCOLL_ENTRY

}  // namespace libcoll::pmpi
