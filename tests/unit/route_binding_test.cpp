// Route binding files: what is written reads back, what is wrong is refused with its line; digests of route sets.
#include "planner/schedule/route_binding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "planner/route/route_classes.h"
#include "planner/route/sssp.h"
#include "planner/topology/generators.h"

namespace libcoll::route_binding_test {

using namespace route;
using namespace schedule;
using namespace topology;

namespace {

TEST(RouteBinding, ReadsTheDocumentedForm) {
  const auto binding = read_route_binding(R"(
backend = "ucp"
routes = "0123456789abcdef"

[[class]]
class = 0
NET_DEVICES = "L0"

[[class]]
class = 1
NET_DEVICES = "mlx5_0:1"
IB_LID_PATH_BITS = 3
IB_TRAFFIC_CLASS = "32"
path_index = 2
)",
                                          "a.toml");
  ASSERT_TRUE(binding.ok()) << binding.error().message;
  RouteBinding expected;
  expected.routes = "0123456789abcdef";
  expected.classes.push_back({0, {{"NET_DEVICES", "L0"}}, std::nullopt});
  expected.classes.push_back(
      {1, {{"NET_DEVICES", "mlx5_0:1"}, {"IB_LID_PATH_BITS", "3"}, {"IB_TRAFFIC_CLASS", "32"}}, 2});
  EXPECT_EQ(*binding, expected);
}

TEST(RouteBinding, FillsInWhatMayBeLeftOut) {
  const auto binding = read_route_binding("[[class]]\nclass = 2\nIB_SL = 2\n[[class]]\nclass = 1\n", "a.toml");
  ASSERT_TRUE(binding.ok()) << binding.error().message;
  EXPECT_EQ(binding->backend, SteeringBackend::ucp);
  EXPECT_EQ(binding->routes, "");
  ASSERT_EQ(binding->classes.size(), 3U);
  for (std::int32_t i = 0; i < 3; ++i) EXPECT_EQ(binding->classes[static_cast<std::size_t>(i)].route_class, i);
  EXPECT_TRUE(binding->classes[0].settings.empty());
  EXPECT_EQ(binding->classes[2].settings.front(), (std::pair<std::string, std::string>{"IB_SL", "2"}));
}

TEST(RouteBinding, TellsTheLayersOfAClassApart) {
  const auto binding = read_route_binding(R"(
[[class]]
class = 1
layer = 2
IB_SL = 5
[[class]]
class = 1
layer = 0
IB_SL = 4
[[class]]
class = 2
IB_SL = 6
)",
                                          "a.toml");
  ASSERT_TRUE(binding.ok()) << binding.error().message;
  ASSERT_EQ(binding->classes.size(), 4U);
  EXPECT_EQ(binding->classes[1].layer, 0);
  EXPECT_EQ(binding->classes[2].layer, 2);
  EXPECT_EQ(binding->classes[3].layer, std::nullopt);
  const auto context = [&](std::int32_t route_class, std::int32_t layer) {
    Route route;
    route.route_class = route_class;
    route.layer = layer;
    return context_of(*binding, route);
  };
  EXPECT_EQ(context(0, 7), 0);
  EXPECT_EQ(context(1, 0), 1);
  EXPECT_EQ(context(1, 1), std::nullopt);
  EXPECT_EQ(context(1, 2), 2);
  EXPECT_EQ(context(1, 3), std::nullopt);
  EXPECT_EQ(context(2, 0), 3);
  EXPECT_EQ(context(2, 3), 3);
  EXPECT_EQ(context(3, 0), std::nullopt);
  const auto again = read_route_binding(write_route_binding(*binding), "b.toml");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(*again, *binding);
}

TEST(RouteBinding, ReadsBackWhatItWrites) {
  RouteBinding ucp;
  ucp.routes = "00ff00ff00ff00ff";
  ucp.classes.push_back({0, {}, std::nullopt});
  ucp.classes.push_back({1, {{"Z", "last first"}, {"A", "\"quotes\" \\ \t\n\x01\x7f"}, {"EMPTY", ""}}, 0});
  ucp.classes.push_back({2, {{"NET_DEVICES", "\xc3\xa9"}}, 65535});
  RouteBinding uct;
  uct.backend = SteeringBackend::uct;
  for (std::int32_t i = 0; i < 20; ++i) uct.classes.push_back({i, {}, i});
  for (const RouteBinding& binding : {ucp, uct}) {
    const std::string text = write_route_binding(binding);
    const auto read = read_route_binding(text, "a.toml");
    ASSERT_TRUE(read.ok()) << read.error().message << "\n" << text;
    EXPECT_EQ(*read, binding) << text;
    EXPECT_EQ(write_route_binding(*read), text);
  }
}

TEST(RouteBinding, LoadsAFileAndSaysWhichIsMissing) {
  const std::string path = testing::TempDir() + "route_binding_test.toml";
  RouteBinding binding;
  binding.classes = {{0, {}, std::nullopt}, {1, {{"NET_DEVICES", "L1"}}, std::nullopt}};
  std::ofstream(path) << write_route_binding(binding);
  const auto loaded = load_route_binding(path);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(*loaded, binding);
  std::ofstream(path) << "\nnonsense = 1\n";
  const auto nonsense = load_route_binding(path);
  ASSERT_FALSE(nonsense.ok());
  EXPECT_EQ(nonsense.error().message.rfind(path + ":2: ", 0), 0U) << nonsense.error().message;
  EXPECT_EQ(std::remove(path.c_str()), 0);
  const auto missing = load_route_binding(path);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find(path), std::string::npos) << missing.error().message;
  EXPECT_FALSE(load_route_binding(testing::TempDir()).ok());
}

class RouteSetDigest : public testing::Test {
 protected:
  RouteSetDigest() { assign_route_classes(topology_, routes_); }

  [[nodiscard]] std::string digest() const { return route_set_digest(topology_, routes_); }

  Topology topology_ = generate("torus:3x3").value();
  std::vector<Route> routes_ = sssp_routes(topology_).value();
};

TEST_F(RouteSetDigest, HasSixteenDigitsThatAFileTakes) {
  EXPECT_EQ(digest().size(), 16U);
  EXPECT_EQ(digest().find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(route_set_digest(topology_, {}).size(), 16U);
  EXPECT_NE(route_set_digest(topology_, {}), digest());
  RouteBinding binding;
  binding.routes = digest();
  binding.classes = {{0, {}, std::nullopt}};
  EXPECT_EQ(*read_route_binding(write_route_binding(binding), "a.toml"), binding);
}

TEST_F(RouteSetDigest, DoesNotDependOnOrderRepetitionOrLayer) {
  const std::string before = digest();
  std::reverse(routes_.begin(), routes_.end());
  EXPECT_EQ(digest(), before);
  routes_.push_back(routes_.front());
  EXPECT_EQ(digest(), before);
  for (Route& route : routes_) route.layer += 3;
  EXPECT_EQ(digest(), before);
}

TEST_F(RouteSetDigest, DependsOnClassPathAndWhichRoutesThereAre) {
  const std::string before = digest();
  for (Route& route : routes_) {
    ++route.route_class;
    EXPECT_NE(digest(), before);
    --route.route_class;
  }
  const auto detour = std::find_if(routes_.begin(), routes_.end(), [](const Route& r) { return r.links.size() == 2; });
  ASSERT_NE(detour, routes_.end());
  const std::vector<LinkId> way = detour->links;
  const NodeId passed = topology_.link(way[0]).to;
  for (NodeId other = 0; other < topology_.node_count(); ++other) {
    const LinkId first = topology_.find_link(detour->source, other);
    const LinkId second = topology_.find_link(other, detour->destination);
    if (other == passed || first < 0 || second < 0) continue;
    detour->links = {first, second};
    EXPECT_NE(digest(), before);
  }
  EXPECT_NE(detour->links, way);
  detour->links = way;
  EXPECT_EQ(digest(), before);
  routes_.pop_back();
  EXPECT_NE(digest(), before);
}

// Links are numbered by the file that lists them; what the fabric follows are nodes.
TEST_F(RouteSetDigest, SpeaksOfNodesNotOfLinkNumbers) {
  const auto last = static_cast<LinkId>(topology_.link_count() - 1);
  std::vector<Link> links(topology_.links().rbegin(), topology_.links().rend());
  const Topology renumbered =
      Topology::make("other", {topology_.nodes().begin(), topology_.nodes().end()}, std::move(links)).value();
  std::vector<Route> routes = routes_;
  for (Route& route : routes) {
    for (LinkId& link : route.links) link = last - link;
  }
  EXPECT_EQ(route_set_digest(renumbered, routes), digest());
}

}  // namespace
}  // namespace libcoll::route_binding_test
