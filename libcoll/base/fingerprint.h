// A short name for a long text.
#pragma once

#include <string>
#include <string_view>

namespace libcoll {

/// FNV-1a, 128 bits, as 32 hexadecimal digits.
std::string fingerprint(std::string_view text);

}  // namespace libcoll
