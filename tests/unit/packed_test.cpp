// Schedules as bytes between ranks: read back bit for bit, few, and refused where they are damaged.
#include "planner/schedule/packed.h"

#include <random>

#include "planner/flow/mcf.h"
#include "planner/schedule/reverse.h"
#include "planner/schedule/xml.h"
#include "planner/topology/generators.h"
#include "tests/unit/small_schedules.h"

namespace libcoll::packed_test {

using namespace flow;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

/// All small ones, and what they lack: odd names and numbers, wirings, route classes.
std::vector<Schedule> schedules_to_pack() {
  std::vector<Schedule> schedules = all_small_schedules();
  schedules.push_back(awkward_schedule());
  schedules.push_back(*concatenate(ring_reduce_scatter(4, 2), ring_allgather(4, 3)));
  for (const Schedule& schedule : schedules) EXPECT_EQ(verify(schedule), std::vector<std::string>{});
  Schedule rewired = ring_allgather(4);
  rewired.wirings = {{1, "first", 0, {{0, 5}, {1, 9'223'372'036'854'775'807}}}, {2, "", 5e-324, {{3, 1}}}};
  rewired.pipelined = true;
  schedules.push_back(rewired);
  Schedule steered = routed_alltoall();
  steered.routes[0].route_class = 1;
  steered.routes[2].route_class = 4095;
  schedules.push_back(steered);
  return schedules;
}

TEST(Packed, ReadsBackBitForBit) {
  for (const Schedule& schedule : schedules_to_pack()) {
    const Result<Schedule> read = unpack_schedule(pack_schedule(schedule));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(*read, schedule) << name_of(schedule);
  }
}

// A transfer has eight fields, most of which differ from the one before by less than 64: a byte each, where XML writes
// names and quotation marks as well. A route has seven and its links.
TEST(Packed, IsSmall) {
  const Result<Schedule> plan = plan_mcf_path(generate("torus:3x3x3").value(), {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(verify(*plan), std::vector<std::string>{});
  EXPECT_LT(pack_schedule(*plan).size() * 4, write_schedule(*plan).size());
}

TEST(Packed, RefusesWhatEndsEarlyOrLate) {
  for (const Schedule& schedule : schedules_to_pack()) {
    const std::string bytes = pack_schedule(schedule);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_FALSE(unpack_schedule(std::string_view(bytes).substr(0, length)).ok()) << length;
    }
    EXPECT_FALSE(unpack_schedule(bytes + '\0').ok());
  }
}

// Whatever is read is good enough for the verifier to look at.
TEST(Packed, SurvivesDamage) {
  std::mt19937 random(2);
  for (const Schedule& schedule : schedules_to_pack()) {
    const std::string bytes = pack_schedule(schedule);
    for (int attempt = 0; attempt < 500; ++attempt) {
      std::string damaged = bytes;
      damaged[random() % damaged.size()] = static_cast<char>(random());
      const Result<Schedule> read = unpack_schedule(damaged);
      if (read.ok()) {
        static_cast<void>(verify(*read, 1));
      } else {
        EXPECT_FALSE(read.error().message.empty());
      }
    }
  }
}

}  // namespace
}  // namespace libcoll::packed_test
