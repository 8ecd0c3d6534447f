#include "pmpi/next.h"

#include <dlfcn.h>

#include <array>
#include <string>

#include "libcoll/runtime/log.h"
#include "pmpi/mpi_symbols.h"

namespace libcoll::pmpi {
namespace {

constexpr const char* late_library_name = "libcoll_pmpi_late.so";
constexpr std::array mpi_libraries{"libmpi.so.40", "libmpi_mpifh.so.40", "libmpi_usempif08.so.40"};

void* loaded(const char* library) { return dlopen(library, RTLD_LAZY | RTLD_NOLOAD); }

void* open_late_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&late_library), &info) == 0 || info.dli_fname == nullptr) return nullptr;
  const std::string own(info.dli_fname);
  const std::string path = own.substr(0, own.rfind('/') + 1) + late_library_name;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) log(LogLevel::warn, std::string("every call falls through: ") + dlerror());
  return library;
}

}  // namespace

void* late_library() {
  if (&ompi_mpi_comm_world != nullptr || loaded(mpi_libraries.front()) == nullptr) return nullptr;
  static void* const library = open_late_library();
  return library;
}

void* find_next(const char* name) {
  if (void* late = late_library()) return dlsym(late, name);
  if (void* found = dlsym(RTLD_NEXT, name)) return found;
  for (const char* library : mpi_libraries) {
    void* handle = loaded(library);
    void* found = handle != nullptr ? dlsym(handle, name) : nullptr;
    if (found != nullptr) return found;
  }
  return nullptr;
}

}  // namespace libcoll::pmpi
