// Small topologies and schedules, written out by hand, that the schedule tests share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "planner/schedule/cost.h"
#include "planner/schedule/schedule.h"
#include "planner/schedule/verify.h"

namespace libcoll {

inline Topology make_topology(const std::string& name, std::int32_t hosts, std::int32_t switches,
                              const std::vector<std::pair<NodeId, NodeId>>& ends) {
  std::vector<Node> nodes;
  nodes.reserve(static_cast<std::size_t>(hosts) + static_cast<std::size_t>(switches));
  for (std::int32_t i = 0; i < hosts + switches; ++i) nodes.push_back({std::to_string(i), "", i >= hosts});
  std::vector<Link> links;
  for (const auto& [from, to] : ends) {
    Link link;
    link.from = from;
    link.to = to;
    links.push_back(link);
  }
  auto topology = Topology::make(name, std::move(nodes), std::move(links));
  EXPECT_TRUE(topology.ok());
  return topology.ok() ? *topology : Topology();
}

/// Link u is u→u+1 mod n.
inline Topology one_way_ring(std::int32_t n) {
  std::vector<std::pair<NodeId, NodeId>> ends;
  ends.reserve(static_cast<std::size_t>(n));
  for (NodeId u = 0; u < n; ++u) ends.emplace_back(u, (u + 1) % n);
  return make_topology("uniring:" + std::to_string(n), n, 0, ends);
}

inline Topology complete_graph(std::int32_t n) {
  std::vector<std::pair<NodeId, NodeId>> ends;
  for (NodeId u = 0; u < n; ++u) {
    for (NodeId v = 0; v < n; ++v) {
      if (u != v) ends.emplace_back(u, v);
    }
  }
  return make_topology("complete:" + std::to_string(n), n, 0, ends);
}

/// The binary tree with parent (u−1)/2, links both ways.
inline Topology binary_tree(std::int32_t n) {
  std::vector<std::pair<NodeId, NodeId>> ends;
  for (NodeId u = 1; u < n; ++u) {
    ends.emplace_back(u, (u - 1) / 2);
    ends.emplace_back((u - 1) / 2, u);
  }
  return make_topology("binary tree", n, 0, ends);
}

inline Schedule make_schedule(Collective collective, const Topology& topology, std::int32_t chunks,
                              std::int32_t steps) {
  Schedule schedule;
  schedule.collective = collective;
  schedule.algorithm = "by-hand";
  schedule.topology = topology;
  schedule.chunks_per_shard = chunks;
  schedule.steps = steps;
  return schedule;
}

/// Puts the transfers in order and claims exactly what they cost.
inline void finish(Schedule& schedule) {
  sort_transfers(schedule);
  schedule.proof.bandwidth_time = bandwidth_time(schedule);
  schedule.proof.max_link_load = max_link_load(schedule);
}

/// In step t node u passes on the shard that started t−1 hops behind it.
inline Schedule ring_allgather(std::int32_t n, std::int32_t chunks = 1) {
  Schedule schedule = make_schedule(Collective::allgather, one_way_ring(n), chunks, n - 1);
  for (std::int32_t t = 1; t < n; ++t) {
    for (NodeId u = 0; u < n; ++u) {
      schedule.transfers.push_back({(u - t + 1 + n) % n, 0, chunks, u, (u + 1) % n, t, direct, TransferKind::copy});
    }
  }
  finish(schedule);
  return schedule;
}

/// Shard w starts at w+1 and gathers contributions on its way around the ring to w.
inline Schedule ring_reduce_scatter(std::int32_t n, std::int32_t chunks = 1) {
  Schedule schedule = make_schedule(Collective::reduce_scatter, one_way_ring(n), chunks, n - 1);
  for (std::int32_t t = 1; t < n; ++t) {
    for (NodeId w = 0; w < n; ++w) {
      schedule.transfers.push_back({w, 0, chunks, (w + t) % n, (w + t + 1) % n, t, direct, TransferKind::reduce});
    }
  }
  finish(schedule);
  return schedule;
}

/// Every shard is reduced up the binary tree of n = 2^k − 1 nodes and copied down again.
inline Schedule tree_allreduce(std::int32_t levels, std::int32_t chunks = 1) {
  const std::int32_t n = (1 << levels) - 1;
  Schedule schedule = make_schedule(Collective::allreduce, binary_tree(n), chunks, 2 * (levels - 1));
  for (NodeId u = 1; u < n; ++u) {
    std::int32_t depth = 0;
    for (NodeId v = u; v > 0; v = (v - 1) / 2) ++depth;
    for (ShardId w = 0; w < n; ++w) {
      const NodeId parent = (u - 1) / 2;
      schedule.transfers.push_back({w, 0, chunks, u, parent, levels - depth, direct, TransferKind::reduce});
      schedule.transfers.push_back({w, 0, chunks, parent, u, levels - 1 + depth, direct, TransferKind::copy});
    }
  }
  finish(schedule);
  return schedule;
}

/// The root's vector once around the ring.
inline Schedule ring_broadcast(std::int32_t n, NodeId root, std::int32_t chunks = 1) {
  Schedule schedule = make_schedule(Collective::broadcast, one_way_ring(n), chunks, n - 1);
  schedule.root = root;
  for (std::int32_t t = 1; t < n; ++t) {
    schedule.transfers.push_back({root, 0, chunks, (root + t - 1) % n, (root + t) % n, t, direct, TransferKind::copy});
  }
  finish(schedule);
  return schedule;
}

/// Up the binary tree of n = 2^k − 1 nodes to its top.
inline Schedule tree_reduce(std::int32_t levels, std::int32_t chunks = 1) {
  Schedule schedule = tree_allreduce(levels, chunks);
  schedule.collective = Collective::reduce;
  schedule.steps = levels - 1;
  std::erase_if(schedule.transfers, [](const Transfer& t) { return t.shard != 0 || t.kind == TransferKind::copy; });
  finish(schedule);
  return schedule;
}

/// One hop in one step.
inline Schedule complete_alltoall(std::int32_t n, std::int32_t chunks = 1) {
  Schedule schedule = make_schedule(Collective::alltoall, complete_graph(n), chunks, 1);
  for (NodeId s = 0; s < n; ++s) {
    for (NodeId d = 0; d < n; ++d) {
      if (s != d) schedule.transfers.push_back({s * n + d, 0, chunks, s, d, 1, direct, TransferKind::copy});
    }
  }
  finish(schedule);
  return schedule;
}

/// Link-based: block (s,d) is forwarded by the hosts of the one-way ring, hop h in step h.
inline Schedule ring_alltoall(std::int32_t n, std::int32_t chunks = 1) {
  Schedule schedule = make_schedule(Collective::alltoall, one_way_ring(n), chunks, n - 1);
  for (NodeId s = 0; s < n; ++s) {
    for (std::int32_t distance = 1; distance < n; ++distance) {
      const ShardId shard = s * n + (s + distance) % n;
      for (std::int32_t hop = 1; hop <= distance; ++hop) {
        schedule.transfers.push_back(
            {shard, 0, chunks, (s + hop - 1) % n, (s + hop) % n, hop, direct, TransferKind::copy});
      }
    }
  }
  finish(schedule);
  return schedule;
}

/// Path-based on the one-way ring of three: neighbours over their link, the others over a route of two links.
/// The three routes in one layer would close the ring; the last goes to layer 1.
inline Schedule routed_alltoall() {
  Schedule schedule = make_schedule(Collective::alltoall, one_way_ring(3), 2, 1);
  for (NodeId s = 0; s < 3; ++s) {
    schedule.routes.push_back({s, (s + 2) % 3, {s, (s + 1) % 3}, s == 2 ? 1 : 0});
    schedule.transfers.push_back({s * 3 + (s + 1) % 3, 0, 2, s, (s + 1) % 3, 1, direct, TransferKind::copy});
    schedule.transfers.push_back({s * 3 + (s + 2) % 3, 0, 2, s, (s + 2) % 3, 1, s, TransferKind::copy});
  }
  finish(schedule);
  return schedule;
}

/// Two hosts of a one-host-per-port switch; everything goes over routes through the switch.
inline Schedule switched_allgather() {
  Schedule schedule =
      make_schedule(Collective::allgather, make_topology("switch", 2, 1, {{0, 2}, {2, 0}, {1, 2}, {2, 1}}), 1, 1);
  schedule.routes = {{0, 1, {0, 3}, 0}, {1, 0, {2, 1}, 0}};
  schedule.transfers = {{0, 0, 1, 0, 1, 1, 0, TransferKind::copy}, {1, 0, 1, 1, 0, 1, 1, TransferKind::copy}};
  finish(schedule);
  return schedule;
}

/// Everything a file can say, with values that are awkward in text.
inline Schedule awkward_schedule() {
  Schedule schedule = switched_allgather();
  std::vector<Node> nodes(schedule.topology.nodes().begin(), schedule.topology.nodes().end());
  nodes[0].name = "a \"quoted\" <name> & 'more'\t\n";
  nodes[0].host = "c101-001";
  nodes[1].name = "\xc3\xa9";  // é
  std::vector<Link> links(schedule.topology.links().begin(), schedule.topology.links().end());
  links[0].bandwidth_bytes_per_second = max_bandwidth_bytes_per_second;
  links[0].latency_seconds = 0.1 + 0.2;
  links[1].latency_seconds = 5e-324;
  schedule.topology = *Topology::make("odd &amp; name", nodes, links);
  schedule.topology.set_nics_forward(false);
  schedule.topology.set_injection_bytes_per_second(12'500'000'000);
  schedule.algorithm = "x<y";
  finish(schedule);
  schedule.proof.bandwidth_bound = Rational(26, 27);
  schedule.proof.flow = 1.0 / 9.0;
  schedule.proof.flow_upper_bound = 0.132075472;
  return schedule;
}

inline std::vector<Schedule> all_small_schedules() {
  return {ring_allgather(2),       ring_allgather(5, 3), ring_reduce_scatter(2), ring_reduce_scatter(5, 3),
          tree_allreduce(2),       tree_allreduce(3, 4), complete_alltoall(2),   complete_alltoall(5, 2),
          ring_alltoall(4, 2),     routed_alltoall(),    switched_allgather(),   ring_broadcast(4, 0),
          ring_broadcast(5, 3, 2), tree_reduce(2),       tree_reduce(3, 3)};
}

inline std::string name_of(const Schedule& schedule) {
  return std::string(to_string(schedule.collective)) + " on " + schedule.topology.name();
}

}  // namespace libcoll
