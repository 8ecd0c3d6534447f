// The global view of a collective: which chunk crosses which link in which step. Independent of MPI and of
// the message size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planner/base/rational.h"
#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::schedule {

/// Beyond these a schedule is absurd: readers and the verifier refuse it.
inline constexpr std::int32_t max_steps = 1 << 20;
inline constexpr std::int32_t max_layers = 256;
inline constexpr std::int32_t max_classes = 4096;

enum class Collective : std::uint8_t { allgather, reduce_scatter, allreduce, alltoall, broadcast, reduce };

std::string_view to_string(Collective collective);
Result<Collective> parse_collective(std::string_view text);

/// Whether it has a root: broadcast and reduce.
bool is_rooted(Collective collective);

/// Allgather, reduce-scatter or allreduce.
bool is_gathering(Collective collective);

/// The part of a buffer one transfer speaks of. Allgather, reduce-scatter, allreduce: the owner's node id,
/// 0..N-1. All-to-all: source·N + destination for the block that source sends to destination. Broadcast, reduce: the
/// root's node id; there is no other shard, it is the whole vector.
using ShardId = std::int32_t;

/// A path the fabric follows, link by link, in virtual lane `layer`. A message takes it when it is sent through route
/// class `route_class` (1, 2, …) from source to destination; 0: not assigned, the fabric's default routing.
struct Route {
  topology::NodeId source = 0;
  topology::NodeId destination = 0;
  std::vector<topology::LinkId> links;
  std::int32_t layer = 0;
  std::int32_t route_class = 0;
  friend bool operator==(const Route&, const Route&) = default;
};

enum class TransferKind : std::uint8_t {
  copy,    ///< the receiver stores the chunk
  reduce,  ///< the sender passes its accumulated value on, the receiver combines it into its own
};

inline constexpr std::int32_t direct = -1;  ///< Transfer::route of a transfer that crosses the one link from→to

/// Chunks [chunk_begin, chunk_begin + chunk_count) of a shard go from→to in a step, over a link or a route.
struct Transfer {
  ShardId shard = 0;
  std::int32_t chunk_begin = 0;
  std::int32_t chunk_count = 0;
  topology::NodeId from = 0;
  topology::NodeId to = 0;
  std::int32_t step = 1;        ///< 1..steps
  std::int32_t route = direct;  ///< index into Schedule::routes, or `direct`
  TransferKind kind = TransferKind::copy;
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

/// What the planner claims and how it shows it. The verifier recomputes the two loads from the transfers.
struct Proof {
  /// T_B in units of M/B, B = degree·b. Allgather family: Σ_t of the largest link load of step t, times d/N
  /// (paper 000 (2)), broadcast and reduce: times d; so for every schedule with wirings. All-to-all and pipelined
  /// schedules: the same factor times max_link_load (steps do not separate, chunks flow); an allreduce of two pipelined
  /// phases claims the sum of both, of its reducing and of its copying transfers.
  Rational bandwidth_time;
  /// The lower bound of the collective on this topology in M/B; (N−1)/N for allgather on a regular graph.
  Rational bandwidth_bound;
  /// Largest Σ over all steps of shards per unit capacity on one link; of all-to-all also on what a host injects or
  /// takes in, where that is limited.
  Rational max_link_load;
  /// All-to-all only (0 otherwise): rate of every pair by the fluid plan, the certified upper bound on it.
  double flow = 0;
  double flow_upper_bound = 0;
  /// The certificate of flow_upper_bound and, for all-to-all, of bandwidth_bound: link lengths ℓ ≥ 0 with
  /// F ≤ Σ_e cap_e·ℓ_e / Σ_{s,d} dist_ℓ(s,d) (paper 003), by link; behind them, where injection is a bottleneck, those
  /// of what each host injects and of what each host takes in. Empty: 1 for every link.
  std::vector<std::int64_t> lengths = {};
  friend bool operator==(const Proof&, const Proof&) = default;
};

/// A link that is there while a wiring is in force, and its bandwidth then (several parallel links count as one).
struct LiveLink {
  topology::LinkId link = 0;
  std::int64_t bandwidth_bytes_per_second = 0;
  friend bool operator==(const LiveLink&, const LiveLink&) = default;
};

/// From `step` on the fabric has these links and no others (paper 002). Links that two wirings share need not be the
/// same fibre: what counts is that the fabric was rewired before the step, which took `seconds`.
struct Wiring {
  std::int32_t step = 1;
  std::string name;             ///< of the configuration: "ring", "step 3", …
  double seconds = 0;           ///< reconfiguration delay; 0 for the wiring that was there from the start
  std::vector<LiveLink> links;  ///< by ascending link id
  friend bool operator==(const Wiring&, const Wiring&) = default;
};

/// One planned collective on one topology.
struct Schedule {
  Collective collective = Collective::allgather;
  topology::NodeId root = 0;  ///< of broadcast and reduce; 0 for the others
  std::string algorithm;      ///< name in the planner table
  topology::Topology topology;
  std::int32_t chunks_per_shard = 1;
  std::int32_t steps = 0;           ///< T_L / α
  std::vector<Route> routes;        ///< empty for link-based schedules
  std::vector<Transfer> transfers;  ///< ordered by (step, from, to, …): see sort_transfers
  /// Allgather family: chunks flow along trees (paper 004 §3.2 and appendix B) instead of waiting for the whole of a
  /// step, so that a link's time is its load over all steps. Steps order what depends on each other, as always.
  bool pipelined = false;
  /// Empty: the topology is as it is throughout. Otherwise the topology is the union of these wirings, the first is in
  /// force from step 1 on and their steps ascend; a transfer crosses only links that are live in its step. Nodes keep
  /// step then: nothing is sent while the fabric is rewired.
  std::vector<Wiring> wirings;
  Proof proof;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// The wiring in force in a step; nullptr where the topology stays as it is.
const Wiring* wiring_in(const Schedule& schedule, std::int32_t step);

/// d: the largest degree of a host. With wirings, the largest bandwidth of a host in any of them in units of b, rounded
/// up.
std::int64_t node_degree(const Schedule& schedule);

/// How many shards M is: N, or the one of a rooted collective (all-to-all: the N blocks of a node).
std::int64_t shards_in_vector(const Schedule& schedule);

/// Indices of the transfers by ascending step; those of one step stay as they are.
std::vector<std::size_t> order_by_step(const Schedule& schedule);

/// Layers that the routes have, from 0 on.
std::int32_t layer_count(std::span<const Route> routes);

/// The canonical order: by step, from, to, route, shard, first chunk. Lowering relies on it.
void sort_transfers(Schedule& schedule);

}  // namespace libcoll::schedule
