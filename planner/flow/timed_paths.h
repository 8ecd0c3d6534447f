// Paths of which every hop has its step: what time-stepped plans are made of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/deadline.h"
#include "planner/flow/paths/path_decomposition.h"
#include "planner/flow/problem/link_classes.h"
#include "planner/flow/problem/negotiation.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::flow {

/// A path through the time-expanded graph: links[i] is crossed in step steps[i] (1, 2, …, ascending); the data waits
/// where steps leave gaps. No node is met twice.
struct TimedPath {
  std::vector<topology::LinkId> links;
  std::vector<std::int32_t> steps;
  double weight = 0;
};

/// All timed paths of one pair; weights sum to 1.
struct TimedPair {
  topology::NodeId source = 0;
  topology::NodeId destination = 0;
  std::vector<TimedPath> paths;
};

/// `load` = Σ_t U_t: the time of synchronous steps in shards per unit capacity. `pairs` are those of the rows' sources.
struct TimeSteppedFlow {
  double load = 0;
  std::vector<TimedPair> pairs;
};

/// One shortest path (those of `routes`) for each pair of the rows' sources, every hop as late as it can be.
std::vector<TimedPair> shortest_in_time(const problem::LinkClasses& rows, const std::vector<schedule::Route>& routes,
                                        std::int32_t steps);

/// Σ_t of the largest load of step t.
double stepped_load(const problem::LinkClasses& rows, const std::vector<TimedPair>& pairs, std::int32_t steps,
                    std::int32_t hosts, std::span<const double> demand);

/// Adds the pair's ways at other times, weight 0, until it has `most`: those that do not wait on the way first.
void add_retimings(TimedPair& pair, std::int32_t steps, std::size_t most);

/// The chunk problem of timed paths: a resource for every row and step, the steps being the groups.
problem::ChunkProblem stepped_problem(const problem::LinkClasses& rows, const std::vector<TimedPair>& pairs,
                                      std::int32_t steps, std::int32_t hosts, std::span<const double> demand);

/// The paths of `pairs` (of the rows' sources, none longer than `steps`) spread over the steps so that Σ_t U_t is
/// small: weights on retimings by equilibrate_choices. Ends at the deadline, with what there is then.
TimeSteppedFlow paths_in_time(const problem::LinkClasses& rows, const std::vector<paths::PairPaths>& pairs,
                              std::int32_t steps, std::int32_t hosts, std::span<const double> demand,
                              const Deadline& deadline);

}  // namespace libcoll::flow
