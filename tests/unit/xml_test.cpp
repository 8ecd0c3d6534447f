// The native file: reads back bit for bit, refuses everything else with file and line, survives any input.
#include "planner/schedule/xml.h"

#include <random>

#include "planner/schedule/reverse.h"
#include "tests/unit/small_schedules.h"

namespace libcoll::xml_test {

using namespace schedule;
using namespace test;

namespace {

TEST(Xml, ReadsBackBitForBit) {
  auto schedules = all_small_schedules();
  schedules.push_back(awkward_schedule());
  schedules.push_back(*concatenate(ring_reduce_scatter(4, 2), ring_allgather(4, 3)));
  for (const Schedule& schedule : schedules) {
    EXPECT_EQ(verify(schedule), std::vector<std::string>{}) << name_of(schedule);
    const std::string text = write_schedule(schedule);
    const auto read = read_schedule(text, "a.xml");
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(*read, schedule) << name_of(schedule);
    EXPECT_EQ(write_schedule(*read), text);
  }
}

TEST(Xml, KeepsRouteClasses) {
  Schedule schedule = routed_alltoall();
  EXPECT_EQ(write_schedule(schedule).find("class="), std::string::npos);
  schedule.routes[0].route_class = 1;
  schedule.routes[2].route_class = 4095;
  const std::string text = write_schedule(schedule);
  EXPECT_NE(text.find("class=\"1\""), std::string::npos);
  EXPECT_EQ(text.find("class=\"0\""), std::string::npos);
  const auto read = read_schedule(text, "a.xml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, schedule);
  EXPECT_EQ(verify(*read), std::vector<std::string>{});
}

TEST(Xml, KeepsTheOrderOfTransfers) {
  Schedule schedule = ring_allgather(4);
  std::mt19937 random(7);
  std::shuffle(schedule.transfers.begin(), schedule.transfers.end(), random);
  const auto read = read_schedule(write_schedule(schedule), "a.xml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, schedule);
}

TEST(Xml, TakesCommentsAndADeclaration) {
  const Schedule schedule = ring_allgather(3);
  const auto read =
      read_schedule("<?xml version=\"1.0\"?>\n<!-- planned by hand -->\n" + write_schedule(schedule), "a.xml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, schedule);
}

TEST(Xml, IsCompact) {
  // 63·64 blocks of a complete graph: what a planner writes for N = 64 stays well below a megabyte.
  const Schedule schedule = complete_alltoall(64);
  const std::string text = write_schedule(schedule);
  EXPECT_LT(text.size(), 700'000U);
  const auto read = read_schedule(text, "a.xml");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, schedule);
}

TEST(Xml, RefusesElementsWithoutEnd) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<step>";
  const auto read = read_schedule(deep, "dir/plan.xml");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message.rfind("dir/plan.xml:1: ", 0), 0U) << read.error().message;
}

/// A mutated file is refused or gives a schedule that verify can look at; either way nothing crashes.
TEST(Xml, SurvivesMutation) {
  std::mt19937 random(20240607);
  const auto below = [&random](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  const std::vector<std::string> tokens = {"0",   "-1",   "2147483647", "4294967296", "1/3",     "\"",
                                           "<",   "/>",   "<t",         "&#0;",       "</step>", " ",
                                           "999", "e308", "nan",        "<!--",       "]]>",     std::string(1, '\0')};
  std::vector<std::string> seeds;
  for (const Schedule& schedule : {routed_alltoall(), tree_allreduce(2, 2), switched_allgather()}) {
    seeds.push_back(write_schedule(schedule));
  }
  std::size_t refused = 0;
  std::size_t wrong = 0;
  for (int round = 0; round < 12000; ++round) {
    std::string text = seeds[below(seeds.size())];
    for (std::size_t edits = 1 + below(3); edits > 0; --edits) {
      const std::size_t at = below(text.size());
      switch (below(6)) {
        case 0:
          text[at] = static_cast<char>(below(256));
          break;
        case 1:
          text.erase(at, 1 + below(20));
          break;
        case 2:
          text.insert(at, tokens[below(tokens.size())]);
          break;
        case 3:
          text.insert(below(text.size()), text.substr(at, below(200)));
          break;
        default: {  // another digit: the mutation most likely to be read
          const std::size_t digit = text.find_first_of("0123456789", at);
          if (digit != std::string::npos) text[digit] = static_cast<char>('0' + below(10));
        }
      }
      if (text.empty()) text = " ";
    }
    const auto read = read_schedule(text, "f");
    if (!read.ok()) {
      ++refused;
      EXPECT_EQ(read.error().message.rfind("f:", 0), 0U) << read.error().message;
    } else if (!verify(*read).empty()) {
      ++wrong;
    }
  }
  EXPECT_GT(refused, 100U);
  EXPECT_GT(wrong, 100U);  // the digits: well-formed, and wrong
}

}  // namespace
}  // namespace libcoll::xml_test
