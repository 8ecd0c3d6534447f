// The collectives libcoll serves, with MPI's arguments in C form.
#pragma once

#include <optional>

#include "libcoll/runtime/calls.h"
#include "pmpi/mpi_symbols.h"

/// Takes the parentheses off a list.
#define LIBCOLL_LIST(...) __VA_ARGS__

namespace libcoll::pmpi {

/// How the program calls a collective.
struct Way {
  CallKind kind;
  MPI_Comm comm;
  MPI_Request* request = nullptr;  ///< where a nonblocking call's goes
};

/// serve_NAME for every entry point: MPI's return code when libcoll served the call, or has begun a nonblocking one;
/// nothing when it is to fall through: the same on every rank of the communicator. No exception leaves them.
/// try_NAME: the same for both ways of calling a collective.
#define LIBCOLL_ENTRY(name, Name, NAME, number, parameters, ...)                            \
  std::optional<int> serve_##name parameters noexcept;                                      \
  std::optional<int> serve_i##name(LIBCOLL_LIST parameters, MPI_Request* request) noexcept; \
  std::optional<int> try_##name(const Way& way, LIBCOLL_LIST parameters);
#include "pmpi/entry_points.def"
#undef LIBCOLL_ENTRY

}  // namespace libcoll::pmpi
