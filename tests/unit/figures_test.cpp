// Figures of communicators on their way from the ranks into one report.
#include "libcoll/observe/figures.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace libcoll::figures_test {

using namespace observe;
using namespace schedule;

namespace {

constexpr auto allreduce = static_cast<std::size_t>(CallKind::allreduce);
constexpr auto no_bytes = static_cast<std::size_t>(Reason::no_bytes);
constexpr auto reduction_plan = static_cast<std::size_t>(Collective::allreduce);

/// A rank's view of one communicator: a served call of 1000 bytes, one of nothing; it sent over the link 0→1.
CommunicatorFigures some_figures(const std::string& key, std::int64_t nanoseconds, std::int64_t sent) {
  CommunicatorFigures figures;
  figures.name = "MPI_COMM_WORLD";
  figures.key = key;
  figures.size = 2;
  figures.nodes = 2;
  figures.calls[allreduce].served.count(1000, nanoseconds);
  figures.calls[allreduce].fallen_through.count(0, nanoseconds);
  figures.calls[allreduce].reasons[no_bytes] = 1;
  figures.calls[allreduce].protocols[{"plan", "bfb", "cost model"}].count(1000, nanoseconds);
  figures.plans[reduction_plan] = {"bfb", 1, {{{0, 1}, sent}}};
  return figures;
}

TEST(Figures, PackAndUnpack) {
  Report report;
  report.ranks = 3;
  report.communicators = {some_figures("0,1,#0", 5, 10), some_figures("1,0,#0", 6, 20), CommunicatorFigures()};
  report.communicators[1].name = std::string("quote \" and zero \0 byte", 22);
  EXPECT_EQ(unpack(pack(report)), report);
  EXPECT_EQ(unpack(pack(Report())), Report());
}

/// Whatever is cut off or changed in length is refused, and read without going astray.
TEST(Figures, RefusesWhatIsNoReport) {
  Report report;
  report.communicators = {some_figures("0,1,#0", 5, 10)};
  const std::string bytes = pack(report);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(unpack(std::string_view(bytes).substr(0, length))) << length;
  }
  EXPECT_FALSE(unpack(bytes + "x"));
  EXPECT_FALSE(unpack("another program's message"));
}

/// Times and counts are the slower rank's, bytes are added up.
TEST(Figures, JoinsRanks) {
  Report job{1, {some_figures("0,1,#0", 5, 10)}};
  job.join({1, {some_figures("0,1,#0", 7, 30)}});
  EXPECT_EQ(job.ranks, 2);
  ASSERT_EQ(job.communicators.size(), 1U);
  EXPECT_EQ(job.communicators.front(), some_figures("0,1,#0", 7, 40));
}

/// Ranks that lead no node do not know the plan's name; their calls are no others.
TEST(Figures, JoinsRanksThatDoNotKnowThePlan) {
  CommunicatorFigures unnamed = some_figures("0,1,#0", 5, 0);
  unnamed.calls[allreduce].protocols.clear();
  unnamed.calls[allreduce].protocols[{"plan", "", "cost model"}].count(1000, 5);
  const CommunicatorFigures named = some_figures("0,1,#0", 5, 10);
  for (const bool named_first : {true, false}) {
    Report job{1, {named_first ? named : unnamed}};
    job.join({1, {named_first ? unnamed : named}});
    EXPECT_EQ(job.communicators.front(), named);
  }
}

/// Two communicators with the same name on different ranks stay two.
TEST(Figures, TellsCommunicatorsApartByKey) {
  Report job{1, {some_figures("0,1,#0", 5, 10)}};
  job.join({1, {some_figures("2,3,#0", 7, 30)}});
  EXPECT_EQ(job.communicators.size(), 2U);
}

/// A hundred communicators, half of them seen by one rank and half by the other: 64 are told apart, the rest is summed,
/// and no byte or call is lost.
TEST(Figures, SumsUpWhatIsTooMany) {
  Report job{1, {}};
  Report other{1, {}};
  for (int index = 0; index < 50; ++index) {
    job.communicators.push_back(some_figures("a" + std::to_string(index), 5, 10));
    other.communicators.push_back(some_figures("b" + std::to_string(index), 5, 10));
  }
  job.join(other);
  ASSERT_EQ(job.communicators.size(), most_communicators + 1);
  const CommunicatorFigures& others = job.communicators.back();
  EXPECT_EQ(others.name, others_key);
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
  for (const CommunicatorFigures& figures : job.communicators) {
    calls += figures.calls[allreduce].served.calls();
    bytes += figures.plans[reduction_plan].link_bytes.at({0, 1});
  }
  EXPECT_EQ(calls, 100);
  EXPECT_EQ(bytes, 1000);
  EXPECT_EQ(others.calls[allreduce].reasons[no_bytes], 36);
}

TEST(Figures, RecordCounts) {
  CommunicatorRecord record(4, {});
  record.set_nodes(2);
  record.set_plan(Collective::alltoall, "mcf-path");
  record.count_served(CallKind::alltoall, {"plan", "mcf-path", "configuration"}, 64, 10);
  record.count_fallen_through(CallKind::alltoallv, Reason::no_plan, unknown_bytes, 20);
  record.count_round(Collective::alltoall, {{0, 1}, {1, 2}, {2, 0}}, {100, 0, 7});
  record.count_round(Collective::alltoall, {{0, 1}, {1, 2}, {2, 0}}, {1, 0, 0});
  record.count_memory(Collective::alltoall, 300, 100);
  record.count_memory(Collective::alltoall, 3, 1);
  record.count_node_memory(Collective::alltoall, 40, 10);
  record.count_node_memory(Collective::alltoall, 4, 1);
  const CommunicatorFigures figures = record.figures();
  EXPECT_EQ(record.number(), 4);
  EXPECT_EQ(figures.nodes, 2);
  EXPECT_EQ(figures.calls[static_cast<std::size_t>(CallKind::alltoall)].served.calls(), 1);
  const CallFigures& fallen = figures.calls[static_cast<std::size_t>(CallKind::alltoallv)];
  EXPECT_EQ(fallen.fallen_through.bins().front(), (SizeHistogram::Bin{1, 20, 20, 20}));
  EXPECT_EQ(fallen.reasons[static_cast<std::size_t>(Reason::no_plan)], 1);
  SizeHistogram one_call;
  one_call.count(unknown_bytes, 20);
  const std::map<CallProtocol, SizeHistogram> native{
      {{"native", "", std::string(to_string(Reason::no_plan))}, one_call}};
  EXPECT_EQ(fallen.protocols, native);
  const PlanUse expected{"mcf-path", 2, {{{0, 1}, 101}, {{2, 0}, 7}}, 303, 101, 44, 11};
  EXPECT_EQ(figures.plans[static_cast<std::size_t>(Collective::alltoall)], expected);
}

}  // namespace
}  // namespace libcoll::figures_test
