// A topology file that changes under a running job: when it is believed, and what of it a communicator's hosts see.
#include "libcoll/recover/topology_watch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "libcoll/recover/changed_fabric.h"
#include "planner/topology/generators.h"
#include "planner/topology/part.h"
#include "planner/topology/reader.h"

namespace libcoll::topology_watch_test {

using namespace recover;
using namespace topology;

namespace {

constexpr std::int64_t second = 1'000'000'000;

class WatchedFile : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = (std::filesystem::temp_directory_path() / "libcoll-watch-XXXXXX").string();
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    path_ = directory_ + "/fabric.toml";
    write(start_text);
    watch_.open(path_);
    start_ = *load_topology(path_);
    watch_.set_start(start_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  /// A file of its own, so that no two have the same identity.
  void write(const std::string& text) {
    std::ofstream(path_ + ".new") << text;
    std::filesystem::rename(path_ + ".new", path_);
  }
  /// The next look's, after so long.
  FabricChange look(std::int64_t later = second) { return watch_.look(now_ += later); }

  static constexpr const char* start_text = "name = \"f\"\ngenerator = \"ring:4\"\n";
  static constexpr const char* cut_text = "name = \"f\"\ngenerator = \"ring:4\"\nremoved_links = [[\"0\", \"1\"]]\n";
  std::string directory_;
  std::string path_;
  Topology start_;
  TopologyWatch watch_;
  std::int64_t now_ = second;
};

TEST_F(WatchedFile, ChangesOnceItHasStayedAsItIsForALook) {
  EXPECT_EQ(look().number, 0U);
  write(cut_text);
  EXPECT_EQ(look().number, 0U);
  const FabricChange change = look();
  EXPECT_EQ(change.number, 1U);
  ASSERT_NE(change.fabric, nullptr);
  EXPECT_EQ(change.fabric->find_link(0, 1), -1);
  EXPECT_EQ(look().number, 1U);
  EXPECT_TRUE(watch_.knows_of_change());
}

TEST_F(WatchedFile, IsLookedAtOnceASecondAtMost) {
  EXPECT_EQ(look().number, 0U);
  write(cut_text);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(look(second / 10).number, 0U);
  EXPECT_EQ(look(second / 10).number, 0U);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(look(second / 10).number, 0U);
  EXPECT_EQ(look(second / 10).number, 1U);
}

TEST_F(WatchedFile, ThatIsAsAtTheStartAgainSaysSo) {
  write(cut_text);
  look();
  EXPECT_EQ(look().number, 1U);
  write(start_text);
  look();
  const FabricChange change = look();
  EXPECT_EQ(change.number, 2U);
  EXPECT_EQ(change.fabric, nullptr);
}

TEST_F(WatchedFile, OfTheSameMeaningHasNotChanged) {
  write(std::string("# Rewritten.\n") + start_text);
  look();
  EXPECT_EQ(look().number, 0U);
  EXPECT_FALSE(watch_.knows_of_change());
}

TEST_F(WatchedFile, ThatCannotBeReadChangesNothingAndIsToldOfOnce) {
  testing::internal::CaptureStderr();
  write("generator = \"ring:\n");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(look().number, 0U);
  std::filesystem::remove(path_);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(look().number, 0U);
  const std::string said = testing::internal::GetCapturedStderr();
  std::size_t warnings = 0;
  for (std::size_t found = 0; (found = said.find("the plans stay as they are", found)) != std::string::npos; ++found) {
    ++warnings;
  }
  EXPECT_EQ(warnings, 2U) << said;
  write(cut_text);
  look();
  EXPECT_EQ(look().number, 1U);
}

TEST_F(WatchedFile, IsBelievedAtOnceWhereAnotherProcessHasSeenItChange) {
  write(cut_text);
  EXPECT_EQ(watch_.look_at_once().number, 1U);
}

TEST(TopologyWatch, ASpecificationIsNoFile) {
  TopologyWatch watch;
  watch.open("torus:2x2x2");
  EXPECT_FALSE(watch.is_file());
  EXPECT_EQ(watch.look(second).number, 0U);
}

// ---- what hosts see ----------------------------------------------------------------------------------------------

Topology read(const std::string& text) { return *read_topology(text, "test.toml"); }

const std::string named = "name = \"f\"\ngenerator = \"ring:4\"\nhosts = \"n[0-3]\"\n";

TEST(ChangedFabric, WiringTellsLinksFromBandwidths) {
  const Topology start = read(named);
  EXPECT_EQ(wiring_change(start, start), WiringChange::none);
  EXPECT_EQ(wiring_change(start, read(named + "[defaults]\nbandwidth = \"1Gbps\"\n")), WiringChange::none);
  const Topology cut = read(named + "removed_links = [[\"0\", \"1\"]]\n");
  EXPECT_EQ(wiring_change(start, cut), WiringChange::fewer);
  EXPECT_EQ(wiring_change(cut, start), WiringChange::more);
}

TEST(ChangedFabric, HostsAreFoundByNameWhereverTheyAreListed) {
  const Topology start = read(named);
  const Topology turned = read("name = \"f\"\ngenerator = \"ring:4\"\nhosts = \"n[1-3],n0\"\n");
  const std::vector<NodeId> all{0, 1, 2, 3};
  const Result<Topology> seen = fabric_of(turned, start, all);
  ASSERT_TRUE(seen.ok());
  for (NodeId host = 0; host < 4; ++host) EXPECT_EQ(seen->node(host).host, start.node(host).host);
  EXPECT_EQ(wiring_change(start, *seen), WiringChange::none);
  const Result<Topology> same = fabric_of(start, start, all);
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(*same == start);
}

TEST(ChangedFabric, APartHasItsHostsInTheCommunicatorsOrder) {
  const Topology start = read(named);
  const Topology larger = read("name = \"f\"\ngenerator = \"complete:5\"\nhosts = \"n[0-4]\"\n");
  const std::vector<NodeId> hosts{3, 0, 1};
  const Result<Topology> seen = fabric_of(larger, start, hosts);
  ASSERT_TRUE(seen.ok());
  ASSERT_EQ(seen->host_count(), 3);
  EXPECT_EQ(seen->node(0).host, "n3");
  EXPECT_EQ(seen->node(1).host, "n0");
  EXPECT_EQ(seen->node(2).host, "n1");
}

TEST(ChangedFabric, AHostThatIsGoneIsNamed) {
  const Topology start = read(named);
  const Topology smaller = read("name = \"f\"\ngenerator = \"ring:3\"\nhosts = \"n[0-2]\"\n");
  const Result<Topology> all = fabric_of(smaller, start, std::vector<NodeId>{0, 1, 2, 3});
  ASSERT_FALSE(all.ok());
  EXPECT_NE(all.error().message.find("'n3'"), std::string::npos) << all.error().message;
  EXPECT_TRUE(fabric_of(smaller, start, std::vector<NodeId>{0, 1, 2}).ok());
}

}  // namespace
}  // namespace libcoll::topology_watch_test
