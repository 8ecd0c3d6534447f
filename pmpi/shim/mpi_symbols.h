// mpi.h of the MPI that this build of the shim is for, and what is the same whichever MPI that is.
#pragma once

#include <cstdint>
#include <type_traits>

// The C++ bindings that mpi.h would pull in are not ours to compile.
#define OMPI_SKIP_MPICXX 1   // NOLINT(readability-identifier-naming)
#define MPICH_SKIP_MPICXX 1  // NOLINT(readability-identifier-naming)
#include <mpi.h>

namespace libcoll::pmpi {

/// A handle as a number: Open MPI's and the standard interface's are addresses, MPICH's ints.
template <class Handle>
std::uint64_t number_of(Handle handle) noexcept {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::uint32_t>(handle);
  }
}

/// The reverse.
template <class Handle>
Handle handle_of(std::uint64_t number) noexcept {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(number);
  } else {
    return static_cast<Handle>(static_cast<std::uint32_t>(number));
  }
}

}  // namespace libcoll::pmpi
