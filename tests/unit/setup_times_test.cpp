// The line that says where the time before a first call went.
#include "libcoll/observe/setup_times.h"

#include <gtest/gtest.h>

namespace libcoll::setup_times_test {

using namespace observe;

namespace {

constexpr std::int64_t millisecond = 1'000'000;

TEST(SetupTimes, AreSaidInSecondsToTheMillisecond) {
  SetupTimes times;
  times.contexts = 20 * millisecond;
  times.addresses = 51 * millisecond;
  times.plan = 40 * millisecond;
  times.connections = 1301 * millisecond;
  EXPECT_EQ(to_string(times), "1.412 s: contexts 0.020, addresses 0.051, plan 0.040, connections 1.301");
}

// 0.5 ms goes up; 0.999 999 999 s has no 1000 milliseconds beside its 0 seconds.
TEST(SetupTimes, AreRounded) {
  SetupTimes times;
  times.plan = millisecond / 2;
  EXPECT_EQ(to_string(times), "0.001 s: contexts 0.000, addresses 0.000, plan 0.001, connections 0.000");
  times.plan = 1000 * millisecond - 1;
  EXPECT_EQ(to_string(times), "1.000 s: contexts 0.000, addresses 0.000, plan 1.000, connections 0.000");
}

}  // namespace
}  // namespace libcoll::setup_times_test
