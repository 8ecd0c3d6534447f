#include "libcoll/observe/statistics.h"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "libcoll/observe/figures.h"
#include "libcoll/version.h"

namespace libcoll::statistics_test {

using namespace observe;
using namespace schedule;

namespace {

using Json = nlohmann::json;

/// Two served allreduces and one that fell through, three all-to-alls that fell through for two reasons.
void count_some(Statistics& statistics) {
  statistics.count_served(CallKind::allreduce);
  statistics.count_served(CallKind::allreduce);
  statistics.count_fallen_through(CallKind::allreduce, Reason::user_operation);
  statistics.count_fallen_through(CallKind::alltoall, Reason::no_bytes);
  statistics.count_fallen_through(CallKind::alltoall, Reason::user_operation);
  statistics.count_fallen_through(CallKind::alltoall, Reason::no_bytes);
}

Json expected_json(int ranks) {
  const auto calls = [](int served, int fallen_through) {
    return Json{{"served", served}, {"fallen_through", fallen_through}};
  };
  Json collectives;
  for (const std::string name : {"allreduce", "allgather", "alltoall", "reduce_scatter", "reduce_scatter_block",
                                 "allgatherv", "alltoallv", "bcast", "reduce", "alltoallw"}) {
    collectives[name] = calls(0, 0);
    collectives["i" + name] = calls(0, 0);
    collectives[name + "_init"] = calls(0, 0);
  }
  collectives["allreduce"] = calls(2, 1);
  collectives["alltoall"] = calls(0, 3);
  return {
      {"version", LIBCOLL_VERSION},
      {"ranks", ranks},
      {"collectives", collectives},
      {"reasons", {{std::string(to_string(Reason::user_operation)), 2}, {std::string(to_string(Reason::no_bytes)), 2}}},
      {"ranks_reported", 0},
      {"communicators", Json::array()},
      {"links", Json::array()}};
}

/// Two ranks of one communicator: a served alltoallv of another amount from each, an allreduce that fell through.
Report some_job() {
  Report job;
  for (int rank = 0; rank < 2; ++rank) {
    Statistics statistics;
    CommunicatorRecord& record = statistics.open("pair", {0, 1});
    record.set_nodes(2);
    record.set_plan(Collective::alltoall, "mcf-path");
    record.count_served(CallKind::alltoallv, {"plan", "mcf-path", "configuration"}, 100 + 100 * rank, 1'000'000 + rank);
    record.count_round(Collective::alltoall, {{0, 1}, {1, 0}}, {rank == 0 ? 100 : 0, rank == 0 ? 0 : 200});
    record.count_memory(Collective::alltoall, 300 + 300 * rank, 100 + 100 * rank);
    record.count_node_memory(Collective::alltoall, 500 + rank, 100);
    record.count_fallen_through(CallKind::allreduce, Reason::no_bytes, 0, 500);
    job.join(statistics.report());
  }
  return job;
}

/// A directory that goes with the test.
class StatisticsTest : public testing::Test {
 protected:
  StatisticsTest() : directory_(mkdtemp(name_.data())) { count_some(statistics_); }
  ~StatisticsTest() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string path(const std::string& file) const { return (directory_ / file).string(); }

  Statistics statistics_;

 private:
  std::string name_ = (std::filesystem::temp_directory_path() / "libcoll-statistics-XXXXXX").string();
  std::filesystem::path directory_;
};

std::string text_of(const std::string& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Names, and which plan serves each call.
TEST(Calls, NamesAndCollectives) {
  for (std::size_t kind = 0; kind < call_count; ++kind) {
    const auto call = static_cast<CallKind>(kind);
    EXPECT_EQ(parse_call(to_string(call)), call);
  }
  EXPECT_EQ(parse_call("barrier"), std::nullopt);
  EXPECT_EQ(parse_call(""), std::nullopt);
  EXPECT_EQ(to_string(CallKind::reduce_scatter_block), "reduce_scatter_block");
  EXPECT_EQ(collective_of(CallKind::bcast), Collective::allgather);
  EXPECT_EQ(collective_of(CallKind::reduce), Collective::reduce_scatter);
  EXPECT_EQ(collective_of(CallKind::alltoallv), Collective::alltoall);
  EXPECT_EQ(collective_of(CallKind::alltoallw), Collective::alltoall);
  EXPECT_EQ(collective_of(CallKind::ireduce), Collective::reduce_scatter);
  EXPECT_EQ(collective_of(CallKind::ialltoallw), Collective::alltoall);
  EXPECT_EQ(blocking_variant(CallKind::ibcast), CallKind::bcast);
  EXPECT_EQ(blocking_variant(CallKind::bcast), CallKind::bcast);
  EXPECT_EQ(blocking_variant(CallKind::bcast_init), CallKind::bcast);
  EXPECT_EQ(collective_of(CallKind::alltoallv_init), Collective::alltoall);
  EXPECT_TRUE(is_nonblocking(CallKind::iallgatherv));
  EXPECT_TRUE(is_nonblocking(CallKind::allreduce_init));
  EXPECT_FALSE(is_nonblocking(CallKind::alltoallw));
  // The call that bears a collective's name has its setting, so there is one.
  for (const Collective collective :
       {Collective::allgather, Collective::reduce_scatter, Collective::allreduce, Collective::alltoall}) {
    const std::optional<CallKind> namesake = parse_call(to_string(collective));
    ASSERT_TRUE(namesake);
    EXPECT_EQ(collective_of(*namesake), collective);
  }
}

TEST_F(StatisticsTest, Counts) {
  EXPECT_EQ(statistics_.served(CallKind::allreduce), 2);
  EXPECT_EQ(statistics_.fallen_through(CallKind::allreduce), 1);
  EXPECT_EQ(statistics_.served(CallKind::alltoall), 0);
  EXPECT_EQ(statistics_.fallen_through(CallKind::alltoall), 3);
}

TEST_F(StatisticsTest, JsonHoldsCountsAndReasons) {
  EXPECT_EQ(Json::parse(statistics_.to_json(8, {}), nullptr, false), expected_json(8));
}

TEST_F(StatisticsTest, JsonOfNothing) {
  const Json json = Json::parse(Statistics().to_json(1, {}), nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json.at("reasons"), Json::object());
  EXPECT_EQ(json.at("collectives").size(), call_count);
}

/// Every reason has its own text, and JSON carries them all.
TEST_F(StatisticsTest, EveryReasonHasAText) {
  constexpr auto reasons = reason_count;
  Statistics statistics;
  std::set<std::string> texts;
  for (std::size_t reason = 0; reason < reasons; ++reason) {
    statistics.count_fallen_through(CallKind::allgather, static_cast<Reason>(reason));
    texts.emplace(to_string(static_cast<Reason>(reason)));
  }
  EXPECT_EQ(texts.size(), reasons);
  EXPECT_EQ(texts.count(""), 0U);
  const Json json = Json::parse(statistics.to_json(1, {}), nullptr, false);
  ASSERT_TRUE(json.is_object());
  for (const std::string& text : texts) EXPECT_EQ(json.at("reasons").value(text, 0), 1) << text;
}

TEST_F(StatisticsTest, Summary) {
  EXPECT_EQ(statistics_.to_summary(),
            "calls: allreduce 2 served, 1 fell through; alltoall 0 served, 3 fell through; 2 × " +
                std::string(to_string(Reason::no_bytes)) + "; 2 × " + std::string(to_string(Reason::user_operation)));
  EXPECT_EQ(Statistics().to_summary(), "no collective that libcoll knows was called");
}

TEST_F(StatisticsTest, JsonOfCommunicators) {
  const Json json = Json::parse(statistics_.to_json(2, some_job()), nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json.at("ranks_reported"), 2);
  EXPECT_EQ(json.at("links"),
            (Json{{{"from", 0}, {"to", 1}, {"bytes", 100}}, {{"from", 1}, {"to", 0}, {"bytes", 200}}}));
  ASSERT_EQ(json.at("communicators").size(), 1U);
  const Json& pair = json.at("communicators").front();
  EXPECT_EQ(pair.at("name"), "pair");
  EXPECT_EQ(pair.at("size"), 2);
  EXPECT_EQ(pair.at("nodes"), 2);
  EXPECT_EQ(pair.at("plans"), (Json{{{"collective", "alltoall"},
                                     {"algorithm", "mcf-path"},
                                     {"rounds", 1},
                                     {"memory_bytes", 900},
                                     {"vector_bytes", 300},
                                     {"node_memory_bytes", 1001},
                                     {"node_vector_bytes", 200},
                                     {"links", json.at("links")}}}));
  const Json& calls = pair.at("collectives");
  EXPECT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls.at("alltoallv").at("algorithm"), "mcf-path");
  EXPECT_EQ(calls.at("alltoallv").at("served"), 1);
  EXPECT_EQ(calls.at("alltoallv").at("fallen_through"), 0);
  const Json sizes = {{{"bytes_from", 64},
                       {"bytes_to", 127},
                       {"calls", 1},
                       {"seconds_total", 0.001},
                       {"seconds_min", 0.001},
                       {"seconds_max", 0.001}},
                      {{"bytes_from", 128},
                       {"bytes_to", 255},
                       {"calls", 1},
                       {"seconds_total", 0.001000001},
                       {"seconds_min", 0.001000001},
                       {"seconds_max", 0.001000001}}};
  EXPECT_EQ(calls.at("alltoallv").at("served_sizes"), sizes);
  EXPECT_EQ(calls.at("alltoallv").at("choices"),
            (Json{{{"use", "plan"}, {"algorithm", "mcf-path"}, {"chosen_by", "configuration"}, {"sizes", sizes}}}));
  EXPECT_EQ(calls.at("allreduce").at("choices").front().at("use"), "native");
  EXPECT_EQ(calls.at("allreduce").at("choices").front().at("chosen_by"), to_string(Reason::no_bytes));
  EXPECT_EQ(calls.at("allreduce").at("fallen_through_sizes").front().at("bytes_to"), 0);
  EXPECT_EQ(calls.at("allreduce").at("reasons"), (Json{{std::string(to_string(Reason::no_bytes)), 1}}));
}

TEST_F(StatisticsTest, TableOfCommunicators) {
  const std::vector<std::string> expected = {
      "pair (2 ranks), allreduce: 1 fell through (0 B: 1 in 0.000000500 s)",
      "pair (2 ranks), allreduce, which way: native (nothing to move) 0 B",
      std::string("pair (2 ranks), alltoallv: 1 served by mcf-path (64 B..128 B: 1 in 0.001000000 s, ") +
          "128 B..256 B: 1 in 0.001000001 s)",
      "pair (2 ranks), alltoallv, which way: plan mcf-path (configuration) 64 B..256 B",
      "bytes on 2 links: most 200 (1 to 0), least 100"};
  EXPECT_EQ(job_table(some_job()), expected);
  EXPECT_TRUE(job_table({}).empty());
}

/// Bins without a range, alone and beside others, and the largest size that there can be.
TEST_F(StatisticsTest, TableOfEverySize) {
  using Sizes = std::vector<std::int64_t>;
  const std::vector<std::pair<Sizes, std::string>> cases = {{{unknown_bytes}, "unknown size"},
                                                            {{0}, "0 B"},
                                                            {{1}, "1 B"},
                                                            {{3}, "2 B..4 B"},
                                                            {{0, 1}, "0 B, 1 B"},
                                                            {{1, 2}, "1 B..4 B"},
                                                            {{1, 4, 1024, 2048}, "1 B, 4 B..8 B, 1 KiB..4 KiB"},
                                                            {{std::numeric_limits<std::int64_t>::max()}, "from 4 EiB"}};
  for (const auto& [sizes, text] : cases) {
    Statistics statistics;
    CommunicatorRecord& record = statistics.open("pair", {0, 1});
    for (const std::int64_t bytes : sizes) record.count_served(CallKind::bcast, {"direct", "", "cost model"}, bytes, 1);
    const std::vector<std::string> table = job_table(statistics.report());
    ASSERT_EQ(table.size(), 2U) << text;
    EXPECT_EQ(table[1], "pair (2 ranks), bcast, which way: direct (cost model) " + text);
  }
}

/// Communicators of one group get keys of their own, those of another group others; after 64 all share one.
TEST_F(StatisticsTest, OpensRecords) {
  std::set<std::string> keys;
  for (int index = 0; index < 70; ++index) {
    CommunicatorRecord& record =
        statistics_.open("c", index % 2 == 0 ? std::vector<int>{0, 1} : std::vector<int>{1, 0});
    record.count_served(CallKind::bcast, {"direct", "", "cost model"}, 1, 1);
  }
  statistics_.elsewhere().count_fallen_through(CallKind::bcast, Reason::bad_arguments, unknown_bytes, 1);
  EXPECT_EQ(&statistics_.elsewhere(), &statistics_.elsewhere());
  const Report report = statistics_.report();
  EXPECT_EQ(report.ranks, 1);
  ASSERT_EQ(report.communicators.size(), most_communicators + 2);
  std::int64_t calls = 0;
  for (const CommunicatorFigures& figures : report.communicators) {
    keys.insert(figures.key);
    calls += figures.calls[static_cast<std::size_t>(CallKind::bcast)].served.calls();
  }
  EXPECT_EQ(keys.size(), most_communicators + 2);
  EXPECT_EQ(calls, 70);
  EXPECT_EQ(report.communicators[most_communicators].name, others_key);
}

TEST_F(StatisticsTest, ReportsSummaryOnStderr) {
  testing::internal::CaptureStderr();
  const Status status = report_statistics(statistics_, {}, "summary", 8);
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(status.ok());
  EXPECT_NE(written.find(statistics_.to_summary() + "\n"), std::string::npos) << written;
}

TEST_F(StatisticsTest, ReportsJsonIntoAFileAndReplacesIt) {
  const std::string file = path("statistics.json");
  std::ofstream(file) << std::string(10'000, 'x');
  ASSERT_TRUE(report_statistics(statistics_, {}, "json:" + file, 8).ok());
  EXPECT_EQ(Json::parse(text_of(file), nullptr, false), expected_json(8));
}

TEST_F(StatisticsTest, ReportsNothingWhenNotAsked) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(report_statistics(statistics_, {}, "", 8).ok());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(StatisticsTest, RefusesWhatItDoesNotKnow) {
  const Status status = report_statistics(statistics_, {}, "xml:" + path("statistics.xml"), 8);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("LIBCOLL_STATS"), std::string::npos);
  EXPECT_NE(status.error().message.find("expected summary or json:FILE"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path("statistics.xml")));
}

TEST_F(StatisticsTest, SaysWhichFileCannotBeWritten) {
  const std::string file = path("missing/statistics.json");
  const Status status = report_statistics(statistics_, {}, "json:" + file, 8);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find(file), std::string::npos);
}

}  // namespace
}  // namespace libcoll::statistics_test
