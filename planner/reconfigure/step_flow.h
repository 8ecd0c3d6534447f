// θ(G, M): the maximum concurrent flow of one step's matrix on one configuration, with its longest path (paper 002
// §3.3).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/deadline.h"
#include "planner/base/result.h"
#include "planner/reconfigure/configuration.h"
#include "planner/reconfigure/staged_collective.h"

namespace libcoll::reconfigure {

/// With paths of at most `hops` wires the most loaded wire carries `congestion` units per port, and no flow does
/// better: congestion = 1/θ of the paths of that length, ℓ = hops. 1/θ > 1 where messages share ports; < 1 where
/// several ports carry one message.
struct FlowPoint {
  std::int32_t hops = 0;
  double congestion = 0;
  bool proved = true;  ///< false: there was no time to look for better paths than the first few
};

/// By ascending hops and descending congestion: what Equation 3 may choose from, for δ·ℓ and 1/θ pull against each
/// other once messages take detours. The first point has the fewest hops there are, the last one the true θ. Empty: a
/// demand has no path. One point (0, 0): there is no demand.
using CongestionFrontier = std::vector<FlowPoint>;

/// Column generation over paths for each number of hops, by orbits of the symmetries that configuration and demands
/// have in common (rotations, exclusive or, digits of the node number, reflections): few rows where both are symmetric,
/// and nothing to solve where every node has one successor. Values are exact to 10⁻⁷; numbers of hops between which the
/// congestion changes by less than 1 % are not all looked at. After the deadline no more points are looked for, and if
/// there is none yet it is one of the fewest hops that is not proved. Error when the LP solver gives up.
Result<CongestionFrontier> congestion_frontier(const Configuration& configuration, std::span<const Demand> demands,
                                               const Deadline& deadline = Deadline(0));

/// A path by its nodes and the part of the demand that takes it.
struct SharedPath {
  std::vector<topology::NodeId> nodes;
  double share = 0;
};

/// Paths for each demand (in their order) that reach the congestion of this point of the frontier; after the deadline
/// those that symmetry gives, even where they load the wires of an orbit unequally. Shares sum up to 1. Error as above,
/// or when a demand has no path of so few hops.
Result<std::vector<std::vector<SharedPath>>> step_paths(const Configuration& configuration,
                                                        std::span<const Demand> demands, const FlowPoint& point,
                                                        const Deadline& deadline = Deadline(0));

}  // namespace libcoll::reconfigure
