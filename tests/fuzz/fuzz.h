// What every fuzz target shares: bytes in, nothing out; a target fails by crashing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace libcoll::fuzz {

/// The entry point that libFuzzer, or replay.cpp in its place, calls.
using Target = int(const std::uint8_t* data, std::size_t size);

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// A finding, unless `holds`.
inline void require(bool holds) {
  if (!holds) std::abort();
}

/// A directory for one process, made on first use and left empty; only its owner may enter.
const std::string& scratch_directory();

}  // namespace libcoll::fuzz

extern "C" libcoll::fuzz::Target LLVMFuzzerTestOneInput;  // NOLINT(readability-identifier-naming): libFuzzer's name
