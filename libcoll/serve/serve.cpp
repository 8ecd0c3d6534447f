#include "libcoll/serve/serve.h"

#include "libcoll/serve/call_key.h"
#include "libcoll/serve/operands.h"
#include "libcoll/serve/serving.h"

namespace libcoll::serve {
namespace {

/// A handle of a type that the program has made may come back for another one.
template <class... Datatypes>
bool are_lasting(Datatypes... datatypes) {
  return ((datatypes == mpi.datatype_null || is_predefined(datatypes)) && ...);
}

template <class Serve>
std::optional<int> attempt(const CallContext& context, Serve serve) noexcept {
  try {
    return serve(context);
  } catch (...) {
    return raise(context.comm, mpi.err_no_mem);
  }
}

/// A blocking call with these arguments. `lasting` is are_lasting() of its datatypes.
template <class Serve, class Lasting, class... Arguments>
std::optional<int> attempt_keyed(CallKind kind, MpiComm comm, Serve serve, Lasting lasting,
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
  std::optional<int> serve_i##name(LIBCOLL_LIST parameters, MpiRequests request) noexcept {          \
    const auto serve = [&](const CallContext& context) { return try_##name(context, __VA_ARGS__); }; \
    return attempt({CallKind::i##name, comm, request}, serve);                                       \
  }
#include "pmpi/entry_points.def"
#define LIBCOLL_LARGE_COUNTS
#include "pmpi/entry_points.def"
#undef LIBCOLL_LARGE_COUNTS
#undef LIBCOLL_ENTRY

}  // namespace libcoll::serve
