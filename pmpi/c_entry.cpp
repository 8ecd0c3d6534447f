// The C entry points: serve the call, or hand it to the next definition in load order.
#include "libcoll/runtime/calls.h"
#include "pmpi/entrance.h"
#include "pmpi/next.h"
#include "pmpi/persistent.h"
#include "pmpi/process.h"
#include "pmpi/serve.h"

// NOLINTBEGIN(readability-identifier-naming): MPI's names
#define LIBCOLL_EXPORT extern "C" __attribute__((visibility("default")))

#define LIBCOLL_C_ENTRY(name, symbol, parameters, ...)                                    \
  LIBCOLL_EXPORT int symbol parameters {                                                  \
    static const auto fall_through = libcoll::pmpi::next<decltype(&(symbol))>(#symbol);   \
    return libcoll::pmpi::enter(&libcoll::pmpi::serve_##name, fall_through, __VA_ARGS__); \
  }
/// Of a persistent call. MPI's own request is what the program gets.
#define LIBCOLL_C_INIT(name, symbol, parameters, ...)                                       \
  LIBCOLL_EXPORT int symbol(LIBCOLL_LIST parameters, MPI_Info info, MPI_Request* request) { \
    static const auto fall_through = libcoll::pmpi::next<decltype(&(symbol))>(#symbol);     \
    const libcoll::pmpi::Entrance entrance;                                                 \
    const auto call = libcoll::pmpi::plan_##name(__VA_ARGS__);                              \
    const int code = fall_through(__VA_ARGS__, info, request);                              \
    if (code == MPI_SUCCESS) libcoll::pmpi::keep_persistent(call, *request);                \
    return code;                                                                            \
  }
#define LIBCOLL_ENTRY(name, Name, NAME, number, parameters, ...)                                                \
  LIBCOLL_C_ENTRY(name, MPI_##Name, parameters, __VA_ARGS__)                                                    \
  LIBCOLL_C_ENTRY(i##name, MPI_I##name, (LIBCOLL_LIST parameters, MPI_Request * request), __VA_ARGS__, request) \
  LIBCOLL_C_INIT(name, MPIX_##Name##_init, parameters, __VA_ARGS__)
#include "pmpi/entry_points.def"
#undef LIBCOLL_ENTRY

// Both tables name the same calls.
#define LIBCOLL_ENTRY(name, ...) libcoll::CallKind::name, libcoll::CallKind::i##name, libcoll::CallKind::name##_init,
constexpr libcoll::CallKind intercepted[] = {
#include "pmpi/entry_points.def"
};
#undef LIBCOLL_ENTRY
static_assert(std::size(intercepted) == libcoll::call_count);

LIBCOLL_EXPORT int MPI_Barrier(MPI_Comm comm) {
  static const auto fall_through = libcoll::pmpi::next<decltype(&MPI_Barrier)>("MPI_Barrier");
  libcoll::pmpi::before_barrier(comm);
  return fall_through(comm);
}

LIBCOLL_EXPORT int MPI_Init(int* argc, char*** argv) {
  static const auto fall_through = libcoll::pmpi::next<decltype(&MPI_Init)>("MPI_Init");
  const int code = fall_through(argc, argv);
  libcoll::pmpi::after_init();
  return code;
}

LIBCOLL_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  static const auto fall_through = libcoll::pmpi::next<decltype(&MPI_Init_thread)>("MPI_Init_thread");
  const int code = fall_through(argc, argv, required, provided);
  libcoll::pmpi::after_init();
  return code;
}

LIBCOLL_EXPORT int MPI_Finalize() {
  static const auto fall_through = libcoll::pmpi::next<decltype(&MPI_Finalize)>("MPI_Finalize");
  libcoll::pmpi::before_finalize();
  const int code = fall_through();
  libcoll::pmpi::after_finalize();
  return code;
}

/// Calls of a collective ("allreduce", "reduce_scatter_block", …: MPI's names in lower case) that libcoll served in
/// this process so far; -1 for an unknown name. A program finds it with dlsym(RTLD_DEFAULT, "libcoll_calls_served").
LIBCOLL_EXPORT long libcoll_calls_served(const char* collective) { return libcoll::pmpi::calls_served(collective); }
// NOLINTEND(readability-identifier-naming)
