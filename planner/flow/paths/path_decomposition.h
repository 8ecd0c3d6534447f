// A single-source flow as weighted paths, without the child LPs (10)–(14) of paper 003.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/flow/problem/cycle_canceller.h"
#include "planner/flow/problem/flow_problem.h"
#include "planner/flow/problem/whole_units.h"
#include "planner/topology/topology.h"

namespace libcoll::flow::paths {

/// A simple path, and the part of its pair's data that takes it (0 < weight ≤ 1).
struct WeightedPath {
  std::vector<topology::LinkId> links;
  double weight = 0;
};

/// All paths from source to destination; their weights sum to 1.
struct PairPaths {
  topology::NodeId source = 0;
  topology::NodeId destination = 0;
  std::vector<WeightedPath> paths;
};

/// Takes the flows of one source after another apart. The problem, of which only the graph counts, is to outlive it,
/// and so are the whole units: with them a destination's unit comes in one piece wherever flow may move for that.
class PathDecomposition {
 public:
  explicit PathDecomposition(const problem::FlowProblem& problem, problem::WholeUnits* whole_units = nullptr);

  /// Splits a flow that brings one unit from the source to every other host (`flow` by the problem's links) into paths,
  /// one entry per destination in ascending order. Farthest destinations first: a host's paths are peeled off by walks
  /// back along positive flow once no flow leaves it any more. Cycles are cancelled where they are in the way; without
  /// them every such walk ends in the source, and each path empties a link or completes a destination, so that there
  /// are at most |E|+N paths. Noise of an LP solver (up to about 1e-6) is dropped and the weights rescaled; a
  /// destination that the flow misses altogether gets a shortest path. Precondition: the source reaches every host.
  std::vector<PairPaths> split(topology::NodeId source, std::vector<double> flow);

  /// The same into `pairs`, one for every other host; `flow` is used up.
  void split_into(topology::NodeId source, std::vector<double>& flow, std::span<PairPaths> pairs);

 private:
  void start(topology::NodeId source, std::vector<double>& flow);
  void count_outflows(const std::vector<double>& flow);
  void cancel_cycles(std::vector<double>& flow);
  void empty(std::int32_t link, std::vector<double>& flow);
  void drop_inflow(topology::NodeId node, std::vector<double>& flow);
  void peel(topology::NodeId destination, std::vector<double>& flow, std::vector<WeightedPath>& paths);
  double take_walk(double wanted, std::vector<double>& flow);
  [[nodiscard]] std::int32_t largest_inflow(topology::NodeId node, const std::vector<double>& flow) const;
  [[nodiscard]] std::int32_t inflow_of(topology::NodeId node, double wanted, std::vector<double>& flow);
  bool walk_back(topology::NodeId destination, double wanted, std::vector<double>& flow);
  [[nodiscard]] std::vector<topology::LinkId> walked() const;
  [[nodiscard]] std::vector<topology::LinkId> shortest_path(topology::NodeId destination) const;

  const problem::FlowProblem& problem_;
  problem::WholeUnits* whole_units_;
  problem::CycleCanceller cycles_;
  topology::NodeId source_ = 0;
  std::vector<std::int32_t> outflows_;   ///< by node: links out of it that carry flow
  std::vector<std::uint8_t> queued_;     ///< by node: it is in ready_, or the source
  std::vector<topology::NodeId> ready_;  ///< nodes without outflow, in the order in which they came to that
  std::vector<std::int32_t> inflow_;     ///< by node: the link by which the last walk left it; -1: none yet
  std::vector<std::int32_t> walk_;
  std::vector<WeightedPath> peeled_;  ///< of one destination
  std::vector<topology::NodeId> order_;
};

/// The same for one source and a flow by the topology's link ids.
std::vector<PairPaths> decompose(const topology::Topology& topology, topology::NodeId source,
                                 const std::vector<double>& flow);

/// The same for many sources, each thread at some of them; source by source.
std::vector<PairPaths> decompose(const topology::Topology& topology, std::span<const topology::NodeId> sources,
                                 const std::vector<std::vector<double>>& flow, std::int32_t threads);

/// The same for the sources of a problem whose group leaves no host in place but by the identity, with `flow` by its
/// links, in whole units as far as no class is loaded beyond `most_load` times its capacity. `flow` is used up.
std::vector<PairPaths> decompose_into_whole_units(const problem::FlowProblem& problem, double most_load,
                                                  std::vector<std::vector<double>>& flow);

}  // namespace libcoll::flow::paths
