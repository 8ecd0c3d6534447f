// The selection table: whose word counts for which sizes.
#include "libcoll/select/selection_table.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace libcoll::selection_table_test {

using namespace select;

namespace {

constexpr std::int64_t any_size = std::numeric_limits<std::int64_t>::max();

TuningTable table_of(const std::string& text) { return read_tuning_table(text, "test.toml").value(); }

TuningChoice choice(std::int64_t up_to_bytes, bool native, bool direct = false) {
  TuningChoice made;
  made.call = CallKind::allreduce;
  made.up_to_bytes = up_to_bytes;
  made.native = native;
  made.direct = direct;
  return made;
}

/// "direct 512 built in, plan above built in"
std::string in_words(const SelectionTable& table, CallKind call, bool order_matters = false) {
  std::string text;
  for (const SelectionRow& row : table.rows(call, order_matters)) {
    text.append(text.empty() ? "" : ", ").append(way_name(row.choice)).append(" ");
    text.append(row.choice.up_to_bytes == any_size ? "above" : std::to_string(row.choice.up_to_bytes)).append(" ");
    text.append(to_string(row.source));
  }
  return text;
}

/// LIBCOLL_PLANLESS_MAX is of all ranks together: 4096 bytes by default.
TEST(SelectionTable, ShortCallsGoDirectUntilSomethingIsKnown) {
  const SelectionTable table(Config(), {}, 8);
  for (const bool order_matters : {false, true}) {
    EXPECT_EQ(in_words(table, CallKind::allreduce, order_matters), "direct 512 built in, plan above built in");
  }
  EXPECT_EQ(table.find(CallKind::allreduce, 512, false)->choice.direct, true);
  EXPECT_EQ(table.find(CallKind::allreduce, 513, false)->choice.direct, false);
  EXPECT_EQ(table.find(CallKind::iallreduce, 8, false), nullptr);
  Config config;
  config.planless_max = 0;
  EXPECT_EQ(in_words(SelectionTable(config, {}, 8), CallKind::alltoall), "plan above built in");
}

TEST(SelectionTable, ASettingCountsMoreThanAllElse) {
  Config config;
  config.allreduce = "native";
  SelectionTable table(config, table_of("choice = [{ call = \"allreduce\", use = \"plan\" }]"), 4);
  table.add(RowSource::cost_model, std::array{choice(any_size, false)});
  EXPECT_EQ(in_words(table, CallKind::allreduce), "native above setting");
  EXPECT_EQ(in_words(table, CallKind::allgather), "direct 1024 built in, plan above built in");
}

/// An entry without a planner does not speak of what goes without a plan.
TEST(SelectionTable, TheTuningTableComesBeforeWhatIsMeasured) {
  const TuningTable tuning = table_of(R"(
choice = [
  { call = "allreduce", up_to = 256, use = "native" },
  { call = "allreduce", up_to = 4096, use = "plan" },
  { call = "allgather", up_to = 100, use = "plan", algorithm = "ring" },
])");
  SelectionTable table(Config(), tuning, 8);
  EXPECT_EQ(in_words(table, CallKind::allreduce),
            "native 256 tuning table, direct 512 built in, plan 4096 tuning table, plan above built in");
  EXPECT_EQ(in_words(table, CallKind::allgather), "plan 100 tuning table, direct 512 built in, plan above built in");
  table.add(RowSource::cost_model, std::array{choice(64, false, true), choice(1 << 20, true)}, false);
  EXPECT_EQ(in_words(table, CallKind::allreduce),
            "native 256 tuning table, direct 512 built in, plan 4096 tuning table, native 1048576 cost model, "
            "plan above built in");
  EXPECT_EQ(in_words(table, CallKind::allreduce, true),
            "native 256 tuning table, direct 512 built in, plan 4096 tuning table, plan above built in");
}

/// What is measured speaks of short calls, too.
TEST(SelectionTable, MeasurementsComeBeforeWhatIsBuiltIn) {
  SelectionTable table(Config(), {}, 8);
  table.add(RowSource::cost_model, std::array{choice(64, true), choice(any_size, false)}, true);
  EXPECT_EQ(in_words(table, CallKind::allreduce, true), "native 64 cost model, plan above cost model");
  EXPECT_EQ(in_words(table, CallKind::allreduce, false), "direct 512 built in, plan above built in");
  table.add(RowSource::measurement, std::array{choice(16, true)});
  EXPECT_EQ(in_words(table, CallKind::allreduce, true),
            "native 16 measurement, native 64 cost model, plan above cost model");
  EXPECT_EQ(in_words(table, CallKind::allreduce, false),
            "native 16 measurement, direct 512 built in, plan above built in");
}

constexpr const char* of_several_sizes = R"(
choice = [
  { call = "alltoall", ranks = 8, up_to = 4096, use = "native" },
  { call = "alltoall", up_to = 65536, use = "native" },
  { call = "reduce", ranks = 8, up_to = 10, use = "native" },
  { call = "reduce", up_to = 5, use = "plan" },
  { call = "reduce", up_to = 20, use = "direct" },
  { call = "allreduce", ranks = 2, up_to = 100, use = "native" },
])";

/// The rows of one communicator say what the file says.
TEST(SelectionTable, SaysWhatTheTuningTableSays) {
  const TuningTable tuning = table_of(of_several_sizes);
  Config config;
  config.planless_max = 0;
  for (const std::int32_t ranks : {2, 8, 27}) {
    const SelectionTable of_ranks(config, tuning, ranks);
    for (const CallKind call : {CallKind::alltoall, CallKind::allreduce, CallKind::allgather, CallKind::reduce}) {
      for (const std::int64_t bytes : {1, 5, 6, 10, 11, 20, 21, 100, 101, 4096, 4097, 65536, 65537, 1 << 30}) {
        const TuningChoice* expected = tuning.find(call, ranks, bytes);
        const SelectionRow* found = of_ranks.find(call, bytes, false);
        ASSERT_NE(found, nullptr);
        ASSERT_EQ(found->source == RowSource::tuning_table, expected != nullptr)
            << ranks << " ranks, " << bytes << " bytes";
        if (expected != nullptr) {
          EXPECT_EQ(found->choice, *expected) << ranks << " ranks, " << bytes << " bytes";
        }
      }
    }
  }
}

/// Communicators make these plans beforehand.
TEST(SelectionTable, NamesEveryPlannerOnce) {
  const TuningTable tuning = table_of(R"(
choice = [
  { call = "allreduce", ranks = 8, up_to = 10, use = "plan", algorithm = "ring" },
  { call = "allreduce", ranks = 8, up_to = 20, use = "native" },
  { call = "allreduce", ranks = 8, up_to = 30, use = "plan", algorithm = "multitree" },
  { call = "allreduce", ranks = 8, up_to = 40, use = "plan", algorithm = "ring" },
  { call = "allreduce", up_to = 30, use = "plan", algorithm = "hidden" },
  { call = "allreduce", use = "plan", algorithm = "bfb" },
  { call = "allgather", ranks = 4, use = "plan", algorithm = "biring" },
])");
  const SelectionTable of_eight(Config(), tuning, 8);
  const std::vector<PlannerName> expected{PlannerName("ring"), PlannerName("multitree"), PlannerName("bfb")};
  EXPECT_EQ(of_eight.planners(CallKind::allreduce), expected);
  EXPECT_TRUE(of_eight.planners(CallKind::allgather).empty());
}

}  // namespace
}  // namespace libcoll::selection_table_test
