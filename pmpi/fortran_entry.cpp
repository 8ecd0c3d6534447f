// The Fortran entry points. Open MPI's Fortran library calls PMPI directly, so C wrappers do not see these calls:
// mpif.h and `use mpi` come in as mpi_x_ (under four manglings), mpi_f08 as mpi_x_f08_.
#include "pmpi/next.h"
#include "pmpi/process.h"
#include "pmpi/serve.h"

// NOLINTBEGIN(readability-identifier-naming): Fortran's names
extern "C" {
// Defined by Open MPI's libmpi, or by the program itself (common blocks). Only their addresses mean something.
extern MPI_Fint mpi_fortran_in_place_ __attribute__((weak));
extern MPI_Fint mpi_fortran_bottom_ __attribute__((weak));
}

namespace libcoll::pmpi {
namespace {

/// A buffer argument with Fortran's constants in C form.
void* buffer(void* argument) {
  if (argument == &mpi_fortran_in_place_) return MPI_IN_PLACE;
  if (argument == &mpi_fortran_bottom_) return MPI_BOTTOM;
  return argument;
}

/// Handles can be looked up only while MPI runs.
bool can_convert() { return runtime() != nullptr; }

std::optional<int> allreduce(void* sendbuf, void* recvbuf, const MPI_Fint* count, const MPI_Fint* datatype,
                             const MPI_Fint* op, const MPI_Fint* comm) {
  if (!can_convert()) return std::nullopt;
  return serve_allreduce(buffer(sendbuf), buffer(recvbuf), *count, PMPI_Type_f2c(*datatype), PMPI_Op_f2c(*op),
                         PMPI_Comm_f2c(*comm));
}

using ServeBlocks = std::optional<int> (*)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm) noexcept;

std::optional<int> blocks(ServeBlocks serve, void* sendbuf, const MPI_Fint* sendcount, const MPI_Fint* sendtype,
                          void* recvbuf, const MPI_Fint* recvcount, const MPI_Fint* recvtype, const MPI_Fint* comm) {
  if (!can_convert()) return std::nullopt;
  return serve(buffer(sendbuf), *sendcount, PMPI_Type_f2c(*sendtype), buffer(recvbuf), *recvcount,
               PMPI_Type_f2c(*recvtype), PMPI_Comm_f2c(*comm));
}

/// mpi_f08 may leave ierror out.
void store(MPI_Fint* ierror, int code) {
  if (ierror != nullptr) *ierror = code;
}

}  // namespace
}  // namespace libcoll::pmpi

#define LIBCOLL_EXPORT extern "C" __attribute__((visibility("default")))

#define LIBCOLL_FORTRAN_ALLREDUCE(symbol)                                                                     \
  LIBCOLL_EXPORT void symbol(void* sendbuf, void* recvbuf, MPI_Fint* count, MPI_Fint* datatype, MPI_Fint* op, \
                             MPI_Fint* comm, MPI_Fint* ierror) {                                              \
    static const auto fall_through = libcoll::pmpi::next<decltype(&(symbol))>(#symbol);                       \
    if (const auto code = libcoll::pmpi::allreduce(sendbuf, recvbuf, count, datatype, op, comm)) {            \
      libcoll::pmpi::store(ierror, *code);                                                                    \
    } else {                                                                                                  \
      fall_through(sendbuf, recvbuf, count, datatype, op, comm, ierror);                                      \
    }                                                                                                         \
  }

#define LIBCOLL_FORTRAN_BLOCKS(symbol, serve)                                                                 \
  LIBCOLL_EXPORT void symbol(void* sendbuf, MPI_Fint* sendcount, MPI_Fint* sendtype, void* recvbuf,           \
                             MPI_Fint* recvcount, MPI_Fint* recvtype, MPI_Fint* comm, MPI_Fint* ierror) {     \
    static const auto fall_through = libcoll::pmpi::next<decltype(&(symbol))>(#symbol);                       \
    if (const auto code = libcoll::pmpi::blocks(&libcoll::pmpi::serve, sendbuf, sendcount, sendtype, recvbuf, \
                                                recvcount, recvtype, comm)) {                                 \
      libcoll::pmpi::store(ierror, *code);                                                                    \
    } else {                                                                                                  \
      fall_through(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, ierror);                 \
    }                                                                                                         \
  }

#define LIBCOLL_FORTRAN_FINALIZE(symbol)                                                \
  LIBCOLL_EXPORT void symbol(MPI_Fint* ierror) {                                        \
    static const auto fall_through = libcoll::pmpi::next<decltype(&(symbol))>(#symbol); \
    libcoll::pmpi::before_finalize();                                                   \
    fall_through(ierror);                                                               \
    libcoll::pmpi::after_finalize();                                                    \
  }

/// Every spelling a Fortran compiler may give the name, and the module procedure of mpi_f08.
#define LIBCOLL_ALL_MANGLINGS(define, lower, upper, ...)                                    \
  define(lower __VA_OPT__(, ) __VA_ARGS__) define(lower##_ __VA_OPT__(, ) __VA_ARGS__)      \
      define(lower##__ __VA_OPT__(, ) __VA_ARGS__) define(upper __VA_OPT__(, ) __VA_ARGS__) \
          define(lower##_f08_ __VA_OPT__(, ) __VA_ARGS__)

LIBCOLL_ALL_MANGLINGS(LIBCOLL_FORTRAN_ALLREDUCE, mpi_allreduce, MPI_ALLREDUCE)
LIBCOLL_ALL_MANGLINGS(LIBCOLL_FORTRAN_BLOCKS, mpi_allgather, MPI_ALLGATHER, serve_allgather)
LIBCOLL_ALL_MANGLINGS(LIBCOLL_FORTRAN_BLOCKS, mpi_alltoall, MPI_ALLTOALL, serve_alltoall)
LIBCOLL_ALL_MANGLINGS(LIBCOLL_FORTRAN_FINALIZE, mpi_finalize, MPI_FINALIZE)
// NOLINTEND(readability-identifier-naming)
