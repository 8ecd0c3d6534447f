// The demand matrix file: what every host sends to every other, for all-to-all that is not uniform.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::flow::problem {

/// Reads a demand as PlanOptions::demand has it. Amounts may be in any unit: the largest becomes 1. Two forms:
/// - CSV: one line for each host in the order of the topology, with one number for each host, separated by commas,
///   blanks or tabs; lines that are empty or start with '#' do not count, the diagonal is not looked at.
/// - TOML, where the text has a [[demand]] or a `default`: `default` (0 unless given) for every pair, and tables
///   [[demand]] with `from`, `to` (names of nodes) and `amount`.
/// `file` only names the text in messages. Errors start with "FILE:LINE: " and say what was found and what was
/// expected: nodes that do not exist or are switches, pairs given twice, negative amounts, rows of the wrong length.
Result<std::vector<double>> read_demand(std::string_view text, const std::string& file,
                                        const topology::Topology& topology);

/// The same from a file's path.
Result<std::vector<double>> load_demand(const std::string& path, const topology::Topology& topology);

}  // namespace libcoll::flow::problem
