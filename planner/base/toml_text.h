// TOML text to a table, the one way all our files are read.
#pragma once

#include <toml++/toml.h>

#include <string_view>

#include "planner/base/result.h"

namespace libcoll {

/// The table a text holds. Errors start with "ORIGIN:LINE: " and say what was found. Characters beyond ASCII are taken
/// in comments and, as UTF-8, in strings in double quotes.
Result<toml::table> read_toml(std::string_view text, std::string_view origin);

}  // namespace libcoll
