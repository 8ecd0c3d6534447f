// A part of a fabric: some of its hosts take part in a collective, the others route at most.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planner/base/result.h"
#include "planner/topology/facts.h"
#include "planner/topology/topology.h"

namespace libcoll::topology {

/// The fabric as these hosts see it who alone have data: host i of the result is node hosts[i]. The other hosts become
/// switches where NICs forward; where they do not, nothing passes through them, and they go with their links. Links are
/// in the order of their ends, so that parts that look alike (the rows of a torus) are equal but for names. Error when
/// `hosts` is not an ascending list of two hosts of the fabric at least. Connectivity is not asked for.
Result<Topology> part_of(const Topology& fabric, std::span<const NodeId> hosts);

/// The hosts of a topology and the links among them, without its switches.
Topology without_switches(const Topology& topology);

/// The link of `topology` between the ends of each link of without_switches(topology), in the order of that.
std::vector<LinkId> links_without_switches(const Topology& topology);

/// A set of hosts moved to where all sets of its kind are moved to: image[i] is what an automorphism of the fabric
/// makes of nodes[i], and ascends.
struct MovedHosts {
  std::vector<NodeId> image;
  std::vector<NodeId> nodes;
};

/// The first in lexicographic order of the images of `hosts` under `group`: translations() of the fabric, or empty
/// where there are none, which moves nothing. Sets that are translations of each other have one image, so that one plan
/// serves them all. `hosts` ascend. O(k² log k) for k hosts.
MovedHosts move_hosts(const std::vector<Automorphism>& group, const std::vector<NodeId>& hosts);

/// {0, 1, 2, 6} ↔ "0-2,6". Parsing takes numbers below `limit` that ascend.
std::string node_ranges(std::span<const NodeId> nodes);
Result<std::vector<NodeId>> parse_node_ranges(std::string_view text, NodeId limit);

}  // namespace libcoll::topology
