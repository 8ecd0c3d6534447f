// Switch removal by edge splitting (paper 004 §4.3 and appendix C.2): logical links between hosts that are worth as
// much as the fabric, and the way each takes through the switches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/result.h"
#include "planner/registry/effort.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::forest {

/// `capacity` units of a logical link follow these links of the topology.
struct LogicalPath {
  std::vector<topology::LinkId> links;
  std::int64_t capacity = 0;
  friend bool operator==(const LogicalPath&, const LogicalPath&) = default;
};

/// A logical link between two hosts; its paths visit no host in between and no switch twice.
struct LogicalLink {
  topology::NodeId from = 0;
  topology::NodeId to = 0;
  std::int64_t capacity = 0;  ///< Σ of its paths' capacities
  std::vector<LogicalPath> paths;
  friend bool operator==(const LogicalLink&, const LogicalLink&) = default;
};

/// Splits off every switch. `capacity` has one entry per link (trees it may carry), `demand` one per host (trees to be
/// rooted there). The result has at most one logical link per ordered pair, ordered by (from, to); its paths load no
/// link beyond its capacity, and if the demanded trees exist in the topology, they exist in the result (Theorem 7).
///
/// A switch's capacity is paired in one go by a pattern that keeps trees shallow (up and down first, then from cluster
/// to cluster, rail by rail, then within a cluster; between hosts that other switches have not joined before others),
/// and the pattern is kept where one max-flow per host proves it harmless. Where it is not, it is halved, down to
/// single pairs whose splittable capacity Theorem 8 gives exactly.
///
/// After the deadline the patterns are kept without a proof, and what they leave is paired as it comes: the paths load
/// no link beyond its capacity, but the demanded trees need not exist, and hosts need not be connected.
///
/// Error at effort.end, and when the trees do not exist: capacities too small, or switches whose bandwidth in differs
/// from that out in a way that cannot be split.
Result<std::vector<LogicalLink>> split_off_switches(const topology::Topology& topology,
                                                    std::span<const std::int64_t> capacity,
                                                    std::span<const std::int64_t> demand,
                                                    const registry::Effort& effort = {});

/// The physical links between hosts, and for two hosts joined by switches alone one shortest way through them, at the
/// capacity of its narrowest link, at least 1. Nothing is split: ways share links. What is left to do in a hurry.
std::vector<LogicalLink> ways_between_hosts(const topology::Topology& topology, std::span<const std::int64_t> capacity);

}  // namespace libcoll::broadcast::forest
