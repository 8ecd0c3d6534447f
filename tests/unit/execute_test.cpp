#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "planner/broadcast/planners.h"
#include "planner/flow/planners.h"
#include "planner/registry/planner.h"
#include "planner/topology/generators.h"
#include "tests/unit/execution_harness.h"
#include "tests/unit/random_regular.h"
#include "tests/unit/small_schedules.h"

namespace libcoll::execute_test {

using namespace broadcast;
using namespace execute;
using namespace flow;
using namespace registry;
using namespace schedule;
using namespace test;
using namespace topology;
using namespace transport;

namespace {

// --- every collective on many wirings, sizes and tunings --------------------------------------------------------

constexpr std::int64_t large_elements = 4096 + 3;

Topology make_topology_named(const std::string& specification) {
  if (specification == "random") return random_regular(7, 3, 20240229);
  return generate(specification).value();
}

Plan planned(std::span<const Planner> table, Collective collective, std::string_view name, const Topology& topology) {
  const Result<Schedule> schedule = find_planner(table, collective, name)->plan(topology, {});
  EXPECT_TRUE(schedule.ok()) << (schedule.ok() ? "" : schedule.error().message);
  return make_plan(*schedule, 7);
}

std::vector<Tuning> tunings() {
  std::vector<Tuning> all;
  for (const std::int64_t segment : {64, 1024 * 1024}) {
    for (const std::int64_t bundle : {0, 1024}) {
      for (const std::int64_t in_flight : {1, 8}) all.push_back({segment, bundle, in_flight});
    }
  }
  return all;
}

/// All tunings for every size, with gaps and late transports strewn over them.
std::vector<Job> jobs(std::int64_t ranks) {
  std::vector<Job> all;
  for (const Tuning& tuning : tunings()) {
    for (const std::int64_t elements : std::set<std::int64_t>{1, 2, ranks - 1, ranks, ranks + 1, 97, large_elements}) {
      Job job;
      job.seed = static_cast<std::uint32_t>(all.size());
      job.elements = elements;
      job.gap_bytes = mix(job.seed) % 3 == 0 ? 24 : 0;
      job.tuning = tuning;
      job.patience = mix(job.seed) / 3 % 2 == 0 ? 3 : 0;
      job.by_memory = mix(job.seed) / 6 % 2 == 0;
      all.push_back(job);
    }
  }
  return all;
}

std::string describe(const Plan& plan, const Job& job) {
  return std::string(to_string(plan.collective)) + " by " + plan.algorithm + ", " + std::to_string(job.elements) +
         " elements of " + std::to_string(job.element_bytes) + " bytes, gap " + std::to_string(job.gap_bytes) +
         ", segment " + std::to_string(job.tuning.segment_bytes) + ", bundle " +
         std::to_string(job.tuning.coalesce_max) + ", in flight " + std::to_string(job.tuning.in_flight) +
         (job.in_place ? ", in place" : "") + ", unequal " + std::to_string(job.unequal) + ", root " +
         std::to_string(job.root) + ", patience " + std::to_string(job.patience) + ", seed " +
         std::to_string(job.seed) + (job.by_memory ? ", by memory" : "");
}

/// What two nodes must agree on: number, order and length of the messages from one to the other.
using MessageList = std::vector<std::pair<std::uint32_t, std::int64_t>>;

MessageList messages_with(const std::vector<Message>& messages, NodeId peer) {
  MessageList list;
  for (const Message& message : messages) {
    if (message.peer == peer) list.emplace_back(message.index, message.data.bytes);
  }
  return list;
}

void expect_ends_agree(const std::vector<TaskGraph>& task_graphs) {
  const auto nodes = static_cast<NodeId>(task_graphs.size());
  for (NodeId from = 0; from < nodes; ++from) {
    for (NodeId to = 0; to < nodes; ++to) {
      const MessageList sent = messages_with(task_graphs[static_cast<std::size_t>(from)].sends, to);
      EXPECT_EQ(sent, messages_with(task_graphs[static_cast<std::size_t>(to)].receives, from)) << from << "→" << to;
      for (std::size_t i = 0; i < sent.size(); ++i) {
        EXPECT_EQ(sent[i].first, i) << from << "→" << to;
        EXPECT_GT(sent[i].second, 0) << from << "→" << to;
      }
    }
  }
}

/// EXPECT_TRUE keeps the failure readable where buffers are large.
void expect_right(Plan& plan, const Job& job) {
  SCOPED_TRACE(describe(plan, job));
  std::vector<TaskGraph> task_graphs = make_task_graphs(plan, job);
  expect_ends_agree(task_graphs);
  RoundRobin run(plan, job, std::move(task_graphs));
  ASSERT_TRUE(run.finish());
  EXPECT_LE(run.peak(), job.tuning.in_flight);
  for (std::size_t node = 0; node < plan.programs.size(); ++node) {
    const std::int64_t rank = plan.rank_of_node[node];
    EXPECT_TRUE(run.memory(node).output == expected_output(plan, job, rank)) << "output of rank " << rank;
    EXPECT_TRUE(run.memory(node).input == input_of(plan, job, rank)) << "input of rank " << rank;
  }
}

void expect_right(Plan plan, bool also_in_place) {
  for (Job job : jobs(plan.ranks)) {
    expect_right(plan, job);
    if (!also_in_place) continue;
    job.in_place = true;
    expect_right(plan, job);
  }
}

class Execute : public testing::TestWithParam<const char*> {
 protected:
  const Topology topology_ = make_topology_named(GetParam());
};

TEST_P(Execute, Allgather) {
  expect_right(planned(broadcast_planners(), Collective::allgather, "bfb", topology_), true);
}

TEST_P(Execute, ReduceScatter) {
  expect_right(planned(broadcast_planners(), Collective::reduce_scatter, "bfb", topology_), false);
}

TEST_P(Execute, Allreduce) {
  expect_right(planned(broadcast_planners(), Collective::allreduce, "bfb", topology_), true);
}

TEST_P(Execute, AlltoallOverLinks) {
  expect_right(planned(flow_planners(), Collective::alltoall, "mcf-link", topology_), false);
}

TEST_P(Execute, AlltoallOverPaths) {
  expect_right(planned(flow_planners(), Collective::alltoall, "mcf-path", topology_), false);
}

/// One rank has an element less than the others: nobody waits for ever, and somebody learns of it.
TEST_P(Execute, RanksOfOtherLengthsComeToTheEnd) {
  for (const Collective collective :
       {Collective::allgather, Collective::reduce_scatter, Collective::allreduce, Collective::alltoall}) {
    Plan plan = collective == Collective::alltoall ? planned(flow_planners(), collective, "mcf-path", topology_)
                                                   : planned(broadcast_planners(), collective, "bfb", topology_);
    Job job;
    job.elements = 97;
    for (const bool by_memory : {false, true}) {
      job.by_memory = by_memory;
      job.patience = by_memory ? 3 : 0;
      SCOPED_TRACE(describe(plan, job));
      Job less = job;
      --less.elements;
      std::vector<TaskGraph> task_graphs = make_task_graphs(plan, job);
      task_graphs.front() = make_task_graphs(plan, less).front();
      RoundRobin run(plan, job, std::move(task_graphs));
      EXPECT_TRUE(run.finish());
      EXPECT_GT(run.surprised(), 0);
    }
  }
}

/// Blocks whose bytes are no multiple of a word are moved byte by byte.
TEST_P(Execute, MovesSingleBytes) {
  Plan allgather = planned(broadcast_planners(), Collective::allgather, "bfb", topology_);
  Plan alltoall = planned(flow_planners(), Collective::alltoall, "mcf-link", topology_);
  for (Job job : jobs(allgather.ranks)) {
    if (job.elements == large_elements) continue;
    job.element_bytes = 1;
    expect_right(allgather, job);
    expect_right(alltoall, job);
  }
}

/// Shards of many lengths, 0 among them, and calls in which one rank alone has something: these are broadcasts,
/// scatters and reductions to a root. Every root, every seed with another tuning.
void expect_right_unequal(Plan plan, bool also_in_place) {
  const std::vector<Tuning> all_tunings = tunings();
  for (std::int64_t variant = 0; variant < plan.ranks + 6; ++variant) {
    for (const std::int64_t elements : {1, 97, 1000}) {
      Job job;
      job.seed = static_cast<std::uint32_t>(variant * 3 + elements);
      job.elements = elements;
      job.gap_bytes = job.seed % 3 == 0 ? 24 : 0;
      job.tuning = all_tunings[static_cast<std::size_t>(job.seed) % all_tunings.size()];
      job.patience = job.seed % 2 == 0 ? 3 : 0;
      job.by_memory = job.seed % 4 < 2;
      if (variant < plan.ranks) {
        job.root = variant;
      } else {
        job.unequal = job.seed;
      }
      expect_right(plan, job);
      if (!also_in_place) continue;
      job.in_place = true;
      expect_right(plan, job);
    }
  }
}

TEST_P(Execute, UnequalAllgather) {
  expect_right_unequal(planned(broadcast_planners(), Collective::allgather, "bfb", topology_), true);
}

TEST_P(Execute, UnequalReduceScatter) {
  expect_right_unequal(planned(broadcast_planners(), Collective::reduce_scatter, "bfb", topology_), false);
}

TEST_P(Execute, UnequalAlltoallOverLinks) {
  Plan plan = planned(flow_planners(), Collective::alltoall, "mcf-link", topology_);
  EXPECT_TRUE(forwards_blocks(plan));  // none of these topologies is complete
  expect_right_unequal(std::move(plan), false);
}

TEST_P(Execute, UnequalAlltoallOverPaths) {
  Plan plan = planned(flow_planners(), Collective::alltoall, "mcf-path", topology_);
  EXPECT_FALSE(forwards_blocks(plan));
  expect_right_unequal(std::move(plan), false);
}

// --- sums of doubles --------------------------------------------------------------------------------------------

std::vector<Bytes> outputs_of(Plan& plan, const Job& job) {
  RoundRobin run(plan, job);
  EXPECT_TRUE(run.finish()) << describe(plan, job);
  std::vector<Bytes> outputs;
  for (std::size_t node = 0; node < plan.programs.size(); ++node) outputs.push_back(run.memory(node).output);
  return outputs;
}

/// Higham, Accuracy and Stability of Numerical Algorithms, (4.4): whatever the order, a sum of n numbers is off by at
/// most (n−1)·u·Σ|x| to first order; twice that leaves room for the rest and for our own long double sum.
void expect_close_sums(const Bytes& output, const Job& job, std::int64_t ranks) {
  for (std::int64_t index = 0; index < job.elements; ++index) {
    long double sum = 0;
    long double magnitude = 0;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      sum += double_at(rank, 0, index);
      magnitude += std::abs(double_at(rank, 0, index));
    }
    const double got = double_of(load(output.data() + guard_bytes + 8 * index));
    const long double unit_roundoff = std::numeric_limits<double>::epsilon() / 2;
    EXPECT_LE(std::abs(got - sum), 2 * static_cast<long double>(ranks - 1) * unit_roundoff * magnitude) << index;
  }
}

/// Without this the test below could not tell one order of reduction from another.
void expect_order_to_matter(const Job& job, std::int64_t ranks) {
  std::int64_t different = 0;
  for (std::int64_t index = 0; index < job.elements; ++index) {
    double upwards = 0;
    double downwards = 0;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      upwards += double_at(rank, 0, index);
      downwards += double_at(ranks - 1 - rank, 0, index);
    }
    if (bits_of(upwards) != bits_of(downwards)) ++different;
  }
  EXPECT_GT(different, 0);
}

/// Design, runtime rule 2: the same bits on every rank and from run to run.
void expect_same_bits(Plan& plan, Job job) {
  const std::vector<Bytes> first = outputs_of(plan, job);
  expect_close_sums(first.front(), job, plan.ranks);
  for (const Bytes& output : first) EXPECT_TRUE(output == first.front()) << describe(plan, job);
  for (job.seed = 100; job.seed < 106; ++job.seed) {
    job.patience = job.seed % 3;
    job.in_place = job.seed % 2 == 0;
    EXPECT_TRUE(outputs_of(plan, job) == first) << describe(plan, job);
  }
}

TEST_P(Execute, AllreduceRoundsAlikeOnAllRanksAndInAllRuns) {
  Plan plan = planned(broadcast_planners(), Collective::allreduce, "bfb", topology_);
  Job job;
  job.elements = 301;
  job.numbers = Numbers::doubles;
  expect_order_to_matter(job, plan.ranks);
  for (const Tuning& tuning : tunings()) {
    job.tuning = tuning;
    expect_same_bits(plan, job);
  }
}

std::string test_name(const testing::TestParamInfo<const char*>& parameter) {
  std::string name = parameter.param;
  std::replace_if(
      name.begin(), name.end(), [](char character) { return character == ':' || character == ','; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Topologies, Execute,
                         testing::Values("hypercube:3", "torus:3x2", "genkautz:7,2", "ring:5", "complete_bipartite:2,2",
                                         "mesh:2x3", "random"),
                         test_name);

/// Schedules no planner of ours makes: trees (several contributions meet, and the owner is not the root), a switch.
TEST(ExecuteByHand, SmallSchedules) {
  for (const Schedule& schedule : all_small_schedules()) {
    if (is_rooted(schedule.collective)) continue;  // programs run the plans of the others in their place
    SCOPED_TRACE(name_of(schedule));
    expect_right(make_plan(schedule, 3), schedule.collective == Collective::allreduce);
    if (schedule.collective != Collective::allreduce) expect_right_unequal(make_plan(schedule, 3), false);
  }
}

TEST(ExecuteByHand, LimitsMessagesInFlight) {
  Plan plan = make_plan(ring_allgather(3), 3);
  Job job;
  job.elements = large_elements;
  job.patience = 3;
  job.tuning = {64, 0, 5};
  RoundRobin run(plan, job);
  EXPECT_TRUE(run.finish());
  EXPECT_EQ(run.peak(), 5);  // 513 segments want to go out at once, so the limit is also reached
}

TEST(ExecuteByHand, ShortPiecesShareAMessage) {
  const Plan plan = make_plan(complete_alltoall(3, 4), 3);
  Job job;
  job.elements = 8;
  job.tuning = {16, 0, 8};  // pieces of two elements: four a block
  EXPECT_EQ(make_task_graphs(plan, job)[0].sends.size(), 2 * 4U);
  job.tuning.coalesce_max = 1024;
  EXPECT_EQ(make_task_graphs(plan, job)[0].sends.size(), 2U);
}

/// Shards of nothing are not worth a message, and nothing is kept for them.
TEST(ExecuteByHand, EmptyShardsMoveNothing) {
  Plan plan = make_plan(ring_allgather(4), 3);
  Job job;
  job.elements = 8;
  job.root = 2;
  std::size_t messages = 0;
  for (const TaskGraph& task_graph : make_task_graphs(plan, job)) messages += task_graph.sends.size();
  EXPECT_EQ(messages, 3U);  // to each of the others once
  job.elements = 0;
  for (const TaskGraph& task_graph : make_task_graphs(plan, job)) {
    EXPECT_EQ(task_graph.task_count(), 0U);
    EXPECT_EQ(task_graph.scratch_bytes, 0);
    EXPECT_TRUE(task_graph.initial_copies.empty());
  }
  expect_right(plan, job);
}

// --- failing transports -----------------------------------------------------------------------------------------

/// Answers as it is told and delivers nothing; the completions of what it took are kept.
class StubTransport final : public Transport {
 public:
  StubTransport(Posted sends, Posted receives) : sends_(sends), receives_(receives) {}

  std::string name() const override { return "stub"; }
  const std::string& address() const override { return address_; }
  Result<PeerId> connect(const std::string&, std::int32_t) override { return PeerId{0}; }
  Posted send(PeerId, std::uint64_t, const void*, std::size_t, Completion* completion) noexcept override {
    sent.push_back(completion);
    return sends_;
  }
  Posted receive(std::int32_t, std::uint64_t, void*, std::size_t, Completion* completion) noexcept override {
    received.push_back(completion);
    return receives_;
  }
  bool progress() noexcept override { return false; }
  bool flushed(Flush&, std::span<const PeerId>) noexcept override { return true; }
  void block(int) noexcept override {}

  std::vector<Completion*> sent;
  std::vector<Completion*> received;

 private:
  Posted sends_;
  Posted receives_;
  std::string address_ = "stub";
};

/// Rank 0 of an allgather of two ranks, in which each sends and receives one message, or of more.
class FailingExecution {
 public:
  explicit FailingExecution(Transport& transport, std::int32_t ranks = 2)
      : plan_(make_plan(ring_allgather(ranks), 1)),
        peers_(static_cast<std::size_t>(ranks), 0),
        task_graph_(make_task_graph(plan_.programs[0], plan_.rank_of_node, shape_of(job_), job_.tuning)),
        memory_(make_memory(plan_, job_, plan_.rank_of_node[0])),
        execution_(task_graph_, 0, buffers_of(plan_, job_, plan_.rank_of_node[0], memory_), reducer_of(job_.numbers),
                   transport, peers_, TagSpace(1, 0), job_.tuning, plan_.workspaces[0]) {}

  Execution& operator*() { return execution_; }
  Execution* operator->() { return &execution_; }
  [[nodiscard]] std::uint64_t expected_tag() const { return TagSpace(1, 0).tag(1, 0); }

 private:
  Plan plan_;
  std::vector<PeerId> peers_;
  Job job_{4, 8, 0, {}, Numbers::integers, false, 0, 0};
  TaskGraph task_graph_;
  Memory memory_;
  Execution execution_;
};

void expect_failed(Execution& execution) {
  EXPECT_TRUE(execution.failed());
  EXPECT_FALSE(execution.finished());
  execution.advance();
  EXPECT_TRUE(execution.failed());
  EXPECT_FALSE(execution.finished());
}

TEST(ExecuteFailing, SendNotPosted) {
  StubTransport transport(Posted::failed, Posted::done);
  FailingExecution execution(transport);
  execution->start();
  expect_failed(*execution);
}

TEST(ExecuteFailing, ReceiveNotPosted) {
  StubTransport transport(Posted::done, Posted::failed);
  FailingExecution execution(transport);
  execution->start();
  expect_failed(*execution);
}

TEST(ExecuteFailing, SendGivenUp) {
  StubTransport transport(Posted::pending, Posted::done);
  FailingExecution execution(transport);
  execution->start();
  EXPECT_FALSE(execution->failed());
  ASSERT_EQ(transport.sent.size(), 1U);
  transport.sent[0]->waiter->completed(transport.sent[0]->index, false);
  expect_failed(*execution);
}

TEST(ExecuteFailing, ReceiveGivenUp) {
  StubTransport transport(Posted::done, Posted::pending);
  FailingExecution execution(transport);
  execution->start();
  EXPECT_FALSE(execution->failed());
  ASSERT_EQ(transport.received.size(), 1U);
  transport.received[0]->waiter->completed(transport.received[0]->index, false);
  expect_failed(*execution);
}

/// The same stub without a failure, so that the four above fail for the reason they name.
TEST(ExecuteFailing, NothingFails) {
  StubTransport transport(Posted::done, Posted::pending);
  FailingExecution execution(transport);
  execution->start();
  EXPECT_FALSE(execution->finished());
  ASSERT_EQ(transport.received.size(), 1U);
  transport.received[0]->waiter->completed(transport.received[0]->index, true);
  EXPECT_TRUE(execution->finished());
  EXPECT_FALSE(execution->failed());
}

TEST(ExecuteFailing, MessageOfAnotherLength) {
  auto transports = make_memory_transports(1);  // every peer is this rank itself
  FailingExecution execution(*transports[0]);
  const std::uint64_t short_message = 0;
  EXPECT_EQ(transports[0]->send(0, execution.expected_tag(), &short_message, sizeof short_message, nullptr),
            Posted::done);
  execution->start();
  EXPECT_TRUE(transports[0]->progress());
  EXPECT_FALSE(execution->failed());
  EXPECT_TRUE(execution->finished());
  EXPECT_TRUE(execution->lengths_differ());
}

/// Of two messages one has another length and the other does not come, in either order.
TEST(ExecuteFailing, MessageOfAnotherLengthBesideOneThatIsLost) {
  for (const std::size_t lost : {0U, 1U}) {
    StubTransport transport(Posted::done, Posted::pending);
    FailingExecution execution(transport, 3);
    execution->start();
    ASSERT_EQ(transport.received.size(), 2U);
    transport.received[1 - lost]->other_length = true;
    for (Completion* const completion : transport.received) completion->waiter->completed(completion->index, false);
    expect_failed(*execution);
    EXPECT_TRUE(execution->lengths_differ());
  }
}

// --- reduced while it arrives --------------------------------------------------------------------------------------

/// Receives whatever the test gives it.
class PieceTransport final : public Transport {
 public:
  std::string name() const override { return "pieces"; }
  const std::string& address() const override { return name_; }
  Result<PeerId> connect(const std::string&, std::int32_t) override { return PeerId{0}; }
  Posted send(PeerId, std::uint64_t, const void*, std::size_t, Completion*) noexcept override {
    ++sent;
    return Posted::done;
  }
  Posted receive(std::int32_t, std::uint64_t, void*, std::size_t, Completion*) noexcept override {
    return Posted::failed;
  }
  bool takes_pieces() const override { return true; }
  bool is_by_memory(PeerId) const noexcept override { return true; }
  Posted receive_pieces(std::int32_t, std::uint64_t, Pieces& pieces, std::size_t bytes,
                        Completion* completion) noexcept override {
    completion->pieces = &pieces;
    completion->bytes = bytes;
    received.push_back(completion);
    return Posted::pending;
  }
  bool progress() noexcept override { return false; }
  bool flushed(Flush&, std::span<const PeerId>) noexcept override { return true; }
  void block(int) noexcept override {}

  int sent = 0;
  std::vector<Completion*> received;

 private:
  std::string name_ = "pieces";
};

/// Cuts [0, bytes) into pieces of 1 to `longest` bytes, in any order.
std::vector<std::pair<std::size_t, std::size_t>> random_pieces(std::size_t bytes, std::size_t longest,
                                                               std::mt19937& random) {
  std::vector<std::pair<std::size_t, std::size_t>> pieces;
  for (std::size_t begin = 0; begin < bytes;) {
    const std::size_t length = std::min(bytes - begin, 1 + random() % longest);
    pieces.emplace_back(begin, length);
    begin += length;
  }
  std::shuffle(pieces.begin(), pieces.end(), random);
  return pieces;
}

/// Rank 0 of a reduce-scatter of two: its block is its own plus what comes from the other, in pieces of any length and
/// order, elements cut anywhere. Whole elements are summed by the time the last piece is there.
TEST(ExecuteInPieces, AnyPiecesGiveTheSum) {
  constexpr std::int64_t elements = 1001;
  std::mt19937 random(11);
  for (const std::size_t longest : {1U, 3U, 8U, 13U, 100U, 5000U}) {
    SCOPED_TRACE(longest);
    Plan plan = planned(broadcast_planners(), Collective::reduce_scatter, "bfb", generate("ring:2").value());
    const Job job{elements, 8, 0, {1 << 20, 0, 8}, Numbers::doubles, false, 0, 0};
    const TaskGraph task_graph = make_task_graph(plan.programs[0], plan.rank_of_node, shape_of(job), job.tuning);
    const std::int64_t rank = plan.rank_of_node[0];
    Memory memory = make_memory(plan, job, rank);
    const std::vector<PeerId> peers{0, 0};
    PieceTransport transport;
    Execution execution(task_graph, 0, buffers_of(plan, job, rank, memory), reducer_of(job.numbers), transport, peers,
                        TagSpace(1, 0), job.tuning, plan.workspaces[0]);
    execution.start();
    ASSERT_EQ(transport.received.size(), 1U);
    Completion& completion = *transport.received.front();
    ASSERT_EQ(completion.bytes, static_cast<std::size_t>(elements * 8));
    const Bytes theirs = input_of(plan, job, 1 - rank);
    const std::byte* message = theirs.data() + guard_bytes + rank * elements * 8;
    for (const auto& [offset, length] : random_pieces(completion.bytes, longest, random)) {
      completion.pieces->take(completion.index, offset, {message + offset, length});
    }
    std::int64_t summed = 0;
    for (std::int64_t i = 0; i < elements; ++i) {
      const double sum = double_at(rank, rank, i) + double_at(1 - rank, rank, i);
      summed += load(memory.output.data() + guard_bytes + 8 * i) == bits_of(sum) ? 1 : 0;
    }
    if (longest >= 100) {  // few elements are cut
      EXPECT_GT(summed, elements / 2);
    }
    EXPECT_FALSE(execution.finished());
    completion.waiter->completed(completion.index, true);
    EXPECT_TRUE(execution.finished());
    for (std::int64_t i = 0; i < elements; ++i) {
      const double sum = double_at(rank, rank, i) + double_at(1 - rank, rank, i);
      ASSERT_EQ(load(memory.output.data() + guard_bytes + 8 * i), bits_of(sum)) << i;
    }
  }
}

/// The executor takes what is reduced in pieces, of peers by memory alone, and nothing else.
TEST(ExecuteInPieces, SummandsByMemoryOnly) {
  const Topology topology = generate("ring:4").value();
  const auto in_pieces = [&](Collective collective, bool by_memory) {
    Plan plan = planned(broadcast_planners(), collective, "bfb", topology);
    Job job{64, 8, 0, {1 << 20, 0, 8}, Numbers::integers, false, 0, 0};
    job.by_memory = by_memory;
    RoundRobin run(plan, job);
    EXPECT_TRUE(run.finish());
    return run.received_in_pieces();
  };
  EXPECT_GT(in_pieces(Collective::reduce_scatter, true), 0);
  EXPECT_GT(in_pieces(Collective::allreduce, true), 0);
  EXPECT_EQ(in_pieces(Collective::allgather, true), 0);
  EXPECT_EQ(in_pieces(Collective::allreduce, false), 0);
}

// --- pacing -----------------------------------------------------------------------------------------------------

std::int64_t pretended_now = 0;
std::int64_t pretended_clock() noexcept { return pretended_now; }

/// One lane of 10 messages of 64 bytes that has 1 ms: a message every 0.1 ms once the window is used up.
TEST(ExecutePaced, SendsLeaveAtTheirRate) {
  Plan plan = make_plan(ring_allgather(2), 1);
  Job job{80, 8, 0, {64, 0, 1000}, Numbers::integers, false, 0, 0};
  const TaskGraph task_graph = make_task_graph(plan.programs[0], plan.rank_of_node, shape_of(job), job.tuning);
  ASSERT_EQ(task_graph.sends.size(), 10U);
  Memory memory = make_memory(plan, job, plan.rank_of_node[0]);
  const std::vector<PeerId> peers{0, 0};
  StubTransport transport(Posted::done, Posted::done);
  pretended_now = 5'000'000;  // whatever it starts at
  Execution execution(task_graph, 0, buffers_of(plan, job, plan.rank_of_node[0], memory), reducer_of(job.numbers),
                      transport, peers, TagSpace(1, 0), job.tuning, plan.workspaces[0],
                      Pace{1'000'000, 128, &pretended_clock});
  const auto sent_at = [&](std::int64_t nanoseconds) {
    pretended_now = 5'000'000 + nanoseconds;
    execution.advance();
    return transport.sent.size();
  };
  execution.start();
  EXPECT_EQ(transport.sent.size(), 3U);  // the window of two, and the one that is due at 0
  EXPECT_EQ(execution.milliseconds_to_next_send(), 1);
  EXPECT_EQ(sent_at(99'999), 3U);
  EXPECT_EQ(sent_at(100'000), 4U);
  EXPECT_EQ(sent_at(450'000), 7U);
  EXPECT_FALSE(execution.finished());
  EXPECT_EQ(sent_at(700'000), 10U);  // by its window ahead of 1 ms
  EXPECT_TRUE(execution.finished());
  EXPECT_GT(execution.milliseconds_to_next_send(), 1'000'000);
}

// --- steering ---------------------------------------------------------------------------------------------------

/// An all-to-all of two nodes whose two chunks take one route each, of classes 1 and 2.
Program two_routes() {
  Program program;
  program.collective = Collective::alltoall;
  program.nodes = 2;
  program.chunks_per_shard = 2;
  program.steps = 1;
  for (const std::int32_t chunk : {0, 1}) {
    program.operations.push_back({OperationKind::send, 1, chunk, 1, 1, 1, chunk, chunk + 1, {}});
    program.operations.push_back({OperationKind::receive, 2, chunk, 1, 1, 1, chunk, chunk + 1, {}});
  }
  return program;
}

/// Two routes between the same two nodes: their chunks leave by different peers of the transport, and are expected
/// on the classes of their routes.
TEST(ExecuteSteered, MessagesUseTheClassOfTheirRoute) {
  const Program program = two_routes();
  EXPECT_EQ(route_classes(program), 3);
  const TaskGraph task_graph = make_task_graph(program, {0, 1}, equal_shards(8, 8), Tuning{});
  ASSERT_EQ(task_graph.sends.size(), 2U);
  ASSERT_EQ(task_graph.receives.size(), 2U);
  for (const std::size_t chunk : {0U, 1U}) {
    const auto expected = static_cast<std::int32_t>(chunk) + 1;
    EXPECT_EQ(task_graph.sends[chunk].route_class, expected);
    EXPECT_EQ(task_graph.receives[chunk].route_class, expected);
    EXPECT_EQ(task_graph.lane(task_graph.sends[chunk]), static_cast<std::size_t>(expected) * 2 + 1);
    EXPECT_EQ(task_graph.sends[chunk].data.bytes, 32);
  }
}

/// Both chunks together are no longer than half of what shares a message: one message, on the route for that.
TEST(ExecuteSteered, ShortBlocksTakeOneRoute) {
  Program program = two_routes();
  program.lone_sends = {{}, {1, 2}};
  program.lone_receives = {{}, {0, 1}};
  Tuning tuning;
  tuning.coalesce_max = 128;
  const TaskGraph together = make_task_graph(program, {0, 1}, equal_shards(8, 8), tuning);
  ASSERT_EQ(together.sends.size(), 1U);
  ASSERT_EQ(together.receives.size(), 1U);
  EXPECT_EQ(together.sends[0].data.bytes, 64);
  EXPECT_EQ(together.sends[0].route, 1);
  EXPECT_EQ(together.sends[0].route_class, 2);
  EXPECT_EQ(together.receives[0].route, 0);
  EXPECT_EQ(together.receives[0].route_class, 1);
  const TaskGraph apart = make_task_graph(program, {0, 1}, equal_shards(9, 8), tuning);
  EXPECT_EQ(apart.sends.size(), 2U);
  EXPECT_EQ(apart.receives.size(), 2U);
}

// --- tags -------------------------------------------------------------------------------------------------------

/// Every bit of every field sets one bit of the tag, each another one: 12 + 12 + 16 + 24 = 64.
TEST(TagSpace, FieldsDoNotOverlap) {
  std::vector<std::uint64_t> tags;
  for (std::uint32_t bit = 0; bit < 12; ++bit) tags.push_back(TagSpace(1U << bit, 0).tag(0, 0));
  for (std::uint32_t bit = 0; bit < 12; ++bit) tags.push_back(TagSpace(0, 1U << bit).tag(0, 0));
  for (std::uint32_t bit = 0; bit < 16; ++bit) tags.push_back(TagSpace(0, 0).tag(NodeId{1} << bit, 0));
  for (std::uint32_t bit = 0; bit < 24; ++bit) tags.push_back(TagSpace(0, 0).tag(0, 1U << bit));
  std::uint64_t all = 0;
  for (const std::uint64_t tag : tags) {
    EXPECT_EQ(__builtin_popcountll(tag), 1);
    all |= tag;
  }
  EXPECT_EQ(tags.size(), 64U);
  EXPECT_EQ(all, ~std::uint64_t{0});
}

TEST(TagSpace, ValuesBeyondAFieldStayInIt) {
  EXPECT_EQ(TagSpace(TagSpace::max_communicator + 1, 0).tag(0, 0), 0U);
  EXPECT_EQ(TagSpace(0, 0x1000).tag(0, 0), 0U);
  EXPECT_EQ(TagSpace(0, 0).tag(0, TagSpace::max_message + 1), 0U);
}

}  // namespace
}  // namespace libcoll::execute_test
