#include "libcoll/runtime/statistics.h"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "libcoll/version.h"

namespace libcoll {
namespace {

using Json = nlohmann::json;

/// Two served allreduces and one that fell through, three all-to-alls that fell through for two reasons.
void count_some(Statistics& statistics) {
  statistics.count_served(Collective::allreduce);
  statistics.count_served(Collective::allreduce);
  statistics.count_fallen_through(Collective::allreduce, Reason::user_operation);
  statistics.count_fallen_through(Collective::alltoall, Reason::no_bytes);
  statistics.count_fallen_through(Collective::alltoall, Reason::user_operation);
  statistics.count_fallen_through(Collective::alltoall, Reason::no_bytes);
}

Json expected_json(int ranks) {
  const auto calls = [](int served, int fallen_through) {
    return Json{{"served", served}, {"fallen_through", fallen_through}};
  };
  return {{"version", LIBCOLL_VERSION},
          {"ranks", ranks},
          {"collectives",
           {{"allreduce", calls(2, 1)},
            {"allgather", calls(0, 0)},
            {"alltoall", calls(0, 3)},
            {"reduce_scatter", calls(0, 0)}}},
          {"reasons",
           {{std::string(to_string(Reason::user_operation)), 2}, {std::string(to_string(Reason::no_bytes)), 2}}}};
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

TEST_F(StatisticsTest, Counts) {
  EXPECT_EQ(statistics_.served(Collective::allreduce), 2);
  EXPECT_EQ(statistics_.fallen_through(Collective::allreduce), 1);
  EXPECT_EQ(statistics_.served(Collective::alltoall), 0);
  EXPECT_EQ(statistics_.fallen_through(Collective::alltoall), 3);
}

TEST_F(StatisticsTest, JsonHoldsCountsAndReasons) {
  EXPECT_EQ(Json::parse(statistics_.to_json(8), nullptr, false), expected_json(8));
}

TEST_F(StatisticsTest, JsonOfNothing) {
  const Json json = Json::parse(Statistics().to_json(1), nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json.at("reasons"), Json::object());
  EXPECT_EQ(json.at("collectives").size(), collective_count);
}

/// Every reason has its own text, and JSON carries them all.
TEST_F(StatisticsTest, EveryReasonHasAText) {
  constexpr auto reasons = static_cast<std::size_t>(Reason::count_);
  Statistics statistics;
  std::set<std::string> texts;
  for (std::size_t reason = 0; reason < reasons; ++reason) {
    statistics.count_fallen_through(Collective::allgather, static_cast<Reason>(reason));
    texts.emplace(to_string(static_cast<Reason>(reason)));
  }
  EXPECT_EQ(texts.size(), reasons);
  EXPECT_EQ(texts.count(""), 0U);
  const Json json = Json::parse(statistics.to_json(1), nullptr, false);
  ASSERT_TRUE(json.is_object());
  for (const std::string& text : texts) EXPECT_EQ(json.at("reasons").value(text, 0), 1) << text;
}

TEST_F(StatisticsTest, Summary) {
  EXPECT_EQ(statistics_.to_summary(),
            "calls: allreduce 2 served, 1 fell through; alltoall 0 served, 3 fell through; 2 × " +
                std::string(to_string(Reason::no_bytes)) + "; 2 × " + std::string(to_string(Reason::user_operation)));
  EXPECT_EQ(Statistics().to_summary(), "no collective that libcoll knows was called");
}

TEST_F(StatisticsTest, ReportsSummaryOnStderr) {
  testing::internal::CaptureStderr();
  const Status status = report_statistics(statistics_, "summary", 8);
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(status.ok());
  EXPECT_NE(written.find(statistics_.to_summary() + "\n"), std::string::npos) << written;
}

TEST_F(StatisticsTest, ReportsJsonIntoAFileAndReplacesIt) {
  const std::string file = path("statistics.json");
  std::ofstream(file) << std::string(10'000, 'x');
  ASSERT_TRUE(report_statistics(statistics_, "json:" + file, 8).ok());
  EXPECT_EQ(Json::parse(text_of(file), nullptr, false), expected_json(8));
}

TEST_F(StatisticsTest, ReportsNothingWhenNotAsked) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(report_statistics(statistics_, "", 8).ok());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(StatisticsTest, RefusesWhatItDoesNotKnow) {
  const Status status = report_statistics(statistics_, "xml:" + path("statistics.xml"), 8);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("LIBCOLL_STATS"), std::string::npos);
  EXPECT_NE(status.error().message.find("expected summary or json:FILE"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path("statistics.xml")));
}

TEST_F(StatisticsTest, SaysWhichFileCannotBeWritten) {
  const std::string file = path("missing/statistics.json");
  const Status status = report_statistics(statistics_, "json:" + file, 8);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find(file), std::string::npos);
}

}  // namespace
}  // namespace libcoll
