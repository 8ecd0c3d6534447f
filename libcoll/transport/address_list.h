// The addresses of all route classes of a process as one text.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace libcoll::transport {

/// Appends one address: its length, in 32 bits, then itself.
inline void append_address(std::string& text, std::string_view address) {
  const auto bytes = static_cast<std::uint32_t>(address.size());
  text.append(reinterpret_cast<const char*>(&bytes), sizeof bytes).append(address);
}

/// The `index`-th of them, counted from 0; empty when there is none.
inline std::string_view nth_address(std::string_view text, std::int32_t index) {
  for (; text.size() >= sizeof(std::uint32_t); --index) {
    std::uint32_t bytes = 0;
    std::memcpy(&bytes, text.data(), sizeof bytes);
    const std::string_view address = text.substr(sizeof bytes, bytes);
    if (index == 0) return address;
    text.remove_prefix(sizeof bytes + address.size());
  }
  return {};
}

}  // namespace libcoll::transport
