#include "libcoll/serve/core/ucx_functions.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <string>

#include "libcoll/transport/ucx/ucx_transport.h"
#include "pmpi/words.h"

namespace libcoll::serve {
namespace {

#define LIBCOLL_UCX_FUNCTION(symbol, number) index_##symbol,
enum : std::size_t {
#include "libcoll/serve/core/ucx_functions.def"
  function_count
};
#undef LIBCOLL_UCX_FUNCTION

#define LIBCOLL_UCX_FUNCTION(symbol, number) #symbol,
constexpr std::array<const char*, function_count> names{
#include "libcoll/serve/core/ucx_functions.def"
};
#undef LIBCOLL_UCX_FUNCTION

std::array<void*, function_count> functions{};

/// libucp needs the others, so that their functions are found there, too.
constexpr const char* library = "libucp.so.0";

std::string last_error() {
  const char* text = dlerror();
  return text == nullptr ? "not found" : text;
}

Status find_functions() {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return Error{"UCX: " + last_error()};
  for (std::size_t each = 0; each < function_count; ++each) {
    functions[each] = dlsym(handle, names[each]);
    if (functions[each] == nullptr) return Error{"UCX: " + last_error()};
  }
  transport::ucx::disable_ucx_signal_handlers();
  return {};
}

}  // namespace

Status load_ucx() {
  static const Status status = find_functions();
  return status;
}

// Under their own names, for the transports. None has an argument or a result that is no word.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
#define DEFINE(symbol, parameters, ...)                                                            \
  libcoll_word symbol(parameters) {                                                                \
    return reinterpret_cast<libcoll_word (*)(parameters)>(functions[index_##symbol])(__VA_ARGS__); \
  }
#define LIBCOLL_UCX_FUNCTION(symbol, number) DEFINE(symbol, LIBCOLL_PARAMETERS(number), LIBCOLL_ARGUMENTS(number))
#include "libcoll/serve/core/ucx_functions.def"
#undef LIBCOLL_UCX_FUNCTION
}
// NOLINTEND(readability-identifier-naming)

}  // namespace libcoll::serve
