// One thread per rank; small, for it runs under the thread sanitizer.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "planner/broadcast/planners.h"
#include "planner/registry/planner.h"
#include "planner/topology/generators.h"
#include "tests/unit/execution_harness.h"
#include "tests/unit/small_schedules.h"

namespace libcoll::execute_threads_test {

using namespace broadcast;
using namespace execute;
using namespace registry;
using namespace schedule;
using namespace test;
using namespace topology;
using namespace transport;

namespace {

constexpr int rounds = 3;
constexpr std::uint32_t first_call = 4090;  ///< call numbers wrap at 4096 on the way
constexpr int most_idle_blocks = 20'000;    ///< of a millisecond; then the rank is stuck

/// What all ranks do one after the other, each in its own time.
struct Sequence {
  std::vector<Plan> plans;
  std::vector<Job> jobs;  ///< one for each plan
};

/// One rank with what it keeps from call to call.
struct Rank {
  NodeId node = 0;
  std::unique_ptr<Transport> transport;
  std::vector<PeerId> peers;
  Workspace workspace;
  std::vector<Memory> results;  ///< one for each call
  bool stuck = false;
};

Plan planned(Collective collective) {
  const Topology topology = generate("hypercube:2").value();
  return make_plan(find_planner(broadcast_planners(), collective, "bfb")->plan(topology, {}).value(), 5);
}

Job job(std::int64_t elements, const Tuning& tuning, bool in_place = false) {
  Job result;
  result.elements = elements;
  result.tuning = tuning;
  result.in_place = in_place;
  return result;
}

Sequence make_sequence() {
  Sequence sequence;
  sequence.plans.push_back(planned(Collective::allreduce));
  sequence.plans.push_back(planned(Collective::allgather));
  sequence.plans.push_back(make_plan(ring_alltoall(4, 2), 5));
  sequence.plans.push_back(planned(Collective::allreduce));
  sequence.plans.push_back(planned(Collective::reduce_scatter));
  sequence.jobs = {job(97, {64, 1024, 1}), job(3, {64, 0, 8}), job(50, {128, 256, 2}), job(501, {256, 0, 8}, true),
                   job(20, {64, 1024, 1})};
  return sequence;
}

/// What Runtime::drive does, without its clock.
bool drive(Execution& execution, Transport& transport) {
  for (int idle = 0; !execution.finished() && !execution.failed() && idle < most_idle_blocks;) {
    const bool moved = transport.progress();
    execution.advance();
    if (moved || execution.finished()) continue;
    if (transport.arm()) transport.block(1);
    ++idle;
  }
  return execution.finished() && !execution.failed();
}

bool run_call(Rank& rank, const Plan& plan, const Job& job, std::uint32_t call) {
  const auto node = static_cast<std::size_t>(rank.node);
  const std::int32_t place = plan.rank_of_node[node];
  const TaskGraph task_graph = make_task_graph(plan.programs[node], plan.rank_of_node, shape_of(job), job.tuning);
  Memory memory = make_memory(plan, job, place);
  Execution execution(task_graph, rank.node, buffers_of(plan, job, place, memory), reducer_of(job.numbers),
                      *rank.transport, rank.peers, TagSpace(1, call), job.tuning, rank.workspace);
  execution.start();
  const bool finished = drive(execution, *rank.transport);
  rank.results.push_back(std::move(memory));
  return finished;
}

void run_rank(Rank& rank, const Sequence& sequence) {
  std::uint32_t call = first_call;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < sequence.plans.size(); ++i) {
      rank.stuck = !run_call(rank, sequence.plans[i], sequence.jobs[i], call++);
      if (rank.stuck) return;
    }
  }
}

/// Transport k serves node k here; where the nodes' shards lie is the plans' affair.
std::vector<Rank> make_ranks(int count) {
  auto transports = make_memory_transports(count);
  std::vector<Rank> ranks(transports.size());
  for (std::size_t node = 0; node < ranks.size(); ++node) {
    ranks[node].node = static_cast<NodeId>(node);
    for (const auto& transport : transports) {
      ranks[node].peers.push_back(transports[node]->connect(transport->address(), 0).value());
    }
  }
  for (std::size_t node = 0; node < ranks.size(); ++node) ranks[node].transport = std::move(transports[node]);
  return ranks;
}

void expect_results(const Rank& rank, const Sequence& sequence) {
  ASSERT_FALSE(rank.stuck) << "node " << rank.node << " in call " << rank.results.size();
  ASSERT_EQ(rank.results.size(), rounds * sequence.plans.size());
  for (std::size_t call = 0; call < rank.results.size(); ++call) {
    const Plan& plan = sequence.plans[call % sequence.plans.size()];
    const Job& job = sequence.jobs[call % sequence.plans.size()];
    const std::int32_t place = plan.rank_of_node[static_cast<std::size_t>(rank.node)];
    EXPECT_TRUE(rank.results[call].output == expected_output(plan, job, place)) << rank.node << ", call " << call;
    EXPECT_TRUE(rank.results[call].input == input_of(plan, job, place)) << rank.node << ", call " << call;
  }
}

TEST(ExecuteThreads, BackToBackCollectives) {
  const Sequence sequence = make_sequence();
  std::vector<Rank> ranks = make_ranks(4);
  std::vector<std::thread> threads;
  threads.reserve(ranks.size());
  for (Rank& rank : ranks) threads.emplace_back(run_rank, std::ref(rank), std::cref(sequence));
  for (std::thread& thread : threads) thread.join();
  for (const Rank& rank : ranks) expect_results(rank, sequence);
}

}  // namespace
}  // namespace libcoll::execute_threads_test
