// The next definition of a symbol in load order: MPI itself, or another tool stacked after us.
#pragma once

#include <dlfcn.h>

namespace libcoll::pmpi {

/// Looks `name` up once; null when nothing after us defines it.
template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace libcoll::pmpi
