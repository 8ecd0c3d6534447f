// A flow on given paths of pairs: what it loads, and its chunks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/flow/paths/path_decomposition.h"
#include "planner/flow/problem/link_classes.h"
#include "planner/flow/problem/negotiation.h"

namespace libcoll::flow::paths {

/// `pairs` with the best weights; paths of weight 0 are gone. `prices` as in MasterFlow.
struct PathFlow {
  double load = 0;  ///< U = 1/F
  std::vector<PairPaths> pairs;
  std::vector<double> prices;
};

/// Largest load per unit capacity when pairs send their demand by their weights.
double largest_load(const problem::LinkClasses& classes, std::span<const PairPaths> pairs, std::int32_t hosts,
                    std::span<const double> demand);

/// The chunk problem of paths on link classes.
problem::ChunkProblem chunk_problem(const problem::LinkClasses& classes, std::span<const PairPaths> pairs,
                                    std::int32_t hosts, std::span<const double> demand);

}  // namespace libcoll::flow::paths
