#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/broadcast/classic/bruck.h"
#include "planner/broadcast/classic/hamiltonian.h"
#include "planner/broadcast/planners.h"
#include "planner/registry/planner.h"
#include "planner/schedule/cost.h"
#include "planner/schedule/lockstep_time.h"
#include "planner/schedule/verify.h"
#include "planner/topology/generators.h"
#include "tests/unit/random_regular.h"
#include "tests/unit/small_schedules.h"

namespace libcoll::classics_test {

using namespace broadcast;
using namespace broadcast::classic;
using namespace registry;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

using Faults = std::vector<std::string>;

constexpr auto allgather = Collective::allgather;
constexpr auto reduce_scatter = Collective::reduce_scatter;
constexpr auto allreduce = Collective::allreduce;
constexpr auto broadcast = Collective::broadcast;
constexpr auto reduce = Collective::reduce;

/// Planned by name and verified the way its planner is.
Schedule planned(const std::string& algorithm, Collective collective, const Topology& topology,
                 const PlanOptions& options = {}) {
  const Result<Planner> planner = find_planner(broadcast_planners(), collective, algorithm);
  EXPECT_TRUE(planner.ok()) << algorithm;
  Result<Schedule> schedule = planner->plan(topology, options);
  EXPECT_TRUE(schedule.ok()) << schedule.error().message;
  EXPECT_EQ(planner->needs.has(Need::lockstep) ? verify_lockstep(*schedule) : verify(*schedule), Faults{})
      << algorithm << " on " << topology.name();
  EXPECT_EQ(schedule->algorithm, algorithm);
  return std::move(schedule).value();
}

Schedule planned(const std::string& algorithm, Collective collective, const std::string& specification) {
  return planned(algorithm, collective, generate(specification).value());
}

// --- Shapes. ---

TEST(RootedTrees, GrowFromAnyRoot) {
  for (const char* specification : {"complete:7", "torus:3x3", "genkautz:8,2", "fat_tree:4,2"}) {
    const Topology topology = generate(specification).value();
    PlanOptions options;
    for (options.root = 0; options.root < topology.host_count(); ++options.root) {
      for (const Planner& planner : broadcast_planners()) {
        if (!is_rooted(planner.collective)) continue;
        const Schedule schedule = planned(std::string(planner.name), planner.collective, topology, options);
        EXPECT_EQ(schedule.root, options.root);
        EXPECT_GE(schedule.proof.bandwidth_time, schedule.proof.bandwidth_bound);
      }
    }
    for (const Planner& planner : broadcast_planners()) {
      const bool refused = !is_rooted(planner.collective) || !planner.plan(topology, options).ok();
      EXPECT_TRUE(refused) << planner.name << " from beyond the last host";
    }
  }
}

TEST(Swing, PartnersAreAtTheDistancesOfThePaper) {
  // ρ(s) = 1, −1, 3, −5 for s = 0..3; even nodes add, odd ones subtract. The reduce-scatter is in the order of s.
  const Schedule schedule = planned("swing", reduce_scatter, "ring:16");
  const std::vector<std::int32_t> rho{1, -1, 3, -5};
  for (const Transfer& t : schedule.transfers) {
    const std::int32_t distance = rho[static_cast<std::size_t>(t.step - 1)];
    EXPECT_EQ(t.to, (t.from + (t.from % 2 == 0 ? distance : -distance) + 16) % 16);
  }
}

/// Any number of nodes: every shard arrives once (verify), so that N−1 of them cross to every node, in ⌈log2 n⌉ steps
/// for each dimension of n nodes, or of n + 1 where that is odd.
TEST(Swing, ServesAnyNumberOfNodes) {
  const auto steps_of = [](std::int32_t size) {
    std::int32_t steps = 0;
    while ((1 << steps) < size - size % 2) ++steps;
    return steps;
  };
  for (std::int32_t nodes = 2; nodes <= 40; ++nodes) {
    const std::string ring = (nodes == 2 ? "complete:" : "ring:") + std::to_string(nodes);
    const Schedule schedule = planned("swing", allgather, ring);
    EXPECT_EQ(schedule.steps, steps_of(nodes)) << nodes;
    EXPECT_EQ(std::ssize(schedule.transfers), nodes * (nodes - 1)) << nodes;
    if (nodes % 9 == 1) {
      for (const Collective collective : {reduce_scatter, allreduce}) planned("swing-multiport", collective, ring);
    }
  }
  for (const char* algorithm : {"swing", "swing-multiport"}) {
    for (const char* torus : {"torus:4x6", "torus:3x5", "torus:6x3x2", "torus:5x5", "mesh:3x4", "genkautz:11,2"}) {
      for (const Collective collective : {allgather, reduce_scatter, allreduce}) planned(algorithm, collective, torus);
    }
  }
  EXPECT_EQ(planned("swing", allgather, "torus:6x6").steps, 6);  // 2·⌈log2 6⌉
  // 4 of 5 nodes swing with 1 and 2 shards; the extra node's partners of a step are 1 and 3.
  const Schedule five = planned("swing", allgather, "complete:5");
  std::vector<std::int32_t> from_extra(2, 0);
  for (const Transfer& t : five.transfers) {
    if (t.from != 4) continue;
    EXPECT_EQ(t.shard, 4);
    ++from_extra[static_cast<std::size_t>(t.step - 1)];
  }
  EXPECT_EQ(from_extra, (std::vector<std::int32_t>{1, 3}));
}

TEST(Hdrm, PartnersAreBelowAnUpperAndALowerSwitchAndNoLinkIsShared) {
  const Schedule schedule = planned("hdrm", allgather, "bigraph:4x16");
  for (const Transfer& t : schedule.transfers) EXPECT_NE(t.from < 32, t.to < 32);
  std::int32_t shards = 1;
  for (const Rational& load : step_loads(schedule)) {
    EXPECT_EQ(load, Rational(shards));
    shards *= 2;
  }
}

TEST(DoubleBinaryTree, EveryNodeIsALeafOfATreeAndPortsAreNeverShared) {
  for (std::int32_t n = 2; n <= 21; ++n) {
    SCOPED_TRACE(n);
    const Schedule schedule = planned("double-binary-tree", allreduce, complete_graph(n));
    std::set<std::pair<NodeId, std::int32_t>> inner;
    std::set<std::tuple<std::int32_t, NodeId, bool, ShardId, std::int32_t>> ports;
    for (const Transfer& t : schedule.transfers) {
      if (t.kind == TransferKind::copy) inner.emplace(t.from, t.chunk_begin);
      EXPECT_TRUE(ports.emplace(t.step, t.from, true, 0, 0).second);
      EXPECT_TRUE(ports.emplace(t.step, t.to, false, 0, 0).second);
    }
    // With odd N one node has to serve in both: each tree has (N+1)/2 inner nodes.
    std::int32_t in_both = 0;
    for (NodeId node = 0; node < n; ++node) in_both += inner.contains({node, 0}) && inner.contains({node, 1}) ? 1 : 0;
    EXPECT_EQ(in_both, n % 2);
  }
}

TEST(DoubleBinaryTree, BroadcastsBelowARootWithOnePortEach) {
  for (std::int32_t n = 2; n <= 21; ++n) {
    for (const Collective collective : {broadcast, reduce}) {
      SCOPED_TRACE(n);
      PlanOptions options;
      options.root = n / 2;
      const Schedule schedule = planned("double-binary-tree", collective, complete_graph(n), options);
      std::set<std::pair<NodeId, std::int32_t>> inner;
      std::set<std::tuple<std::int32_t, NodeId, bool>> ports;
      for (const Transfer& t : schedule.transfers) {
        inner.emplace(collective == broadcast ? t.from : t.to, t.chunk_begin / (schedule.chunks_per_shard / 2));
        EXPECT_TRUE(ports.emplace(t.step, t.from, true).second);
        EXPECT_TRUE(ports.emplace(t.step, t.to, false).second);
      }
      std::int32_t in_both = 0;
      for (NodeId node = 0; node < n; ++node) {
        if (node != options.root) in_both += inner.contains({node, 0}) && inner.contains({node, 1}) ? 1 : 0;
      }
      EXPECT_EQ(in_both, 0);
      // One port: all 2N chunks leave the root, or arrive there, one in a step; T_B = d · steps / (2 N).
      EXPECT_GE(schedule.steps, 2 * n);
      EXPECT_EQ(schedule.proof.bandwidth_time, Rational(n - 1) * Rational(schedule.steps, 2 * std::int64_t{n}));
    }
  }
}

TEST(DoubleBinaryTree, FewStepsWithOneSegmentOptimalBandwidthWithMany) {
  const Topology star = generate("fat_tree:32,1").value();  // one switch with 32 hosts
  PlanFigures figures;
  PlanOptions options;
  options.figures = &figures;
  const Schedule pipelined = planned("double-binary-tree", allreduce, star, options);
  EXPECT_EQ(std::get<std::int64_t>(figures.more.at(0).second), 32);
  // Two trees of 32 nodes are 5 levels deep below their roots; a node has at most four messages in or out per segment.
  EXPECT_EQ(std::get<std::int64_t>(figures.more.at(1).second), 5);
  EXPECT_GE(pipelined.proof.bandwidth_time, pipelined.proof.bandwidth_bound);
  EXPECT_LE(pipelined.proof.bandwidth_time, pipelined.proof.bandwidth_bound * Rational(7, 4));
  options.steps = 1;
  const Schedule whole = planned("double-binary-tree", allreduce, star, options);
  EXPECT_EQ(std::get<std::int64_t>(figures.more.at(0).second), 1);
  EXPECT_LE(whole.steps, 4 * 5 + 2);
  EXPECT_LT(whole.steps, pipelined.steps);
}

TEST(Bruck, TakesAnyNumberOfHosts) {
  for (std::int32_t n = 2; n <= 18; ++n) {
    const Schedule schedule = planned("bruck", allgather, complete_graph(n));
    EXPECT_EQ(schedule.steps, std::bit_width(static_cast<std::uint32_t>(n - 1)));
    EXPECT_EQ(schedule.transfers.size(), static_cast<std::size_t>(n) * static_cast<std::size_t>(n - 1));
  }
}

bool is_ring(const Topology& topology, const std::vector<NodeId>& order) {
  const std::set<NodeId> different(order.begin(), order.end());
  if (different.size() != static_cast<std::size_t>(topology.host_count()) || order.size() != different.size())
    return false;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (topology.find_link(order[i], order[(i + 1) % order.size()]) < 0) return false;
  }
  return true;
}

TEST(Hamiltonian, CyclesOfGridsHypercubesAndOthers) {
  for (const char* specification : {"torus:3x3",
                                    "torus:3x4",
                                    "torus:5x7",
                                    "torus:15x15",
                                    "torus:3x3x3",
                                    "torus:2x3x5",
                                    "torus:16x16",
                                    "mesh:4x4",
                                    "mesh:3x4",
                                    "mesh:4x3",
                                    "mesh:8x8",
                                    "mesh:3x3x4",
                                    "mesh:2x2",
                                    "hypercube:1",
                                    "hypercube:2",
                                    "hypercube:5",
                                    "hypercube:10",
                                    "ring:9",
                                    "uniring:5",
                                    "complete:8",
                                    "circulant:10,3",
                                    "genkautz:27,4",
                                    "complete_bipartite:4,4"}) {
    SCOPED_TRACE(specification);
    const Topology topology = generate(specification).value();
    const auto cycle = hamiltonian_cycle(topology);
    ASSERT_TRUE(cycle.has_value());
    EXPECT_TRUE(is_ring(topology, *cycle));
    EXPECT_EQ(cycle->front(), 0);
  }
}

TEST(Hamiltonian, BipartiteGraphsOfOddOrderHaveNoneButARingIsRouted) {
  const Topology mesh = generate("mesh:3x3").value();
  EXPECT_FALSE(hamiltonian_cycle(mesh).has_value());
  const Schedule schedule = planned("ring", allgather, mesh);
  EXPECT_FALSE(schedule.routes.empty());
  EXPECT_EQ(schedule.steps, 8);
}

TEST(Hamiltonian, DisjointCyclesShareNoLink) {
  for (const char* specification : {"circulant:12,1,5", "torus:4x4", "complete:7", "hypercube:4"}) {
    const Topology topology = generate(specification).value();
    std::set<LinkId> links;
    const auto cycles = disjoint_hamiltonian_cycles(topology);
    EXPECT_GE(cycles.size(), 2U);
    for (const std::vector<NodeId>& cycle : cycles) {
      EXPECT_TRUE(is_ring(topology, cycle));
      for (std::size_t i = 0; i < cycle.size(); ++i) {
        EXPECT_TRUE(links.insert(topology.find_link(cycle[i], cycle[(i + 1) % cycle.size()])).second);
      }
    }
  }
}

// --- Everything, everywhere. ---

TEST(Classics, EveryPlanVerifiesKeepsTheBoundAndItsFiguresWithoutSchedule) {
  std::map<std::string, int> planned_by;
  std::vector<Topology> topologies;
  for (const char* specification :
       {"torus:4x4", "torus:3x5", "mesh:4x2", "hypercube:3", "ring:2", "uniring:4", "complete:6", "genkautz:11,2",
        "circulant:8,1,3", "power:2,ring:3", "dgx2:2", "bigraph:2x4", "fat_tree:2,3"}) {
    topologies.push_back(generate(specification).value());
  }
  for (std::uint32_t seed = 1; seed <= 4; ++seed) topologies.push_back(random_regular(16, 3, seed));
  for (const Topology& topology : topologies) {
    for (const Planner& planner : broadcast_planners()) {
      SCOPED_TRACE(std::string(planner.name) + " " + std::string(to_string(planner.collective)) + " on " +
                   topology.name());
      const Result<Schedule> schedule = planner.plan(topology, {});
      if (!schedule) {
        EXPECT_FALSE(schedule.error().message.empty());
        EXPECT_FALSE(planner.needs.none()) << schedule.error().message;
        continue;
      }
      ++planned_by[std::string(planner.name)];
      EXPECT_EQ(planner.needs.has(Need::lockstep) ? verify_lockstep(*schedule) : verify(*schedule), Faults{});
      EXPECT_EQ(verify_lockstep(*schedule), Faults{}) << "what is right as data-flow is right in lockstep";
      EXPECT_GE(schedule->proof.bandwidth_time, schedule->proof.bandwidth_bound);
      if (schedule->pipelined) {
        // Of two phases the sum is claimed, though their busiest links may differ (schedule.h).
        EXPECT_GE(schedule->proof.bandwidth_time, bandwidth_time(*schedule));
      } else {
        EXPECT_EQ(schedule->proof.bandwidth_time, bandwidth_time(*schedule));
      }
      // Without transfers, BFB gives bounds, and a forest is not packed into trees, which alone have steps.
      if (planner.name == "bfb" || planner.name == "forestcoll") continue;
      PlanOptions bare;
      bare.schedule = false;
      const Schedule figures = planner.plan(topology, bare).value();
      EXPECT_TRUE(figures.transfers.empty() && figures.routes.empty());
      EXPECT_EQ(figures.proof, schedule->proof);
      EXPECT_EQ(figures.steps, schedule->steps);
    }
  }
  for (const Planner& planner : broadcast_planners())
    EXPECT_GT(planned_by[std::string(planner.name)], 0) << planner.name;
}

/// Hosts beyond the largest power of two cost two steps in each phase.
TEST(Classics, RecursiveDoublingServesAnyNumberOfHosts) {
  for (const std::int32_t hosts : {3, 5, 6, 7, 12, 19}) {
    const std::string specification = "complete:" + std::to_string(hosts);
    const auto steps = static_cast<std::int32_t>(std::bit_width(static_cast<std::uint32_t>(hosts))) - 1 + 2;
    EXPECT_EQ(planned("recursive-doubling", allgather, specification).steps, steps);
    EXPECT_EQ(planned("recursive-halving", reduce_scatter, specification).steps, steps);
    EXPECT_EQ(planned("halving-doubling", allgather, specification).steps, steps);
    EXPECT_EQ(planned("halving-doubling", allreduce, specification).steps, 2 * steps);
    EXPECT_EQ(planned("recursive-doubling", allreduce, specification).steps, steps);
  }
}

/// Radix 2: ⌈log2 N⌉ steps; on a complete graph block (s, d) crosses as many links as d − s has ones.
TEST(Classics, BruckPlansAlltoall) {
  for (const std::int32_t hosts : {2, 3, 5, 8, 13, 16}) {
    const Topology complete = generate("complete:" + std::to_string(hosts)).value();
    const Result<Schedule> schedule = plan_bruck_alltoall(complete, {});
    ASSERT_TRUE(schedule.ok()) << schedule.error().message;
    EXPECT_EQ(verify(*schedule), Faults{});
    EXPECT_EQ(schedule->steps, static_cast<std::int32_t>(std::bit_width(static_cast<std::uint32_t>(hosts - 1))));
    std::size_t ones = 0;
    for (std::uint32_t offset = 1; offset < static_cast<std::uint32_t>(hosts); ++offset) {
      ones += static_cast<std::size_t>(std::popcount(offset));
    }
    EXPECT_EQ(schedule->transfers.size(), ones * static_cast<std::size_t>(hosts));
    EXPECT_EQ(schedule->proof.bandwidth_bound, Rational(hosts - 1, hosts));
    EXPECT_GE(schedule->proof.bandwidth_time, schedule->proof.bandwidth_bound);
  }
  for (const char* specification : {"torus:3x4", "genkautz:11,2", "fat_tree:4,1"}) {
    const Result<Schedule> schedule = plan_bruck_alltoall(generate(specification).value(), {});
    ASSERT_TRUE(schedule.ok()) << schedule.error().message;
    EXPECT_EQ(verify(*schedule), Faults{}) << specification;
    EXPECT_GE(schedule->proof.bandwidth_time, schedule->proof.bandwidth_bound) << specification;
    EXPECT_LE(schedule->proof.flow, schedule->proof.flow_upper_bound * (1 + 1e-12)) << specification;
  }
}

TEST(Classics, WorkAroundARemovedCable) {
  // A ring without one of its links still runs, its last hop routed the other way round.
  const Topology ring = generate("ring:6").value();
  std::vector<Link> links;
  for (const Link& link : ring.links()) {
    if (link.from != 5 || link.to != 0) links.push_back(link);
  }
  const Topology broken = Topology::make("ring:6", {ring.nodes().begin(), ring.nodes().end()}, links).value();
  for (const char* algorithm : {"ring", "bidirectional-ring", "dimension-rings", "multitree"}) {
    for (const Collective collective : {allgather, reduce_scatter, allreduce}) planned(algorithm, collective, broken);
  }
}

// --- Lockstep. ---

Schedule exchange_of_two() {
  Schedule schedule = make_schedule(allreduce, complete_graph(2), 1, 1);
  for (ShardId shard = 0; shard < 2; ++shard) {
    schedule.transfers.push_back({shard, 0, 1, 0, 1, 1, direct, TransferKind::reduce});
    schedule.transfers.push_back({shard, 0, 1, 1, 0, 1, direct, TransferKind::reduce});
  }
  finish(schedule);
  return schedule;
}

bool mentions(const Faults& faults, const std::string& what) {
  return std::any_of(faults.begin(), faults.end(),
                     [&](const std::string& fault) { return fault.find(what) != std::string::npos; });
}

TEST(Lockstep, AnExchangeIsRightOnlyThere) {
  EXPECT_EQ(verify_lockstep(exchange_of_two()), Faults{});
  EXPECT_FALSE(verify(exchange_of_two()).empty());
  EXPECT_FALSE(verify(planned("2d-ring", allreduce, "torus:3x3")).empty());
  EXPECT_FALSE(verify(planned("recursive-doubling", allreduce, "hypercube:2")).empty());
}

TEST(Lockstep, FindsWhatIsWrong) {
  Schedule twice = exchange_of_two();
  twice.steps = 2;
  twice.transfers.push_back({0, 0, 1, 0, 1, 2, direct, TransferKind::reduce});
  finish(twice);
  EXPECT_TRUE(mentions(verify_lockstep(twice), "counted twice"));

  Schedule lost = make_schedule(allreduce, complete_graph(3), 1, 2);
  lost.transfers = {{0, 0, 1, 0, 1, 1, direct, TransferKind::reduce}, {0, 0, 1, 2, 1, 2, direct, TransferKind::copy}};
  finish(lost);
  EXPECT_TRUE(mentions(verify_lockstep(lost), "would be lost"));

  Schedule both = make_schedule(allreduce, complete_graph(3), 1, 1);
  both.transfers = {{0, 0, 1, 0, 1, 1, direct, TransferKind::reduce}, {0, 0, 1, 2, 1, 1, direct, TransferKind::copy}};
  finish(both);
  EXPECT_TRUE(mentions(verify_lockstep(both), "a copy and another value"));

  // In lockstep a value does not travel two links in one step.
  Schedule hasty = make_schedule(allgather, one_way_ring(3), 1, 1);
  hasty.transfers = {{0, 0, 1, 0, 1, 1, direct, TransferKind::copy}, {0, 0, 1, 1, 2, 1, direct, TransferKind::copy}};
  finish(hasty);
  EXPECT_TRUE(mentions(verify_lockstep(hasty), "before it arrived"));

  Schedule missing = exchange_of_two();
  missing.transfers.pop_back();
  finish(missing);
  EXPECT_TRUE(mentions(verify_lockstep(missing), "at the end"));
}

TEST(LockstepTime, IsLatencyPlusBandwidth) {
  // uniring:4, allgather: 3 steps of one link, T_B = 3/4 M/B with B = b.
  const Schedule schedule = planned("ring", allgather, "uniring:4");
  const LockstepTime time = lockstep_time(schedule);
  EXPECT_EQ(time.hops, 3);
  EXPECT_DOUBLE_EQ(time.latency_seconds, 3 * default_latency_seconds);
  EXPECT_DOUBLE_EQ(time.seconds(4e6), 3e-6 + 3e6 / static_cast<double>(default_bandwidth_bytes_per_second));
  // Through one switch every hop is two links.
  EXPECT_EQ(lockstep_time(planned("ring", allgather, "fat_tree:4,1")).hops, 6);
}

// --- Topologies of switches. ---

TEST(SwitchedFabrics, HasFullBisection) {
  // What leaves the hosts below a leaf switch can go on upwards.
  for (const char* specification : {"fat_tree:4,2", "dgx2:3", "bigraph:4x8", "bigraph:8x4", "bigraph:16x4"}) {
    SCOPED_TRACE(specification);
    const Topology topology = generate(specification).value();
    for (NodeId node = topology.host_count(); node < topology.node_count(); ++node) {
      Rational down;
      Rational across;
      for (const LinkId link : topology.out_links(node)) {
        (topology.link(link).to < topology.host_count() ? down : across) += topology.capacity(link);
      }
      if (down > Rational(0)) {
        EXPECT_GE(across, down);
      }
    }
  }
}

}  // namespace
}  // namespace libcoll::classics_test
