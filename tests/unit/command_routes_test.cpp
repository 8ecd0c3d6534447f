// libcoll routes as staff meets it: its files, its digest, what it refuses.
#include <algorithm>
#include <sstream>

#include "tests/unit/command_fixture.h"

namespace libcoll::command_routes_test {

using namespace test;

namespace {

/// A ring of three hosts on switches of their own, LMC 2.
std::string ring_of_switches() {
  return read_file(LIBCOLL_TEST_INSTANCES "/../zoo/topology/import/ring-of-switches.ib");
}

std::string digest_in(const std::string& text) {
  const std::string mark = "digest ";
  const std::size_t place = text.find(mark);
  return place == std::string::npos ? "" : text.substr(place + mark.size(), 16);
}

TEST_F(Command, RoutesWritesFilesOfOneDigest) {
  write("fabric.ib", ring_of_switches());
  const Json made = json("routes --fabric fabric.ib --output out --device mlx5_0:1");
  EXPECT_EQ(made["routes"], 6);
  EXPECT_EQ(made["rerouted"], 0);
  EXPECT_EQ(made["F_loss"], 0);
  for (const char* name : {"lfts", "opensm.conf", "route-binding.toml", "trace.sh"}) {
    EXPECT_EQ(digest_in(read_file(path(std::string("out/") + name))), made["routes_digest"]) << name;
  }
  EXPECT_TRUE(contains(read_file(path("out/route-binding.toml")), "NET_DEVICES = \"mlx5_0:1\""));
  EXPECT_EQ(libcoll("verify out/plan.xml").code, 0);
}

TEST_F(Command, RoutesKeepsTheLidsThatThereAre) {
  write("fabric.ib", ring_of_switches());
  ASSERT_EQ(libcoll("routes --fabric fabric.ib --output out").code, 0);
  // Of the adapter of n0, and of its switch.
  EXPECT_TRUE(contains(read_file(path("out/guid2lid")), "0x0000000000000110 0x0004 0x0004"));
  EXPECT_TRUE(contains(read_file(path("out/guid2lid")), "0x0000000000000200 0x0001 0x0001"));
}

TEST_F(Command, RoutesVerifiesAndNamesTheFirstThatDiffers) {
  write("fabric.ib", ring_of_switches());
  ASSERT_EQ(libcoll("routes --fabric fabric.ib --output out").code, 0);
  const Json good = json("routes --fabric fabric.ib --output out --verify out/lfts");
  EXPECT_EQ(good["equal"], 6);
  // The switch of n0 sends what is for n1 (LID 8) the other way round.
  ASSERT_EQ(shell("awk '/^Unicast/ { n0 = /0x0000000000000200/ } n0 && /^0x0008/ { $2 = \"003\" } { print }' out/lfts "
                  ">wrong")
                .code,
            0);
  const Json wrong = json("routes --fabric fabric.ib --output out --verify wrong", 1);
  EXPECT_EQ(wrong["ok"], false);
  EXPECT_EQ(wrong["equal"], 5);
  EXPECT_EQ(wrong["first_difference"],
            "route 0 from 'n0' to 'n1' in class 1 (LID 8): found port 3 of 'ring0 edge' to 'ring2 edge', expected port "
            "2 of 'ring0 edge' to 'ring1 edge'");
}

TEST_F(Command, RoutesRefusesABindingOfAnotherPlan) {
  write("fabric.ib", ring_of_switches());
  ASSERT_EQ(libcoll("routes --fabric fabric.ib --output out").code, 0);
  ASSERT_EQ(shell("sed -i 's/^routes = .*/routes = \"0123456789abcdef\"/' out/route-binding.toml").code, 0);
  expect_refused("routes --fabric fabric.ib --output out --verify out/lfts",
                 "out/route-binding.toml: found the digest 0123456789abcdef, expected ");
}

TEST_F(Command, RoutesTakesPathBitsThatPortsHave) {
  std::string text = ring_of_switches();
  write("fabric.ib", text);
  ASSERT_EQ(libcoll("routes --fabric fabric.ib --output out").code, 0);
  const std::string lid = "# lid 4 lmc 2";
  ASSERT_TRUE(contains(text, lid));
  text.replace(text.find(lid), lid.size(), "# lid 0 lmc 0");
  write("without.ib", text);
  expect_refused("routes --fabric without.ib --output out --verify out/lfts",
                 "without.ib: found LID 0 and LMC 0 at 'n0 HCA-1'");
}

// Each of nine hosts sends eight blocks, half of each by a port: 4 on every host cable, so F is 1/4; the tori have
// room.
TEST_F(Command, RoutesTellsPortsOnSeveralSwitchesApart) {
  write("fabric.ib", read_file(LIBCOLL_TEST_INSTANCES "/../zoo/topology/import/two-planes.ib"));
  const Json made = json("routes --fabric fabric.ib --output out --device mlx5_0:1,mlx5_1:1");
  EXPECT_EQ(made["ports"], 2);
  EXPECT_EQ(made["F"], 0.25);
  EXPECT_EQ(made["F_loss"], 0);
  EXPECT_EQ(made["rerouted"], 0);
  const std::string binding = read_file(path("out/route-binding.toml"));
  EXPECT_TRUE(contains(binding, "NET_DEVICES = \"mlx5_0:1\""));
  EXPECT_TRUE(contains(binding, "NET_DEVICES = \"mlx5_1:1\""));
  EXPECT_EQ(libcoll("verify out/plan.xml").code, 0);
  // A topology is planned for in the same way.
  ASSERT_EQ(libcoll("topo --import ibnetdiscover fabric.ib --export toml --output fabric.toml").code, 0);
  EXPECT_EQ(json("routes fabric.toml --fabric fabric.ib")["F"], 0.25);
  // Its own plan can be given.
  EXPECT_EQ(json("routes out/plan.xml --fabric fabric.ib")["classes"], made["classes"]);
}

// Shortest paths around a ring of five take two lanes; in one, what that costs is said.
TEST_F(Command, PlanSaysWhatFewerLanesCostWhereClassesCount) {
  write("ring.toml", "generator = \"ring:5\"\n");
  const Json free = json("plan ring.toml alltoall --algorithm mcf-path --class-loss 0");
  EXPECT_EQ(free["layers"], 2);
  const Json capped = json("plan ring.toml alltoall --algorithm mcf-path --class-loss 0 --max-layers 1");
  EXPECT_EQ(capped["layers"], 1);
  EXPECT_LT(capped["F"], free["F"]);
  EXPECT_GT(capped["loss_layers"], 0);
}

TEST_F(Command, ManPageOfRoutesNamesEveryOptionAndField) {
  const std::string page = read_file(LIBCOLL_MANUAL_PAGES "/libcoll-routes.1");
  std::istringstream words(libcoll("routes --help").out);
  int options = 0;
  for (std::string word; words >> word;) {
    if (!word.starts_with("--") || word == "--") continue;
    std::string option = word.substr(0, word.find_first_of("=,:;{"));
    for (std::size_t at = 0; (at = option.find('-', at)) != std::string::npos; at += 2) option.insert(at, "\\");
    EXPECT_TRUE(contains(page, option) || option == "\\-\\-help") << option;
    ++options;
  }
  EXPECT_GT(options, 8);
  write("fabric.ib", ring_of_switches());
  for (const char* call :
       {"routes --fabric fabric.ib --output out", "routes --fabric fabric.ib --output out --verify out/lfts"}) {
    const Json printed = json(call);
    for (const auto& [field, value] : printed.items()) EXPECT_TRUE(contains(page, field)) << call << ": " << field;
  }
}

}  // namespace
}  // namespace libcoll::command_routes_test
