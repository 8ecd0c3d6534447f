#include "pmpi/serve.h"

#include "pmpi/serving.h"

namespace libcoll::pmpi {

#define LIBCOLL_SERVE(name, kind, request, parameters, ...)            \
  std::optional<int> serve_##kind parameters noexcept {                \
    try {                                                              \
      return try_##name({CallKind::kind, comm, request}, __VA_ARGS__); \
    } catch (...) {                                                    \
      return raise(comm, MPI_ERR_NO_MEM);                              \
    }                                                                  \
  }
#define LIBCOLL_ENTRY(name, Name, NAME, number, parameters, ...) \
  LIBCOLL_SERVE(name, name, nullptr, parameters, __VA_ARGS__)    \
  LIBCOLL_SERVE(name, i##name, request, (LIBCOLL_LIST parameters, MPI_Request * request), __VA_ARGS__)
#include "pmpi/entry_points.def"
#undef LIBCOLL_ENTRY

}  // namespace libcoll::pmpi
