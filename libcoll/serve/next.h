// What the preloaded library offers to the core (core_interface.h).
#pragma once

#include "pmpi/core_interface.h"

namespace libcoll::serve {

/// Set before anything else is called.
inline const libcoll_preload* preload = nullptr;

/// MPI's definition of a function, or that of a tool that comes after libcoll in load order.
template <class Function>
Function next_symbol(const char* name) {
  return reinterpret_cast<Function>(preload->next_symbol(name));
}

}  // namespace libcoll::serve
