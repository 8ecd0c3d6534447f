// What classic algorithms have in common: who sends what to whom in which step, before anyone asks whether there is a
// link between the two.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/base/result.h"
#include "planner/registry/planner.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::classic {

/// The transfers of a schedule without its topology. Ends are hosts; a transfer whose route is `direct` crosses the
/// link between its ends where there is one and takes a shortest route where there is none; other routes are indices
/// into `routes`.
struct Pattern {
  std::int32_t chunks_per_shard = 1;
  std::int32_t steps = 0;
  std::vector<schedule::Transfer> transfers;
  std::vector<schedule::Route> routes;
};

/// An allgather turned into the reduce-scatter of the transpose: ends and routes turned around, step t becomes T+1−t,
/// copy becomes reduce (paper 001, Algorithm 1, lines 16–17; paper 000 Corollary 1.1).
Pattern reversed(Pattern allgather);

/// One after the other; chunk counts are brought to their least common multiple.
Pattern in_turn(const Pattern& first, const Pattern& second);

/// At the same time, each on an equal part of every shard, in the order given.
Pattern side_by_side(const std::vector<Pattern>& parts);

/// Hosts that gather by passing on all they hold; the allgather of recursive doubling, Swing and of rings in
/// dimensions.
class Gathering {
 public:
  /// Every host holds its own shard.
  explicit Gathering(std::int32_t hosts);

  /// One step: host v sends all it holds to partner[v], or nothing where that is v itself. Error when something would
  /// arrive where it already is.
  Status exchange(const std::vector<topology::NodeId>& partner);

  /// One step: of each pair the first host sends all that it holds and the second one lacks. Nobody receives from two.
  void supply(const std::vector<std::pair<topology::NodeId, topology::NodeId>>& pairs);

  /// Steps begin..begin+n−2 of rings that all have n members: what each holds now travels around its ring (once, in the
  /// order of its members). Rings are disjoint.
  void around(const std::vector<std::vector<topology::NodeId>>& rings, std::int32_t begin);

  /// The transfers so far; error when some host lacks a shard.
  Result<Pattern> finish();

 private:
  void take(topology::NodeId host, schedule::ShardId shard);

  std::vector<std::vector<schedule::ShardId>> held_;
  std::vector<std::vector<bool>> holds_;  ///< [host][shard]
  Pattern pattern_;
};

/// The transfers of a pattern on links and shortest routes (balanced within each step) with their loads and times, but
/// without bound, layers and classes. Preconditions: every host can reach every other, the root is a host.
schedule::Schedule on_links_and_routes(const topology::Topology& topology, schedule::Collective collective,
                                       std::string_view algorithm, Pattern pattern, topology::NodeId root = 0);

/// The schedule of a pattern on a topology: links and shortest routes (balanced within each step; LASH layers, classes
/// by source), exact proof, bound of the topology; without transfers and routes when options.schedule is false. Of a
/// rooted collective the root is options.root. Error when a host cannot reach another or the root is no host.
Result<schedule::Schedule> lay_out(const topology::Topology& topology, schedule::Collective collective,
                                   std::string_view algorithm, Pattern pattern, const registry::PlanOptions& options);

/// An algorithm as its allgather; `options` are the caller's.
using AllgatherPattern = Result<Pattern> (*)(const topology::Topology& topology, const registry::PlanOptions& options);

/// Allgather by the pattern, reduce-scatter by its mirror image on the transpose, allreduce by both. Error for
/// other collectives, unconnected topologies, and what the pattern refuses.
Result<schedule::Schedule> plan_by_pattern(AllgatherPattern allgather, schedule::Collective collective,
                                           std::string_view algorithm, const topology::Topology& topology,
                                           const registry::PlanOptions& options);

}  // namespace libcoll::broadcast::classic
