// Ranks agree on dead links and on the call from which they go without them, whatever is lost meanwhile.
#include "libcoll/runtime/repair.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "planner/planner.h"
#include "planner/schedule/verify.h"
#include "planner/topology/facts.h"
#include "planner/topology/generators.h"
#include "tests/unit/lossy_world.h"

namespace libcoll {
namespace {

constexpr NodeId nodes = 8;

/// Calls that all ranks begin, each in its own time, but none is more than one ahead of another.
class Calls {
 public:
  Calls(World& world, std::uint32_t seed) : random_(seed) {
    for (NodeId node = 0; node < nodes; ++node) {
      repairs.push_back(std::make_unique<Repair>(world.transport(node), communicator, node, nodes, true, "test"));
    }
    begun.assign(nodes, 0);
    turns.resize(nodes);
  }

  void advance() {
    const std::int64_t slowest = *std::min_element(begun.begin(), begun.end());
    for (std::size_t node = 0; node < nodes; ++node) {
      if (repairs[node]->halted() || begun[node] > slowest || random_() % 8 != 0) continue;
      if (repairs[node]->begin_call()) turns[node].emplace_back(begun[node], repairs[node]->removed());
      ++begun[node];
    }
  }

  [[nodiscard]] bool all_know(const std::set<Cable>& cables) const {
    return std::all_of(repairs.begin(), repairs.end(), [&](const auto& each) { return each->removed() == cables; });
  }

  std::vector<std::unique_ptr<Repair>> repairs;  ///< by node
  std::vector<std::int64_t> begun;
  std::vector<std::vector<std::pair<std::int64_t, std::set<Cable>>>> turns;  ///< by node: call, cables gone

 private:
  std::mt19937 random_;
};

World make_world() { return {planned("hypercube:3", Collective::allreduce, "bfb"), generate("hypercube:3").value()}; }

class Agreement : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Agreement, AllTurnAtTheSameCall) {
  World world = make_world();
  std::mt19937 random(GetParam());
  std::set<std::pair<int, int>> dead;
  world.weather->fate = [&](const Passing& passing) {
    if (dead.contains({std::min(passing.from, passing.to), std::max(passing.from, passing.to)})) return Fate::stuck;
    return passing.packet && random() % 8 == 0 ? Fate::lost : Fate::arrives;
  };
  Calls calls(world, GetParam());
  const auto run_until = [&](const std::set<Cable>& cables) {
    return world.idle_until([&] {
      calls.advance();
      return calls.all_know(cables);
    });
  };
  const auto cut = [&](NodeId a, NodeId b) {
    dead.emplace(std::min(world.rank_of(a), world.rank_of(b)), std::max(world.rank_of(a), world.rank_of(b)));
  };
  ASSERT_TRUE(run_until({}));
  cut(0, 1);
  calls.repairs[1]->lane_died(0, 0);
  ASSERT_TRUE(run_until({{0, 1}}));
  cut(5, 7);
  calls.repairs[5]->lane_died(7, 0);
  calls.repairs[7]->lane_died(5, 0);
  ASSERT_TRUE(run_until({{0, 1}, {5, 7}}));
  for (const auto& each : calls.turns) EXPECT_EQ(each, calls.turns.front());
  EXPECT_EQ(calls.turns.front().size(), 2U);
  // Afterwards nobody waits.
  const std::int64_t before = *std::min_element(calls.begun.begin(), calls.begun.end());
  EXPECT_TRUE(world.idle_until([&] {
    calls.advance();
    return *std::min_element(calls.begun.begin(), calls.begun.end()) > before + 10;
  }));
}

INSTANTIATE_TEST_SUITE_P(Seeds, Agreement, testing::Range(1U, 9U));

TEST(Repair, WithoutADeadLinkCallsGoOnAsTheyWere) {
  World world = make_world();
  Calls calls(world, 1);
  calls.repairs[3]->lane_died(0, 1);
  EXPECT_TRUE(world.idle_until([&] {
    calls.advance();
    return *std::min_element(calls.begun.begin(), calls.begun.end()) > 100;
  }));
  for (const auto& each : calls.turns) EXPECT_TRUE(each.empty());
}

/// What nobody finds, a message that was only late, must not keep the next cut from being found.
TEST(Repair, ASearchInVainDoesNotPutOffTheNextForLong) {
  World world = make_world();
  bool dead = false;
  world.weather->fate = [&](const Passing& passing) {
    const std::pair ends = std::minmax(passing.from, passing.to);
    return dead && ends == std::minmax(world.rank_of(5), world.rank_of(7)) ? Fate::stuck : Fate::arrives;
  };
  Calls calls(world, 1);
  calls.repairs[3]->lane_died(0, 1);
  ASSERT_TRUE(world.idle_until([&] { return calls.repairs[3]->halted(); }));
  ASSERT_TRUE(world.idle_until([&] { return !calls.repairs[3]->halted(); }));
  dead = true;
  calls.repairs[5]->lane_died(7, 0);
  std::int64_t rounds = 0;
  ASSERT_TRUE(world.idle_until([&] {
    ++rounds;
    calls.advance();
    return calls.all_know({{5, 7}});
  }));
  EXPECT_LT(rounds, 8 * patience);
}

/// Messages that get lost while everybody looks for the reason have the reason that is found.
TEST(Repair, OneCutIsSearchedForOnce) {
  World world = make_world();
  std::set<std::pair<int, int>> dead = {std::minmax(world.rank_of(5), world.rank_of(7))};
  world.weather->fate = [&](const Passing& passing) {
    return dead.contains(std::minmax(passing.from, passing.to)) ? Fate::stuck : Fate::arrives;
  };
  Calls calls(world, 1);
  calls.repairs[5]->lane_died(7, 0);
  ASSERT_TRUE(world.idle_until([&] { return calls.repairs[7]->halted(); }));
  calls.repairs[7]->lane_died(5, 0);
  ASSERT_TRUE(world.idle_until([&] {
    calls.advance();
    return calls.all_know({{5, 7}});
  }));
  bool again = false;
  std::int64_t left = 16 * patience;
  world.idle_until([&] {
    calls.advance();
    again = again ||
            std::any_of(calls.repairs.begin(), calls.repairs.end(), [](const auto& each) { return each->halted(); });
    return --left == 0;
  });
  EXPECT_FALSE(again);
}

/// A rank that is gone leaves the others waiting: it is for their time limit to end that, never with a verdict.
TEST(Repair, NothingIsAgreedWithoutEverybody) {
  World world = make_world();
  const int gone = world.rank_of(6);
  world.weather->fate = [gone](const Passing& passing) {
    return passing.from == gone || passing.to == gone ? Fate::stuck : Fate::arrives;
  };
  Calls calls(world, 1);
  calls.repairs[7]->lane_died(6, 0);
  EXPECT_FALSE(world.idle_until([&] { return !calls.repairs[7]->removed().empty(); }));
  for (NodeId node = 0; node < nodes; ++node) {
    EXPECT_TRUE(node == 6 || calls.repairs[static_cast<std::size_t>(node)]->halted()) << node;
  }
}

TEST(Repair, PlansDoWithoutTheDeadCables) {
  const Topology whole = generate("torus:3x3").value();
  const std::set<Cable> dead = {{0, 1}, {4, 7}};
  const Topology rest = without(whole, dead);
  EXPECT_EQ(rest.link_count(), whole.link_count() - 4);
  for (const auto& [a, b] : dead) {
    EXPECT_EQ(rest.find_link(a, b), -1);
    EXPECT_EQ(rest.find_link(b, a), -1);
  }
  for (const Collective collective : {Collective::allgather, Collective::reduce_scatter, Collective::allreduce}) {
    const Result<Schedule> plan = find_planner(broadcast_planners(), collective, {})->plan(rest, {});
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(verify(*plan), std::vector<std::string>{});
  }
  const Result<Schedule> plan = find_planner(flow_planners(), Collective::alltoall, "mcf-link")->plan(rest, {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(verify(*plan), std::vector<std::string>{});
}

}  // namespace
}  // namespace libcoll
