#include "pmpi/shim/serve.h"

#include <type_traits>

#include "pmpi/shim/operands.h"
#include "pmpi/shim/serving.h"

namespace libcoll::pmpi {
namespace {

/// Puts a call's arguments, in their order, where keys have them.
class CallKeyMaker {
 public:
  CallKeyMaker(CallKind kind, MPI_Comm comm) {
    result_.as_of = FallThroughCache::now();
    result_.kind = kind;
    result_.comm = number_of(comm);
  }

  void take(const void* buffer) { result_.in_place = result_.in_place || buffer == MPI_IN_PLACE; }
  /// A handle or a number. Where handles are addresses, they are of types of their own.
  template <class Word>
  void take(Word word) {
    if constexpr (std::is_pointer_v<Word>) {
      result_.words[words_++] = number_of(word);
    } else {
      result_.words[words_++] = static_cast<std::uint64_t>(word);
    }
  }
  void take(void* buffer) { take(static_cast<const void*>(buffer)); }

  [[nodiscard]] const CallKey& result() const { return result_; }

 private:
  CallKey result_;
  std::size_t words_ = 0;
};

/// Arrays are not looked into.
template <class Argument>
constexpr bool is_array = std::is_same_v<Argument, const int*> || std::is_same_v<Argument, const MPI_Count*> ||
                          std::is_same_v<Argument, const MPI_Aint*> || std::is_same_v<Argument, const MPI_Datatype*>;

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
std::optional<int> attempt_cached(CallKind kind, MPI_Comm comm, Serve serve, Lasting lasting,
                                  Arguments... arguments) noexcept {
  if constexpr ((!is_array<Arguments> && ...)) {
    CallKeyMaker maker(kind, comm);
    (maker.take(arguments), ...);
    const CallKey& key = maker.result();
    CallContext context{kind, comm};
    if (const CachedFallThrough* cached = FallThroughCache::find(key)) {
      Runtime* process = runtime();
      return process == nullptr ? std::nullopt : fall_through(*process, context, cached->reason, cached->bytes);
    }
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
    return attempt_cached(                                                                           \
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
