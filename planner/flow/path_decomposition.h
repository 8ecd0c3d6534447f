// A single-source flow as weighted paths, without the child LPs (10)–(14) of paper 003.
#pragma once

#include <vector>

#include "planner/topology/topology.h"

namespace libcoll {

/// A simple path, and the part of its pair's data that takes it (0 < weight ≤ 1).
struct WeightedPath {
  std::vector<LinkId> links;
  double weight = 0;
};

/// All paths from source to destination; their weights sum to 1.
struct PairPaths {
  NodeId source = 0;
  NodeId destination = 0;
  std::vector<WeightedPath> paths;
};

/// Splits a flow that brings one unit from the source to every other host (`flow` by link) into paths, one entry
/// per destination in ascending order. Cycles are cancelled first; in the acyclic rest every walk back from
/// a destination along positive flow ends in the source, and each path empties a link or completes a destination, so
/// that there are at most |E|+N paths. Noise of an LP solver (up to about 1e-6) is dropped and the weights rescaled;
/// a destination that the flow misses altogether gets a shortest path. Precondition: the source reaches every host.
std::vector<PairPaths> decompose(const Topology& topology, NodeId source, std::vector<double> flow);

}  // namespace libcoll
