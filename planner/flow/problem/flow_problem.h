// All-to-all as the combinatorial solvers see it: flat arrays, one source per orbit of hosts, one price per orbit of
// links.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "planner/flow/problem/link_classes.h"
#include "planner/topology/topology.h"

namespace libcoll::flow::problem {

/// Minimise U subject to: every solved source sends one unit to every other host, and for every class of links the sum
/// of all sources' flow over it is at most U times its capacity. A solved source stands for `weight` hosts; their flows
/// are its images, averaged over the group, so that all links of a class carry the same.
struct FlowProblem {
  std::int32_t nodes = 0;
  std::int32_t hosts = 0;  ///< the nodes 0..hosts-1 are destinations
  std::vector<topology::NodeId> sources;
  std::vector<double> weight;  ///< by source
  // Links are numbered by their heads here: those into v are in_begin[v]..in_begin[v+1]-1.
  std::vector<topology::LinkId> link_id;  ///< by link: what the topology calls it
  std::vector<std::int32_t> from, to, link_class;
  std::vector<double> capacity;  ///< by class, of all its links together, in units of b
  std::vector<std::int32_t> in_begin;
  std::vector<std::int32_t> out_begin, out_link;  ///< links out of v: out_link[out_begin[v]..out_begin[v+1])

  [[nodiscard]] std::size_t links() const { return from.size(); }
  [[nodiscard]] std::size_t classes() const { return capacity.size(); }
};

FlowProblem flow_problem(const topology::Topology& topology, const SourceOrbits& orbits);

/// A feasible flow and prices that bound it. Loads and bounds are in double precision and only steer the solvers; what
/// a plan claims is evaluated by certify_flow and from its paths.
struct FlowSolution {
  std::vector<std::vector<double>> flow;  ///< [source][link], one unit to every other host, without cycles
  std::vector<double> prices;             ///< by class, ≥ 0: lengths of its links
  double load = 0;                        ///< U of the flow
  double bound = 0;                       ///< on U, by the prices
  [[nodiscard]] double gap() const { return load / bound - 1; }
};

/// When to stop: once the gap is reached, or the time is over (the best so far is returned).
struct FlowLimits {
  double gap = 0;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::int32_t threads = 1;
  [[nodiscard]] bool late() const { return deadline && std::chrono::steady_clock::now() >= *deadline; }
};

/// Turns flows by the problem's links, [source][link], into flows by the topology's link ids, in place.
void renumber_by_link_id(const FlowProblem& problem, std::vector<std::vector<double>>& flow);

/// The other way round.
void renumber_by_problem_links(const FlowProblem& problem, std::vector<std::vector<double>>& flow);

/// By class: what all hosts send over it, given the solved sources' flows.
std::vector<double> class_loads(const FlowProblem& problem, const std::vector<std::vector<double>>& flow);

/// max over classes of load per capacity.
double largest_load(const FlowProblem& problem, const std::vector<double>& loads);

/// Lengths by the topology's link ids: the prices of the links' classes.
std::vector<double> link_lengths(const FlowProblem& problem, const std::vector<double>& prices);

/// Σ over all ordered pairs of hosts of dist / Σ capacity·price, in floating point: the bound on U.
double load_bound(const FlowProblem& problem, const std::vector<double>& prices, std::int32_t threads);

}  // namespace libcoll::flow::problem
