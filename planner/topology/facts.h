// Graph facts that plans, bounds and `libcoll topo` rest on.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "planner/base/rational.h"
#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::topology {

/// dist[u][v] in hops over links; -1 where v cannot be reached from u. Shape node_count × node_count.
using DistanceMatrix = std::vector<std::vector<std::int32_t>>;
DistanceMatrix hop_distances(const Topology& topology);

/// Two hosts of which the first cannot reach the second; one of them is host 0. Nothing when every host reaches
/// every other.
std::optional<std::pair<NodeId, NodeId>> unreachable_pair(const Topology& topology);

/// Refuses a topology of fewer than two hosts, or where some host cannot reach another; names the two.
Status check_connected(const Topology& topology);

/// Facts of the whole graph; switches count as nodes. Degrees are out-degrees of hosts; the diameter is over pairs of
/// hosts, -1 when some host cannot reach another.
struct Facts {
  std::int32_t nodes = 0;
  std::int32_t links = 0;
  std::int32_t degree_min = 0;
  std::int32_t degree_max = 0;
  std::int32_t diameter = 0;
  bool connected = false;  ///< strongly: every host reaches every host
};
Facts graph_facts(const Topology& topology);

/// d of the papers: the largest degree (in or out) of any host, so that B = d·b is a node's bandwidth.
std::int32_t degree(const Topology& topology);

/// Lower bound on T_B of allgather and reduce-scatter, in M/B (paper 000 §3.2): the host with the least
/// link capacity has to take in N−1 shards: max over hosts u of (d/N)·(N−1)/capin(u), with link capacities in
/// units of b and links from switches counted. (N−1)/N on regular homogeneous graphs. For reduce-scatter, where
/// the shards leave, pass the transpose. 0 where there is no bound: one host, or a host without links.
Rational allgather_bandwidth_bound(const Topology& topology);

/// A permutation of the nodes that maps links onto links with equal bandwidth.
using Automorphism = std::vector<NodeId>;
bool is_automorphism(const Topology& topology, const Automorphism& permutation);

/// Beyond these, translations() gives none: it takes N² memory and N·links time.
inline constexpr std::int32_t max_translation_nodes = 1 << 12;
inline constexpr std::int64_t max_translation_checks = 1 << 28;

/// One checked automorphism g_s with g_s(0) = s for every node s, when the graph's translations (as known from
/// its name: torus, ring, hypercube, circulant, complete, balanced complete bipartite) act transitively; together
/// they are a group. Empty otherwise, with switches, and beyond the limits above. Every entry was checked link by
/// link, so a wrong guess costs symmetry, never correctness.
std::vector<Automorphism> translations(const Topology& topology);

}  // namespace libcoll::topology
