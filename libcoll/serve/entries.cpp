// What the intercepted functions do once the core is loaded: serve the call, or hand it on.
#include "libcoll/serve/entries.h"

#include <iterator>

#include "libcoll/base/calls.h"
#include "libcoll/serve/call_key.h"
#include "libcoll/serve/communicator_state.h"
#include "libcoll/serve/fall_through_cache.h"
#include "libcoll/serve/next.h"
#include "libcoll/serve/persistent.h"
#include "libcoll/serve/polling.h"
#include "libcoll/serve/process.h"
#include "libcoll/serve/reentrancy_guard.h"
#include "libcoll/serve/serve.h"
#include "libcoll/serve/short_call_cache.h"

namespace libcoll::serve {
namespace {

bool none_kept() { return persistent_kept.load(std::memory_order_relaxed) == 0; }
bool none_replaced() { return persistent_replaced.load(std::memory_order_relaxed) == 0; }

// NOLINTBEGIN(readability-identifier-naming, readability-non-const-parameter): MPI's names and parameters

// ---- collectives

/// Whether a call is like one that fell through; it is then counted as that one. Nonblocking calls are not remembered.
template <class... Arguments>
[[gnu::always_inline]] inline bool falls_through_again(CallKind kind, MpiComm comm, Arguments... arguments) noexcept {
  if constexpr (has_key<Arguments...>) {
    const CachedFallThrough* cached = FallThroughCache::find_first(key_of(kind, comm, arguments...));
    if (cached != nullptr) count_again(*cached);
    return cached != nullptr;
  } else {
    return false;
  }
}

/// With arguments as the program has passed them.
template <class IsKnown, class Serve, class Function, class... Arguments>
[[gnu::always_inline]] inline int enter_cleaned(MpiComm comm, IsKnown is_known, Serve serve, Function fall_through,
                                                Arguments... arguments) {
  return enter(number_of(cleaned(comm)), is_known, serve, fall_through, cleaned(arguments)...);
}

#define LIBCOLL_CALL(name, symbol, parameters, ...)                                       \
  int enter_##symbol parameters {                                                         \
    static const auto fall_through = next_symbol<decltype(&enter_##symbol)>("P" #symbol); \
    const auto is_known = [comm](auto... all) __attribute__((always_inline)) {            \
      return falls_through_again(CallKind::name, cleaned(comm), all...);                  \
    };                                                                                    \
    const auto serve = [comm](auto... all) noexcept {                                     \
      const std::optional<int> code = serve_again(CallKind::name, cleaned(comm), all...); \
      return code ? code : serve_##name(all...);                                          \
    };                                                                                    \
    return enter_cleaned(comm, is_known, serve, fall_through, __VA_ARGS__);               \
  }
/// Of a persistent call. MPI's own request is what the program gets.
#define LIBCOLL_INIT(name, symbol, parameters, ...)                                       \
  int enter_##symbol(LIBCOLL_LIST parameters, MpiInfo info, MpiRequests request) {        \
    static const auto fall_through = next_symbol<decltype(&enter_##symbol)>("P" #symbol); \
    const ReentrancyGuard reentrancy;                                                     \
    if (!ReentrancyGuard::is_program()) return fall_through(__VA_ARGS__, info, request);  \
    const auto plan = [](auto... all) { return plan_##name(cleaned(all)...); };           \
    const auto call = plan(__VA_ARGS__);                                                  \
    const int code = fall_through(__VA_ARGS__, info, request);                            \
    if (code == mpi_success) keep_persistent(call, request.get());                        \
    return code;                                                                          \
  }
#define LIBCOLL_ENTRY(name, Name, number, datatypes, parameters, ...)                                      \
  LIBCOLL_CALL(name, MPI_##Name, parameters, __VA_ARGS__)                                                  \
  LIBCOLL_CALL(i##name, MPI_I##name, (LIBCOLL_LIST parameters, MpiRequests request), __VA_ARGS__, request) \
  LIBCOLL_INIT(name, MPI_##Name##_init, parameters, __VA_ARGS__)                                           \
  LIBCOLL_INIT(name, MPIX_##Name##_init, parameters, __VA_ARGS__)
#include "pmpi/entry_points.def"
#undef LIBCOLL_ENTRY
#define LIBCOLL_ENTRY(name, Name, number, datatypes, parameters, ...)                                          \
  LIBCOLL_CALL(name, MPI_##Name##_c, parameters, __VA_ARGS__)                                                  \
  LIBCOLL_CALL(i##name, MPI_I##name##_c, (LIBCOLL_LIST parameters, MpiRequests request), __VA_ARGS__, request) \
  LIBCOLL_INIT(name, MPI_##Name##_init_c, parameters, __VA_ARGS__)
#define LIBCOLL_LARGE_COUNTS
#include "pmpi/entry_points.def"
#undef LIBCOLL_LARGE_COUNTS
#undef LIBCOLL_ENTRY

// Both tables name the same calls.
#define LIBCOLL_ENTRY(name, ...) CallKind::name, CallKind::i##name, CallKind::name##_init,
constexpr CallKind intercepted[] = {
#include "pmpi/entry_points.def"
};
#undef LIBCOLL_ENTRY
static_assert(std::size(intercepted) == call_count);

// ---- requests: those of persistent calls that are served have another one in their place

#define LIBCOLL_COMPLETION(Name, symbol, how_many, parameters, ...)                  \
  int enter_##symbol parameters {                                                    \
    static const auto pass_on = next_symbol<decltype(&enter_##symbol)>("P" #symbol); \
    if (none_replaced() && !must_poll()) return pass_on(__VA_ARGS__);                \
    const auto finish = [&] { return poll_##Name(pass_on, __VA_ARGS__); };           \
    return none_replaced() ? finish() : complete(how_many, requests, finish);        \
  }
#define LIBCOLL_COMPLETES_ONE(Name, number, parameters, ...) \
  LIBCOLL_COMPLETION(Name, MPI_##Name, 1, parameters, __VA_ARGS__)
#define LIBCOLL_COMPLETES_MANY(Name, number, parameters, ...) \
  LIBCOLL_COMPLETION(Name, MPI_##Name, count, parameters, __VA_ARGS__)
#include "pmpi/request_points.def"
#undef LIBCOLL_COMPLETES_ONE
#undef LIBCOLL_COMPLETES_MANY

int enter_MPI_Start(MpiRequests request) {
  if (none_kept() || !request.given()) return mpi.start(request);
  const ReentrancyGuard reentrancy;
  std::optional<int> code;
  if (start_persistent(request.get(), code) && code) return *code;
  return mpi.start(request);
}

int enter_MPI_Startall(int count, MpiRequests requests) {
  if (none_kept() || !requests.given()) return mpi.startall(count, requests);
  return start_each(count, requests, mpi.start, mpi.startall);
}

int enter_MPI_Request_free(MpiRequests request) {
  if (!none_kept() && request.given()) forget_persistent(request.get());
  return mpi.request_free(request);
}

int enter_MPI_Request_get_status(MpiRequest request, int* flag, MpiStatus* status) {
  if (must_poll()) progress_own();
  return mpi.request_get_status(none_replaced() ? request : in_place_of(cleaned(request)), flag, status);
}

// ---- others

int enter_MPI_Barrier(MpiComm comm) {
  before_barrier(cleaned(comm));
  return mpi.barrier(comm);
}

int enter_MPI_Finalize() {
  before_finalize();
  const int code = mpi.finalize();
  after_finalize();
  return code;
}

#define LIBCOLL_INTERCEPTED(symbol, number) reinterpret_cast<void*>(&enter_##symbol),
void* const functions[] = {
#include "pmpi/intercepted.def"
};
#undef LIBCOLL_INTERCEPTED
static_assert(std::size(functions) == libcoll_intercepted_count);
// NOLINTEND(readability-identifier-naming, readability-non-const-parameter)

}  // namespace

void* const* intercepted_functions() { return &functions[0]; }

}  // namespace libcoll::serve
