// The native file: reads back bit for bit, refuses everything else with file and line, survives any input.
#include "planner/schedule/xml.h"

#include <random>

#include "planner/schedule/reverse.h"
#include "tests/unit/small_schedules.h"

namespace libcoll {
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

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

void expect_refused(const std::string& text, const std::string& position, const std::string& part) {
  const auto read = read_schedule(text, "dir/plan.xml");
  ASSERT_FALSE(read.ok()) << "expected: " << part;
  EXPECT_EQ(read.error().message.rfind(position, 0), 0U) << read.error().message;
  EXPECT_NE(read.error().message.find(part), std::string::npos) << read.error().message;
}

TEST(Xml, RefusesWithFileAndLine) {
  // Lines: 1 root, 2 topology, 3–5 nodes, 6–8 links, 9 end, 10 proof, 11–13 routes, 14 step, 15.. transfers.
  const std::string good = write_schedule(routed_alltoall());
  ASSERT_TRUE(read_schedule(good, "good").ok());
  struct Case {
    const char* from;
    const char* to;
    const char* position;
    const char* part;
  };
  const std::vector<Case> cases = {
      {"version=\"1\"", "version=\"2\"", "dir/plan.xml:1: ", "version=\"2\""},
      {"version=\"1\" ", "", "dir/plan.xml:1: ", "lacks the attribute 'version'"},
      {"\"alltoall\"", "\"scan\"", "dir/plan.xml:1: ", "unknown collective 'scan'"},
      {"nodes=\"3\"", "nodes=\"4\"", "dir/plan.xml:2: ", "3 hosts, the schedule says 4"},
      {"nodes=\"3\"", "nodes=\"-3\"", "dir/plan.xml:1: ", "nodes=\"-3\""},
      {"nodes=\"3\"", "nodes=\"3 \"", "dir/plan.xml:1: ", "an integer"},
      {"nodes=\"3\"", "nodes=\"99999999999999999999\"", "dir/plan.xml:1: ", "an integer"},
      {"chunks_per_shard=\"2\"", "chunks_per_shard=\"0\"", "dir/plan.xml:1: ", "chunks_per_shard=\"0\""},
      {"steps=\"1\"", "steps=\"2147483647\"", "dir/plan.xml:1: ", "steps"},
      {"steps=\"1\"", "steps=\"1\" steps=\"1\"", "dir/plan.xml:1: ", "twice"},
      {"steps=\"1\"", "steps=\"1\" size=\"1\"", "dir/plan.xml:1: ", "unknown attribute 'size'"},
      {"<topology", "<topologie", "dir/plan.xml:9: ", "Start-end tags mismatch"},
      {"nics_forward=\"1\"", "nics_forward=\"2\"", "dir/plan.xml:2: ", "nics_forward"},
      {"<node name=\"1\"/>", "<nodes name=\"1\"/>", "dir/plan.xml:4: ", "found <nodes>"},
      {"<node name=\"1\"/>", "<node name=\"1\">x</node>", "dir/plan.xml:4: ", "found text inside <node>"},
      {"<node name=\"1\"/>", "text", "dir/plan.xml:4: ", "found text"},
      {"<node name=\"1\"/>", "<![CDATA[text]]>", "dir/plan.xml:4: ", "found text"},
      {"<node name=\"1\"/>", "<node name=\"1\" switch=\"1\"/>", "dir/plan.xml:2: ", "bad <topology>"},
      {"<link from=\"0\" to=\"1\"", "<link from=\"0\" to=\"0\"", "dir/plan.xml:2: ", "bad <topology>"},
      {"<link from=\"0\" to=\"1\"", "<link from=\"0\" to=\"3\"", "dir/plan.xml:6: ", "to=\"3\""},
      {"bandwidth=\"3125000000\"", "bandwidth=\"0\"", "dir/plan.xml:6: ", "bandwidth"},
      {"latency=\"1e-06\"", "latency=\"nan\"", "dir/plan.xml:6: ", "latency"},
      {"latency=\"1e-06\"", "latency=\"-1\"", "dir/plan.xml:6: ", "latency"},
      {"<proof", "<proof a=\"1\"", "dir/plan.xml:10: ", "unknown attribute 'a'"},
      {"bandwidth_time=\"1\"", "bandwidth_time=\"1/0\"", "dir/plan.xml:10: ", "a fraction"},
      {"bandwidth_time=\"1\"", "bandwidth_time=\"-1\"", "dir/plan.xml:10: ", "a fraction"},
      {"bandwidth_time=\"1\"", "bandwidth_time=\"1/2/3\"", "dir/plan.xml:10: ", "a fraction"},
      {"links=\"0 1\"", "links=\"0 3\"", "dir/plan.xml:11: ", "link ids 0..2"},
      {"links=\"0 1\"", "links=\"0  1\"", "dir/plan.xml:11: ", "link ids"},
      {"links=\"0 1\"", "links=\"0 1 \"", "dir/plan.xml:11: ", "link ids"},
      {"layer=\"0\"", "layer=\"256\"", "dir/plan.xml:11: ", "layer"},
      {"layer=\"0\"", "layer=\"0\" class=\"-1\"", "dir/plan.xml:11: ", "class=\"-1\""},
      {"layer=\"0\"", "layer=\"0\" class=\"4096\"", "dir/plan.xml:11: ", "an integer from 0 to 4095"},
      {"layer=\"0\"", "layer=\"0\" class=\"\"", "dir/plan.xml:11: ", "an integer from 0 to 4095"},
      {"<step s=\"1\"", "<step s=\"2\"", "dir/plan.xml:14: ", "s=\"2\""},
      {"<t u=\"0\" v=\"1\" s=\"1\"", "<t u=\"0\" v=\"1\" s=\"9\"", "dir/plan.xml:15: ", "s=\"9\""},
      {"c=\"0\" cnt=\"2\"", "c=\"1\" cnt=\"2\"", "dir/plan.xml:15: ", "cnt=\"2\""},
      {" r=\"0\"", " r=\"3\"", "dir/plan.xml:16: ", "r=\"3\""},
      {" r=\"0\"", " r=\"-1\"", "dir/plan.xml:16: ", "r=\"-1\""},
      {" r=\"0\"", " type=\"add\"", "dir/plan.xml:16: ", "type=\"add\""},
      {"</libcoll_schedule>", "</libcoll_schedule>\n<more/>", "dir/plan.xml:23: ", "nothing after"},
      {"</libcoll_schedule>", "</libcoll_schedule>\nmore", "dir/plan.xml:23: ", "nothing after"},
      {"</libcoll_schedule>", "", "dir/plan.xml:", "expected a schedule file"},
  };
  for (const Case& c : cases) expect_refused(replaced(good, c.from, c.to), c.position, c.part);
}

TEST(Xml, ARootIsThereWhereItBelongs) {
  const std::string good = write_schedule(ring_broadcast(4, 1));
  ASSERT_NE(good.find(" root=\"1\""), std::string::npos);
  const auto with = [&good](const std::string& part, const std::string& by) {
    std::string text = good;
    return text.replace(text.find(part), part.size(), by);
  };
  expect_refused(with(" root=\"1\"", ""), "dir/plan.xml:1: ", "lacks the attribute 'root'");
  expect_refused(with(" root=\"1\"", " root=\"4\""), "dir/plan.xml:1: ", "root=\"4\"");
  expect_refused(with("\"broadcast\"", "\"allgather\""), "dir/plan.xml:1: ", "allgather has no root");
}

TEST(Xml, RefusesWhatIsNoSchedule) {
  expect_refused("", "dir/plan.xml:1: ", "expected <libcoll_schedule>");
  expect_refused("\ntorus:3x3x3\n", "dir/plan.xml:2: ", "found text, expected <libcoll_schedule>");
  expect_refused("<algo name=\"a\"></algo>", "dir/plan.xml:1: ", "found <algo>, expected <libcoll_schedule>");
  expect_refused("{\"json\": 1}", "dir/plan.xml:1: ", "found text, expected <libcoll_schedule>");
  expect_refused(std::string("\n\0", 2), "dir/plan.xml:2: ", "found a NUL");
  expect_refused("\n\n<libcoll_schedule version=\"1\">", "dir/plan.xml:3: ", "");
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<step>";
  expect_refused(deep, "dir/plan.xml:1: ", "");
}

TEST(Xml, TheTopologyComesFirstAndOnce) {
  const std::string good = write_schedule(ring_allgather(3));
  const std::size_t from = good.find("  <proof");
  const std::string proof = good.substr(from, good.find('\n', from) + 1 - from);
  expect_refused(replaced(good, proof, ""), "dir/plan.xml:1: ", "lacks a <proof>");
  expect_refused(replaced(good, proof, proof + proof), "dir/plan.xml:11: ", "found <proof>");
  expect_refused(replaced(replaced(good, proof, ""), "  <topology", proof + "  <topology"),
                 "dir/plan.xml:2: ", "expected <topology> first");
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
}  // namespace libcoll
