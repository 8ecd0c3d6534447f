// Names in the order people expect: node2 before node10.
#pragma once

#include <string_view>

namespace libcoll::exchange {

/// Whether `a` comes before `b`: digits count as numbers, other characters by code.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace libcoll::exchange
