// Topologies and independent checks that the ForestColl tests share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/broadcast/bound/forest_optimum.h"
#include "planner/broadcast/forest/tree_packing.h"
#include "planner/topology/topology.h"

namespace libcoll::test {

/// Cables with bandwidths in GB/s; the nodes from `hosts` on are switches.
class Cabling {
 public:
  Cabling(std::int32_t hosts, std::int32_t switches) {
    for (std::int32_t i = 0; i < hosts + switches; ++i) nodes_.push_back({std::to_string(i), "", i >= hosts});
  }
  Cabling& link(topology::NodeId from, topology::NodeId to, std::int64_t gigabytes) {
    topology::Link added;
    added.from = from;
    added.to = to;
    added.bandwidth_bytes_per_second = gigabytes * 1'000'000'000;
    links_.push_back(added);
    return *this;
  }
  Cabling& cable(topology::NodeId a, topology::NodeId b, std::int64_t gigabytes) {
    return link(a, b, gigabytes).link(b, a, gigabytes);
  }
  [[nodiscard]] topology::Topology topology(const std::string& name) const {
    auto made = topology::Topology::make(name, nodes_, links_);
    EXPECT_TRUE(made.ok());
    return made.ok() ? *made : topology::Topology();
  }

 private:
  std::vector<topology::Node> nodes_;
  std::vector<topology::Link> links_;
};

/// Boxes of GPUs, each with a switch of its own, and one switch for all.
inline topology::Topology boxes(std::int32_t count, std::int32_t gpus, std::int64_t inside, std::int64_t outside) {
  Cabling cabling(count * gpus, count + 1);
  for (std::int32_t box = 0; box < count; ++box) {
    for (std::int32_t gpu = 0; gpu < gpus; ++gpu) {
      cabling.cable(box * gpus + gpu, count * gpus + box, inside);
      cabling.cable(box * gpus + gpu, count * gpus + count, outside);
    }
  }
  return cabling.topology(std::to_string(count) + " boxes of " + std::to_string(gpus));
}

/// Leaf switches with hosts of 10 GB/s, each joined to every spine.
inline topology::Topology leaf_spine(std::int32_t leaves, std::int32_t hosts, std::int32_t spines,
                                     std::int64_t uplink) {
  Cabling cabling(leaves * hosts, leaves + spines);
  for (std::int32_t leaf = 0; leaf < leaves; ++leaf) {
    const topology::NodeId leaf_switch = leaves * hosts + leaf;
    for (std::int32_t host = 0; host < hosts; ++host) cabling.cable(leaf * hosts + host, leaf_switch, 10);
    for (std::int32_t spine = 0; spine < spines; ++spine) {
      cabling.cable(leaf_switch, leaves * hosts + leaves + spine, uplink);
    }
  }
  return cabling.topology("leaves and spines");
}

/// A connected graph of cables with bandwidths from 1 to `widest`: a random tree and some more.
inline topology::Topology random_cables(std::int32_t hosts, std::int32_t switches, std::int32_t extra,
                                        std::int64_t widest, std::uint32_t seed) {
  std::mt19937 random(seed);
  const std::int32_t nodes = hosts + switches;
  const auto below = [&random](std::int32_t n) {
    return static_cast<topology::NodeId>(random() % static_cast<std::uint32_t>(n));
  };
  const auto width = [&] { return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(widest)); };
  Cabling cabling(hosts, switches);
  std::set<std::pair<topology::NodeId, topology::NodeId>> cables;
  const auto add = [&](topology::NodeId a, topology::NodeId b) {
    if (a == b || !cables.insert(std::minmax(a, b)).second) return;
    cabling.cable(a, b, width());
  };
  // Nodes in random order, each joined to one before it.
  std::vector<topology::NodeId> order;
  order.reserve(static_cast<std::size_t>(nodes));
  for (topology::NodeId node = 0; node < nodes; ++node) order.push_back(node);
  std::shuffle(order.begin(), order.end(), random);
  for (std::int32_t i = 1; i < nodes; ++i)
    add(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(below(i))]);
  for (std::int32_t i = 0; i < extra; ++i) add(below(nodes), below(nodes));
  return cabling.topology("random cables " + std::to_string(seed));
}

/// A strongly connected digraph of hosts: a one-way ring and some more links.
inline topology::Topology random_digraph(std::int32_t hosts, std::int32_t extra, std::int64_t widest,
                                         std::uint32_t seed) {
  std::mt19937 random(seed);
  Cabling cabling(hosts, 0);
  std::set<std::pair<topology::NodeId, topology::NodeId>> links;
  const auto add = [&](topology::NodeId a, topology::NodeId b) {
    if (a == b || !links.insert({a, b}).second) return;
    cabling.link(a, b, 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(widest)));
  };
  for (topology::NodeId host = 0; host < hosts; ++host) add(host, (host + 1) % hosts);
  for (std::int32_t i = 0; i < extra; ++i) {
    const auto from = static_cast<topology::NodeId>(random() % static_cast<std::uint32_t>(hosts));
    add(from, static_cast<topology::NodeId>(random() % static_cast<std::uint32_t>(hosts)));
  }
  return cabling.topology("random digraph " + std::to_string(seed));
}

/// The right-hand side of (1), without M/N, in 1/LinkWidths::unit: every cut tried.
inline Rational best_ratio_over_all_cuts(const topology::Topology& topology) {
  const broadcast::bound::LinkWidths widths = broadcast::bound::link_widths(topology);
  Rational best(0);
  for (std::uint32_t set = 1; set < 1U << topology.node_count(); ++set) {
    const auto inside = [set](topology::NodeId node) { return ((set >> node) & 1U) != 0; };
    std::int64_t hosts = 0;
    for (topology::NodeId host = 0; host < topology.host_count(); ++host) hosts += inside(host) ? 1 : 0;
    if (hosts == 0 || hosts == topology.host_count()) continue;
    std::int64_t leaving = 0;
    for (topology::LinkId id = 0; id < topology.link_count(); ++id) {
      const topology::Link& link = topology.link(id);
      if (inside(link.from) && !inside(link.to)) leaving += widths.width[static_cast<std::size_t>(id)];
    }
    best = std::max(best, Rational(hosts, leaving));
  }
  return best;
}

/// Every tree spans, in order from its root with right depths; every root has its number; no arc is in too many.
inline void expect_packing(const std::vector<broadcast::bound::CapacityArc>& arcs,
                           const std::vector<std::int64_t>& demand,
                           const std::vector<broadcast::forest::OutTree>& trees) {
  std::vector<std::int64_t> load(arcs.size(), 0);
  std::vector<std::int64_t> made(demand.size(), 0);
  for (const broadcast::forest::OutTree& tree : trees) {
    EXPECT_GT(tree.count, 0);
    made[static_cast<std::size_t>(tree.root)] += tree.count;
    std::vector<std::int32_t> depth(demand.size(), -1);
    depth[static_cast<std::size_t>(tree.root)] = 0;
    EXPECT_EQ(tree.edges.size() + 1, demand.size());
    for (const broadcast::forest::TreeEdge& edge : tree.edges) {
      const broadcast::bound::CapacityArc& arc = arcs[static_cast<std::size_t>(edge.arc)];
      load[static_cast<std::size_t>(edge.arc)] += tree.count;
      ASSERT_GE(depth[static_cast<std::size_t>(arc.from)], 0) << "the tail is not in the tree yet";
      ASSERT_EQ(depth[static_cast<std::size_t>(arc.to)], -1) << "the head is in the tree already";
      depth[static_cast<std::size_t>(arc.to)] = depth[static_cast<std::size_t>(arc.from)] + 1;
      EXPECT_EQ(edge.depth, depth[static_cast<std::size_t>(arc.to)]);
    }
  }
  EXPECT_EQ(made, demand);
  for (std::size_t arc = 0; arc < arcs.size(); ++arc) EXPECT_LE(load[arc], arcs[arc].capacity);
}

}  // namespace libcoll::test
