#include "libcoll/serve/device_memory.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "libcoll/serve/mpi.h"

namespace libcoll::serve {
namespace {

// By the headers of CUDA 12 (cuda.h, driver_types.h) and ROCm 5 and 6 (hip/hip_runtime_api.h). Attributes of the
// runtimes begin with the type, the device, the device's pointer and the host's; what comes after differs by version.
constexpr int cu_pointer_attribute_memory_type = 2;
constexpr unsigned cu_memory_type_host = 1;
constexpr int cuda_memory_type_device = 2;

struct RuntimeAttributes {
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
  std::array<std::uint64_t, 32> rest;
};

using DriverQuery = int (*)(void* value, int attribute, std::uint64_t pointer);
using RuntimeQuery = int (*)(RuntimeAttributes* attributes, const void* pointer);
using LastError = int (*)();

/// A loaded library, and where it was loaded from; empty: there is none.
struct Search {
  std::string_view begin;  ///< of the file's name: what comes after is the version
  std::array<char, PATH_MAX> path{};
};

int look_at(dl_phdr_info* info, std::size_t, void* context) {
  Search& search = *static_cast<Search*>(context);
  const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with(search.begin) || path.size() >= search.path.size()) return 0;
  path.copy(search.path.data(), path.size());
  return 1;
}

/// None is loaded here, and no directory is searched.
void* find(const char* symbol, std::string_view library) {
  if (void* found = dlsym(RTLD_DEFAULT, symbol)) return found;
  // One that was loaded for itself alone.
  Search search{library, {}};
  if (dl_iterate_phdr(look_at, &search) == 0) return nullptr;
  void* handle = dlopen(search.path.data(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* found = dlsym(handle, symbol);
  dlclose(handle);
  return found;
}

struct Queries {
  DriverQuery cuda_driver = reinterpret_cast<DriverQuery>(find("cuPointerGetAttribute", "libcuda.so"));
  RuntimeQuery cuda = reinterpret_cast<RuntimeQuery>(find("cudaPointerGetAttributes", "libcudart.so"));
  LastError cuda_last_error = reinterpret_cast<LastError>(find("cudaGetLastError", "libcudart.so"));
  RuntimeQuery hip = reinterpret_cast<RuntimeQuery>(find("hipPointerGetAttributes", "libamdhip64.so"));
  LastError hip_last_error = reinterpret_cast<LastError>(find("hipGetLastError", "libamdhip64.so"));

  [[nodiscard]] bool any() const { return cuda_driver != nullptr || cuda != nullptr || hip != nullptr; }
};

/// How many libraries this process has loaded so far.
std::uint64_t libraries_loaded() {
  std::uint64_t loads = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* count) {
        *static_cast<std::uint64_t*>(count) = info->dlpi_adds;
        return 1;  // every object tells the same
      },
      &loads);
  return loads;
}

/// Looked for until there is one, which then stays; again only after something was loaded.
const Queries* queries() {
  static std::atomic<const Queries*> known{nullptr};
  static std::atomic<std::uint64_t> loads_without{0};
  if (const Queries* found = known.load(std::memory_order_acquire)) return found;
  const std::uint64_t loads = libraries_loaded();
  if (loads == loads_without.load(std::memory_order_relaxed)) return nullptr;
  const Queries now;
  if (!now.any()) {
    loads_without.store(loads, std::memory_order_relaxed);
    return nullptr;
  }
  known.store(new Queries(now), std::memory_order_release);  // NOLINT(cppcoreguidelines-owning-memory)
  return known.load(std::memory_order_acquire);
}

}  // namespace

bool has_device_runtime() { return queries() != nullptr; }

bool is_device_memory(const void* buffer) {
  if (buffer == nullptr || buffer == mpi.in_place) return false;
  const Queries* known = queries();
  if (known == nullptr) return false;
  unsigned type = cu_memory_type_host;
  if (known->cuda_driver != nullptr) {
    // An error says that it is no memory of CUDA's.
    const int error =
        known->cuda_driver(&type, cu_pointer_attribute_memory_type, reinterpret_cast<std::uintptr_t>(buffer));
    if (error == 0 && type != cu_memory_type_host) return true;
  } else if (known->cuda != nullptr) {
    RuntimeAttributes attributes{};
    const int error = known->cuda(&attributes, buffer);
    if (error == 0 && attributes.type >= cuda_memory_type_device) return true;
    // The program is not to find this error.
    if (error != 0 && known->cuda_last_error != nullptr) known->cuda_last_error();
  }
  if (known->hip == nullptr) return false;
  // Numbers of the types differ between versions: what has no address on the host is the GPU's.
  RuntimeAttributes attributes{};
  const int error = known->hip(&attributes, buffer);
  if (error == 0) return attributes.device_pointer != nullptr && attributes.host_pointer == nullptr;
  if (known->hip_last_error != nullptr) known->hip_last_error();
  return false;
}

}  // namespace libcoll::serve
