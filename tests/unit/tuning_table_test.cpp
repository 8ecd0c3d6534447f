// The tuning table: what it says of a call, and its file.
#include "libcoll/select/tuning_table.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace libcoll::tuning_table_test {

using namespace select;

namespace {

constexpr const char* example = R"(
[[choice]]
call = "alltoall"
ranks = 8
up_to = "4K"
use = "native"

[[choice]]
call = "alltoall"
ranks = 8
use = "plan"
algorithm = "mcf-link"
segment_bytes = "32K"
in_flight = 4

[[choice]]
call = "alltoall"
up_to = 65536
use = "native"

[[choice]]
call = "allreduce"
up_to = 100
use = "native"
)";

TEST(TuningTable, FindsTheNarrowestEntry) {
  const TuningTable table = read_tuning_table(example, "test.toml").value();
  const auto native = [&](CallKind call, std::int32_t ranks, std::int64_t bytes) {
    const TuningChoice* choice = table.find(call, ranks, bytes);
    return choice == nullptr ? -1 : static_cast<int>(choice->native);
  };
  EXPECT_EQ(native(CallKind::alltoall, 8, 1), 1);
  EXPECT_EQ(native(CallKind::alltoall, 8, 4096), 1);  // sizes are inclusive
  EXPECT_EQ(native(CallKind::alltoall, 8, 4097), 0);
  EXPECT_EQ(table.find(CallKind::alltoall, 8, 4097)->segment_bytes, 32768);
  EXPECT_EQ(table.find(CallKind::alltoall, 8, 4097)->in_flight, 4);
  EXPECT_EQ(table.find(CallKind::alltoall, 8, 4097)->algorithm.view(), "mcf-link");
  EXPECT_TRUE(table.find(CallKind::alltoall, 8, 4096)->algorithm.empty());
  EXPECT_EQ(native(CallKind::alltoall, 27, 65536), 1);  // any number of ranks
  EXPECT_EQ(native(CallKind::alltoall, 27, 65537), -1);
  EXPECT_EQ(native(CallKind::allreduce, 2, 100), 1);
  EXPECT_EQ(native(CallKind::allreduce, 2, 101), -1);
  EXPECT_EQ(native(CallKind::allgather, 8, 1), -1);
}

TEST(TuningTable, IsReadBackAsItWasWritten) {
  const TuningTable table = read_tuning_table(example, "test.toml").value();
  EXPECT_EQ(read_tuning_table(write_tuning_table(table), "again").value(), table);
  EXPECT_EQ(read_tuning_table("", "empty").value(), TuningTable());
}

TEST(TuningTable, KeepsWhatTheCostModelFound) {
  TuningTable table;
  table.links = LinkFigures{1200, 3'000'000'000};
  EXPECT_FALSE(table.knows(CallKind::bcast, 8));
  table.add({{CallKind::bcast, 8, 64, true, 0}, {CallKind::bcast, 8, 1 << 20, false, 4096}});
  table.add({{CallKind::allreduce, 8, 512, false, 0, true}});
  EXPECT_TRUE(table.knows(CallKind::bcast, 8));
  EXPECT_FALSE(table.knows(CallKind::bcast, 4));
  EXPECT_TRUE(table.find(CallKind::allreduce, 8, 512)->direct);
  EXPECT_TRUE(table.find(CallKind::bcast, 8, 8)->native);
  EXPECT_EQ(read_tuning_table(write_tuning_table(table), "again").value(), table);
}

TEST(TuningTable, ErrorsNameLineFoundAndExpected) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"choices = 1", "t:1: found 'choices', expected tables headed [[choice]] or [links]"},
      {"[[choice]]\nuse = \"plan\"", "t:1: found a [[choice]] without 'call', expected one"},
      {"[[choice]]\ncall = \"allreduce\"", "t:1: found a [[choice]] without 'use', expected one"},
      {"[[choice]]\ncall = \"barrier\"\nuse = \"plan\"",
       "t:2: call: found 'barrier', expected a call that can be served, as allreduce"},
      {"[[choice]]\ncall = \"alltoall\"\nuse = 1",
       "t:3: use: found 1, expected \"native\", \"plan\", \"direct\" or \"scattered\""},
      {"[[choice]]\ncall = \"alltoall\"\nuse = \"plan\"\nup_to = \"much\"",
       "t:4: up_to: found 'much', expected a number from 0 to 9223372036854775807"},
      {"[[choice]]\ncall = \"alltoall\"\nuse = \"plan\"\nsegment_bytes = 1",
       "t:4: segment_bytes: found 1, expected a number from 1024 to 1073741824"},
      {"[[choice]]\ncall = \"alltoall\"\nuse = \"plan\"\nwhat = 1",
       "t:4: found 'what' in [[choice]], expected call, ranks, up_to, use, algorithm, segment_bytes or in_flight"},
      {"[[choice]]\ncall = \"alltoall\"\nuse = \"plan\"\nin_flight = 0",
       "t:4: in_flight: found 0, expected a number from 1 to 1024"},
      {"[[choice]]\ncall = \"alltoall\"\nuse = \"plan\"\nalgorithm = \"../ring\"",
       "t:4: algorithm: found '../ring', expected a planner's name, as \"ring\""},
      {"[[choice]]\ncall = \"alltoall\"\nuse = \"plan\"\nalgorithm = \"a-name-that-is-longer-than-any-planner\"",
       "t:4: algorithm: found 'a-name-that-is-longer-than-any-planner', expected a planner's name, as \"ring\""},
      {"[[choice]]\ncall = \"alltoall\"\nuse = \"native\"\nalgorithm = \"ring\"",
       "t:1: found an 'algorithm' for alltoall by \"native\", expected one for allreduce, allgather, alltoall or "
       "reduce_scatter_block by \"plan\""},
      {"[[choice]]\ncall = \"bcast\"\nuse = \"plan\"\nalgorithm = \"ring\"",
       "t:1: found an 'algorithm' for bcast by \"plan\", expected one for allreduce, allgather, alltoall or "
       "reduce_scatter_block by \"plan\""},
      {"[[choice]]\ncall = \"alltoall\"\nuse = \"plan\"\n[[choice]]\ncall = \"alltoall\"\nuse = \"plan\"",
       "t:4: found a second [[choice]] for these calls, expected one"},
      {"[links]\nalpha_nanoseconds = 0", "t:2: alpha_nanoseconds: found 0, expected a number from 1 to 3600000000000"},
      {"[links]\nbytes_per_second = 1",
       "t:1: found [links] without alpha_nanoseconds or bytes_per_second, expected both"},
      {"[links]\nbeta = 1", "t:2: found 'beta' in [links], expected alpha_nanoseconds or bytes_per_second"},
  };
  for (const auto& [text, message] : cases) {
    const Result<TuningTable> table = read_tuning_table(text, "t");
    ASSERT_FALSE(table.ok()) << text;
    EXPECT_EQ(table.error().message, message);
  }
}

TEST(TuningTable, LoadsAFileOrSaysWhyNot) {
  const std::string path = testing::TempDir() + "/tuning_table_test.toml";
  std::ofstream(path) << example;
  EXPECT_EQ(load_tuning_table(path).value(), read_tuning_table(example, "test.toml").value());
  std::remove(path.c_str());
  const Result<TuningTable> none = load_tuning_table(path);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, "found no tuning table '" + path + "', expected one that can be read");
}

}  // namespace
}  // namespace libcoll::tuning_table_test
