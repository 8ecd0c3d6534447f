// Blink: each host's broadcast is the fastest that the fabric has, and its reduction.
#include "planner/broadcast/forest/blink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "planner/base/index.h"
#include "planner/broadcast/bfb/bfb.h"
#include "planner/schedule/one_root_time.h"
#include "planner/schedule/verify.h"
#include "planner/topology/reader.h"
#include "tests/unit/measured_fabrics.h"

namespace libcoll::blink_test {

using namespace broadcast::bfb;
using namespace broadcast::forest;
using namespace registry;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

Topology topology_of(const std::string& specification) {
  Result<Topology> topology = load_topology(specification);
  EXPECT_TRUE(topology.ok()) << topology.error().message;
  return std::move(topology).value();
}

Topology sample(const std::string& name) {
  return topology_of(LIBCOLL_TEST_INSTANCES "/../../config/topologies/" + name + ".toml");
}

/// By another's algorithm: the bandwidth at which `from` can send to `to`, in bytes per second.
std::int64_t widest_flow(const Topology& topology, NodeId from, NodeId to) {
  using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
  using Graph = boost::adjacency_list<
      boost::vecS, boost::vecS, boost::directedS, boost::no_property,
      boost::property<boost::edge_capacity_t, std::int64_t,
                      boost::property<boost::edge_residual_capacity_t, std::int64_t,
                                      boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;
  Graph graph(at(topology.node_count()));
  auto capacity = get(boost::edge_capacity, graph);
  auto reverse = get(boost::edge_reverse, graph);
  for (const Link& link : topology.links()) {
    const auto there = add_edge(at(link.from), at(link.to), graph).first;
    const auto back = add_edge(at(link.to), at(link.from), graph).first;
    capacity[there] = link.bandwidth_bytes_per_second;
    capacity[back] = 0;
    reverse[there] = back;
    reverse[back] = there;
  }
  return boost::push_relabel_max_flow(graph, at(from), at(to));
}

/// Edmonds' theorem: the rate of a broadcast from there is the least max-flow to another host.
double best_broadcast(const Topology& topology, NodeId root, bool reduces) {
  std::int64_t least = INT64_MAX;
  for (NodeId other = 0; other < topology.host_count(); ++other) {
    if (other == root) continue;
    least = std::min(least, reduces ? widest_flow(topology, other, root) : widest_flow(topology, root, other));
  }
  return 1 / static_cast<double>(least);
}

/// Seconds that the busiest link has for one byte of the shard.
double seconds_per_byte(const Schedule& schedule, NodeId root) {
  std::vector<std::int64_t> chunks(at(schedule.topology.link_count()), 0);
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.shard != root) continue;
    if (transfer.route == direct) {
      chunks[at(schedule.topology.find_link(transfer.from, transfer.to))] += transfer.chunk_count;
      continue;
    }
    for (const LinkId link : schedule.routes[at(transfer.route)].links) chunks[at(link)] += transfer.chunk_count;
  }
  double longest = 0;
  for (LinkId link = 0; link < schedule.topology.link_count(); ++link) {
    longest = std::max(longest, static_cast<double>(chunks[at(link)]) / schedule.chunks_per_shard /
                                    static_cast<double>(schedule.topology.link(link).bandwidth_bytes_per_second));
  }
  return longest;
}

Schedule planned(Collective collective, const Topology& topology, const PlanOptions& options = {}) {
  Result<Schedule> schedule = collective == Collective::allgather ? plan_blink_allgather(topology, options)
                                                                  : plan_blink_reduce_scatter(topology, options);
  EXPECT_TRUE(schedule.ok()) << schedule.error().message;
  EXPECT_EQ(verify(*schedule), std::vector<std::string>{}) << topology.name();
  return std::move(schedule).value();
}

/// `most`: times the best of all broadcasts.
void expect_best(const Topology& topology, double most) {
  for (const Collective collective : {Collective::allgather, Collective::reduce_scatter}) {
    const Schedule schedule = planned(collective, topology);
    EXPECT_EQ(schedule.algorithm, "blink");
    for (NodeId root = 0; root < topology.host_count(); ++root) {
      const double best = best_broadcast(topology, root, collective == Collective::reduce_scatter);
      EXPECT_GE(seconds_per_byte(schedule, root), best * (1 - 1e-9)) << topology.name() << ", root " << root;
      EXPECT_LE(seconds_per_byte(schedule, root), best * most * (1 + 1e-9)) << topology.name() << ", root " << root;
    }
  }
}

TEST(Blink, EveryRootsBroadcastIsTheFastest) {
  for (const char* specification : {"ring:4", "uniring:5", "torus:3x3", "torus:3x3x3", "hypercube:4", "genkautz:12,3",
                                    "graph:petersen", "mesh:3x4", "random_regular:16,4,1"}) {
    expect_best(topology_of(specification), 1);
  }
  for (const char* name : {"one-way", "two-switches", "two-level-4x4", "a100-2x8", "mi250-2x16"}) {
    expect_best(sample(name), 1);
  }
}

// 16 trees cannot use links of any bandwidth to the full.
TEST(Blink, WithMeasuredBandwidthsTreesAreFew) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    expect_best(measured_ring(10, {4, 0}, seed), 1.25);
    expect_best(measured_ring(10, {4, 3}, seed), 1.25);
  }
}

TEST(Blink, SaysWhatABroadcastTakes) {
  PlanFigures figures;
  PlanOptions options;
  options.figures = &figures;
  planned(Collective::allgather, topology_of("genkautz:27,4"), options);
  ASSERT_EQ(figures.more.size(), 3U);
  // d = 4 links of every host, and three ways from each host to each other that share no link: 4/3 M/B.
  EXPECT_EQ(figures.more[0].first, "broadcast_time");
  EXPECT_EQ(std::get<std::string>(figures.more[0].second), "4/3");
  EXPECT_EQ(figures.more[1].first, "broadcast_bound");
  EXPECT_EQ(std::get<std::string>(figures.more[1].second), "4/3");
}

TEST(OneRootTime, TellsFromWhichSizeOnTreesPay) {
  Topology ring = topology_of("ring:4");
  const Result<Schedule> bfb = plan_bfb_allgather(ring, {});
  ASSERT_TRUE(bfb.ok());
  const OneRootTime usual = one_root_time(*bfb);
  const OneRootTime trees = one_root_time(planned(Collective::allgather, ring));
  const auto b = static_cast<double>(ring.unit_bandwidth_bytes_per_second());
  // Each neighbour of the root gets the whole vector over one link; two trees take half of it each.
  EXPECT_DOUBLE_EQ(usual.seconds_per_byte, 1 / b);
  EXPECT_DOUBLE_EQ(trees.seconds_per_byte, 0.5 / b);
  EXPECT_EQ(usual.steps, 2);
  EXPECT_EQ(trees.steps, 3);
  EXPECT_DOUBLE_EQ(trees.most_at_once, 0.5);
  const double latency = trees.latency_seconds;
  EXPECT_DOUBLE_EQ(trees.seconds(1000, 1 << 17), latency + 2 * 500 / b + 500 / b);
  EXPECT_DOUBLE_EQ(trees.seconds(1 << 20, 1 << 17), latency + 2 * (1 << 17) / b + (1 << 19) / b);
  // √(512 KiB · 4 us · b / 2) = 57 KB.
  EXPECT_EQ(trees.best_segment_bytes(1 << 20, 1 << 17), 1 << 15);
  EXPECT_EQ(trees.best_segment_bytes(1 << 26, 1 << 17), 1 << 17);
  EXPECT_EQ(trees.best_segment_bytes(1 << 10, 1 << 17), 1 << 15);
  // 32 KiB: 16 on each tree, which go over three links, against 32 and 32 that follow each other.
  EXPECT_EQ(one_root_from(trees, usual, 1 << 17), 1 << 15);
  // In segments of 4 KiB: 8 and 1 against 4 and 2, at 3.1 GB/s 3.9 us, less than a step takes; twice as much is not.
  EXPECT_EQ(one_root_from(trees, usual, 1 << 12), 1 << 16);
  EXPECT_EQ(one_root_from(usual, trees, 1 << 17), std::nullopt);
}

}  // namespace
}  // namespace libcoll::blink_test
