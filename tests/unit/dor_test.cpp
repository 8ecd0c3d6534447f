// Dimension order on tori, meshes and hypercubes, with the loads that theory gives.
#include "planner/route/dor.h"

#include "planner/flow/baseline/single_path.h"
#include "planner/schedule/channel_dependency.h"
#include "planner/schedule/verify.h"
#include "planner/topology/generators.h"
#include "planner/topology/reader.h"
#include "tests/unit/route_checks.h"

namespace libcoll::dor_test {

using namespace flow::baseline;
using namespace route;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

TEST(Dor, GivesOneShortestPathPerPairInLayersThatCannotDeadlock) {
  for (const char* specification :
       {"torus:3x3x3", "torus:3x3x2", "torus:4x1x5", "torus:2x2x2", "torus:6", "mesh:4x4", "mesh:2x3x1", "ring:8",
        "ring:2", "ring:5", "hypercube:1", "hypercube:3", "hypercube:5"}) {
    SCOPED_TRACE(specification);
    const Topology topology = generate(specification).value();
    const auto routes = dor_routes(topology);
    ASSERT_TRUE(routes.ok()) << routes.error().message;
    expect_one_shortest_path_per_pair(topology, *routes);
    EXPECT_TRUE(channel_dependencies_acyclic(topology, *routes));
    for (const Route& route : *routes) EXPECT_EQ(route.route_class, 0);
  }
}

// Links run along one dimension each: with rows of 5 in the last, their ends' ids differ by 1 or 4 there, else more.
TEST(Dor, CorrectsTheFirstDimensionFirst) {
  const Topology torus = generate("torus:4x3x5").value();
  const auto dimension = [&](LinkId id) {
    const Link& link = torus.link(id);
    if (link.from / 15 != link.to / 15) return 0;
    return link.from / 5 != link.to / 5 ? 1 : 2;
  };
  const std::vector<Route> routes = dor_routes(torus).value();
  for (const Route& route : routes) {
    for (std::size_t hop = 1; hop < route.links.size(); ++hop) {
      EXPECT_LE(dimension(route.links[hop - 1]), dimension(route.links[hop]));
    }
  }
}

struct Load {
  const char* specification;
  std::int64_t largest;
};

// On a torus every link of a dimension of k nodes carries N·(sum of distances around the ring)/(links): N·(k²−1)/4k /2
// for odd k, N·k/4 /2 for even k, here evenly by symmetry: 27·(8/12)/2 = 9 (paper 003: F = 1/9), 8, 8. A hypercube's
// link carries N/2. On a mesh of k by k the middle cut has k links for (N/2)² pairs each way: 64/4.
TEST(Dor, HasTheLoadsOfTheory) {
  for (const Load& load : {Load{"torus:3x3x3", 9}, Load{"torus:4x4", 8}, Load{"ring:8", 8}, Load{"hypercube:3", 4},
                           Load{"hypercube:4", 8}, Load{"mesh:4x4", 16}, Load{"torus:5x5", 15}}) {
    const Topology topology = generate(load.specification).value();
    EXPECT_EQ(largest_count(topology, dor_routes(topology).value()), load.largest) << load.specification;
  }
}

TEST(Dor, TiesAroundAnEvenRingGoBothWays) {
  const Topology ring = generate("ring:4").value();
  const std::vector<Route> routes = dor_routes(ring).value();
  std::set<NodeId> upwards;
  for (const Route& route : routes) {
    if (route.links.size() == 2 && ring.link(route.links[0]).to == (route.source + 1) % 4) upwards.insert(route.source);
  }
  EXPECT_EQ(upwards, (std::set<NodeId>{0, 2}));
}

// Without wrap-around no two turns close a cycle (Dally and Seitz 1987): one lane.
TEST(Dor, MeshesAndHypercubesNeedOneLayer) {
  for (const char* specification : {"mesh:4x4", "mesh:3x3x3", "hypercube:4"}) {
    const std::vector<Route> routes = dor_routes(generate(specification).value()).value();
    for (const Route& route : routes) EXPECT_EQ(route.layer, 0) << specification;
  }
}

void expect_refused(const Topology& topology, const std::string& part) {
  const auto routes = dor_routes(topology);
  ASSERT_FALSE(routes.ok()) << "expected: " << part;
  EXPECT_NE(routes.error().message.find(part), std::string::npos) << routes.error().message;
  EXPECT_FALSE(plan_dor(topology, {}).ok());
}

Topology with_links(const Topology& original, const std::string& name, std::vector<Link> links) {
  return Topology::make(name, {original.nodes().begin(), original.nodes().end()}, std::move(links)).value();
}

TEST(Dor, RefusesWhatHasNoDimensions) {
  for (const char* specification : {"genkautz:16,4", "complete:4", "uniring:4", "twisted_hypercube:3"}) {
    expect_refused(generate(specification).value(), "found '" + std::string(specification) + "'");
  }
  const Topology torus = generate("torus:3x3").value();
  std::vector<Link> links(torus.links().begin(), torus.links().end());
  for (const char* name : {"my torus", "", "torus:", "torus:3,3", "hypercube:x"}) {
    expect_refused(with_links(torus, name, links), "found '" + std::string(name) + "'");
  }
  expect_refused(with_links(torus, "torus:3x4", links), "stands for 12 hosts, found 9 and 0 switches");
  expect_refused(with_links(torus, "hypercube:60000", links), "hypercube:60000");
  const Link lost = links.back();
  links.pop_back();
  expect_refused(with_links(torus, "torus:3x3", links),
                 "found none from node '" + std::to_string(lost.from) + "' to node '" + std::to_string(lost.to) + "'");
  links.push_back(lost);
  links.push_back({0, 4});
  expect_refused(with_links(torus, "torus:3x3", links), "found 37 links, expected 36");
}

TEST(Dor, RefusesAFileWithRemovalsAndTakesOneWithoutThem) {
  const std::string text = "generator = \"torus:3x3\"\ndefaults = {bandwidth = \"1Gbps\"}\n";
  EXPECT_TRUE(dor_routes(read_topology(text, "a.toml").value()).ok());
  expect_refused(read_topology(text + "removed_links = [[\"0\", \"1\"]]\n", "a.toml").value(), "with removals");
}

TEST(DorPlan, IsOptimalWhereSymmetryMakesItSo) {
  for (const char* specification : {"torus:3x3x3", "hypercube:3", "torus:4x4", "ring:8"}) {
    SCOPED_TRACE(specification);
    const Schedule plan = plan_dor(generate(specification).value(), {}).value();
    EXPECT_EQ(verify(plan), std::vector<std::string>{});
    EXPECT_EQ(plan.algorithm, "dor");
    EXPECT_EQ(plan.proof.bandwidth_time, plan.proof.bandwidth_bound);
    EXPECT_NEAR(plan.proof.flow, plan.proof.flow_upper_bound, 1e-9);
    for (const Route& route : plan.routes) EXPECT_EQ(route.route_class, 1);
  }
}

// A mesh has no translations, and 100 sources of 360 links are too many for the linear program: the bound is then that
// all hops together need their share of all links.
TEST(DorPlan, LargeTopologiesAreBoundedByTheirDistances) {
  const Topology mesh = generate("mesh:10x10").value();
  const Schedule plan = plan_dor(mesh, {}).value();
  std::int64_t hops = 0;
  for (const Route& route : plan.routes) hops += static_cast<std::int64_t>(route.links.size());
  EXPECT_EQ(plan.proof.bandwidth_bound, Rational(4, 100) * Rational(hops, mesh.link_count()));
  EXPECT_EQ(plan.proof.max_link_load, Rational(250));  // the middle cut: 50·50 pairs over 10 links
}

}  // namespace
}  // namespace libcoll::dor_test
