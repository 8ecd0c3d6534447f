// Topologies by one-line specification, as `torus:3x3x3` or `genkautz:27,4`.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::topology {

/// What a generator makes at most; beyond it the specification is taken for a slip of the pen.
inline constexpr std::int32_t max_nodes = 1 << 16;
inline constexpr std::int64_t max_links = 1 << 22;

/// One family of the table behind every specification, its help text and its error messages.
struct Generator {
  std::string_view name;                                 ///< "torus"
  std::string_view form;                                 ///< "torus:AxBx..."
  std::string_view example;                              ///< "torus:3x3x3"
  std::string_view text;                                 ///< one line for --help and `libcoll info`
  Result<Topology> (*make)(std::string_view arguments);  ///< without a name, not yet checked for connectivity
};

/// Every family there is, in the order of the help text.
std::span<const Generator> generators();

/// Makes the topology a specification such as "torus:3x3x3" describes, of 2 to max_nodes nodes that all reach
/// each other; nodes are named by their ids, torus and mesh numbered row-major (last dimension fastest). The
/// error names the specification, what was found and what was expected.
Result<Topology> generate(std::string_view specification);

}  // namespace libcoll::topology
