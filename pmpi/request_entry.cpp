// The entry points around requests, C and Fortran: those of persistent calls that are served have another one in their
// place while they are under way. Other requests do not come past here while there are none.
#include "pmpi/entrance.h"
#include "pmpi/fortran_names.h"
#include "pmpi/next.h"
#include "pmpi/persistent.h"

namespace {

bool none_kept() { return libcoll::pmpi::persistent_kept.load(std::memory_order_relaxed) == 0; }
bool none_under_way() { return libcoll::pmpi::persistent_under_way.load(std::memory_order_relaxed) == 0; }

}  // namespace

// NOLINTBEGIN(readability-identifier-naming, readability-non-const-parameter): MPI's names and parameters

// ---- C

#define LIBCOLL_C_COMPLETION(symbol, how_many, parameters, ...)                                            \
  LIBCOLL_EXPORT int symbol parameters {                                                                   \
    static const auto pass_on = libcoll::pmpi::next<decltype(&(symbol))>(#symbol);                         \
    if (none_under_way()) return pass_on(__VA_ARGS__);                                                     \
    return libcoll::pmpi::complete<MPI_Request>(how_many, requests, [&] { return pass_on(__VA_ARGS__); }); \
  }
#define LIBCOLL_COMPLETES_ONE(name, Name, NAME, number, parameters, ...) \
  LIBCOLL_C_COMPLETION(MPI_##Name, 1, parameters, __VA_ARGS__)
#define LIBCOLL_COMPLETES_MANY(name, Name, NAME, number, parameters, ...) \
  LIBCOLL_C_COMPLETION(MPI_##Name, count, parameters, __VA_ARGS__)
#include "pmpi/request_points.def"
#undef LIBCOLL_COMPLETES_ONE
#undef LIBCOLL_COMPLETES_MANY

LIBCOLL_EXPORT int MPI_Start(MPI_Request* request) {
  static const auto pass_on = libcoll::pmpi::next<decltype(&MPI_Start)>("MPI_Start");
  if (none_kept() || request == nullptr) return pass_on(request);
  const libcoll::pmpi::Entrance entrance;
  std::optional<int> code;
  if (libcoll::pmpi::start_persistent(*request, code) && code) return *code;
  return pass_on(request);
}

LIBCOLL_EXPORT int MPI_Startall(int count, MPI_Request* requests) {
  static const auto pass_on = libcoll::pmpi::next<decltype(&MPI_Startall)>("MPI_Startall");
  static const auto start = libcoll::pmpi::next<decltype(&MPI_Start)>("MPI_Start");
  if (none_kept() || requests == nullptr) return pass_on(count, requests);
  return libcoll::pmpi::start_each(count, requests, start, pass_on);
}

LIBCOLL_EXPORT int MPI_Request_free(MPI_Request* request) {
  static const auto pass_on = libcoll::pmpi::next<decltype(&MPI_Request_free)>("MPI_Request_free");
  if (!none_kept() && request != nullptr) libcoll::pmpi::forget_persistent(*request);
  return pass_on(request);
}

LIBCOLL_EXPORT int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  static const auto pass_on = libcoll::pmpi::next<decltype(&MPI_Request_get_status)>("MPI_Request_get_status");
  return pass_on(none_under_way() ? request : libcoll::pmpi::in_place_of(request), flag, status);
}

// ---- Fortran

#define LIBCOLL_FORTRAN_COMPLETION(symbol, how_many, addresses, ...)                         \
  LIBCOLL_EXPORT void symbol(LIBCOLL_LIST addresses, MPI_Fint* ierror) {                     \
    static const auto pass_on = libcoll::pmpi::next<decltype(&(symbol))>(#symbol);           \
    if (none_under_way()) return pass_on(__VA_ARGS__, ierror);                               \
    libcoll::pmpi::store(ierror, libcoll::pmpi::complete<MPI_Fint>(how_many, requests, [&] { \
                           MPI_Fint code = MPI_SUCCESS;                                      \
                           pass_on(__VA_ARGS__, &code);                                      \
                           return code;                                                      \
                         }));                                                                \
  }
#define LIBCOLL_FORTRAN_COMPLETES_ONE(symbol, number, ...) \
  LIBCOLL_FORTRAN_COMPLETION(symbol, 1, (LIBCOLL_ADDRESSES_##number(__VA_ARGS__)), __VA_ARGS__)
#define LIBCOLL_FORTRAN_COMPLETES_MANY(symbol, number, ...)                                                           \
  LIBCOLL_FORTRAN_COMPLETION(symbol, *static_cast<const MPI_Fint*>(count), (LIBCOLL_ADDRESSES_##number(__VA_ARGS__)), \
                             __VA_ARGS__)
#define LIBCOLL_COMPLETES_ONE(name, Name, NAME, number, parameters, ...) \
  LIBCOLL_ALL_MANGLINGS(LIBCOLL_FORTRAN_COMPLETES_ONE, mpi_##name, MPI_##NAME, number, __VA_ARGS__)
#define LIBCOLL_COMPLETES_MANY(name, Name, NAME, number, parameters, ...) \
  LIBCOLL_ALL_MANGLINGS(LIBCOLL_FORTRAN_COMPLETES_MANY, mpi_##name, MPI_##NAME, number, __VA_ARGS__)
#include "pmpi/request_points.def"
#undef LIBCOLL_COMPLETES_ONE
#undef LIBCOLL_COMPLETES_MANY

#define LIBCOLL_FORTRAN_START(symbol)                                                \
  LIBCOLL_EXPORT void symbol(MPI_Fint* request, MPI_Fint* ierror) {                  \
    static const auto pass_on = libcoll::pmpi::next<decltype(&(symbol))>(#symbol);   \
    if (none_kept()) return pass_on(request, ierror);                                \
    const libcoll::pmpi::Entrance entrance;                                          \
    std::optional<int> code;                                                         \
    if (libcoll::pmpi::start_persistent(PMPI_Request_f2c(*request), code) && code) { \
      libcoll::pmpi::store(ierror, *code);                                           \
    } else {                                                                         \
      pass_on(request, ierror);                                                      \
    }                                                                                \
  }

#define LIBCOLL_FORTRAN_STARTALL(symbol)                                                         \
  LIBCOLL_EXPORT void symbol(MPI_Fint* count, MPI_Fint* requests, MPI_Fint* ierror) {            \
    static const auto pass_on = libcoll::pmpi::next<decltype(&(symbol))>(#symbol);               \
    if (none_kept()) return pass_on(count, requests, ierror);                                    \
    const auto start_all = [](MPI_Fint number, MPI_Fint* others) {                               \
      MPI_Fint code = MPI_SUCCESS;                                                               \
      pass_on(&number, others, &code);                                                           \
      return code;                                                                               \
    };                                                                                           \
    const auto start = [start_all](MPI_Fint* request) { return start_all(1, request); };         \
    libcoll::pmpi::store(ierror, libcoll::pmpi::start_each(*count, requests, start, start_all)); \
  }

#define LIBCOLL_FORTRAN_REQUEST_FREE(symbol)                                        \
  LIBCOLL_EXPORT void symbol(MPI_Fint* request, MPI_Fint* ierror) {                 \
    static const auto pass_on = libcoll::pmpi::next<decltype(&(symbol))>(#symbol);  \
    if (!none_kept()) libcoll::pmpi::forget_persistent(PMPI_Request_f2c(*request)); \
    pass_on(request, ierror);                                                       \
  }

#define LIBCOLL_FORTRAN_REQUEST_GET_STATUS(symbol)                                                      \
  LIBCOLL_EXPORT void symbol(MPI_Fint* request, void* flag, void* status, MPI_Fint* ierror) {           \
    static const auto pass_on = libcoll::pmpi::next<decltype(&(symbol))>(#symbol);                      \
    MPI_Fint seen = *request;                                                                           \
    if (!none_under_way()) seen = PMPI_Request_c2f(libcoll::pmpi::in_place_of(PMPI_Request_f2c(seen))); \
    pass_on(&seen, flag, status, ierror);                                                               \
  }

LIBCOLL_ALL_MANGLINGS(LIBCOLL_FORTRAN_START, mpi_start, MPI_START)
LIBCOLL_ALL_MANGLINGS(LIBCOLL_FORTRAN_STARTALL, mpi_startall, MPI_STARTALL)
LIBCOLL_ALL_MANGLINGS(LIBCOLL_FORTRAN_REQUEST_FREE, mpi_request_free, MPI_REQUEST_FREE)
LIBCOLL_ALL_MANGLINGS(LIBCOLL_FORTRAN_REQUEST_GET_STATUS, mpi_request_get_status, MPI_REQUEST_GET_STATUS)
// NOLINTEND(readability-identifier-naming, readability-non-const-parameter)
