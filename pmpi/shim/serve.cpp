#include "pmpi/shim/serve.h"

#include "pmpi/shim/call_key.h"
#include "pmpi/shim/operands.h"
#include "pmpi/shim/serving.h"

namespace libcoll::pmpi {
namespace {

/// A handle of a type that the program has made may come back for another one.
template <class... Datatypes>
bool are_lasting(Datatypes... datatypes) {
  return ((datatypes == MPI_DATATYPE_NULL || is_predefined(datatypes)) && ...);
}

template <class Serve>
std::optional<int> attempt(const CallContext& context, Serve serve) noexcept {
  try {
    return serve(context);
  } catch (...) {
    return raise(context.comm, MPI_ERR_NO_MEM);
  }
}

/// A blocking call with these arguments. `lasting` is are_lasting() of its datatypes.
template <class Serve, class Lasting, class... Arguments>
std::optional<int> attempt_keyed(CallKind kind, MPI_Comm comm, Serve serve, Lasting lasting,
                                 Arguments... arguments) noexcept {
  if constexpr (has_key<Arguments...>) {
    const CallKey key = key_of(kind, comm, arguments...);
    if (const CachedFallThrough* cached = FallThroughCache::find(key)) {
      count_again(*cached);
      return std::nullopt;
    }
    CallContext context{kind, comm};
    context.key = &key;
    context.has_lasting_types = lasting();
    return attempt(context, serve);
  } else {
    return attempt({kind, comm}, serve);
  }
}

}  // namespace

#define LIBCOLL_ENTRY(name, Name, number, datatypes, parameters, ...)                                \
  std::optional<int> serve_##name parameters noexcept {                                              \
    const auto serve = [&](const CallContext& context) { return try_##name(context, __VA_ARGS__); }; \
    return attempt_keyed(                                                                            \
        CallKind::name, comm, serve, [&] { return are_lasting datatypes; }, __VA_ARGS__);            \
  }                                                                                                  \
  std::optional<int> serve_i##name(LIBCOLL_LIST parameters, MPI_Request* request) noexcept {         \
    const auto serve = [&](const CallContext& context) { return try_##name(context, __VA_ARGS__); }; \
    return attempt({CallKind::i##name, comm, request}, serve);                                       \
  }
#include "pmpi/entry_points.def"
#define LIBCOLL_LARGE_COUNTS
#include "pmpi/entry_points.def"
#undef LIBCOLL_LARGE_COUNTS
#undef LIBCOLL_ENTRY

}  // namespace libcoll::pmpi
