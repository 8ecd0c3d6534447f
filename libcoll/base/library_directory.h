// Where the library lies that a function is in.
#pragma once

#include <dlfcn.h>

#include <string>

namespace libcoll {

/// The folder of the library (or program) that has `symbol`; "." when that cannot be found out.
inline std::string library_directory(const void* symbol) {
  Dl_info info{};
  if (dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) return ".";
  const std::string path(info.dli_fname);
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace libcoll
