// The next definition of a symbol in load order: MPI itself, or another tool stacked after us.
#pragma once

namespace libcoll::pmpi {

/// A second copy of this library, linked with MPI, for processes in which MPI was loaded later than this one:
/// interpreters whose modules bring MPI along. What we use of MPI is weak and was looked up when there was none, so the
/// copy does the work and this library hands all calls on to it. Null where MPI came with the program, where there is
/// none yet, and when the copy cannot be loaded.
void* late_library();

/// Looks `name` up: in the copy where there is one, else after us in load order, else in Open MPI's libraries if they
/// were loaded for somebody alone. Null when nothing of all that defines it.
void* find_next(const char* name);

/// The same as a pointer to a function.
template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(find_next(name));
}

}  // namespace libcoll::pmpi
