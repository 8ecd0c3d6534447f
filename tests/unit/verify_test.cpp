// Right schedules pass, and each kind of wrong one is refused with a message that says where.
#include "planner/schedule/verify.h"

#include <algorithm>
#include <limits>

#include "planner/broadcast/bfb/bfb.h"
#include "planner/schedule/reverse.h"
#include "planner/topology/generators.h"
#include "tests/unit/sanitized.h"
#include "tests/unit/small_schedules.h"

namespace libcoll::verify_test {

using namespace broadcast::bfb;
using namespace schedule;
using namespace test;
using namespace topology;

namespace {

constexpr std::int32_t largest = std::numeric_limits<std::int32_t>::max();

/// Verifies with a proof that claims enough, so that only the fault under test shows.
void expect_refused(Schedule schedule, const std::string& part_of_message) {
  schedule.proof.bandwidth_time = 1000;
  schedule.proof.max_link_load = 1000;
  const auto faults = verify(schedule);
  ASSERT_FALSE(faults.empty()) << "expected: " << part_of_message;
  const bool named = std::any_of(faults.begin(), faults.end(), [&](const std::string& fault) {
    return fault.find(part_of_message) != std::string::npos;
  });
  EXPECT_TRUE(named) << "found: " << faults.front() << "\nexpected: " << part_of_message;
}

template <class Change>
Schedule changed(Schedule schedule, Change change) {
  change(schedule);
  return schedule;
}

TEST(Verify, FindsNothingInRightSchedules) {
  for (const Schedule& schedule : all_small_schedules()) {
    EXPECT_EQ(verify(schedule), std::vector<std::string>{}) << name_of(schedule);
  }
}

TEST(Verify, NeedsNoCanonicalOrder) {
  for (Schedule schedule : all_small_schedules()) {
    std::reverse(schedule.transfers.begin(), schedule.transfers.end());
    EXPECT_EQ(verify(schedule), std::vector<std::string>{}) << name_of(schedule);
  }
}

TEST(Verify, TakesAScheduleOfOneNode) {
  for (const Collective collective :
       {Collective::allgather, Collective::reduce_scatter, Collective::allreduce, Collective::alltoall}) {
    EXPECT_EQ(verify(make_schedule(collective, make_topology("one", 1, 0, {}), 3, 0)), std::vector<std::string>{});
  }
}

TEST(Verify, AnyLostTransferIsMissed) {
  for (const Schedule& schedule : all_small_schedules()) {
    for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
      const Schedule lossy = changed(
          schedule, [i](Schedule& s) { s.transfers.erase(s.transfers.begin() + static_cast<std::ptrdiff_t>(i)); });
      EXPECT_FALSE(verify(lossy).empty()) << name_of(schedule) << " without transfer " << i;
    }
  }
}

TEST(Verify, AnyDoubledTransferIsSeen) {
  for (const Schedule& schedule : all_small_schedules()) {
    for (const Transfer& transfer : schedule.transfers) {
      Schedule doubled = changed(schedule, [&](Schedule& s) {
        s.transfers.push_back(transfer);
        ++s.transfers.back().step;
        ++s.steps;
        finish(s);
      });
      EXPECT_FALSE(verify(doubled).empty()) << name_of(schedule);
    }
  }
}

TEST(Verify, RefusesARootThatIsNoHost) {
  const Schedule broadcast = ring_broadcast(4, 1);
  expect_refused(changed(broadcast, [](Schedule& s) { s.root = 4; }), "the root is 4, expected a host, 0..3");
  expect_refused(changed(broadcast, [](Schedule& s) { s.root = -1; }), "the root is -1");
  expect_refused(changed(ring_allgather(4), [](Schedule& s) { s.root = 1; }), "allgather has no root");
}

TEST(Verify, RefusesDataSentBeforeItArrived) {
  // A step sees the state before it: arriving and leaving in one step is too early, in either file order.
  Schedule hasty = ring_allgather(4);
  for (Transfer& t : hasty.transfers) t.step = 1;
  sort_transfers(hasty);
  expect_refused(hasty, "arrive");
  std::reverse(hasty.transfers.begin(), hasty.transfers.end());
  expect_refused(hasty, "arrive");
}

TEST(Verify, RefusesIdsOutOfRange) {
  for (const std::int32_t bad : {-1, -2, 1000, largest, std::numeric_limits<std::int32_t>::min()}) {
    const std::vector<std::int32_t Transfer::*> fields = {&Transfer::shard,       &Transfer::chunk_begin,
                                                          &Transfer::chunk_count, &Transfer::from,
                                                          &Transfer::to,          &Transfer::step};
    for (const auto field : fields) {
      for (const Schedule& schedule : {ring_allgather(4), ring_reduce_scatter(4), complete_alltoall(4)}) {
        Schedule broken = schedule;
        broken.transfers.back().*field = bad;
        EXPECT_FALSE(verify(broken).empty());
      }
    }
    if (bad != direct) {
      expect_refused(changed(routed_alltoall(), [bad](Schedule& s) { s.transfers.back().route = bad; }),
                     "does not exist");
    }
    expect_refused(changed(routed_alltoall(), [bad](Schedule& s) { s.routes[1].links[1] = bad; }),
                   "link " + std::to_string(bad) + " does not exist");
    expect_refused(changed(routed_alltoall(), [bad](Schedule& s) { s.routes[1].source = bad; }), "not hosts");
    expect_refused(changed(routed_alltoall(), [bad](Schedule& s) { s.routes[1].layer = bad; }), "layer");
    if (bad < 0 || bad == largest) {
      expect_refused(changed(routed_alltoall(), [bad](Schedule& s) { s.routes[1].route_class = bad; }),
                     "route 1 (1->0): class " + std::to_string(bad));
    }
    if (bad < 0 || bad == largest) {
      EXPECT_FALSE(verify(changed(ring_allgather(4), [bad](Schedule& s) { s.steps = bad; })).empty());
    }
    if (bad < 0) {
      EXPECT_FALSE(verify(changed(ring_allgather(4), [bad](Schedule& s) { s.chunks_per_shard = bad; })).empty());
    }
  }
  EXPECT_FALSE(verify(Schedule{}).empty());
}

TEST(Verify, RefusesASwitchAsAnEnd) {
  expect_refused(changed(switched_allgather(),
                         [](Schedule& s) {
                           s.transfers.front().to = 2;
                           s.transfers.front().route = direct;
                         }),
                 "node 2 is a switch");
}

TEST(Verify, RefusesLoadsAboveTheClaim) {
  for (const Schedule& schedule : all_small_schedules()) {
    const auto time = verify(
        changed(schedule, [](Schedule& s) { s.proof.bandwidth_time = s.proof.bandwidth_time * Rational(999, 1000); }));
    ASSERT_EQ(time.size(), 1U) << name_of(schedule);
    EXPECT_NE(time.front().find("bandwidth_time"), std::string::npos);
    const auto load = verify(
        changed(schedule, [](Schedule& s) { s.proof.max_link_load = s.proof.max_link_load * Rational(999, 1000); }));
    ASSERT_EQ(load.size(), 1U) << name_of(schedule);
    EXPECT_NE(load.front().find("max_link_load"), std::string::npos);
  }
}

TEST(Verify, StopsAtTheLimit) {
  Schedule schedule = ring_allgather(8);
  schedule.transfers.clear();
  EXPECT_EQ(verify(schedule, 3).size(), 3U);
  EXPECT_EQ(verify(schedule, 0).size(), 1U);  // never silent about a wrong schedule
}

TEST(Verify, ChunksThatAreNeverToldApartCostNothing) {
  const Schedule schedule = ring_allgather(4, largest);
  EXPECT_EQ(verify(schedule), std::vector<std::string>{});
  expect_refused(changed(schedule, [](Schedule& s) { --s.transfers.back().chunk_count; }),
                 "chunk " + std::to_string(largest - 1));
}

TEST(Verify, RefusesWhatWouldNotFitInMemory) {
  std::vector<Node> nodes(20000);
  std::vector<Link> links(1);
  links[0].to = 1;
  const Schedule schedule =
      make_schedule(Collective::alltoall, *Topology::make("huge", std::move(nodes), std::move(links)), 1, 1);
  expect_refused(schedule, "too large to verify");
}

TEST(Verify, FindsTheSameOnAnyNumberOfThreads) {
  // 512 hosts with all contributions of every piece: several blocks of shards.
  const Topology topology = generate("hypercube:9").value();
  const Schedule right = plan_bfb_reduce_scatter(topology, {}).value();
  EXPECT_EQ(verify(right, 20, 3), std::vector<std::string>{});
  const Schedule wrong = changed(right, [](Schedule& s) {
    for (const std::size_t lost : {std::size_t{100}, s.transfers.size() / 2, s.transfers.size() - 100}) {
      s.transfers.erase(s.transfers.begin() + static_cast<std::ptrdiff_t>(lost));
    }
  });
  const auto faults = verify(wrong);
  EXPECT_GE(faults.size(), 3U);
  for (const std::int32_t threads : sanitized ? std::vector{3} : std::vector{2, 3, 7}) {
    EXPECT_EQ(verify(wrong, 20, threads), faults);
  }
}

TEST(Verify, TakesSixtyFourNodes) {
  // 4032 blocks of 8 chunks, each chunk with its own transfers over 63 hops at most.
  Schedule alltoall = make_schedule(Collective::alltoall, complete_graph(64), 8, 1);
  for (const Transfer& whole : complete_alltoall(64, 8).transfers) {
    for (std::int32_t chunk = 0; chunk < 8; ++chunk) {
      alltoall.transfers.push_back(whole);
      alltoall.transfers.back().chunk_begin = chunk;
      alltoall.transfers.back().chunk_count = 1;
    }
  }
  finish(alltoall);
  EXPECT_EQ(verify(alltoall), std::vector<std::string>{});
  EXPECT_EQ(verify(ring_alltoall(64, 8)), std::vector<std::string>{});
  const auto allreduce = concatenate(ring_reduce_scatter(64, 60), ring_allgather(64, 60));
  ASSERT_TRUE(allreduce.ok());
  EXPECT_EQ(verify(*allreduce), std::vector<std::string>{});
}

}  // namespace
}  // namespace libcoll::verify_test
