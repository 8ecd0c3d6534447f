// Checks of numbers on the command line: finite, within bounds, and said in one short sentence.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace libcoll::command {

/// A finite number from `least` to `most`.
CLI::Validator number_in(double least, double most);

/// A whole number from `least` to `most`, in decimal digits.
CLI::Validator whole_in(std::int64_t least, std::int64_t most);

/// Seconds from `least` on; infinity is no number of seconds.
CLI::Validator seconds_from(double least);

/// Sizes as CLI::AsSizeValue leaves them, from `least` bytes to 1 EiB.
CLI::Validator bytes_from(std::int64_t least);

inline constexpr std::int64_t most_threads = 1024;

}  // namespace libcoll::command
