#include "pmpi/serve.h"

#include <type_traits>

#include "pmpi/serving.h"

namespace libcoll::pmpi {
namespace {

/// Puts a call's arguments, in their order, where keys have them.
class CallKeyMaker {
 public:
  explicit CallKeyMaker(CallKind kind) {
    result_.as_of = FallThroughCache::now();
    result_.kind = kind;
  }

  void take(MPI_Comm comm) { result_.comm = comm; }
  void take(MPI_Datatype type) { (types_++ == 0 ? result_.type : result_.other) = type; }
  void take(MPI_Op op) { result_.other = op; }
  void take(int number) { (numbers_++ == 0 ? result_.count : result_.other_number) = number; }
  void take(const void* buffer) { result_.in_place = result_.in_place || buffer == MPI_IN_PLACE; }

  [[nodiscard]] const CallKey& result() const { return result_; }

 private:
  CallKey result_;
  int types_ = 0;
  int numbers_ = 0;
};

/// Arrays are not looked into.
template <class Parameter>
constexpr bool is_no_array = !std::is_same_v<Parameter, const int*> && !std::is_same_v<Parameter, const MPI_Datatype*>;

template <class... Parameters>
std::optional<int> attempt(const CallContext& context, std::optional<int> (*serve)(const CallContext&, Parameters...),
                           std::type_identity_t<Parameters>... arguments) noexcept {
  try {
    return serve(context, arguments...);
  } catch (...) {
    return raise(context.comm, MPI_ERR_NO_MEM);
  }
}

/// A blocking call.
template <class... Parameters>
std::optional<int> attempt_cached(const CallContext& context,
                                  std::optional<int> (*serve)(const CallContext&, Parameters...),
                                  std::type_identity_t<Parameters>... arguments) noexcept {
  if constexpr ((is_no_array<Parameters> && ...)) {
    CallKeyMaker maker(context.kind);
    (maker.take(arguments), ...);
    const CallKey& key = maker.result();
    if (const CachedFallThrough* cached = FallThroughCache::find(key)) {
      Runtime* process = runtime();
      return process == nullptr ? std::nullopt : fall_through(*process, context, cached->reason, cached->bytes);
    }
    return attempt({context.kind, context.comm, nullptr, nullptr, &key}, serve, arguments...);
  } else {
    return attempt(context, serve, arguments...);
  }
}

}  // namespace

#define LIBCOLL_ENTRY(name, Name, number, parameters, ...)                                   \
  std::optional<int> serve_##name parameters noexcept {                                      \
    return attempt_cached({CallKind::name, comm}, &try_##name, __VA_ARGS__);                 \
  }                                                                                          \
  std::optional<int> serve_i##name(LIBCOLL_LIST parameters, MPI_Request* request) noexcept { \
    return attempt({CallKind::i##name, comm, request}, &try_##name, __VA_ARGS__);            \
  }
#include "pmpi/entry_points.def"
#undef LIBCOLL_ENTRY

}  // namespace libcoll::pmpi
