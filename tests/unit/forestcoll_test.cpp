// Whole plans of ForestColl: schedules, figures, single-root packings and the allreduce LP.
#include "planner/broadcast/forest/forestcoll.h"

#include <gtest/gtest.h>

#include <string>

#include "planner/base/index.h"
#include "planner/broadcast/classic/bidirectional_ring.h"
#include "planner/broadcast/forest/fallback_trees.h"
#include "planner/broadcast/forest/multitree.h"
#include "planner/broadcast/lp/forestcoll_lp.h"
#include "planner/route/lash.h"
#include "planner/route/route_classes.h"
#include "planner/schedule/cost.h"
#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"
#include "planner/topology/generators.h"
#include "planner/topology/reader.h"
#include "tests/unit/forestcoll_checks.h"
#include "tests/unit/random_regular.h"
#include "tests/unit/sanitized.h"

namespace libcoll::forestcoll_test {

using namespace broadcast::bound;
using namespace broadcast::classic;
using namespace broadcast::forest;
using namespace broadcast_lp;
using namespace registry;
using namespace route;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

using Faults = std::vector<std::string>;
using Plan = Result<Schedule> (*)(const Topology&, const PlanOptions&);

Topology sample(const std::string& name) {
  const auto topology = load_topology(LIBCOLL_TEST_INSTANCES "/../../config/topologies/" + name + ".toml");
  EXPECT_TRUE(topology.ok()) << topology.error().message;
  return *topology;
}

template <Result<Schedule> (*plan)(Collective, const Topology&, const PlanOptions&)>
Result<Schedule> plan_of(const Topology& topology, const PlanOptions& options) {
  return plan(Collective::allgather, topology, options);
}

Schedule planned(Plan plan, const Topology& topology, const PlanOptions& options = {}) {
  Result<Schedule> schedule = plan(topology, options);
  EXPECT_TRUE(schedule.ok()) << schedule.error().message;
  EXPECT_EQ(verify(*schedule), Faults{});
  EXPECT_TRUE(schedule->pipelined);
  EXPECT_EQ(schedule->algorithm, "forestcoll");
  EXPECT_EQ(schedule->topology, topology);
  return std::move(schedule).value();
}

/// The most trees out of one root that fit (Edmonds): count.trees · y = the least max-flow from the root to a host, the
/// bandwidth at which the root can broadcast.
Result<Forest> widest_broadcast_forest(const Topology& topology, NodeId root) {
  const Result<BottleneckCut> cut = forest_optimum(topology, {}, nullptr, std::span(&root, 1));
  if (!cut) return cut.error();
  return broadcast_forest(topology, root, optimal_trees(cut->inverse_x(), link_widths(topology)));
}

template <class T>
T figure(const PlanFigures& figures, const std::string& name) {
  for (const auto& [key, value] : figures.more) {
    if (key == name) return std::get<T>(value);
  }
  ADD_FAILURE() << "no figure " << name;
  return {};
}

PlanOptions with_trees(std::int32_t trees) {
  PlanOptions options;
  options.trees = trees;
  return options;
}

void expect_optimal(const Topology& topology) {
  SCOPED_TRACE(topology.name());
  const Rational inverse_x = forest_optimum(topology)->inverse_x();
  // T = (M/N)/x* in M/B with B = d·b.
  const Rational time = Rational(degree(topology), topology.host_count()) * inverse_x *
                        Rational(topology.unit_bandwidth_bytes_per_second() / link_widths(topology).unit);
  const Schedule allgather = planned(plan_forestcoll_allgather, topology);
  EXPECT_EQ(allgather.collective, Collective::allgather);
  EXPECT_EQ(allgather.proof.bandwidth_time, time);
  EXPECT_EQ(allgather.proof.bandwidth_bound, time);
  EXPECT_EQ(bandwidth_time(allgather), time);
  const Schedule reduce_scatter = planned(plan_forestcoll_reduce_scatter, topology);
  EXPECT_EQ(reduce_scatter.collective, Collective::reduce_scatter);
  EXPECT_EQ(reduce_scatter.proof.bandwidth_time, reduce_scatter.proof.bandwidth_bound);
  const Schedule allreduce = planned(plan_forestcoll_allreduce, topology);
  EXPECT_EQ(allreduce.collective, Collective::allreduce);
  EXPECT_EQ(allreduce.proof.bandwidth_time, allgather.proof.bandwidth_time + reduce_scatter.proof.bandwidth_time);
  EXPECT_LE(bandwidth_time(allreduce), allreduce.proof.bandwidth_time);
}

TEST(ForestColl, ReachesTheOptimumWithoutSwitches) {
  for (const char* specification : {"torus:3x4", "hypercube:3", "genkautz:11,3", "genkautz:16,4", "uniring:5",
                                    "complete:6", "mesh:3x3", "circulant:11,1,3", "complete_bipartite:3,3"}) {
    expect_optimal(generate(specification).value());
  }
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    expect_optimal(random_regular(8 + static_cast<std::int32_t>(seed), 3, seed));
    expect_optimal(random_digraph(9, 15, 7, seed));
    expect_optimal(random_cables(10, 0, 6, 12, seed));
  }
}

TEST(ForestColl, ReachesTheOptimumThroughSwitches) {
  for (const char* name :
       {"a100-2x8", "h100-2x8", "mi250-2x8", "mi250-2x16", "two-switches", "two-level-4x4", "pods-2x2x4"}) {
    expect_optimal(sample(name));
  }
  expect_optimal(boxes(4, 3, 7, 2));
  expect_optimal(leaf_spine(4, 4, 2, 10));
  expect_optimal(leaf_spine(3, 4, 2, 5));
  for (std::uint32_t seed = 1; seed <= 25; ++seed) {
    expect_optimal(random_cables(7, static_cast<std::int32_t>(1 + seed % 4), 6, 9, seed));
  }
}

TEST(ForestColl, TreesAreShallowWhereTheFabricIsSymmetric) {
  // k = 1 and every IB link carries one tree to each of the seven other boxes: out over the rail, then inside the box.
  EXPECT_EQ(planned(plan_forestcoll_allgather, boxes(8, 8, 300, 25)).steps, 2);
}

TEST(ForestColl, TreesAreNotMuchDeeperThanTheDiameterWithoutSwitches) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    const Topology topology = random_regular(40, 4, seed);
    EXPECT_LE(planned(plan_forestcoll_allgather, topology).steps, 2 * graph_facts(topology).diameter);
  }
}

TEST(ForestColl, FiguresOfThePaper) {
  PlanFigures figures;
  PlanOptions options;
  options.figures = &figures;
  const Schedule schedule = planned(plan_forestcoll_allgather, sample("a100-2x8"), options);
  EXPECT_EQ(figure<std::string>(figures, "inverse_x"), "15/325");
  EXPECT_EQ(figure<std::string>(figures, "inverse_x_unit"), "1/(GB/s)");
  EXPECT_DOUBLE_EQ(figure<double>(figures, "inverse_x_float"), 15.0 / 325);
  EXPECT_EQ(figure<std::int64_t>(figures, "trees_per_root"), 13);
  EXPECT_NEAR(figure<double>(figures, "tree_bandwidth"), 325e9 / 15 / 13, 1);
  EXPECT_NEAR(figure<double>(figures, "algbw_bytes_per_second"), 16 * 325e9 / 15, 1e3);
  EXPECT_EQ(figure<std::int64_t>(figures, "tree_depth_max"), schedule.steps);
  EXPECT_EQ(schedule.chunks_per_shard, 13);
}

TEST(ForestColl, PlansAsManyTreesAsAskedFor) {
  const Topology topology = sample("a100-2x8");
  const Rational optimum = planned(plan_forestcoll_allgather, topology).proof.bandwidth_bound;
  for (const std::int32_t trees : {1, 2, 3, 5}) {
    const Schedule schedule = planned(plan_forestcoll_allgather, topology, with_trees(trees));
    EXPECT_EQ(schedule.chunks_per_shard, trees);
    EXPECT_EQ(schedule.proof.bandwidth_bound, optimum);
    EXPECT_GE(schedule.proof.bandwidth_time, optimum);
    // No slower than U/k of Theorem 14 says.
    const Rational promised = fixed_trees(topology, trees)->inverse_rate() * Rational(2, 16);
    EXPECT_LE(schedule.proof.bandwidth_time, promised);
  }
  const Schedule small = planned(plan_forestcoll_allgather, topology, with_trees(-1));
  EXPECT_LE(small.chunks_per_shard, 10);
  PlanOptions limited;
  limited.max_chunks = 4;
  EXPECT_LE(planned(plan_forestcoll_allreduce, topology, limited).chunks_per_shard, 4);
  // The optimum takes one tree: so does the scan.
  EXPECT_EQ(planned(plan_forestcoll_allgather, boxes(4, 2, 9, 1), with_trees(-1)).chunks_per_shard, 1);
}

TEST(ForestColl, HurriesWhenTheTimeIsOver) {
  PlanFigures figures;
  PlanOptions options;
  options.figures = &figures;
  options.time_limit_seconds = 1e-9;
  std::vector<Topology> topologies = {sample("a100-2x8"), sample("mi250-2x16"), leaf_spine(4, 4, 2, 10)};
  for (std::uint32_t seed = 1; seed <= 6; ++seed) topologies.push_back(random_cables(9, 0, 6, 9, seed));
  for (const Topology& topology : topologies) {
    for (const Plan plan : {plan_forestcoll_allgather, plan_forestcoll_reduce_scatter, plan_forestcoll_allreduce,
                            plan_forestcoll_broadcast, plan_forestcoll_reduce}) {
      SCOPED_TRACE(topology.name());
      figures = {};
      const Schedule hasty = planned(plan, topology, options);
      EXPECT_GT(figure<std::int64_t>(figures, "trees_unproven"), 0);
      EXPECT_NE(figures.method, "");
      EXPECT_DOUBLE_EQ(figure<double>(figures, "gap"),
                       hasty.proof.bandwidth_time.to_double() / hasty.proof.bandwidth_bound.to_double() - 1);
      EXPECT_GE(hasty.proof.bandwidth_time, hasty.proof.bandwidth_bound);
      // What is said of the speed is what the transfers do.
      const double rate = figure<double>(figures, "algbw_bytes_per_second");
      EXPECT_NEAR(rate * hasty.proof.bandwidth_time.to_double(),
                  degree(topology) * static_cast<double>(topology.unit_bandwidth_bytes_per_second()), 1e-6 * rate);
    }
  }
  // A ring loads the links of every host with all shards but one, which is the least there can be, and shares none
  // of the links between switches with itself.
  figures = {};
  const Schedule ring = planned(plan_forestcoll_allgather, generate("fat_tree:4,2").value(), options);
  EXPECT_EQ(figures.method, "ring");
  EXPECT_EQ(ring.proof.bandwidth_time, ring.proof.bandwidth_bound);
  EXPECT_EQ(figure<double>(figures, "gap"), 0);
  figures = {};
  planned(plan_forestcoll_broadcast, generate("fat_tree:4,2").value(), options);
  EXPECT_EQ(figures.method, "pipelined-chain");
  EXPECT_EQ(figure<double>(figures, "gap"), 0);
  // Figures alone, without a proof, would be worth nothing.
  options.schedule = false;
  const auto refused = plan_forestcoll_allgather(topologies[0], options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("time was over"), std::string::npos) << refused.error().message;
  options.schedule = true;
  options.time_limit_seconds = 1000;
  figures = {};
  expect_optimal(topologies[0]);
  planned(plan_forestcoll_allgather, topologies[0], options);
  EXPECT_EQ(figure<std::int64_t>(figures, "trees_unproven"), 0);
  EXPECT_EQ(figures.method, "");
}

TEST(ForestColl, EveryStageHeedsItsDeadline) {
  const Topology topology = sample("a100-2x8");
  const Effort none{Deadline(1e-9), 1};
  const auto cut = forest_optimum(topology, {}, nullptr, {}, none);
  ASSERT_TRUE(cut.ok());
  EXPECT_FALSE(cut->proven);
  EXPECT_LE(cut->inverse_x(), forest_optimum(topology)->inverse_x());
  const auto trees = best_small_trees(topology, cut->inverse_x(), 5, {}, none);
  ASSERT_TRUE(trees.ok());
  EXPECT_FALSE(trees->proven);
  EXPECT_EQ(trees->trees, 1);
  EXPECT_LE(trees->scale, fixed_trees(topology, 1)->scale);
  EXPECT_EQ(allgather_forest(topology, *fixed_trees(topology, 1), none)->unproven, topology.host_count());
}

TEST(ForestColl, GivesUpAtTheEndOfTheTime) {
  const Topology topology = sample("a100-2x8");
  EXPECT_FALSE(allgather_forest(topology, *fixed_trees(topology, 1), {Deadline(1e-9), 1, Deadline(1e-9)}).ok());
}

TEST(QuickTrees, AreTheBestOfThoseThereIsTimeFor) {
  // Without a bound to stop at, MultiTree is tried as well: one of these two is best on any of these fabrics.
  std::vector<Topology> topologies = {sample("a100-2x8"), leaf_spine(4, 4, 2, 10), generate("torus:4x4").value(),
                                      generate("genkautz:9,2").value()};
  for (std::uint32_t seed = 1; seed <= 4; ++seed) topologies.push_back(random_cables(9, 2, 6, 9, seed));
  for (const Topology& topology : topologies) {
    SCOPED_TRACE(topology.name());
    Result<QuickPlan> best = quick_allgather(topology, Rational(0), {}, Deadline(0));
    ASSERT_TRUE(best.ok()) << best.error().message;
    assign_layers(topology, best->schedule.routes);
    assign_route_classes(topology, best->schedule.routes);
    best->schedule.algorithm = best->method;
    EXPECT_EQ(verify(best->schedule), Faults{});
    EXPECT_TRUE(best->schedule.pipelined);
    const auto ring = quick_allgather(topology, Rational(0), {}, Deadline(1e-9));
    ASSERT_TRUE(ring.ok());
    EXPECT_EQ(ring->method, "ring");
    EXPECT_LE(best->schedule.proof.max_link_load, ring->schedule.proof.max_link_load);
    // Pipelined trees need no step of their own for every part of their load.
    for (const Plan plan : {Plan{plan_of<plan_multitree>}, Plan{plan_of<plan_bidirectional_ring>}}) {
      const auto other = plan(topology, {});
      ASSERT_TRUE(other.ok());
      EXPECT_LE(best->schedule.proof.max_link_load, other->proof.max_link_load);
      EXPECT_LE(best->schedule.proof.bandwidth_time, other->proof.bandwidth_time);
    }
    // Nothing beats the cut: there is no need to look further.
    const Rational load = best->schedule.proof.max_link_load;
    EXPECT_EQ(quick_allgather(topology, load, {}, Deadline(0))->schedule.proof.max_link_load, load);
  }
  PlanOptions one_chunk;
  one_chunk.max_chunks = 1;
  EXPECT_EQ(
      quick_allgather(generate("torus:4x4").value(), Rational(0), one_chunk, Deadline(0))->schedule.chunks_per_shard,
      1);
  EXPECT_FALSE(quick_allgather(Cabling(2, 0).link(0, 1, 1).topology("one way"), Rational(0), {}, Deadline(0)).ok());
}

TEST(ForestColl, PlansTheSameOnAnyNumberOfThreads) {
  std::vector<Topology> topologies = {generate("fat_tree:8,2").value(), sample("mi250-2x16"), leaf_spine(6, 4, 3, 10)};
  topologies.push_back(random_regular(sanitized ? 20 : 40, 4, 1));
  for (std::uint32_t seed = 1; seed <= (sanitized ? 1 : 2); ++seed)
    topologies.push_back(random_cables(12, 4, 9, 9, seed));
  for (const Topology& topology : topologies) {
    for (const std::int32_t trees : {0, 2}) {
      SCOPED_TRACE(topology.name());
      PlanOptions options = with_trees(trees);
      const Schedule alone = planned(plan_forestcoll_allgather, topology, options);
      for (const std::int32_t threads : {2, 3}) {
        options.threads = threads;
        EXPECT_EQ(planned(plan_forestcoll_allgather, topology, options), alone);
      }
    }
  }
}

TEST(ForestColl, FixedTreesOnRandomFabrics) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    for (const std::int32_t trees : {1, 3}) {
      planned(plan_forestcoll_allgather, random_cables(6, 2, 5, 9, seed), with_trees(trees));
      planned(plan_forestcoll_reduce_scatter, random_digraph(7, 12, 9, seed), with_trees(trees));
    }
  }
}

TEST(ForestColl, WithoutAScheduleTheProofIsTheSame) {
  PlanOptions options;
  options.schedule = false;
  for (const Plan plan : {plan_forestcoll_allgather, plan_forestcoll_reduce_scatter, plan_forestcoll_allreduce}) {
    const Topology topology = boxes(3, 4, 300, 25);
    const Schedule whole = planned(plan, topology);
    const auto figures_only = plan(topology, options);
    ASSERT_TRUE(figures_only.ok());
    EXPECT_TRUE(figures_only->transfers.empty());
    EXPECT_TRUE(figures_only->routes.empty());
    EXPECT_EQ(figures_only->collective, whole.collective);
    EXPECT_EQ(figures_only->proof.bandwidth_time, whole.proof.bandwidth_time);
    EXPECT_EQ(figures_only->proof.bandwidth_bound, whole.proof.bandwidth_bound);
  }
}

TEST(ForestColl, RefusesWhatItCannotPlan) {
  const Topology one_way = Cabling(2, 0).link(0, 1, 1).topology("one way");
  for (const Plan plan : {plan_forestcoll_allgather, plan_forestcoll_reduce_scatter, plan_forestcoll_allreduce}) {
    const auto refused = plan(one_way, {});
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("no path"), std::string::npos);
  }
  for (const NodeId root : {4, -1}) {
    EXPECT_FALSE(broadcast_forest(boxes(2, 2, 4, 1), root, {1, Rational(1)}).ok());
    EXPECT_FALSE(broadcast_bandwidth_bound(boxes(2, 2, 4, 1), root).ok());
  }
}

TEST(ForestColl, SwitchesNeedNotBeBalancedWhereThatCostsNothing) {
  // Switch 2 takes in 2 and gives 1; host 1 could not use more.
  planned(plan_forestcoll_allgather, Cabling(2, 1).link(0, 2, 2).link(2, 1, 1).link(1, 0, 1).topology("funnel"));
  // The butterfly (Ahlswede et al. 2000): a flow of 2 reaches both 1 and 2, but only switches that multicast or code
  // could broadcast at that rate. Switches 3, 4 give twice what they take in.
  Cabling butterfly(3, 4);
  butterfly.link(0, 3, 1).link(0, 4, 1).link(3, 1, 1).link(4, 2, 1).link(3, 5, 1).link(4, 5, 1);
  butterfly.link(5, 6, 1).link(6, 1, 1).link(6, 2, 1).link(1, 0, 1).link(2, 0, 1);
  const auto refused = widest_broadcast_forest(butterfly.topology("butterfly"), 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("more bandwidth in one direction"), std::string::npos);
}

TEST(PipelinedSchedule, IsReadBackAndItsClaimIsChecked) {
  Schedule schedule = planned(plan_forestcoll_allreduce, sample("a100-2x8"));
  const auto read = read_schedule(write_schedule(schedule), "plan.xml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, schedule);
  // Step by step the same transfers take longer than claimed: links idle while deeper trees go on.
  schedule.pipelined = false;
  EXPECT_NE(verify(schedule), Faults{});
  schedule.pipelined = true;
  schedule.transfers.pop_back();
  EXPECT_NE(verify(schedule), Faults{});
}

/// Least max-flow from the root to a host, in LinkWidths::unit.
std::int64_t broadcast_rate(const Topology& topology, NodeId root) {
  const LinkWidths widths = link_widths(topology);
  std::int64_t least = FlowNetwork::infinite;
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    if (host == root) continue;
    FlowNetwork network(topology.node_count());
    for (LinkId id = 0; id < topology.link_count(); ++id) {
      network.add_arc(topology.link(id).from, topology.link(id).to, widths.width[at(id)]);
    }
    least = std::min(least, network.run(root, host));
  }
  return least;
}

void expect_single_root(const Topology& topology, const Result<Forest>& forest, NodeId root) {
  SCOPED_TRACE(topology.name());
  ASSERT_TRUE(forest.ok()) << forest.error().message;
  // Edmonds: as many as the narrowest cut between the root and a host carries.
  EXPECT_EQ(Rational(forest->count.trees) / forest->count.scale, Rational(broadcast_rate(topology, root)));
  std::vector<CapacityArc> arcs;
  arcs.reserve(forest->links.size());
  for (const LogicalLink& link : forest->links) arcs.push_back({link.from, link.to, link.capacity});
  std::vector<std::int64_t> demand(at(topology.host_count()), 0);
  demand[at(root)] = forest->count.trees;
  expect_packing(arcs, demand, forest->trees);
}

TEST(SingleRoot, BroadcastAndReducePackAsManyTreesAsFit) {
  std::vector<Topology> topologies = {boxes(2, 8, 300, 25), leaf_spine(3, 2, 2, 5), generate("torus:3x3").value(),
                                      generate("genkautz:9,2").value()};
  for (std::uint32_t seed = 1; seed <= 15; ++seed) {
    topologies.push_back(random_cables(6, 2, 5, 9, seed));
    topologies.push_back(random_digraph(7, 12, 9, seed));
  }
  for (const Topology& topology : topologies) {
    expect_single_root(topology, widest_broadcast_forest(topology, 1), 1);
    expect_single_root(transpose(topology), widest_broadcast_forest(transpose(topology), 2), 2);
  }
}

/// d·b over the rate at which every host can be reached, whatever the root.
TEST(SingleRoot, BroadcastAndReduceTakeWhatTheNarrowestCutAllows) {
  struct Case {
    const char* specification;
    std::int64_t rate;   ///< edge-disjoint spanning out-trees of the root (Edmonds), in links
    std::int64_t width;  ///< d
  };
  // A ring has two, one each way; a hypercube d (its connectivity), a torus of D dimensions 2 D, a complete graph N −
  // 1, a mesh as many as its corners have links, complete bipartite graphs as many as the smaller side has hosts.
  for (const Case& c : std::vector<Case>{{"ring:7", 2, 2},
                                         {"uniring:5", 1, 1},
                                         {"hypercube:3", 3, 3},
                                         {"hypercube:5", 5, 5},
                                         {"torus:4x4", 4, 4},
                                         {"torus:3x3x3", 6, 6},
                                         {"torus:5x4", 4, 4},
                                         {"complete:6", 5, 5},
                                         {"mesh:3x3", 2, 4},
                                         {"complete_bipartite:2,3", 2, 3}}) {
    const Topology topology = generate(c.specification).value();
    for (const NodeId root : {0, topology.host_count() / 2, topology.host_count() - 1}) {
      SCOPED_TRACE(std::string(c.specification) + " root " + std::to_string(root));
      PlanFigures figures;
      PlanOptions options;
      options.root = root;
      options.figures = &figures;
      for (const Plan plan : {plan_forestcoll_broadcast, plan_forestcoll_reduce}) {
        figures = {};
        const Schedule schedule = planned(plan, topology, options);
        EXPECT_EQ(schedule.root, root);
        EXPECT_EQ(schedule.proof.bandwidth_time, Rational(c.width, c.rate));
        EXPECT_EQ(schedule.proof.bandwidth_bound, Rational(c.width, c.rate));
        EXPECT_EQ(bandwidth_time(schedule), Rational(c.width, c.rate));
        EXPECT_EQ(figure<std::int64_t>(figures, "trees_per_root"), c.rate);
        EXPECT_EQ(schedule.chunks_per_shard, c.rate);
        EXPECT_DOUBLE_EQ(figure<double>(figures, "algbw_bytes_per_second"),
                         static_cast<double>(c.rate * topology.unit_bandwidth_bytes_per_second()));
        EXPECT_EQ(figure<std::int64_t>(figures, "tree_depth_max"), schedule.steps);
      }
    }
  }
}

TEST(SingleRoot, TheCutBetweenBoxesIsNamed) {
  // Eight cables of 25 GB/s lead into the other box; every GPU takes in 325 GB/s.
  PlanFigures figures;
  PlanOptions options;
  options.figures = &figures;
  options.root = 3;
  planned(plan_forestcoll_broadcast, sample("a100-2x8"), options);
  EXPECT_EQ(figure<std::string>(figures, "bottleneck_outside").substr(0, 4), "8-15");
}

TEST(SingleRoot, IsOptimalOnRandomFabricsWithAndWithoutSwitches) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    for (const Topology& topology :
         {random_cables(7, static_cast<std::int32_t>(1 + seed % 4), 6, 9, seed), random_digraph(8, 12, 7, seed)}) {
      SCOPED_TRACE(topology.name());
      PlanOptions options;
      options.root = static_cast<NodeId>(seed % 7);
      const Rational unit =
          Rational(degree(topology)) * Rational(topology.unit_bandwidth_bytes_per_second(), link_widths(topology).unit);
      const Schedule broadcast = planned(plan_forestcoll_broadcast, topology, options);
      EXPECT_EQ(broadcast.proof.bandwidth_time, unit / Rational(broadcast_rate(topology, options.root)));
      EXPECT_EQ(broadcast.proof.bandwidth_time, broadcast.proof.bandwidth_bound);
      const Schedule reduction = planned(plan_forestcoll_reduce, topology, options);
      EXPECT_EQ(reduction.proof.bandwidth_time, unit / Rational(broadcast_rate(transpose(topology), options.root)));
      options.trees = 1;
      const Schedule single = planned(plan_forestcoll_broadcast, topology, options);
      EXPECT_EQ(single.chunks_per_shard, 1);
      EXPECT_GE(single.proof.bandwidth_time, broadcast.proof.bandwidth_time);
      EXPECT_EQ(single.proof.bandwidth_bound, broadcast.proof.bandwidth_bound);
      options.schedule = false;
      options.trees = 0;
      EXPECT_EQ(plan_forestcoll_broadcast(topology, options)->proof, broadcast.proof);
    }
  }
}

TEST(SingleRoot, RefusesARootThatIsNoHost) {
  PlanOptions options;
  for (const Plan plan : {plan_forestcoll_broadcast, plan_forestcoll_reduce}) {
    for (const auto& [root, why] : {std::pair(-1, "does not exist"), std::pair(99, "does not exist"),
                                    std::pair(4, "is a switch: expected one of the hosts 0 to 3")}) {
      options.root = root;
      const auto refused = plan(boxes(2, 2, 4, 1), options);
      ASSERT_FALSE(refused.ok());
      EXPECT_NE(refused.error().message.find(why), std::string::npos) << refused.error().message;
    }
  }
}

TEST(AllreduceLp, NothingBeatsReduceScatterThenAllgatherHere) {
  // Paper 004 §4.6: true of every topology its authors tested. LP (6) with Σ x_v = N·x*/2.
  std::vector<Topology> topologies = {
      boxes(2, 3, 6, 1),
      generate("ring:5").value(),
      generate("torus:3x3").value(),
      generate("hypercube:3").value(),
      generate("complete:4").value(),
      Cabling(4, 1).cable(0, 4, 1).cable(1, 4, 1).cable(2, 4, 1).cable(3, 4, 1).topology("star")};
  for (const Topology& topology : topologies) {
    SCOPED_TRACE(topology.name());
    const auto rate = allreduce_lp_rate(topology);
    ASSERT_TRUE(rate.ok()) << rate.error().message;
    const Schedule schedule = planned(plan_forestcoll_allreduce, topology);
    // T in M/b is 1/Σ x_v; the proof speaks of M/B with B = d·b.
    EXPECT_NEAR(schedule.proof.bandwidth_time.to_double(), degree(topology) / *rate, 1e-9);
  }
}

TEST(AllreduceLp, IsABoundOnRandomFabrics) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    const Topology topology = random_cables(5, 1, 4, 5, seed);
    const auto rate = allreduce_lp_rate(topology);
    ASSERT_TRUE(rate.ok()) << rate.error().message;
    const Schedule schedule = planned(plan_forestcoll_allreduce, topology);
    EXPECT_GE(schedule.proof.bandwidth_time.to_double(), degree(topology) / *rate - 1e-9);
  }
  EXPECT_FALSE(allreduce_lp_rate(Cabling(2, 0).link(0, 1, 1).topology("one way")).ok());
}

}  // namespace
}  // namespace libcoll::forestcoll_test
