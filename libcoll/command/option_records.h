// What CLI11's records of options say of their values.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace libcoll::command {

/// "BYTES" of "BYTES:SIZE [b, kb(=1024b), ...]"; empty for flags.
std::string value_name(const CLI::Option& option);

/// "lash, dfsssp" of "METHOD:{lash,dfsssp}"; empty where any value of the type will do.
std::string allowed_values(const CLI::Option& option);

}  // namespace libcoll::command
