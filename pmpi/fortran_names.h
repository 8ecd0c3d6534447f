// What Fortran calls MPI's procedures, and how it hands over arguments: by address.
#pragma once

#include "pmpi/mpi_symbols.h"

// NOLINTBEGIN(readability-identifier-naming): MPI's names
#define LIBCOLL_EXPORT extern "C" __attribute__((visibility("default")))

/// The parameters of a Fortran procedure but for ierror: addresses.
// NOLINTBEGIN(bugprone-macro-parentheses): these are declarations
#define LIBCOLL_ADDRESSES_1(argument) void* argument
#define LIBCOLL_ADDRESSES_2(argument, ...) void *argument, LIBCOLL_ADDRESSES_1(__VA_ARGS__)
#define LIBCOLL_ADDRESSES_3(argument, ...) void *argument, LIBCOLL_ADDRESSES_2(__VA_ARGS__)
#define LIBCOLL_ADDRESSES_4(argument, ...) void *argument, LIBCOLL_ADDRESSES_3(__VA_ARGS__)
#define LIBCOLL_ADDRESSES_5(argument, ...) void *argument, LIBCOLL_ADDRESSES_4(__VA_ARGS__)
#define LIBCOLL_ADDRESSES_6(argument, ...) void *argument, LIBCOLL_ADDRESSES_5(__VA_ARGS__)
#define LIBCOLL_ADDRESSES_7(argument, ...) void *argument, LIBCOLL_ADDRESSES_6(__VA_ARGS__)
#define LIBCOLL_ADDRESSES_8(argument, ...) void *argument, LIBCOLL_ADDRESSES_7(__VA_ARGS__)
#define LIBCOLL_ADDRESSES_9(argument, ...) void *argument, LIBCOLL_ADDRESSES_8(__VA_ARGS__)
// NOLINTEND(bugprone-macro-parentheses)

/// Every spelling a Fortran compiler may give the name, and the module procedure of mpi_f08.
#define LIBCOLL_ALL_MANGLINGS(define, lower, upper, ...)                                    \
  define(lower __VA_OPT__(, ) __VA_ARGS__) define(lower##_ __VA_OPT__(, ) __VA_ARGS__)      \
      define(lower##__ __VA_OPT__(, ) __VA_ARGS__) define(upper __VA_OPT__(, ) __VA_ARGS__) \
          define(lower##_f08_ __VA_OPT__(, ) __VA_ARGS__)
// NOLINTEND(readability-identifier-naming)

namespace libcoll::pmpi {

/// mpi_f08 may leave ierror out.
inline void store(MPI_Fint* ierror, int code) {
  if (ierror != nullptr) *ierror = code;
}

}  // namespace libcoll::pmpi
