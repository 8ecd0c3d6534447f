// Right schedules pass, and each kind of wrong one is refused with a message that says where.
#include "planner/schedule/verify.h"

#include <algorithm>
#include <limits>

#include "planner/broadcast/bfb.h"
#include "planner/schedule/reverse.h"
#include "planner/topology/generators.h"
#include "tests/unit/small_schedules.h"

namespace libcoll {
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

TEST(Verify, RefusesAChunkDeliveredTwice) {
  expect_refused(changed(ring_allgather(4, 2),
                         [](Schedule& s) {
                           s.transfers.push_back({0, 1, 1, 0, 1, 3, direct, TransferKind::copy});
                         }),
                 "step 3, 0->1, shard 0, chunk 1: delivered twice to node 1");
  expect_refused(changed(complete_alltoall(3),
                         [](Schedule& s) {
                           s.transfers.push_back({1, 0, 1, 0, 1, 1, direct, TransferKind::copy});
                         }),
                 "step 1, 0->1, shard 1, chunk 0: delivered twice to node 1");
  // An owner has its own shard from the start.
  expect_refused(changed(ring_allgather(4),
                         [](Schedule& s) {
                           s.steps = 4;
                           s.transfers.push_back({1, 0, 1, 0, 1, 4, direct, TransferKind::copy});
                         }),
                 "step 4, 0->1, shard 1, chunk 0: delivered twice to node 1");
}

TEST(Verify, RefusesAMissingResult) {
  expect_refused(changed(ring_allgather(4, 2), [](Schedule& s) { s.transfers.pop_back(); }),
                 "at the end node 0 holds 0 of 1 contributions of shard 1");
  expect_refused(changed(complete_alltoall(3, 4), [](Schedule& s) { s.transfers.front().chunk_count = 3; }),
                 "at the end node 1 holds 0 of 1 contributions of shard 1, chunk 3");
}

TEST(Verify, RefusesAMissingContribution) {
  // Shard 0 leaves node 1 first; without that transfer node 1 is not in the sum.
  expect_refused(changed(ring_reduce_scatter(4),
                         [](Schedule& s) {
                           std::erase_if(s.transfers, [](const Transfer& t) { return t.shard == 0 && t.step == 1; });
                         }),
                 "at the end node 0 holds 3 of 4 contributions of shard 0");
}

TEST(Verify, RefusesAContributionThatArrivesInTheStepOfItsPassingOn) {
  // Node 1 passes on in step 2, the step in which its child 3 now sends: the sum may or may not have it.
  Schedule schedule = tree_allreduce(3);
  for (Transfer& t : schedule.transfers) {
    if (t.kind == TransferKind::reduce && t.from == 3) t.step = 2;
  }
  expect_refused(schedule, "step 2, 1->0, shard 0, chunk 0: sent in the step in which a contribution arrives");
  sort_transfers(schedule);  // now 1->0 comes before 3->1 in the list
  expect_refused(schedule, "step 2, 3->1, shard 0, chunk 0: the receiver passed its value on already in step 2");
}

TEST(Verify, RefusesALateContribution) {
  Schedule schedule = make_schedule(Collective::reduce_scatter, complete_graph(3), 1, 2);
  for (ShardId w = 0; w < 3; ++w) {
    const NodeId a = (w + 1) % 3;
    const NodeId b = (w + 2) % 3;
    schedule.transfers.push_back({w, 0, 1, a, w, 1, direct, TransferKind::reduce});
    schedule.transfers.push_back({w, 0, 1, b, a, 2, direct, TransferKind::reduce});
  }
  expect_refused(schedule, "step 2, 2->1, shard 0, chunk 0: the receiver passed its value on already in step 1");
}

TEST(Verify, RefusesAValuePassedOnTwice) {
  // Node 1 sends its part of shard 0 to 2 and to 0: it would count twice at 0, or be lost at 2.
  Schedule schedule = make_schedule(Collective::reduce_scatter, complete_graph(3), 1, 2);
  for (ShardId w = 0; w < 3; ++w) {
    const NodeId a = (w + 1) % 3;
    const NodeId b = (w + 2) % 3;
    schedule.transfers.push_back({w, 0, 1, a, b, 1, direct, TransferKind::reduce});
    schedule.transfers.push_back({w, 0, 1, a, w, 2, direct, TransferKind::reduce});
    schedule.transfers.push_back({w, 0, 1, b, w, 2, direct, TransferKind::reduce});
  }
  expect_refused(schedule, "step 2, 1->0, shard 0, chunk 0: the sender passed its value on already in step 1");
}

TEST(Verify, RefusesAContributionCountedTwice) {
  // An exchange: what 1 sends back has 0's contribution in it already, or it is unclear whether it has.
  Schedule exchange = make_schedule(Collective::allreduce, complete_graph(2), 1, 1);
  exchange.transfers = {{0, 0, 1, 0, 1, 1, direct, TransferKind::reduce},
                        {0, 0, 1, 1, 0, 1, direct, TransferKind::reduce}};
  expect_refused(exchange, "step 1, 1->0, shard 0, chunk 0: a contribution would be counted twice");
  exchange.transfers.back().step = exchange.steps = 2;
  expect_refused(exchange, "step 2, 1->0, shard 0, chunk 0: a contribution would be counted twice");
  // A complete sum reduced into a node whose contribution it has.
  Schedule tree = tree_allreduce(2);
  for (Transfer& t : tree.transfers) {
    if (t.shard == 1 && t.to == 2) t.kind = TransferKind::reduce;
  }
  expect_refused(tree, "step 2, 0->2, shard 1, chunk 0: a contribution would be counted twice");
}

TEST(Verify, RefusesACopyOfAPartialSum) {
  expect_refused(changed(ring_reduce_scatter(4), [](Schedule& s) { s.transfers.front().kind = TransferKind::copy; }),
                 "copied with 1 of 4 contributions");
}

TEST(Verify, KnowsWhoseVectorABroadcastIs) {
  const Schedule broadcast = ring_broadcast(4, 1);
  expect_refused(changed(broadcast, [](Schedule& s) { s.root = 2; }), "the shard is not the root's");
  expect_refused(changed(broadcast, [](Schedule& s) { s.root = 4; }), "the root is 4, expected a host, 0..3");
  expect_refused(changed(broadcast, [](Schedule& s) { s.root = -1; }), "the root is -1");
  expect_refused(changed(broadcast, [](Schedule& s) { s.transfers.pop_back(); }), "node 0 holds 0 of 1");
  expect_refused(changed(broadcast, [](Schedule& s) { s.transfers[0].kind = TransferKind::reduce; }),
                 "broadcast does not reduce");
  expect_refused(changed(ring_allgather(4), [](Schedule& s) { s.root = 1; }), "allgather has no root");
}

TEST(Verify, CountsEveryContributionToAReductionOnce) {
  const Schedule reduction = tree_reduce(3);
  // Only the root's sum matters: the others' need not be whole, and must not be copied.
  EXPECT_EQ(verify(reduction), std::vector<std::string>{});
  expect_refused(changed(reduction, [](Schedule& s) { s.transfers.pop_back(); }), "node 0 holds 4 of 7");
  expect_refused(changed(reduction, [](Schedule& s) { s.transfers.push_back(s.transfers.back()); }),
                 "a contribution would be counted twice");
  expect_refused(changed(reduction, [](Schedule& s) { s.transfers[0].kind = TransferKind::copy; }),
                 "copied with 1 of 7 contributions");
}

TEST(Verify, RefusesDataSentBeforeItArrived) {
  expect_refused(changed(ring_allgather(4),
                         [](Schedule& s) {
                           for (Transfer& t : s.transfers) t.step = s.steps + 1 - t.step;
                         }),
                 "sent before it arrived at the sender");
  // A step sees the state before it: arriving and leaving in one step is too early, in either file order.
  Schedule hasty = ring_allgather(4);
  for (Transfer& t : hasty.transfers) t.step = 1;
  sort_transfers(hasty);
  expect_refused(hasty, "arrive");
  std::reverse(hasty.transfers.begin(), hasty.transfers.end());
  expect_refused(hasty, "arrive");
}

TEST(Verify, RefusesALinkThatDoesNotExist) {
  expect_refused(changed(ring_allgather(4), [](Schedule& s) { s.transfers.front().to = 2; }), "there is no link 0->2");
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
  expect_refused(changed(ring_allgather(4), [](Schedule& s) { s.transfers.front().to = 0; }), "sends to itself");
  expect_refused(changed(complete_alltoall(4), [](Schedule& s) { s.transfers.front().shard = 5; }),
                 "a block from a node to itself");
  expect_refused(changed(ring_allgather(4), [](Schedule& s) { s.transfers.front().kind = TransferKind::reduce; }),
                 "allgather does not reduce");
}

TEST(Verify, RefusesASwitchAsAnEnd) {
  expect_refused(changed(switched_allgather(),
                         [](Schedule& s) {
                           s.transfers.front().to = 2;
                           s.transfers.front().route = direct;
                         }),
                 "node 2 is a switch");
}

TEST(Verify, RefusesBadRoutes) {
  expect_refused(changed(routed_alltoall(),
                         [](Schedule& s) {
                           s.routes[0].links = {0, 2};
                         }),
                 "link 2 leaves node 2, not node 1");
  expect_refused(changed(routed_alltoall(), [](Schedule& s) { s.routes[0].links = {0}; }), "it ends at node 1");
  expect_refused(changed(routed_alltoall(), [](Schedule& s) { s.routes[0].links = {}; }), "it ends at node 0");
  expect_refused(changed(routed_alltoall(),
                         [](Schedule& s) {
                           s.routes[0].links = {0, 1, 2, 0, 1};
                         }),
                 "passes twice through node 0");
  expect_refused(changed(routed_alltoall(), [](Schedule& s) { s.transfers.front().route = 0; }), "route 0 goes 0->2");
}

TEST(Verify, RefusesCyclicLayers) {
  expect_refused(changed(routed_alltoall(),
                         [](Schedule& s) {
                           for (Route& route : s.routes) route.layer = 0;
                         }),
                 "layer 0 form a cycle");
}

TEST(Verify, RefusesTwoWaysOfAPairInOneClass) {
  // Two chunks 0→2 of the complete graph of four, one through node 1, one through node 3.
  Schedule schedule = complete_alltoall(4, 2);
  std::erase_if(schedule.transfers, [](const Transfer& t) { return t.shard == 2; });
  for (const NodeId middle : {1, 3}) {
    const auto chunk = static_cast<std::int32_t>(schedule.routes.size());
    schedule.routes.push_back(
        {0, 2, {schedule.topology.find_link(0, middle), schedule.topology.find_link(middle, 2)}, 0, chunk + 1});
    schedule.transfers.push_back({2, chunk, 1, 0, 2, 1, chunk, TransferKind::copy});
  }
  finish(schedule);
  EXPECT_EQ(verify(schedule), std::vector<std::string>{});
  const auto with_classes = [&](std::int32_t first, std::int32_t second) {
    return changed(schedule, [&](Schedule& s) {
      s.routes[0].route_class = first;
      s.routes[1].route_class = second;
    });
  };
  expect_refused(with_classes(1, 1), "routes 0 and 1 (0->2) go different ways in class 1");
  expect_refused(with_classes(7, 7), "routes 0 and 1 (0->2) go different ways in class 7");
  // Class 0 is no promise: the fabric takes its own way.
  EXPECT_EQ(verify(with_classes(0, 0)), std::vector<std::string>{});
  // One way given twice is one way.
  Schedule doubled = with_classes(1, 2);
  doubled.routes[1] = doubled.routes[0];
  finish(doubled);
  EXPECT_EQ(verify(doubled), std::vector<std::string>{});
}

TEST(Verify, TakesOneClassForDifferentPairs) {
  EXPECT_EQ(verify(changed(routed_alltoall(),
                           [](Schedule& s) {
                             for (Route& route : s.routes) route.route_class = 1;
                           })),
            std::vector<std::string>{});
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
  for (const std::int32_t threads : {2, 3, 7}) EXPECT_EQ(verify(wrong, 20, threads), faults);
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
}  // namespace libcoll
