// Harvest (paper 002): θ of steps, candidates, the dynamic program, the closed form, schedules with rewirings.
#include "planner/reconfigure/harvest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "planner/broadcast/planners.h"
#include "planner/reconfigure/birkhoff.h"
#include "planner/reconfigure/candidates.h"
#include "planner/reconfigure/integer_interval.h"
#include "planner/reconfigure/interval_program.h"
#include "planner/reconfigure/planners.h"
#include "planner/reconfigure/recursive_doubling_rewirings.h"
#include "planner/reconfigure/rewired_schedule.h"
#include "planner/reconfigure/staged_collective.h"
#include "planner/reconfigure/step_flow.h"
#include "planner/reconfigure/symmetry.h"
#include "planner/registry/planner.h"
#include "planner/schedule/cost.h"
#include "planner/schedule/lockstep_time.h"
#include "planner/schedule/reverse.h"
#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"
#include "planner/topology/generators.h"
#include "tests/unit/sanitized.h"
#include "tests/unit/support/enumeration.h"

namespace libcoll::harvest_test {

using namespace broadcast;
using namespace reconfigure;
using namespace registry;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

using Faults = std::vector<std::string>;
constexpr double infinite = std::numeric_limits<double>::infinity();

StagedCollective staged_as(const std::string& collective, const std::string& algorithm, std::int32_t nodes,
                           std::int32_t ports = 1, const std::vector<std::int32_t>& dimensions = {}) {
  Result<StagedCollective> result = stage(collective, algorithm, {nodes, ports, dimensions, {}});
  EXPECT_TRUE(result.ok()) << result.error().message;
  return std::move(result).value();
}

Harvest harvest_of(const StagedCollective& collective, std::int32_t degree) {
  Result<Harvest> result = Harvest::prepare(collective, degree);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return std::move(result).value();
}

std::vector<Demand> rotation(std::int32_t nodes, std::int32_t by) {
  std::vector<Demand> demands;
  demands.reserve(static_cast<std::size_t>(nodes));
  for (NodeId node = 0; node < nodes; ++node) demands.push_back({node, (node + by) % nodes, 1});
  return demands;
}

CongestionFrontier frontier_of(const Configuration& configuration, const std::vector<Demand>& demands,
                               const Deadline& deadline = Deadline(0)) {
  const Result<CongestionFrontier> frontier = congestion_frontier(configuration, demands, deadline);
  EXPECT_TRUE(frontier.ok()) << frontier.error().message;
  return *frontier;
}

/// Figure 5's α and δ, 100 Gbps.
HarvestModel model(double bytes, double reconfiguration_seconds) {
  return {bytes, 5e-7, 5e-7, 12.5e9, reconfiguration_seconds};
}

// --- Staged collectives: distances and volumes of the literature. ---

TEST(StagedCollective, RecursiveDoublingIsThatOfSection5) {
  const StagedCollective collective = staged_as("reduce_scatter", "recursive-doubling", 8);
  ASSERT_EQ(collective.steps.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(collective.steps[i].demands, rotation(8, 1 << i)) << i;             // u to u + 2^(i−1), i from 1
    EXPECT_EQ(collective.steps[i].unit, Rational(1, std::int64_t{2} << i)) << i;  // m/2^i
  }
  const StagedCollective allreduce = staged_as("allreduce", "", 8);
  EXPECT_EQ(allreduce.algorithm, "recursive-doubling");
  ASSERT_EQ(allreduce.steps.size(), 6U);
  EXPECT_EQ(allreduce.steps[5].demands, rotation(8, 7));  // the pattern reverses
  EXPECT_EQ(allreduce.steps[5].unit, Rational(1, 2));
}

TEST(StagedCollective, VolumesAddUpToWhatTheCollectiveMoves) {
  const auto moved = [](const StagedCollective& collective) {
    Rational sum;
    for (const StagedStep& step : collective.steps) {
      for (const Demand& demand : step.demands) sum += Rational(demand.units) * step.unit;
    }
    return sum;
  };
  // Bandwidth-optimal: (N−1)/N of M per node and phase; Bruck's concatenation too.
  for (const std::int32_t nodes : {4, 8, 16}) {
    for (const char* algorithm : {"recursive-doubling", "swing", "swing-multiport", "bruck"}) {
      EXPECT_EQ(moved(staged_as("allreduce", algorithm, nodes)), Rational(2 * (nodes - 1))) << algorithm << nodes;
      EXPECT_EQ(moved(staged_as("allgather", algorithm, nodes)), Rational(nodes - 1)) << algorithm << nodes;
    }
    EXPECT_EQ(moved(staged_as("alltoall", "direct", nodes)), Rational(nodes - 1));
    // Radix 2: every step moves half of the blocks.
    const StagedCollective bruck = staged_as("alltoall", "bruck", nodes);
    EXPECT_EQ(moved(bruck), Rational(nodes, 2) * Rational(static_cast<std::int64_t>(bruck.steps.size())));
    EXPECT_EQ(moved(staged_as("broadcast", "binomial-tree", nodes)), Rational(nodes - 1));
    EXPECT_EQ(moved(staged_as("broadcast", "binary-tree", nodes, 2)), Rational(nodes - 1));
  }
  EXPECT_EQ(moved(staged_as("allgather", "", 6)), Rational(5));
  EXPECT_EQ(staged_as("allgather", "", 6).algorithm, "bruck");
  EXPECT_EQ(moved(staged_as("allreduce", "swing", 12)), Rational(2 * 11));
  // Radix 4 with three ports (paper 002, Figure 9: r = 4).
  EXPECT_EQ(staged_as("allgather", "bruck", 64, 3).steps.size(), 3U);
  EXPECT_EQ(staged_as("alltoall", "bruck", 64, 3).steps.size(), 3U);
  EXPECT_EQ(staged_as("alltoall", "direct", 16, 3).steps.size(), 5U);
  EXPECT_EQ(staged_as("broadcast", "binary-tree", 7, 1).steps.size(), 4U);
}

TEST(StagedCollective, BroadcastsBeginAtTheRootAndReductionsEndThere) {
  StageOptions options{8, 1, {}, {}, 5};
  const StagedCollective broadcast = stage("broadcast", "binomial-tree", options).value();
  EXPECT_EQ(broadcast.root, 5);
  ASSERT_EQ(broadcast.steps.size(), 3U);
  EXPECT_EQ(broadcast.steps[0].demands, (std::vector<Demand>{{5, 6, 1}}));
  EXPECT_EQ(broadcast.steps[0].unit, Rational(1));
  const StagedCollective reduction = stage("reduce", "binomial-tree", options).value();
  EXPECT_EQ(reduction.steps[2].demands, (std::vector<Demand>{{6, 5, 1}}));
  options.root = 8;
  EXPECT_FALSE(stage("broadcast", "", options).ok());
  options.root = 1;
  EXPECT_FALSE(stage("allreduce", "", options).ok());
}

TEST(StagedCollective, RefusesWhatItDoesNotKnow) {
  const auto refusal = [](const char* collective, const char* algorithm, std::int32_t nodes) {
    const Result<StagedCollective> result = stage(collective, algorithm, {nodes, 1, {}, {}});
    return result.ok() ? std::string() : result.error().message;
  };
  EXPECT_NE(refusal("allreduce", "recursive-doubling", 6).find("power of two"), std::string::npos);
  EXPECT_NE(refusal("allreduce", "rings", 8).find("recursive-doubling, bruck, swing, swing-multiport"),
            std::string::npos);
  EXPECT_NE(refusal("gossip", "", 8).find("broadcast"), std::string::npos);
  EXPECT_NE(refusal("allreduce", "", 1), "");
}

TEST(BirkhoffVonNeumann, MatchingsAddUpToTheMatrixInTheLeastTime) {
  std::mt19937 random(11);
  for (int instance = 0; instance < 40; ++instance) {
    const std::int32_t nodes = 2 + instance % 9;
    const auto size = static_cast<std::size_t>(nodes);
    std::vector<std::int64_t> matrix(size * size, 0);
    for (std::int64_t& entry : matrix) entry = random() % 3 == 0 ? 0 : random() % 100;
    std::vector<std::int64_t> moved(matrix.size(), 0);
    std::vector<std::int64_t> rows(size, 0);
    std::vector<std::int64_t> columns(size, 0);
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      if (i / size == i % size) matrix[i] = 0;
      rows[i / size] += matrix[i];
      columns[i % size] += matrix[i];
    }
    const std::vector<MatchingTerm> terms = birkhoff_von_neumann(matrix, nodes);
    EXPECT_LE(terms.size(), (size - 1) * (size - 1) + 1);
    std::int64_t total = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      EXPECT_LE(terms[i].coefficient, terms[i == 0 ? 0 : i - 1].coefficient);
      total += terms[i].coefficient;
      std::vector<bool> sends(size, false);
      std::vector<bool> receives(size, false);
      for (const Demand& demand : terms[i].demands) {
        EXPECT_GT(demand.units, 0);
        EXPECT_LE(demand.units, terms[i].coefficient);
        EXPECT_FALSE(sends[static_cast<std::size_t>(demand.from)] || receives[static_cast<std::size_t>(demand.to)]);
        sends[static_cast<std::size_t>(demand.from)] = true;
        receives[static_cast<std::size_t>(demand.to)] = true;
        moved[static_cast<std::size_t>(demand.from) * size + static_cast<std::size_t>(demand.to)] += demand.units;
      }
    }
    EXPECT_EQ(moved, matrix);
    // No node can be done before it has sent and received all; terms without demand are left out.
    EXPECT_LE(total, std::max(*std::ranges::max_element(rows), *std::ranges::max_element(columns)));
  }
  // A permutation is one matching.
  const std::vector<std::int64_t> permutation = {0, 7, 0, 0, 0, 7, 7, 0, 0};
  ASSERT_EQ(birkhoff_von_neumann(permutation, 3).size(), 1U);
  EXPECT_EQ(birkhoff_von_neumann(permutation, 3)[0].demands, (std::vector<Demand>{{0, 1, 7}, {1, 2, 7}, {2, 0, 7}}));
}

TEST(StagedCollective, DemandsAreDecomposed) {
  StageOptions options{3, 1, {}, {0, 1, 0.5, 0.5, 0, 1, 1, 0.5, 0}};
  const Result<StagedCollective> collective = stage("alltoall", "direct", options);
  ASSERT_TRUE(collective.ok()) << collective.error().message;
  ASSERT_EQ(collective->steps.size(), 2U);  // 1 one way round, 1/2 the other
  EXPECT_EQ(collective->steps[0].demands, (std::vector<Demand>{{0, 1, 1}, {1, 2, 1}, {2, 0, 1}}));
  EXPECT_EQ(collective->steps[0].unit, Rational(1, 3));
  EXPECT_EQ(collective->steps[1].unit, Rational(1, 6));
  const Harvest harvest = harvest_of(*collective, 2);
  const HarvestPlan plan = harvest.plan(model(1e6, 1e-9));
  EXPECT_LE(plan.seconds, plan.static_seconds);
  EXPECT_FALSE(rewired_schedule(harvest, plan, model(1e6, 1e-9), 0).ok());
  options.demand.pop_back();
  EXPECT_FALSE(stage("alltoall", "direct", options).ok());
  options.demand.assign(9, 0);
  EXPECT_FALSE(stage("alltoall", "direct", options).ok());
}

// --- θ. ---

TEST(StepFlow, OneWayRingHasOneFlow) {
  // u→u+r on the one-way ring: r messages share each link, r hops.
  const Configuration ring = ring_configuration(8, 1);
  for (const std::int32_t by : {1, 3, 7}) {
    const CongestionFrontier frontier = frontier_of(ring, rotation(8, by));
    ASSERT_EQ(frontier.size(), 1U);
    EXPECT_EQ(frontier[0].hops, by);
    EXPECT_NEAR(frontier[0].congestion, by, 1e-12);
  }
  // Distance 2 on two disjoint rings does not reach odd distances.
  EXPECT_TRUE(frontier_of(shifted("", 8, {{2, 1}}), rotation(8, 1)).empty());
}

TEST(StepFlow, BothWaysRoundARing) {
  // x of u→u+2 goes 2 links forward, 1−x goes 6 back: 2x = 6(1−x) gives x = 3/4 and 1/θ = 3/2 with 6 hops; with fewer
  // hops all of it goes forward.
  const CongestionFrontier frontier = frontier_of(ring_configuration(8, 2), rotation(8, 2));
  ASSERT_EQ(frontier.size(), 2U);
  EXPECT_EQ(frontier[0].hops, 2);
  EXPECT_NEAR(frontier[0].congestion, 2, 1e-9);
  EXPECT_EQ(frontier[1].hops, 6);
  EXPECT_NEAR(frontier[1].congestion, 1.5, 1e-6);
}

TEST(StepFlow, SeveralPortsCarryOneMessage) {
  const CongestionFrontier frontier = frontier_of(shifted("", 8, {{3, 4}}), rotation(8, 3));
  ASSERT_EQ(frontier.size(), 1U);
  EXPECT_EQ(frontier[0].hops, 1);
  EXPECT_NEAR(frontier[0].congestion, 0.25, 1e-12);
}

/// Random wirings without any symmetry promised: with and without symmetries the optimum is the same, and paths reach
/// it.
TEST(StepFlow, PathsReachTheCongestionTheyClaim) {
  std::mt19937 random(7);
  for (int instance = 0; instance < 20; ++instance) {
    const std::int32_t nodes = 6 + instance % 5;
    std::vector<Wire> wires = ring_configuration(nodes, 1).wires;  // strongly connected
    for (int extra = 0; extra < nodes; ++extra) {
      wires.push_back({static_cast<NodeId>(random() % static_cast<unsigned>(nodes)),
                       static_cast<NodeId>(random() % static_cast<unsigned>(nodes)), 1});
    }
    const Configuration configuration = make_configuration("random", nodes, wires);
    const std::vector<Demand> demands = rotation(nodes, 1 + instance % (nodes - 1));
    CongestionFrontier frontier = frontier_of(configuration, demands);
    ASSERT_FALSE(frontier.empty());
    const CongestionFrontier hasty = frontier_of(configuration, demands, Deadline(1e-9));
    ASSERT_EQ(hasty.size(), 1U);  // there is no time for more
    EXPECT_EQ(hasty.front().hops, frontier.front().hops);
    EXPECT_GE(hasty.front().congestion, frontier.front().congestion - 1e-6);
    EXPECT_TRUE(frontier.front().proved);
    for (std::size_t i = 1; i < frontier.size(); ++i) {
      EXPECT_GT(frontier[i].hops, frontier[i - 1].hops);
      EXPECT_LT(frontier[i].congestion, frontier[i - 1].congestion);
    }
    frontier.push_back(hasty.front());
    for (const FlowPoint& point : frontier) {
      const auto paths = step_paths(configuration, demands, point);
      ASSERT_TRUE(paths.ok()) << paths.error().message;
      std::vector<double> load(configuration.wires.size(), 0);
      for (std::size_t d = 0; d < demands.size(); ++d) {
        double shares = 0;
        for (const SharedPath& path : (*paths)[d]) {
          shares += path.share;
          EXPECT_EQ(path.nodes.front(), demands[d].from);
          EXPECT_EQ(path.nodes.back(), demands[d].to);
          EXPECT_LE(path.nodes.size(), static_cast<std::size_t>(point.hops) + 1);
          for (std::size_t hop = 1; hop < path.nodes.size(); ++hop) {
            const auto wire = std::find_if(configuration.wires.begin(), configuration.wires.end(), [&](const Wire& w) {
              return w.from == path.nodes[hop - 1] && w.to == path.nodes[hop];
            });
            ASSERT_NE(wire, configuration.wires.end());
            load[static_cast<std::size_t>(wire - configuration.wires.begin())] += path.share / wire->count;
          }
        }
        EXPECT_NEAR(shares, 1, 1e-9);
      }
      EXPECT_NEAR(*std::max_element(load.begin(), load.end()), point.congestion, 1e-5);
    }
  }
}

TEST(StepSymmetry, FindsWhatTheTorusAndTheRotationShare) {
  // Swing on a ring: even nodes forward, odd ones back: rotations by two remain.
  std::vector<Demand> swing;
  swing.reserve(8);
  for (NodeId node = 0; node < 8; ++node) swing.push_back({node, node ^ 1, 1});
  const StepSymmetry ring = step_symmetry(ring_configuration(8, 2), swing);
  EXPECT_LE(ring.demands_in.size(), 2U);
  EXPECT_LE(ring.wires_in.size(), 4U);
  const StepSymmetry torus = step_symmetry(torus_configurations(16, 4, 2).front(), rotation(16, 4));
  EXPECT_EQ(torus.demands_in.size(), 1U);
  EXPECT_LE(torus.wires_in.size(), 4U);
  EXPECT_EQ(step_symmetry(ring_configuration(8, 2), swing, false).demands_in.size(), 8U);
}

// --- Candidates. ---

TEST(Candidates, KeepWithinTheDegreeAndHaveEveryMatching) {
  for (const std::int32_t degree : {1, 2, 4, 6}) {
    const StagedCollective collective = staged_as("allreduce", "swing", 16);
    const Result<Candidates> candidates = candidate_configurations(collective, degree);
    ASSERT_TRUE(candidates.ok());
    for (const Configuration& configuration : candidates->configurations) {
      EXPECT_LE(ports_used(configuration), degree) << configuration.name;
    }
    ASSERT_EQ(candidates->of_step.size(), collective.steps.size());
    for (std::size_t step = 0; step < collective.steps.size(); ++step) {
      const CongestionFrontier frontier =
          frontier_of(candidates->configurations[candidates->of_step[step]], collective.steps[step].demands);
      ASSERT_FALSE(frontier.empty());
      EXPECT_EQ(frontier[0].hops, 1);
      EXPECT_NEAR(frontier[0].congestion, 1.0 / degree, 1e-9);
    }
    EXPECT_EQ(candidates->fixed.size(), degree == 1 || degree == 2 ? 2U : degree == 4 ? 3U : 4U);
  }
  const auto refused = candidate_configurations(staged_as("allgather", "bruck", 16, 3), 2);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("3 partners"), std::string::npos);
}

// --- The dynamic program. ---

/// Every set of rewirings, every choice of configurations.
double by_brute_force(const std::vector<std::vector<double>>& seconds, double delay) {
  const std::size_t steps = seconds.front().size();
  double best = infinite;
  if (steps == 0) return best;
  for (std::uint32_t set = 0; set < 1U << (steps - 1); ++set) {
    double total = 0;
    std::size_t first = 0;
    for (std::size_t step = 0; step < steps; ++step) {
      if (step + 1 < steps && (set >> step & 1U) == 0) continue;
      double interval = infinite;
      for (const std::vector<double>& row : seconds) {
        double sum = 0;
        for (std::size_t i = first; i <= step; ++i) sum += row[i];
        interval = std::min(interval, sum);
      }
      total += interval + (first > 0 ? delay : 0);
      first = step + 1;
    }
    best = std::min(best, total);
  }
  return best;
}

TEST(IntervalProgram, EqualsBruteForce) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> time(1, 10);
  for (int instance = 0; instance < 200; ++instance) {
    const std::size_t steps = 1 + random() % 7;
    std::vector<std::vector<double>> seconds(1 + random() % 4);
    for (std::vector<double>& row : seconds) {
      for (std::size_t step = 0; step < steps; ++step) row.push_back(random() % 6 == 0 ? infinite : time(random));
    }
    for (const double delay : {0.0, 0.5, 3.0, 100.0}) {
      const RewiringPlan plan = plan_rewirings(best_configurations(seconds), delay);
      const double expected = by_brute_force(seconds, delay);
      if (expected == infinite) {
        EXPECT_EQ(plan.seconds, infinite);
        EXPECT_TRUE(plan.intervals.empty());
        continue;
      }
      EXPECT_NEAR(plan.seconds, expected, 1e-9);
      // The schedule takes what the value says.
      double total = static_cast<double>(plan.intervals.size() - 1) * delay;
      std::size_t next = 0;
      for (const Interval& interval : plan.intervals) {
        EXPECT_EQ(interval.first, next);
        for (; next <= interval.last; ++next) total += seconds[interval.configuration][next];
      }
      EXPECT_EQ(next, steps);
      EXPECT_NEAR(total, plan.seconds, 1e-9);
    }
  }
}

/// Paper 002, Table 1: recursive doubling of 8 nodes on G1, G1, G1; on G1, G2, G2; on G1, G2, G3.
TEST(Harvest, ReproducesTable1) {
  const StagedCollective collective = staged_as("reduce_scatter", "recursive-doubling", 8);
  std::vector<Configuration> direct_links;
  for (const StagedStep& step : collective.steps) direct_links.push_back(matching_configuration("", 8, 1, step));
  struct Row {
    std::vector<std::size_t> topologies;
    double congestion;
    std::int32_t propagation;
    int reconfigurations;
  };
  for (const Row& row : {Row{{0, 0, 0}, 4, 4, 0}, Row{{0, 1, 1}, 2, 2, 1}, Row{{0, 1, 2}, 1, 1, 2}}) {
    double congestion = 0;
    std::int32_t propagation = 0;
    int reconfigurations = 0;
    for (std::size_t step = 0; step < 3; ++step) {
      const CongestionFrontier frontier =
          frontier_of(direct_links[row.topologies[step]], collective.steps[step].demands);
      ASSERT_EQ(frontier.size(), 1U);
      congestion = std::max(congestion, frontier[0].congestion);
      propagation = std::max(propagation, frontier[0].hops);
      if (step > 0 && !same_wires(direct_links[row.topologies[step - 1]], direct_links[row.topologies[step]])) {
        ++reconfigurations;
      }
    }
    EXPECT_NEAR(congestion, row.congestion, 1e-9);
    EXPECT_EQ(propagation, row.propagation);
    EXPECT_EQ(reconfigurations, row.reconfigurations);
  }
}

/// With the steps' matchings as candidates and one port, Algorithm 1 is Equation 8's.
TEST(Harvest, ClosedFormEqualsTheDynamicProgramOnMatchings) {
  for (const std::int32_t nodes : {4, 8, 32, 64}) {
    const StagedCollective collective = staged_as("reduce_scatter", "recursive-doubling", nodes);
    for (const double bytes : {1e3, 1e6, 1e9}) {
      for (const double delay : {0.0, 1e-7, 1e-5, 1e-3}) {
        const HarvestModel parameters = model(bytes, delay);
        std::vector<std::vector<double>> seconds;
        for (const StagedStep& wired : collective.steps) {
          std::vector<double>& row = seconds.emplace_back();
          for (const StagedStep& step : collective.steps) {
            row.push_back(step_seconds(frontier_of(matching_configuration("", nodes, 1, wired), step.demands),
                                       bytes * step.unit.to_double(), parameters)
                              .seconds);
          }
        }
        const RewiringPlan program = plan_rewirings(best_configurations(seconds), delay);
        const RecursiveDoublingPlan closed = plan_recursive_doubling_rewirings(
            {bytes, parameters.alpha_seconds, parameters.delta_seconds, 1 / parameters.bytes_per_second, delay},
            collective.steps.size());
        EXPECT_NEAR(closed.seconds, program.seconds, 1e-9 * program.seconds) << nodes << " " << bytes << " " << delay;
        ASSERT_EQ(closed.rewirings + 1, program.intervals.size());
        for (std::size_t i = 0; i < closed.rewirings; ++i) {
          EXPECT_EQ(closed.rewire_before[i], static_cast<std::int32_t>(program.intervals[i + 1].first) + 1);
          EXPECT_EQ(program.intervals[i + 1].configuration, program.intervals[i + 1].first);  // Observation 4
        }
      }
    }
  }
}

TEST(Harvest, ExtremesOfTheReconfigurationDelay) {
  const std::size_t steps = 6;
  const RecursiveDoublingModel base{1e6, 5e-7, 5e-7, 8e-11, 0};
  EXPECT_EQ(plan_recursive_doubling_rewirings(base, steps).rewirings, steps - 1);  // free: before every step
  RecursiveDoublingModel slow = base;
  slow.reconfiguration_seconds = 1;
  EXPECT_EQ(plan_recursive_doubling_rewirings(slow, steps).rewirings, 0U);
  EXPECT_NEAR(plan_recursive_doubling_rewirings(slow, steps).seconds, recursive_doubling_seconds(slow, 1, 6), 1e-15);
  // Equation 8 term by term: α·3 + δ·7 + β·m·3/2.
  EXPECT_NEAR(recursive_doubling_seconds(base, 1, 3), 3 * 5e-7 + 7 * 5e-7 + 8e-11 * 1e6 * 1.5, 1e-15);
}

TEST(Harvest, IsNeverWorseThanStaticOrEveryStep) {
  struct Case {
    const char* collective;
    const char* algorithm;
    std::int32_t nodes, degree, ports;
    std::vector<std::int32_t> dimensions;
    bool between = true;  ///< §6.2: somewhere rewiring for some steps only beats both
  };
  for (const Case& c : std::vector<Case>{{"allreduce", "recursive-doubling", 16, 1, 1, {}},
                                         {"allreduce", "recursive-doubling", 16, 2, 1, {}},
                                         {"allreduce", "swing", 16, 2, 1, {}},
                                         {"allreduce", "swing-multiport", 16, 4, 1, {4, 4}, false},
                                         {"allgather", "bruck", 12, 3, 2, {}},
                                         {"alltoall", "bruck", 16, 4, 3, {}},
                                         {"alltoall", "direct", 9, 2, 1, {}},
                                         {"broadcast", "binomial-tree", 16, 2, 1, {}},
                                         {"broadcast", "binary-tree", 15, 2, 2, {}}}) {
    const Harvest harvest = harvest_of(staged_as(c.collective, c.algorithm, c.nodes, c.ports, c.dimensions), c.degree);
    bool between = false;
    for (const double bytes : {1e3, 1e5, 1e7, 1e9}) {
      for (const double delay : {1e-8, 1e-6, 1e-5, 1e-4, 1e-2}) {
        const HarvestPlan plan = harvest.plan(model(bytes, delay));
        EXPECT_LE(plan.seconds, plan.static_seconds * (1 + 1e-9)) << c.algorithm;
        EXPECT_LE(plan.seconds, plan.every_step_seconds * (1 + 1e-9)) << c.algorithm;
        EXPECT_EQ(plan.steps.size(), harvest.collective().steps.size());
        double total = static_cast<double>(plan.rewirings()) * delay;
        for (const HarvestStep& step : plan.steps) total += step.seconds;
        EXPECT_NEAR(total, plan.seconds, 1e-9 * plan.seconds);
        between = between || plan.seconds < std::min(plan.static_seconds, plan.every_step_seconds) * 0.99;
      }
    }
    EXPECT_TRUE(between || !c.between) << c.algorithm;
  }
}

/// §6.2: "up to 30×" for direct all-to-all of 1 GB with 64 GPUs and α_r = 10 us, 800 Gbps, against the one-way ring:
/// its 63 rotations take 1, 2, …, 63 hops and share each link among as many messages, 32 on average.
TEST(Harvest, RingOfFigure5) {
  const Harvest harvest = harvest_of(staged_as("alltoall", "direct", 64), 1);
  const HarvestModel parameters{1e9, 5e-7, 5e-7, 1e11, 1e-5};
  const HarvestPlan plan = harvest.plan(parameters);
  const double block = 1e9 / 64 / 1e11;
  EXPECT_NEAR(plan.ring_seconds, 63 * (5e-7 + 32 * (5e-7 + block)), 1e-9 * plan.ring_seconds);
  EXPECT_GT(plan.ring_seconds / plan.seconds, 29);
  EXPECT_LT(plan.ring_seconds / plan.seconds, 32);
}

TEST(Harvest, LeavingTheInitialWiringCostsARewiring) {
  const StagedCollective collective = staged_as("reduce_scatter", "recursive-doubling", 8);
  const Configuration initial = shifted("far", 8, {{3, 1}});
  const Result<Harvest> harvest = Harvest::prepare(collective, 1, initial);
  ASSERT_TRUE(harvest.ok());
  const double delay = 1e-6;
  const HarvestPlan quick = harvest->plan(model(1e9, delay));
  EXPECT_TRUE(quick.rewired_at_start);
  EXPECT_EQ(quick.rewirings(), 3U);  // every step on its own matching
  EXPECT_NEAR(quick.seconds, harvest_of(collective, 1).plan(model(1e9, delay)).seconds + delay, 1e-12);
  EXPECT_NEAR(quick.every_step_seconds, quick.seconds, 1e-12);
  const HarvestPlan slow = harvest->plan(model(1e3, 1));
  EXPECT_EQ(slow.rewirings(), 0U);
  EXPECT_EQ(harvest->configurations()[slow.intervals.front().configuration].name, "far");
  EXPECT_EQ(slow.seconds, slow.static_seconds);
  EXPECT_FALSE(Harvest::prepare(collective, 1, ring_configuration(8, 2)).ok());
  EXPECT_FALSE(Harvest::prepare(collective, 1, ring_configuration(6, 1)).ok());
}

// --- The exact reference. ---

/// Observation 4: for every interval of recursive doubling the matching of its first step is best of all topologies.
TEST(Enumeration, ProvesObservation4ForDegreeOne) {
  const StagedCollective collective = staged_as("reduce_scatter", "recursive-doubling", 8);
  const HarvestModel parameters = model(1e6, 0);
  const RecursiveDoublingModel closed{1e6, parameters.alpha_seconds, parameters.delta_seconds,
                                      1 / parameters.bytes_per_second, 0};
  for (std::int32_t a = 1; a <= 3; ++a) {
    for (std::int32_t b = a; b <= 3; ++b) {
      const auto first = static_cast<std::size_t>(a) - 1;
      const std::span steps = std::span(collective.steps).subspan(first, static_cast<std::size_t>(b - a) + 1);
      const Result<IntervalOptimum> optimum = exact_interval(steps, 8, 1, parameters);
      ASSERT_TRUE(optimum.ok()) << optimum.error().message;
      EXPECT_EQ(optimum->topologies, 40320);  // 8!
      EXPECT_NEAR(optimum->seconds, recursive_doubling_seconds(closed, a, b), 1e-12) << a << ".." << b;
    }
  }
}

/// The candidates against all topologies of two ports: never better, and the best of them for most intervals.
TEST(Enumeration, IsNeverWorseThanCandidatesOrSearch) {
  const StagedCollective collective = staged_as("reduce_scatter", "recursive-doubling", 4);
  for (const double bytes : {1e3, 1e6}) {
    const HarvestModel parameters = model(bytes, 1);  // no rewiring pays: one interval
    Harvest harvest = harvest_of(collective, 2);
    const double restricted = harvest.plan(parameters).seconds;
    const Result<IntervalOptimum> optimum = exact_interval(collective.steps, 4, 2, parameters);
    ASSERT_TRUE(optimum.ok());
    EXPECT_EQ(optimum->topologies, 282);  // 4×4 matrices with line sums 2 (OEIS A000681)
    EXPECT_LE(optimum->seconds, restricted * (1 + 1e-9));
    EXPECT_LE(ports_used(optimum->configuration), 2);
    const Result<std::size_t> kept = harvest.search(parameters, 60, 1);
    ASSERT_TRUE(kept.ok());
    const double searched = harvest.plan(parameters).seconds;
    EXPECT_LE(searched, restricted * (1 + 1e-9));
    EXPECT_GE(searched, optimum->seconds * (1 - 1e-9));
  }
  EXPECT_FALSE(exact_interval(collective.steps, 8, 3, model(1, 0)).ok());
}

/// Random steps on 3 and 4 nodes, δ and bytes such that hops, congestion or both matter.
TEST(IntegerInterval, AgreesWithEnumeration) {
  std::mt19937 random(5);
  for (int instance = 0; instance < 12; ++instance) {
    const std::int32_t nodes = 3 + instance % 2;
    const std::int32_t degree = 1 + instance / 2 % 2;
    std::vector<StagedStep> steps(1 + static_cast<std::size_t>(instance) % 3);
    for (StagedStep& step : steps) {
      step.unit = Rational(1, 4);
      for (NodeId from = 0; from < nodes; ++from) {
        const auto to = static_cast<NodeId>((static_cast<unsigned>(from) + 1 + random() % (nodes - 1)) % nodes);
        step.demands.push_back({from, to, 1 + static_cast<std::int64_t>(random() % 3)});
      }
    }
    for (const double bytes : {1e3, 3e4, 1e7}) {
      const HarvestModel parameters = model(bytes, 0);
      const Result<IntervalOptimum> enumerated = exact_interval(steps, nodes, degree, parameters);
      const Result<IntegerOptimum> solved = integer_interval(steps, nodes, degree, parameters, infinite, {});
      ASSERT_TRUE(enumerated.ok() && solved.ok());
      EXPECT_NEAR(solved->seconds, enumerated->seconds, 1e-5 * enumerated->seconds) << instance << " " << bytes;
      EXPECT_TRUE(solved->proven(1e-6)) << instance << " " << bytes;
      EXPECT_LE(solved->bound, enumerated->seconds * (1 + 1e-7));
      EXPECT_LE(ports_used(solved->configuration), degree);
      // Nothing beats an incumbent that is optimal; a worse one is beaten.
      const auto none = integer_interval(steps, nodes, degree, parameters, enumerated->seconds, {});
      EXPECT_TRUE(none.ok() && none->configuration.wires.empty());
      const auto better = integer_interval(steps, nodes, degree, parameters, enumerated->seconds * 1.5, {});
      EXPECT_TRUE(better.ok() && !better->configuration.wires.empty());
    }
  }
  const StagedCollective large = staged_as("reduce_scatter", "recursive-doubling", 16);
  EXPECT_FALSE(integer_interval(large.steps, 16, 1, model(1e6, 0), infinite, {}).ok());
}

/// (c) of the subproblem against (a) and (b): for the whole plan, rewirings and all.
TEST(IntegerInterval, IsNeverWorseThanCandidatesOrSearch) {
  struct Case {
    const char* algorithm;
    std::int32_t nodes, degree;
    double delay;
  };
  for (const Case& c : {Case{"recursive-doubling", 4, 1, 1e-7}, Case{"recursive-doubling", 4, 2, 1e-5},
                        Case{"bruck", 5, 1, 1e-6}, Case{"recursive-doubling", 8, 2, 1e-5}}) {
    const HarvestModel parameters = model(2e4, c.delay);
    const StagedCollective collective = staged_as("reduce_scatter", c.algorithm, c.nodes);
    Harvest harvest = harvest_of(collective, c.degree);
    const double restricted = harvest.plan(parameters).seconds;
    Harvest searched = harvest;
    ASSERT_TRUE(searched.search(parameters, 40, 2).ok());
    const Result<double> bound = harvest.solve(parameters, 0);
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    const double exact = harvest.plan(parameters).seconds;
    EXPECT_LE(exact, restricted * (1 + 1e-9)) << c.algorithm;
    EXPECT_LE(exact, searched.plan(parameters).seconds * (1 + 1e-5)) << c.algorithm;
    EXPECT_NEAR(*bound, exact, 1e-5 * exact) << c.algorithm;
  }
}

// --- Schedules with rewirings. ---

Schedule rewired(const Harvest& harvest, const HarvestModel& parameters, std::size_t& rewirings,
                 std::int32_t max_chunks = 0) {
  const HarvestPlan plan = harvest.plan(parameters);
  rewirings = plan.rewirings();
  Result<Schedule> schedule = rewired_schedule(harvest, plan, parameters, max_chunks);
  EXPECT_TRUE(schedule.ok()) << schedule.error().message;
  EXPECT_EQ(verify(*schedule), Faults{}) << harvest.collective().algorithm;
  return std::move(schedule).value();
}

TEST(RewiredSchedule, IsRightAndSurvivesItsFile) {
  struct Case {
    const char* collective;
    const char* algorithm;
    std::int32_t nodes, degree;
  };
  for (const Case& c :
       {Case{"allreduce", "recursive-doubling", 8, 1}, Case{"allreduce", "recursive-doubling", 8, 2},
        Case{"allreduce", "swing", 16, 2}, Case{"reduce_scatter", "bruck", 6, 2},
        Case{"allgather", "swing-multiport", 8, 2}, Case{"alltoall", "bruck", 8, 2}, Case{"alltoall", "direct", 6, 2},
        Case{"broadcast", "binomial-tree", 9, 2}, Case{"reduce", "binary-tree", 7, 2}}) {
    const Harvest harvest = harvest_of(staged_as(c.collective, c.algorithm, c.nodes), c.degree);
    for (const double delay : {1e-7, 5e-6, 1.0}) {
      std::size_t rewirings = 0;
      const Schedule schedule = rewired(harvest, model(1e5, delay), rewirings);
      EXPECT_EQ(schedule.wirings.size(), rewirings == 0 ? 0 : rewirings + 1);
      const std::string text = write_schedule(schedule);
      const Result<Schedule> read = read_schedule(text, "file");
      ASSERT_TRUE(read.ok()) << read.error().message;
      EXPECT_EQ(*read, schedule);
      EXPECT_EQ(write_schedule(*read), text);
      EXPECT_EQ(write_msccl(schedule, Dialect::msccl).ok(),
                rewirings == 0 && write_msccl(schedule, Dialect::msccl).ok());
    }
  }
}

/// Where paths need no rounding the lockstep time of the schedule is Equation 4 without α.
TEST(RewiredSchedule, CostsWhatTheModelSays) {
  for (const std::int32_t degree : {1, 2}) {
    const Harvest harvest = harvest_of(staged_as("allreduce", "recursive-doubling", 8), degree);
    for (const double delay : {1e-8, 2e-6, 1.0}) {
      const HarvestModel parameters = model(1e6, delay);
      std::size_t rewirings = 0;
      const Schedule schedule = rewired(harvest, parameters, rewirings, 96);
      const HarvestPlan plan = harvest.plan(parameters);
      const LockstepTime time = lockstep_time(schedule);
      EXPECT_NEAR(time.seconds(1e6) + 6 * parameters.alpha_seconds, plan.seconds, 0.01 * plan.seconds) << delay;
      EXPECT_GE(time.seconds(1e6) + 6 * parameters.alpha_seconds, plan.seconds * (1 - 1e-6)) << delay;
    }
  }
}

TEST(RewiredSchedule, VerifierRefusesWhatIsNotWired) {
  const Harvest harvest = harvest_of(staged_as("reduce_scatter", "recursive-doubling", 8), 1);
  std::size_t rewirings = 0;
  const Schedule schedule = rewired(harvest, model(1e6, 1e-7), rewirings);
  ASSERT_EQ(rewirings, 2U);
  const auto first_fault = [](const Schedule& wrong) {
    const Faults faults = verify(wrong);
    return faults.empty() ? std::string() : faults.front();
  };
  Schedule wrong = schedule;
  wrong.wirings.pop_back();  // step 3 stays on the wiring of step 2
  EXPECT_NE(first_fault(wrong).find("is not there in this step's wiring"), std::string::npos);
  wrong = schedule;
  std::swap(wrong.wirings[1], wrong.wirings[2]);
  EXPECT_NE(first_fault(wrong).find("out of order"), std::string::npos);
  wrong = schedule;
  wrong.wirings[0].step = 2;
  EXPECT_NE(first_fault(wrong).find("out of order"), std::string::npos);
  wrong = schedule;
  wrong.wirings[1].links.push_back(wrong.wirings[1].links.back());
  EXPECT_NE(first_fault(wrong).find("twice"), std::string::npos);
  wrong = schedule;
  wrong.wirings[1].seconds = -1;
  EXPECT_NE(first_fault(wrong), "");
  wrong = schedule;
  wrong.pipelined = true;
  EXPECT_NE(first_fault(wrong), "");
  wrong = schedule;
  wrong.wirings[2].links[0].bandwidth_bytes_per_second /= 2;  // twice the load per capacity
  EXPECT_NE(first_fault(wrong).find("bandwidth_time"), std::string::npos);
  EXPECT_FALSE(reverse(schedule).ok());
  EXPECT_FALSE(write_msccl(schedule, Dialect::msccl).ok());
}

TEST(RewiredSchedule, ReaderRefusesHalfAWiring) {
  const Harvest harvest = harvest_of(staged_as("reduce_scatter", "recursive-doubling", 4), 1);
  std::size_t rewirings = 0;
  const std::string text = write_schedule(rewired(harvest, model(1e6, 1e-7), rewirings));
  ASSERT_EQ(rewirings, 1U);
  const auto refusal = [&](const std::string& part, const std::string& by) {
    std::string changed = text;
    changed.replace(changed.find(part), part.size(), by);
    const Result<Schedule> read = read_schedule(changed, "file");
    return read.ok() ? std::string() : read.error().message;
  };
  EXPECT_NE(refusal("<rewiring s=\"2\"", "<rewiring s=\"9\"").find("1 to 2"), std::string::npos);
  EXPECT_NE(refusal("<rewiring s=\"2\"", "<rewiring t=\"2\"").find("unknown attribute"), std::string::npos);
  EXPECT_NE(refusal("seconds=\"1e-07\"", "seconds=\"soon\"").find("number"), std::string::npos);
  EXPECT_NE(refusal("seconds=\"1e-07\"", "seconds=\"1e-07\" bandwidths=\"1 2\"").find("bandwidths"), std::string::npos);
}

TEST(PlanHarvest, StartsFromTheGivenWiring) {
  for (const Planner& planner : reconfigure_planners()) {
    EXPECT_TRUE(planner.needs.has(Need::rewiring));
    for (const char* specification : {"ring:8", sanitized ? "hypercube:2" : "torus:4x4", "genkautz:6,2"}) {
      for (const double delay : {1e-8, 1.0}) {
        const Topology topology = generate(specification).value();
        PlanFigures figures;
        PlanOptions options;
        options.reconfiguration_seconds = delay;
        options.figures = &figures;
        const Result<Schedule> schedule = planner.plan(topology, options);
        ASSERT_TRUE(schedule.ok()) << schedule.error().message;
        EXPECT_EQ(verify(*schedule), Faults{}) << specification;
        EXPECT_EQ(schedule->algorithm, "harvest");
        EXPECT_EQ(schedule->topology.name(), topology.name());
        if (delay == 1.0) {
          EXPECT_TRUE(schedule->wirings.empty());
          EXPECT_EQ(schedule->topology, topology);
        }
        ASSERT_EQ(figures.more.size(), 4U);
        EXPECT_LE(std::get<double>(figures.more[0].second), std::get<double>(figures.more[1].second) * (1 + 1e-9));
        EXPECT_LE(std::get<double>(figures.more[0].second), std::get<double>(figures.more[3].second) * (1 + 1e-9));
        options.schedule = false;
        const Result<Schedule> figures_only = planner.plan(topology, options);
        ASSERT_TRUE(figures_only.ok());
        EXPECT_TRUE(figures_only->transfers.empty() && figures_only->routes.empty());
        EXPECT_EQ(figures_only->proof, schedule->proof);
        EXPECT_EQ(figures_only->wirings, schedule->wirings);
      }
    }
  }
  PlanOptions options;
  options.staging = "rings";
  EXPECT_FALSE(plan_harvest(Collective::allreduce, generate("ring:8").value(), options).ok());
  EXPECT_FALSE(plan_harvest(Collective::allreduce, generate("fat_tree:4,1").value(), {}).ok());
}

TEST(PlanHarvest, KeepsToTheBaselinesWhenTheTimeIsOver) {
  const Topology topology = generate("torus:4x4").value();
  PlanFigures figures;
  PlanOptions options;
  options.figures = &figures;
  options.time_limit_seconds = 1e-9;
  const Result<Schedule> hasty = plan_harvest(Collective::allreduce, topology, options);
  ASSERT_TRUE(hasty.ok()) << hasty.error().message;
  EXPECT_EQ(verify(*hasty), Faults{});
  ASSERT_EQ(figures.more.size(), 5U);
  EXPECT_EQ(figures.more[4].first, "candidates_left_out");
  EXPECT_GT(std::get<std::int64_t>(figures.more[4].second), 0);
  const double hasty_seconds = std::get<double>(figures.more[0].second);
  EXPECT_LE(hasty_seconds, std::get<double>(figures.more[1].second) * (1 + 1e-9));
  EXPECT_LE(hasty_seconds, std::get<double>(figures.more[3].second) * (1 + 1e-9));
  figures = {};
  options.time_limit_seconds = 1000;
  ASSERT_TRUE(plan_harvest(Collective::allreduce, topology, options).ok());
  EXPECT_LE(std::get<double>(figures.more[0].second), hasty_seconds * (1 + 1e-9));
  EXPECT_EQ(std::get<std::int64_t>(figures.more[4].second), 0);
}

TEST(StagedCollective, TakesTheStepsOfAnySchedule) {
  for (const char* algorithm : {"bfb", "ring", "multitree"}) {
    const Topology torus = generate("torus:3x3").value();
    const Result<Schedule> schedule =
        find_planner(broadcast_planners(), Collective::allgather, algorithm)->plan(torus, {});
    ASSERT_TRUE(schedule.ok());
    const Result<StagedCollective> collective = staged(*schedule);
    ASSERT_TRUE(collective.ok());
    EXPECT_EQ(static_cast<std::int32_t>(collective->steps.size()), schedule->steps);
    const Harvest harvest = harvest_of(*collective, 4);
    std::size_t rewirings = 0;
    const HarvestModel parameters = model(1e6, 1e-5);
    EXPECT_EQ(rewired(harvest, parameters, rewirings).steps, schedule->steps);
    EXPECT_LE(harvest.plan(parameters).seconds, harvest.plan(parameters).static_seconds * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace libcoll::harvest_test
