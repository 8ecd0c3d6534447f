// The C entry points: serve the call, or hand it to the next definition in load order.
#include "pmpi/next.h"
#include "pmpi/process.h"
#include "pmpi/serve.h"

// NOLINTBEGIN(readability-identifier-naming): MPI's names
#define LIBCOLL_EXPORT extern "C" __attribute__((visibility("default")))

LIBCOLL_EXPORT int MPI_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                                 MPI_Comm comm) {
  static const auto fall_through = libcoll::pmpi::next<decltype(&MPI_Allreduce)>("MPI_Allreduce");
  const auto code = libcoll::pmpi::serve_allreduce(sendbuf, recvbuf, count, datatype, op, comm);
  return code ? *code : fall_through(sendbuf, recvbuf, count, datatype, op, comm);
}

LIBCOLL_EXPORT int MPI_Allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                 int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  static const auto fall_through = libcoll::pmpi::next<decltype(&MPI_Allgather)>("MPI_Allgather");
  const auto code = libcoll::pmpi::serve_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  return code ? *code : fall_through(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

LIBCOLL_EXPORT int MPI_Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                MPI_Datatype recvtype, MPI_Comm comm) {
  static const auto fall_through = libcoll::pmpi::next<decltype(&MPI_Alltoall)>("MPI_Alltoall");
  const auto code = libcoll::pmpi::serve_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  return code ? *code : fall_through(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

LIBCOLL_EXPORT int MPI_Finalize() {
  static const auto fall_through = libcoll::pmpi::next<decltype(&MPI_Finalize)>("MPI_Finalize");
  libcoll::pmpi::before_finalize();
  const int code = fall_through();
  libcoll::pmpi::after_finalize();
  return code;
}

/// Calls of a collective ("allreduce", "allgather", "alltoall") that libcoll served in this process so far; -1 for
/// an unknown name. A program finds it with dlsym(RTLD_DEFAULT, "libcoll_calls_served").
LIBCOLL_EXPORT long libcoll_calls_served(const char* collective) { return libcoll::pmpi::calls_served(collective); }
// NOLINTEND(readability-identifier-naming)
