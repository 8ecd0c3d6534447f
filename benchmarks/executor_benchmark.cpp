// The executor alone, over messages between ranks of one process, and lowering. Bytes per second beside memcpy and
// STREAM's triad (McCalpin, "Memory Bandwidth and Machine Balance in Current High Performance Computers", 1995).
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libcoll/execute/execution.h"
#include "libcoll/execute/task_graph.h"
#include "libcoll/reduce/kernels.h"
#include "planner/broadcast/planners.h"
#include "planner/registry/planner.h"
#include "planner/schedule/program.h"
#include "planner/topology/generators.h"
#include "tests/unit/support/memory_transport.h"

namespace libcoll {

using namespace broadcast;
using namespace execute;
using namespace reduce;
using namespace registry;
using namespace schedule;
using namespace test;
using namespace topology;
using namespace transport;

namespace {

constexpr std::int64_t float_bytes = 4;

void sum_floats(const void*, void* destination, const void* left, const void* right, std::int64_t elements) noexcept {
  static const ReduceKernel kernel = reduce_kernel(ReduceOp::sum, ElementType::float32);
  kernel(destination, left, right, static_cast<std::size_t>(elements));
}

/// Completes what is posted when it is asked to: what is left is the executor's own time.
class InstantTransport final : public Transport {
 public:
  [[nodiscard]] std::string name() const override { return "instant"; }
  [[nodiscard]] const std::string& address() const override { return address_; }
  Result<PeerId> connect(const std::string&, std::int32_t) override { return PeerId{0}; }
  Posted send(PeerId, std::uint64_t, const void*, std::size_t, Completion*) noexcept override { return Posted::done; }
  Posted receive(std::int32_t, std::uint64_t, void*, std::size_t, Completion* completion) noexcept override {
    received_.push_back(completion);
    return Posted::pending;
  }
  bool progress() noexcept override {
    for (Completion* completion : std::exchange(received_, {})) completion->waiter->completed(completion->index, true);
    return true;
  }
  bool flushed(Flush&, std::span<const PeerId>) noexcept override { return true; }
  void block(int) noexcept override {}

 private:
  std::string address_ = "instant";
  std::vector<Completion*> received_;
};

Schedule planned(Collective collective, const std::string& topology) {
  return find_planner(broadcast_planners(), collective, "bfb")->plan(generate(topology).value(), {}).value();
}

/// What one rank does in a call of `elements` elements (of the vector, or of a block).
struct Rank {
  Program program;
  std::vector<std::int32_t> rank_of_node;
  Shape shape;
  TaskGraph task_graph;
};

Rank rank_of(const Schedule& schedule, NodeId node, std::int64_t elements, const Tuning& tuning) {
  Rank rank{lower(schedule, node), {}, equal_shards(elements, float_bytes), {}};
  for (std::int32_t i = 0; i < schedule.topology.host_count(); ++i) rank.rank_of_node.push_back(i);
  rank.task_graph = make_task_graph(rank.program, rank.rank_of_node, rank.shape, tuning);
  return rank;
}

/// Small messages, so that no time goes into data: per message (sent or received), dependency and reduction.
void executor_alone(benchmark::State& state, Collective collective) {
  const Tuning tuning{1024, 0, 8};
  const Rank rank = rank_of(planned(collective, "torus:4x4"), 0, state.range(0), tuning);
  const auto bytes = static_cast<std::size_t>(state.range(0) * float_bytes * 16);
  const std::vector<std::byte> input(bytes);
  std::vector<std::byte> output(bytes);
  InstantTransport transport;
  const std::vector<PeerId> peers(16, 0);
  Workspace workspace;
  while (state.KeepRunning()) {
    Execution execution(rank.task_graph, 0, {input.data(), output.data()}, {&sum_floats, nullptr, false}, transport,
                        peers, TagSpace(1, 0), tuning, workspace);
    execution.start();
    while (!execution.finished()) {
      transport.progress();
      execution.advance();
    }
  }
  const auto per = [&](std::size_t count) {
    return benchmark::Counter(static_cast<double>(count),
                              benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  };
  state.counters["s/message"] = per(rank.task_graph.sends.size() + rank.task_graph.receives.size());
  state.counters["s/dependency"] = per(rank.task_graph.successors.size());
  if (!rank.task_graph.reductions.empty()) state.counters["s/reduction"] = per(rank.task_graph.reductions.size());
}
BENCHMARK_CAPTURE(executor_alone, allgather, Collective::allgather)->Arg(16)->Arg(1024);
BENCHMARK_CAPTURE(executor_alone, reduce_scatter, Collective::reduce_scatter)->Arg(16)->Arg(1024);
BENCHMARK_CAPTURE(executor_alone, allreduce, Collective::allreduce)->Arg(256)->Arg(16384);

/// All ranks of a ring in one thread: bytes per second of the users' vectors together.
void ring_over_memory(benchmark::State& state) {
  const Tuning tuning{512 * std::int64_t{1024}, 0, 8};
  const std::int64_t elements = state.range(0) / float_bytes;
  constexpr int ranks = 2;
  const Schedule schedule = planned(Collective::allreduce, "ring:2");
  std::vector<Rank> all;
  all.reserve(ranks);
  for (NodeId node = 0; node < ranks; ++node) all.push_back(rank_of(schedule, node, elements, tuning));
  const auto transports = make_memory_transports(ranks);
  const std::vector<PeerId> peers{transports[0]->connect("0", 0).value(), transports[0]->connect("1", 0).value()};
  const std::vector<std::byte> input(static_cast<std::size_t>(state.range(0)));
  std::vector<std::vector<std::byte>> outputs(ranks, input);
  std::vector<Workspace> workspaces(ranks);
  while (state.KeepRunning()) {
    std::vector<std::unique_ptr<Execution>> executions;
    executions.reserve(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      executions.push_back(std::make_unique<Execution>(
          all[rank].task_graph, static_cast<NodeId>(rank), Buffers{input.data(), outputs[rank].data()},
          Reducer{&sum_floats, nullptr, false}, *transports[rank], peers, TagSpace(1, 0), tuning, workspaces[rank]));
      executions.back()->start();
    }
    while (!executions[0]->finished() || !executions[1]->finished()) {
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        transports[rank]->progress();
        executions[rank]->advance();
      }
    }
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * ranks);
}
BENCHMARK(ring_over_memory)->RangeMultiplier(4)->Range(64 << 10, 16 << 20);

/// Per 1000 messages of the task graph.
void lowering_to_task_graph(benchmark::State& state, Collective collective) {
  const Schedule schedule = planned(collective, "torus:4x4");
  const Tuning tuning;
  const Rank rank = rank_of(schedule, 0, state.range(0), tuning);
  while (state.KeepRunning()) {
    benchmark::DoNotOptimize(make_task_graph(rank.program, rank.rank_of_node, rank.shape, tuning));
  }
  const double thousands = static_cast<double>(rank.task_graph.sends.size() + rank.task_graph.receives.size()) / 1000;
  state.counters["s/1000 messages"] =
      benchmark::Counter(thousands, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(lowering_to_task_graph, allgather, Collective::allgather)->Arg(1 << 10)->Arg(1 << 20);
BENCHMARK_CAPTURE(lowering_to_task_graph, allreduce, Collective::allreduce)->Arg(1 << 14)->Arg(1 << 24);

void copy(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const std::vector<std::byte> from(bytes);
  std::vector<std::byte> to(bytes);
  while (state.KeepRunning()) {
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(copy)->RangeMultiplier(4)->Range(64 << 10, 64 << 20);

/// Destination, left and right apart, as the first reduction of a chunk: bytes of the destination.
void reduce(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const std::vector<std::byte> left(bytes);
  const std::vector<std::byte> right(bytes);
  std::vector<std::byte> sum(bytes);
  while (state.KeepRunning()) {
    sum_floats(nullptr, sum.data(), left.data(), right.data(), state.range(0) / float_bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(reduce)->RangeMultiplier(4)->Range(64 << 10, 64 << 20);

/// a = b + s·c: bytes of a.
void stream_triad(benchmark::State& state) {
  const auto elements = static_cast<std::size_t>(state.range(0)) / sizeof(double);
  std::vector<double> a(elements, 0);
  const std::vector<double> b(elements, 1);
  const std::vector<double> c(elements, 2);
  while (state.KeepRunning()) {
    for (std::size_t i = 0; i < elements; ++i) a[i] = b[i] + 3.0 * c[i];
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(stream_triad)->RangeMultiplier(4)->Range(64 << 10, 64 << 20);

}  // namespace
}  // namespace libcoll
