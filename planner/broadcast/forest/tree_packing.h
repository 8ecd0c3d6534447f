// Packing of spanning out-trees in batches (paper 004 §4.4 and appendix C.3, after Bérczi, Frank and Schrijver).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/result.h"
#include "planner/broadcast/bound/forest_optimum.h"
#include "planner/topology/facts.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::forest {

/// One edge of an out-tree: position in the list of arcs that was packed, and how far from the root it ends (1, 2, …).
struct TreeEdge {
  std::int32_t arc = 0;
  std::int32_t depth = 0;
  friend bool operator==(const TreeEdge&, const TreeEdge&) = default;
};

/// `count` equal out-trees that span all hosts; every edge comes after the one into its tail.
struct OutTree {
  topology::NodeId root = 0;
  std::int64_t count = 0;
  std::vector<TreeEdge> edges;
  friend bool operator==(const OutTree&, const OutTree&) = default;
};

/// A packing, and how many of its trees were made after the deadline: the last ones.
struct Packing {
  std::vector<OutTree> trees;
  std::int64_t unproven = 0;
};

/// demand[v] edge-disjoint spanning out-trees rooted at every host v: no arc is in more trees than its capacity says.
/// Arcs connect hosts 0..demand.size()-1, at most one for an ordered pair.
///
/// Trees are first grown breadth first over the arcs with the largest share of their capacity left, and a batch of them
/// is kept when one max-flow per host proves that the rest can still be packed (Theorem 10). Cuts that failed such a
/// test are remembered, and no later tree crosses them more often than they can bear. Where no batch passes, one tree
/// is grown edge by edge, every edge for as many copies as Theorem 12 allows, which cannot fail. In the end
/// shorten_trees() brings hosts nearer to their roots. Error when the trees do not exist.
///
/// Trees that are missing at the deadline are grown breadth first over the arcs with the largest share of their
/// capacity left, whatever that does to it: arcs can be in more trees than their capacity says. Error also when arcs do
/// not connect the hosts, and at effort.end.
Result<Packing> pack_out_trees(std::span<const bound::CapacityArc> arcs, std::span<const std::int64_t> demand,
                               const registry::Effort& effort = {});

/// The same for the links of a topology without switches on whose hosts `images` acts transitively (translations()),
/// `trees` trees per root: shortest-path trees for host 0 such that the loads of each orbit of links fit together, and
/// their images. Empty when shortest paths do not suffice, or when there are no images.
std::vector<OutTree> pack_by_translation(const topology::Topology& topology, std::span<const std::int64_t> capacity,
                                         std::int64_t trees, std::span<const topology::Automorphism> images);

}  // namespace libcoll::broadcast::forest
