// What error messages about TOML files say of a value: where it stands and what it is.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <string>

namespace libcoll {

using Line = std::uint32_t;

inline Line line_of(const toml::node& node) { return node.source().begin.line; }

/// The value itself where it is short, its type otherwise.
inline std::string shown(const toml::node& node) {
  if (const auto* text = node.as_string()) return "'" + text->get() + "'";
  if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
  if (node.is_boolean()) return node.as_boolean()->get() ? "true" : "false";
  if (node.is_floating_point()) return "a number with a fraction";
  if (node.is_array()) return "an array";
  if (node.is_table()) return "a table";
  return "a date or time";
}

}  // namespace libcoll
