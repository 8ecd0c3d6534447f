// The schedule itself: names, order, cost, mirror images.
#include "planner/schedule/schedule.h"

#include <algorithm>
#include <random>

#include "planner/schedule/cost.h"
#include "planner/schedule/reverse.h"
#include "planner/topology/generators.h"
#include "tests/unit/small_schedules.h"

namespace libcoll::schedule_test {

using namespace schedule;
using namespace test;
using namespace topology;

namespace {

using Faults = std::vector<std::string>;

TEST(CollectiveNames, ReadBackAndTakeTheHyphen) {
  for (const Collective collective : {Collective::allgather, Collective::reduce_scatter, Collective::allreduce,
                                      Collective::alltoall, Collective::broadcast, Collective::reduce}) {
    const auto parsed = parse_collective(to_string(collective));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, collective);
  }
  const auto hyphen = parse_collective("reduce-scatter");
  ASSERT_TRUE(hyphen.ok());
  EXPECT_EQ(*hyphen, Collective::reduce_scatter);
  EXPECT_FALSE(parse_collective("").ok());
  EXPECT_FALSE(parse_collective("Allgather").ok());
  EXPECT_NE(parse_collective("bcast").error().message.find("'bcast'"), std::string::npos);
}

TEST(SortTransfers, IsCanonicalWhateverTheOrderBefore) {
  const Schedule sorted = tree_allreduce(3, 2);
  Schedule shuffled = sorted;
  std::shuffle(shuffled.transfers.begin(), shuffled.transfers.end(), std::mt19937(1));
  ASSERT_NE(shuffled, sorted);
  sort_transfers(shuffled);
  EXPECT_EQ(shuffled, sorted);
  EXPECT_TRUE(std::ranges::is_sorted(sorted.transfers, {}, &Transfer::step));
}

TEST(Cost, RingAllgatherMeetsTheBound) {
  // d = 1: N−1 steps of one shard per link, T_B = (N−1)/N (paper 000, (2)).
  const Schedule schedule = ring_allgather(5, 3);
  EXPECT_EQ(step_loads(schedule), std::vector<Rational>(4, Rational(1)));
  EXPECT_EQ(max_link_load(schedule), Rational(4));
  EXPECT_EQ(bandwidth_time(schedule), Rational(4, 5));
}

TEST(Cost, RingAlltoallCountsEveryHop) {
  // A one-way ring of n: the n(n−1) pairs make n·n(n−1)/2 hops over n links, so n(n−1)/2 on each; d/N = 1/n.
  const Schedule schedule = ring_alltoall(4, 2);
  EXPECT_EQ(max_link_load(schedule), Rational(6));
  EXPECT_EQ(bandwidth_time(schedule), Rational(6, 4));
  // In step t the blocks of distance t and more move: n−t of them from every node.
  EXPECT_EQ(step_loads(schedule), (std::vector<Rational>{Rational(3), Rational(2), Rational(1)}));
}

TEST(Cost, ARoutedTransferLoadsEveryLinkOfItsRoute) {
  // Each link of the ring of three carries one neighbour's block and two of the two-link routes.
  EXPECT_EQ(max_link_load(routed_alltoall()), Rational(3));
  EXPECT_EQ(step_loads(routed_alltoall()), std::vector<Rational>{Rational(3)});
}

TEST(Cost, LoadsAreDividedByCapacity) {
  // 0→1 is three times as fast as 1→0: one shard loads them 1/3 and 1.
  std::vector<Link> links(2);
  links[0].to = 1;
  links[0].bandwidth_bytes_per_second = 3000;
  links[1].from = 1;
  links[1].bandwidth_bytes_per_second = 1000;
  Schedule schedule =
      make_schedule(Collective::allgather, *Topology::make("uneven", std::vector<Node>(2), links), 1, 2);
  schedule.transfers = {{0, 0, 1, 0, 1, 1, direct, TransferKind::copy}, {1, 0, 1, 1, 0, 2, direct, TransferKind::copy}};
  finish(schedule);
  EXPECT_EQ(verify(schedule), Faults{});
  EXPECT_EQ(step_loads(schedule), (std::vector<Rational>{Rational(1, 3), Rational(1)}));
  EXPECT_EQ(bandwidth_time(schedule), Rational(4, 3) * Rational(1, 2));
}

TEST(Cost, AnIdleStepCostsNothing) {
  Schedule schedule = ring_allgather(3);
  for (Transfer& transfer : schedule.transfers) transfer.step *= 2;
  schedule.steps = 5;
  EXPECT_EQ(step_loads(schedule),
            (std::vector<Rational>{Rational(0), Rational(1), Rational(0), Rational(1), Rational(0)}));
}

TEST(Reverse, TurnsAllgatherIntoReduceScatterAndBack) {
  for (const Schedule& schedule : {ring_allgather(5, 3), ring_reduce_scatter(4)}) {
    const auto mirrored = reverse(schedule);
    ASSERT_TRUE(mirrored.ok());
    EXPECT_EQ(verify(*mirrored), Faults{});
    EXPECT_NE(mirrored->collective, schedule.collective);
    EXPECT_EQ(mirrored->topology.link(0).from, schedule.topology.link(0).to);
    EXPECT_EQ(mirrored->topology.name(), schedule.topology.name());
    EXPECT_EQ(bandwidth_time(*mirrored), bandwidth_time(schedule));
    const auto twice = reverse(*mirrored);
    ASSERT_TRUE(twice.ok());
    EXPECT_EQ(*twice, schedule);
  }
}

TEST(Reverse, TurnsBroadcastIntoReduceAndBack) {
  const Schedule broadcast = ring_broadcast(5, 3, 2);
  const auto reduce = reverse(broadcast);
  ASSERT_TRUE(reduce.ok()) << reduce.error().message;
  EXPECT_EQ(reduce->collective, Collective::reduce);
  EXPECT_EQ(reduce->root, 3);
  EXPECT_EQ(verify(*reduce), Faults{});
  EXPECT_EQ(*reverse(*reduce), broadcast);
}

TEST(Cost, TheVectorOfABroadcastIsOneShard) {
  // The whole vector crosses one of the one link of a node in each of n − 1 steps.
  EXPECT_EQ(bandwidth_time(ring_broadcast(5, 3, 2)), Rational(4));
  EXPECT_EQ(universal_bandwidth_bound(Collective::broadcast, 5), Rational(1));
  EXPECT_EQ(universal_bandwidth_bound(Collective::reduce, 5), Rational(1));
  EXPECT_EQ(universal_bandwidth_bound(Collective::allreduce, 5), Rational(8, 5));
}

TEST(Reverse, RefusesWhatHasNoMirrorImage) {
  EXPECT_FALSE(reverse(complete_alltoall(3)).ok());
  EXPECT_FALSE(reverse(tree_allreduce(2)).ok());
  EXPECT_FALSE(reverse(switched_allgather()).ok());  // routed
}

/// A flooding allgather: step by step every node takes each shard it misses from its first in-neighbour that has
/// it. Not good, but right on any strongly connected graph.
Schedule flooding_allgather(const Topology& topology) {
  const std::int32_t n = topology.host_count();
  Schedule schedule = make_schedule(Collective::allgather, topology, 1, 0);
  std::vector<std::vector<std::int32_t>> arrived(static_cast<std::size_t>(n),
                                                 std::vector<std::int32_t>(static_cast<std::size_t>(n), -1));
  const auto at = [&arrived](NodeId node, ShardId shard) -> std::int32_t& {
    return arrived[static_cast<std::size_t>(node)][static_cast<std::size_t>(shard)];
  };
  for (NodeId u = 0; u < n; ++u) at(u, u) = 0;
  for (std::int32_t step = 1; step < n; ++step) {
    for (NodeId u = 0; u < n; ++u) {
      for (ShardId w = 0; w < n; ++w) {
        for (const LinkId link : topology.in_links(u)) {
          const NodeId from = topology.link(link).from;
          if (at(u, w) >= 0 || at(from, w) < 0 || at(from, w) >= step) continue;
          at(u, w) = step;
          schedule.steps = step;
          schedule.transfers.push_back({w, 0, 1, from, u, step, direct, TransferKind::copy});
        }
      }
    }
  }
  finish(schedule);
  return schedule;
}

TEST(Reverse, HoldsOnGeneratedTopologies) {
  for (const char* specification : {"torus:3x3x2", "hypercube:4", "genkautz:11,3", "complete_bipartite:3,3"}) {
    const auto topology = generate(specification);
    ASSERT_TRUE(topology.ok()) << specification;
    const Schedule schedule = flooding_allgather(*topology);
    EXPECT_EQ(verify(schedule), Faults{}) << specification;
    const auto mirrored = reverse(schedule);
    ASSERT_TRUE(mirrored.ok());
    EXPECT_EQ(verify(*mirrored), Faults{}) << specification;
    EXPECT_EQ(*reverse(*mirrored), schedule) << specification;
  }
}

TEST(Concatenate, MakesAnAllreduce) {
  const auto allreduce = concatenate(ring_reduce_scatter(5, 2), ring_allgather(5, 3));
  ASSERT_TRUE(allreduce.ok());
  EXPECT_EQ(verify(*allreduce), Faults{});
  EXPECT_EQ(allreduce->collective, Collective::allreduce);
  EXPECT_EQ(allreduce->chunks_per_shard, 6);  // lcm(2, 3)
  EXPECT_EQ(allreduce->steps, 8);
  EXPECT_EQ(allreduce->algorithm, "by-hand");
  EXPECT_EQ(allreduce->proof.bandwidth_time, Rational(8, 5));  // 2(N−1)/N
  EXPECT_EQ(allreduce->proof.max_link_load, Rational(8));
}

TEST(Concatenate, RefusesPartsThatDoNotFit) {
  EXPECT_FALSE(concatenate(ring_allgather(4), ring_reduce_scatter(4)).ok());
  EXPECT_FALSE(concatenate(ring_reduce_scatter(4), ring_allgather(5)).ok());
  // 2^31 − 1 is prime, so the common multiple does not fit.
  EXPECT_FALSE(concatenate(ring_reduce_scatter(4, 2), ring_allgather(4, 2147483647)).ok());
}

}  // namespace
}  // namespace libcoll::schedule_test
