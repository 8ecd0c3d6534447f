// The child LPs of the decomposed MCF (paper 003 §3.1.2, (10)–(14)): a source's flow split by destination.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::flow_lp {

/// By destination host (empty for the source and where nothing is asked for), what the pair sends over each link.
/// `flow` is the source's flow f' by link as the master LP has it, `amounts[d]` what it brings to host d (F = 1). The
/// least total flow (10) within f' (11), conserved as an equation (12). f' may lack what the master's solver leaves to
/// noise. Error when the solver gives up or `seconds` (as solve_with_glpk) are over.
Result<std::vector<std::vector<double>>> solve_child_lp(const topology::Topology& topology, topology::NodeId source,
                                                        std::span<const double> flow, std::span<const double> amounts,
                                                        double seconds);

/// Columns the LP would have.
std::int64_t child_lp_columns(const topology::Topology& topology, std::span<const double> flow);

}  // namespace libcoll::flow_lp
