// The size of this machine's pages: 4 KiB on x86, also 16 or 64 KiB on aarch64 and POWER.
#pragma once

#include <unistd.h>

#include <cstddef>

namespace libcoll {

/// Bytes, a power of two. Nodes of one job may have different ones: nothing that ranks have to agree on may depend on
/// it.
inline std::size_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace libcoll
