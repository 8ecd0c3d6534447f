// Whole files as text, of bounded size.
#pragma once

#include <cstddef>
#include <string>

#include "planner/base/result.h"

namespace libcoll {

/// What a topology, demand or route binding file may have: a fabric of 65536 nodes takes some tens of MiB.
inline constexpr std::size_t most_text_bytes = std::size_t{1} << 28U;
/// What a schedule file may have, in a cache or elsewhere.
inline constexpr std::size_t most_schedule_bytes = std::size_t{1} << 30U;

/// The text of a regular file, or what comes through a pipe until it ends; "-" is standard input. Directories and
/// devices but terminals are refused at once. The error is the cause alone, to be put after the path: "a directory",
/// "larger than 256 MiB, the most that is read".
Result<std::string> read_text_file(const std::string& path, std::size_t most_bytes);

}  // namespace libcoll
