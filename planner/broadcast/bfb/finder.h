// The topology finder (paper 000 §5.4): for N nodes of degree d, the topologies and allgathers that none beats in both
// T_L and T_B.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/deadline.h"
#include "planner/base/rational.h"
#include "planner/broadcast/bfb/expansion.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::bfb {

inline constexpr std::int32_t max_finder_nodes = 1 << 12;
inline constexpr std::int32_t max_finder_degree = 12;  ///< max_balanced_links

struct FoundTopology {
  std::string specification;  ///< for generate(); planned by "expansion" when it is one, by "bfb" otherwise
  ExpansionCost cost;         ///< T_L/α and T_B of that plan
  bool regular = true;        ///< degree d at every node, which expansions need
  bool bfb_optimal = false;   ///< BFB reaches T_B = (N−1)/N: may be a factor of a Cartesian product (Theorem 13)
};

enum class Direction : std::uint8_t {
  any,          ///< links may go one way only
  cables_only,  ///< every link has its reverse
};

/// Searches bottom-up: base graphs of N nodes and degree d, and expansions of the finder's own results for smaller N
/// and d, which it keeps. Costs of expansions come from Theorems 7, 11, 12, 13, those of generalized Kautz and larger
/// circulant graphs from BFB's loads. Pruning loses nothing: every theorem is monotone in the base's T_L and T_B.
class TopologyFinder {
 public:
  /// After the deadline generalized Kautz and searched circulant graphs, which have to be measured, are left out.
  explicit TopologyFinder(Direction direction = Direction::any, const Deadline& deadline = Deadline(0))
      : direction_(direction), deadline_(deadline) {}

  /// The Pareto frontier, T_L ascending and T_B strictly descending; empty when nothing is known (d > N−1, odd N·d with
  /// cables only). Preconditions: 2 <= nodes <= max_finder_nodes, 1 <= degree <= max_finder_degree.
  std::vector<FoundTopology> frontier(std::int32_t nodes, std::int32_t degree);
  /// Graphs that there was no time to measure.
  [[nodiscard]] std::int64_t left_out() const { return left_out_; }

 private:
  using Key = std::pair<std::int32_t, std::int32_t>;

  const std::vector<FoundTopology>& regular(std::int32_t nodes, std::int32_t degree);
  const std::optional<FoundTopology>& optimal(std::int32_t nodes, std::int32_t degree);
  /// Graphs on which BFB is bandwidth-optimal, not all with bfb_optimal set where that had to be measured.
  std::vector<FoundTopology> bases(std::int32_t nodes, std::int32_t degree);
  /// Whether there is time to measure another graph.
  bool in_time();
  void add_lines(std::vector<FoundTopology>& found, std::int32_t nodes, std::int32_t degree);
  void add_degree_expansions(std::vector<FoundTopology>& found, std::int32_t nodes, std::int32_t degree);
  void add_powers(std::vector<FoundTopology>& found, std::int32_t nodes, std::int32_t degree);

  Direction direction_;
  Deadline deadline_;
  std::int64_t left_out_ = 0;
  std::map<Key, std::vector<FoundTopology>> regular_;
  std::map<Key, std::optional<FoundTopology>> optimal_;  ///< of those with bfb_optimal, the one of fewest steps
};

/// Moore's bound: what no topology of N nodes and degree d beats. Steps: least k with Σ_{i≤k} d^i >= N (Definition 9).
ExpansionCost moore_bound(std::int32_t nodes, std::int32_t degree);

/// Lower bounds on the time of an all-to-all of M bytes per node (M/N for each), in M/B: the links' share of all the
/// hops data has to make, Σ_{s,t} dist(s,t)/N² on a regular graph, and what is left of it for the best of all graphs.
Rational alltoall_time_bound(const topology::Topology& topology);
Rational alltoall_moore_bound(std::int32_t nodes, std::int32_t degree);

/// Seconds of an allreduce by reduce-scatter and allgather: 2·(T_L + T_B).
double allreduce_seconds(const ExpansionCost& cost, double size_bytes, double alpha_seconds,
                         double link_bytes_per_second);

}  // namespace libcoll::broadcast::bfb
