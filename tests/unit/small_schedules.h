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

namespace libcoll::test {

inline topology::Topology make_topology(const std::string& name, std::int32_t hosts, std::int32_t switches,
                                        const std::vector<std::pair<topology::NodeId, topology::NodeId>>& ends) {
  std::vector<topology::Node> nodes;
  nodes.reserve(static_cast<std::size_t>(hosts) + static_cast<std::size_t>(switches));
  for (std::int32_t i = 0; i < hosts + switches; ++i) nodes.push_back({std::to_string(i), "", i >= hosts});
  std::vector<topology::Link> links;
  for (const auto& [from, to] : ends) {
    topology::Link link;
    link.from = from;
    link.to = to;
    links.push_back(link);
  }
  auto topology = topology::Topology::make(name, std::move(nodes), std::move(links));
  EXPECT_TRUE(topology.ok());
  return topology.ok() ? *topology : topology::Topology();
}

/// Link u is u→u+1 mod n.
inline topology::Topology one_way_ring(std::int32_t n) {
  std::vector<std::pair<topology::NodeId, topology::NodeId>> ends;
  ends.reserve(static_cast<std::size_t>(n));
  for (topology::NodeId u = 0; u < n; ++u) ends.emplace_back(u, (u + 1) % n);
  return make_topology("uniring:" + std::to_string(n), n, 0, ends);
}

inline topology::Topology complete_graph(std::int32_t n) {
  std::vector<std::pair<topology::NodeId, topology::NodeId>> ends;
  for (topology::NodeId u = 0; u < n; ++u) {
    for (topology::NodeId v = 0; v < n; ++v) {
      if (u != v) ends.emplace_back(u, v);
    }
  }
  return make_topology("complete:" + std::to_string(n), n, 0, ends);
}

/// The binary tree with parent (u−1)/2, links both ways.
inline topology::Topology binary_tree(std::int32_t n) {
  std::vector<std::pair<topology::NodeId, topology::NodeId>> ends;
  for (topology::NodeId u = 1; u < n; ++u) {
    ends.emplace_back(u, (u - 1) / 2);
    ends.emplace_back((u - 1) / 2, u);
  }
  return make_topology("binary tree", n, 0, ends);
}

inline schedule::Schedule make_schedule(schedule::Collective collective, const topology::Topology& topology,
                                        std::int32_t chunks, std::int32_t steps) {
  schedule::Schedule schedule;
  schedule.collective = collective;
  schedule.algorithm = "by-hand";
  schedule.topology = topology;
  schedule.chunks_per_shard = chunks;
  schedule.steps = steps;
  return schedule;
}

/// Puts the transfers in order and claims exactly what they cost.
inline void finish(schedule::Schedule& schedule) {
  schedule::sort_transfers(schedule);
  schedule.proof.bandwidth_time = schedule::bandwidth_time(schedule);
  schedule.proof.max_link_load = schedule::max_link_load(schedule);
}

/// In step t node u passes on the shard that started t−1 hops behind it.
inline schedule::Schedule ring_allgather(std::int32_t n, std::int32_t chunks = 1) {
  schedule::Schedule schedule = make_schedule(schedule::Collective::allgather, one_way_ring(n), chunks, n - 1);
  for (std::int32_t t = 1; t < n; ++t) {
    for (topology::NodeId u = 0; u < n; ++u) {
      schedule.transfers.push_back(
          {(u - t + 1 + n) % n, 0, chunks, u, (u + 1) % n, t, schedule::direct, schedule::TransferKind::copy});
    }
  }
  finish(schedule);
  return schedule;
}

/// Shard w starts at w+1 and gathers contributions on its way around the ring to w.
inline schedule::Schedule ring_reduce_scatter(std::int32_t n, std::int32_t chunks = 1) {
  schedule::Schedule schedule = make_schedule(schedule::Collective::reduce_scatter, one_way_ring(n), chunks, n - 1);
  for (std::int32_t t = 1; t < n; ++t) {
    for (topology::NodeId w = 0; w < n; ++w) {
      schedule.transfers.push_back(
          {w, 0, chunks, (w + t) % n, (w + t + 1) % n, t, schedule::direct, schedule::TransferKind::reduce});
    }
  }
  finish(schedule);
  return schedule;
}

/// Every shard is reduced up the binary tree of n = 2^k − 1 nodes and copied down again.
inline schedule::Schedule tree_allreduce(std::int32_t levels, std::int32_t chunks = 1) {
  const std::int32_t n = (1 << levels) - 1;
  schedule::Schedule schedule =
      make_schedule(schedule::Collective::allreduce, binary_tree(n), chunks, 2 * (levels - 1));
  for (topology::NodeId u = 1; u < n; ++u) {
    std::int32_t depth = 0;
    for (topology::NodeId v = u; v > 0; v = (v - 1) / 2) ++depth;
    for (schedule::ShardId w = 0; w < n; ++w) {
      const topology::NodeId parent = (u - 1) / 2;
      schedule.transfers.push_back(
          {w, 0, chunks, u, parent, levels - depth, schedule::direct, schedule::TransferKind::reduce});
      schedule.transfers.push_back(
          {w, 0, chunks, parent, u, levels - 1 + depth, schedule::direct, schedule::TransferKind::copy});
    }
  }
  finish(schedule);
  return schedule;
}

/// The root's vector once around the ring.
inline schedule::Schedule ring_broadcast(std::int32_t n, topology::NodeId root, std::int32_t chunks = 1) {
  schedule::Schedule schedule = make_schedule(schedule::Collective::broadcast, one_way_ring(n), chunks, n - 1);
  schedule.root = root;
  for (std::int32_t t = 1; t < n; ++t) {
    schedule.transfers.push_back(
        {root, 0, chunks, (root + t - 1) % n, (root + t) % n, t, schedule::direct, schedule::TransferKind::copy});
  }
  finish(schedule);
  return schedule;
}

/// Up the binary tree of n = 2^k − 1 nodes to its top.
inline schedule::Schedule tree_reduce(std::int32_t levels, std::int32_t chunks = 1) {
  schedule::Schedule schedule = tree_allreduce(levels, chunks);
  schedule.collective = schedule::Collective::reduce;
  schedule.steps = levels - 1;
  std::erase_if(schedule.transfers,
                [](const schedule::Transfer& t) { return t.shard != 0 || t.kind == schedule::TransferKind::copy; });
  finish(schedule);
  return schedule;
}

/// One hop in one step.
inline schedule::Schedule complete_alltoall(std::int32_t n, std::int32_t chunks = 1) {
  schedule::Schedule schedule = make_schedule(schedule::Collective::alltoall, complete_graph(n), chunks, 1);
  for (topology::NodeId s = 0; s < n; ++s) {
    for (topology::NodeId d = 0; d < n; ++d) {
      if (s != d)
        schedule.transfers.push_back({s * n + d, 0, chunks, s, d, 1, schedule::direct, schedule::TransferKind::copy});
    }
  }
  finish(schedule);
  return schedule;
}

/// Link-based: block (s,d) is forwarded by the hosts of the one-way ring, hop h in step h.
inline schedule::Schedule ring_alltoall(std::int32_t n, std::int32_t chunks = 1) {
  schedule::Schedule schedule = make_schedule(schedule::Collective::alltoall, one_way_ring(n), chunks, n - 1);
  for (topology::NodeId s = 0; s < n; ++s) {
    for (std::int32_t distance = 1; distance < n; ++distance) {
      const schedule::ShardId shard = s * n + (s + distance) % n;
      for (std::int32_t hop = 1; hop <= distance; ++hop) {
        schedule.transfers.push_back(
            {shard, 0, chunks, (s + hop - 1) % n, (s + hop) % n, hop, schedule::direct, schedule::TransferKind::copy});
      }
    }
  }
  finish(schedule);
  return schedule;
}

/// Path-based on the one-way ring of three: neighbours over their link, the others over a route of two links.
/// The three routes in one layer would close the ring; the last goes to layer 1.
inline schedule::Schedule routed_alltoall() {
  schedule::Schedule schedule = make_schedule(schedule::Collective::alltoall, one_way_ring(3), 2, 1);
  for (topology::NodeId s = 0; s < 3; ++s) {
    schedule.routes.push_back({s, (s + 2) % 3, {s, (s + 1) % 3}, s == 2 ? 1 : 0});
    schedule.transfers.push_back(
        {s * 3 + (s + 1) % 3, 0, 2, s, (s + 1) % 3, 1, schedule::direct, schedule::TransferKind::copy});
    schedule.transfers.push_back({s * 3 + (s + 2) % 3, 0, 2, s, (s + 2) % 3, 1, s, schedule::TransferKind::copy});
  }
  finish(schedule);
  return schedule;
}

/// Two hosts of a one-host-per-port switch; everything goes over routes through the switch.
inline schedule::Schedule switched_allgather() {
  schedule::Schedule schedule = make_schedule(schedule::Collective::allgather,
                                              make_topology("switch", 2, 1, {{0, 2}, {2, 0}, {1, 2}, {2, 1}}), 1, 1);
  schedule.routes = {{0, 1, {0, 3}, 0}, {1, 0, {2, 1}, 0}};
  schedule.transfers = {{0, 0, 1, 0, 1, 1, 0, schedule::TransferKind::copy},
                        {1, 0, 1, 1, 0, 1, 1, schedule::TransferKind::copy}};
  finish(schedule);
  return schedule;
}

/// Everything a file can say, with values that are awkward in text.
inline schedule::Schedule awkward_schedule() {
  schedule::Schedule schedule = switched_allgather();
  std::vector<topology::Node> nodes(schedule.topology.nodes().begin(), schedule.topology.nodes().end());
  nodes[0].name = "a \"quoted\" <name> & 'more'\t\n";
  nodes[0].host = "c101-001";
  nodes[1].name = "\xc3\xa9";  // é
  std::vector<topology::Link> links(schedule.topology.links().begin(), schedule.topology.links().end());
  links[0].bandwidth_bytes_per_second = topology::max_bandwidth_bytes_per_second;
  links[0].latency_seconds = 0.1 + 0.2;
  links[1].latency_seconds = 5e-324;
  schedule.topology = *topology::Topology::make("odd &amp; name", nodes, links);
  schedule.topology.set_nics_forward(false);
  schedule.topology.set_injection_bytes_per_second(12'500'000'000);
  schedule.algorithm = "x<y";
  finish(schedule);
  schedule.proof.bandwidth_bound = Rational(26, 27);
  schedule.proof.flow = 1.0 / 9.0;
  schedule.proof.flow_upper_bound = 0.132075472;
  return schedule;
}

inline std::vector<schedule::Schedule> all_small_schedules() {
  return {ring_allgather(2),       ring_allgather(5, 3), ring_reduce_scatter(2), ring_reduce_scatter(5, 3),
          tree_allreduce(2),       tree_allreduce(3, 4), complete_alltoall(2),   complete_alltoall(5, 2),
          ring_alltoall(4, 2),     routed_alltoall(),    switched_allgather(),   ring_broadcast(4, 0),
          ring_broadcast(5, 3, 2), tree_reduce(2),       tree_reduce(3, 3)};
}

inline std::string name_of(const schedule::Schedule& schedule) {
  return std::string(schedule::to_string(schedule.collective)) + " on " + schedule.topology.name();
}

}  // namespace libcoll::test
