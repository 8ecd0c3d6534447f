// Every figure that a schedule claims is computed again, and named when it is another.
#include "planner/plan/claims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "planner/broadcast/planners.h"
#include "planner/flow/planners.h"
#include "planner/registry/planner.h"
#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"
#include "planner/topology/generators.h"
#include "tests/unit/measured_fabrics.h"

namespace libcoll::claims_test {

using namespace broadcast;
using namespace default_plan;
using namespace flow;
using namespace registry;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

struct Case {
  std::string name;
  Schedule schedule;
};

/// Plans of every planner that takes the topology, as the command writes them.
std::vector<Case> plans_on(const Topology& topology) {
  std::vector<Case> cases;
  const auto add = [&](std::span<const Planner> table) {
    for (const Planner& planner : table) {
      if (planner.needs.has(Need::lockstep)) continue;
      PlanOptions options;
      options.time_limit_seconds = 2;
      Result<Schedule> schedule = planner.plan(topology, options);
      if (!schedule) continue;
      claim_what_is_reached(*schedule);
      cases.push_back(
          {std::string(planner.name) + " " + std::string(to_string(planner.collective)) + " on " + topology.name(),
           std::move(*schedule)});
    }
  };
  add(broadcast_planners());
  add(flow_planners());
  return cases;
}

std::vector<Topology> topologies() {
  std::vector<Topology> list;
  for (const char* specification : {"torus:3x3", "genkautz:8,2", "mesh:2x3"}) {
    list.push_back(generate(specification).value());
  }
  Topology injected = generate("hypercube:3").value();
  injected.set_injection_bytes_per_second(2 * default_bandwidth_bytes_per_second);
  list.push_back(std::move(injected));
  list.push_back(measured_ring(8, {3, 0}, 5));
  return list;
}

bool names(const std::vector<FalseClaim>& claims, const std::string& name) {
  return std::any_of(claims.begin(), claims.end(), [&](const FalseClaim& claim) { return claim.name == name; });
}

TEST(Claims, OfEveryPlannerHold) {
  for (const Topology& topology : topologies()) {
    const std::vector<Case> cases = plans_on(topology);
    EXPECT_GT(cases.size(), 10U);
    for (const auto& [name, schedule] : cases) {
      EXPECT_EQ(verify(schedule), std::vector<std::string>{}) << name;
      for (const FalseClaim& claim : false_claims(schedule)) ADD_FAILURE() << name << ": " << to_string(claim);
      const Schedule read = read_schedule(write_schedule(schedule), "test").value();
      EXPECT_EQ(read, schedule) << name;
    }
  }
}

TEST(Claims, ThatAreAlteredAreNamed) {
  using Change = std::function<void(Proof&, const Rational&)>;
  struct Figure {
    const char* name;
    Change scale;
    std::function<bool(const Proof&)> is_claimed;
  };
  const std::vector<Figure> figures = {
      {"bandwidth_time", [](Proof& p, const Rational& by) { p.bandwidth_time *= by; },
       [](const Proof&) { return true; }},
      {"bandwidth_bound", [](Proof& p, const Rational& by) { p.bandwidth_bound *= by; },
       [](const Proof& p) { return p.bandwidth_bound != Rational(0); }},
      {"max_link_load", [](Proof& p, const Rational& by) { p.max_link_load *= by; }, [](const Proof&) { return true; }},
      {"flow", [](Proof& p, const Rational& by) { p.flow *= by.to_double(); },
       [](const Proof& p) { return p.flow != 0; }},
      {"flow_upper_bound", [](Proof& p, const Rational& by) { p.flow_upper_bound *= by.to_double(); },
       [](const Proof& p) { return p.flow_upper_bound != 0; }},
  };
  std::int32_t altered = 0;
  for (const Topology& topology : topologies()) {
    for (const auto& [name, schedule] : plans_on(topology)) {
      for (const Figure& figure : figures) {
        if (!figure.is_claimed(schedule.proof)) continue;
        for (const Rational& by : {Rational(3, 2), Rational(1, 2), Rational(1001, 1000), Rational(999, 1000)}) {
          Schedule liar = schedule;
          figure.scale(liar.proof, by);
          EXPECT_TRUE(names(false_claims(liar), figure.name)) << figure.name << " × " << by.to_string() << ", " << name;
          ++altered;
        }
      }
      Schedule above = schedule;
      above.proof.bandwidth_bound = above.proof.bandwidth_time * Rational(11, 10);
      EXPECT_TRUE(names(false_claims(above), "bandwidth_bound")) << name;
      Schedule longer = schedule;
      ++longer.steps;
      EXPECT_TRUE(names(false_claims(longer), "steps")) << name;
    }
  }
  EXPECT_GT(altered, 1000);
}

TEST(Claims, OfAnAllToAllNeedTheCertificateTheyCarry) {
  const Topology topology = generate("genkautz:8,2").value();
  const Result<Planner> planner = find_planner(flow_planners(), Collective::alltoall, "mcf-path");
  Schedule schedule = planner->plan(topology, {}).value();
  claim_what_is_reached(schedule);
  ASSERT_FALSE(schedule.proof.lengths.empty());
  schedule.proof.lengths.pop_back();
  EXPECT_TRUE(names(false_claims(schedule), "flow_upper_bound"));
  schedule.proof.lengths.assign(static_cast<std::size_t>(topology.link_count()), 0);
  EXPECT_TRUE(names(false_claims(schedule), "flow_upper_bound"));
}

}  // namespace
}  // namespace libcoll::claims_test
