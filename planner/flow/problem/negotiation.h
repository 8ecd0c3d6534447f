// Whole chunks onto given paths: negotiated congestion, as in PathFinder's routing of wires.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/flow/problem/link_classes.h"

namespace libcoll::flow::problem {

/// One way a chunk may go. A chunk on it adds `times` to each resource in `uses` (each resource at most once).
struct Choice {
  std::vector<ClassLoad> uses;
  double weight = 0;  ///< of the fractional solution, summing to 1 within a commodity
};

/// Commodities of `size` times `chunks` chunks, and resources in groups. The cost of a solution is the sum over groups
/// of the largest load per unit capacity in the group, in units of a whole commodity of size 1.
struct ChunkProblem {
  std::vector<double> capacity;     ///< by resource
  std::vector<std::int32_t> group;  ///< by resource, 0..groups-1
  std::int32_t groups = 1;
  std::vector<std::vector<Choice>> commodities;
  std::vector<double> size;  ///< by commodity, >= 0
};

/// Chunks by commodity and choice, and what they cost.
struct ChunkSolution {
  std::int32_t chunks = 1;
  double cost = 0;
  std::vector<std::vector<std::int32_t>> counts;
};

/// No whole chunks cost less where the fluid plan costs `fluid_cost` and is optimal: with one group and sizes that are
/// whole numbers, that cost rounded up to whole chunks on some resource.
double least_cost(const ChunkProblem& problem, double fluid_cost, std::int32_t chunks);

/// Rounds the weights by largest remainder, so that every commodity has `chunks` chunks.
ChunkSolution round_weights(const ChunkProblem& problem, std::int32_t chunks);

/// Takes chunks off overloaded resources, step by step lowering the largest load of one group after the other, until
/// the cost is at most `enough` or no group yields: resources that stay overloaded grow dearer from round to round.
ChunkSolution negotiate(const ChunkProblem& problem, const ChunkSolution& start, double enough);

}  // namespace libcoll::flow::problem
