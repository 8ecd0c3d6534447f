// Harvest (paper 002): the closed form for recursive doubling by number of nodes (Figure 11), and the general program.
#include <benchmark/benchmark.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "planner/reconfigure/harvest.h"
#include "planner/reconfigure/recursive_doubling_rewirings.h"
#include "planner/reconfigure/staged_collective.h"

namespace libcoll {

using namespace reconfigure;

namespace {

constexpr double bytes = 16 << 20;
constexpr double alpha = 5e-7;
constexpr double delta = 5e-7;
constexpr double bandwidth = 1e11;
constexpr double reconfiguration = 1e-5;

void closed_form(benchmark::State& state) {
  const auto steps = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(state.range(0))) - 1);
  RecursiveDoublingModel model{bytes, alpha, delta, 1 / bandwidth, reconfiguration};
  while (state.KeepRunning()) {
    benchmark::DoNotOptimize(model);
    benchmark::DoNotOptimize(plan_recursive_doubling_rewirings(model, steps));
  }
}

/// Everything: staging, candidates, θ of every step on each of them, the dynamic program.
void general(benchmark::State& state, const char* collective, const char* algorithm) {
  const auto nodes = static_cast<std::int32_t>(state.range(0));
  while (state.KeepRunning()) {
    Result<StagedCollective> stages =
        stage(collective, algorithm, {.nodes = nodes, .ports = 1, .dimensions = {}, .demand = {}});
    const Result<Harvest> harvest =
        Harvest::prepare(std::move(stages).value(), static_cast<std::int32_t>(state.range(1)));
    if (!harvest.ok()) {
      state.SkipWithError(harvest.error().message.c_str());
      return;
    }
    benchmark::DoNotOptimize(harvest->plan({bytes, alpha, delta, bandwidth, reconfiguration}).seconds);
  }
}

BENCHMARK(closed_form)->RangeMultiplier(2)->Range(8, 1024)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(general, recursive_doubling, "allreduce", "recursive-doubling")
    ->ArgsProduct({{16, 64}, {1, 2, 4}})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(general, swing, "allreduce", "swing")->ArgsProduct({{16, 64}, {2, 4}})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(general, direct, "alltoall", "direct")->Args({64, 2})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace libcoll
