// Why a call of the operating system failed, in words.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

namespace libcoll {

/// Thread-safe, unlike strerror.
inline std::string reason(int error = errno) { return std::error_code(error, std::generic_category()).message(); }

}  // namespace libcoll
