// Planning time by number of nodes: BFB allgather and its loads alone, all-to-all by the maximum concurrent flow, both
// lowerings, the fluid plan alone and its split into paths.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "planner/broadcast/bfb_steps.h"
#include "planner/flow/bushes.h"
#include "planner/flow/concurrent_flow.h"
#include "planner/flow/flow_problem.h"
#include "planner/flow/path_decomposition.h"
#include "planner/flow/pdhg.h"
#include "planner/flow/whole_units.h"
#include "planner/planner.h"
#include "planner/topology/generators.h"

namespace libcoll {
namespace {

void plan(benchmark::State& state, std::span<const Planner> table, Collective collective, const char* algorithm,
          const std::string& specification) {
  const Result<Topology> topology = generate(specification);
  const Result<Planner> planner = find_planner(table, collective, algorithm);
  if (!topology.ok() || !planner.ok()) {
    state.SkipWithError((topology.ok() ? planner.error() : topology.error()).message.c_str());
    return;
  }
  while (state.KeepRunning()) {
    const Result<Schedule> schedule = planner->plan(*topology, PlanOptions{});
    if (!schedule.ok()) {
      state.SkipWithError(schedule.error().message.c_str());
      return;
    }
    benchmark::DoNotOptimize(schedule->transfers.data());
  }
}

void bfb(benchmark::State& state, const char* specification) {
  plan(state, broadcast_planners(), Collective::allgather, "bfb", specification);
}

/// The loads of BFB alone (`--no-schedule`).
void bfb_loads(benchmark::State& state, const char* specification, bool symmetry) {
  const Result<Topology> topology = generate(specification);
  while (state.KeepRunning()) benchmark::DoNotOptimize(bfb_step_loads(*topology, symmetry)->data());
}

void mcf_path(benchmark::State& state, const char* specification) {
  plan(state, flow_planners(), Collective::alltoall, "mcf-path", specification);
}

void mcf_link(benchmark::State& state, const char* specification) {
  plan(state, flow_planners(), Collective::alltoall, "mcf-link", specification);
}

/// The fluid plan without its paths: what the time grows like with the number of nodes. `gap` in tenths of a per cent.
void concurrent_flow(benchmark::State& state, bool symmetry, std::int32_t threads) {
  const Result<Topology> topology = generate("genkautz:" + std::to_string(state.range(0)) + ",4");
  FlowOptions options;
  options.gap = static_cast<double>(state.range(1)) / 1000;
  options.symmetry = symmetry;
  options.threads = threads;
  options.paths = false;
  double gap = 0;
  while (state.KeepRunning()) {
    const Result<ConcurrentFlow> plan = max_concurrent_flow(*topology, options);
    if (!plan.ok()) {
      state.SkipWithError(plan.error().message.c_str());
      return;
    }
    gap = plan->certificate.flow_upper_bound / plan->flow - 1;
  }
  state.counters["certified_gap"] = gap;
}

void kautz_sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Unit(benchmark::kMillisecond)->ArgNames({"nodes", "permille"})->UseRealTime();
  for (const std::int64_t nodes : {100, 200, 500, 1000}) {
    for (const std::int64_t permille : {10, 1}) benchmark->Args({nodes, permille});
  }
}

/// The paths of a flow that is known to 1 %, every source by itself: as they come, and after fractions were pushed away
/// as far as 1 % allows.
void flow_to_paths(benchmark::State& state, const char* specification, bool whole_units, std::int32_t threads) {
  const Result<Topology> topology = generate(specification);
  const FlowProblem problem = flow_problem(*topology, source_orbits(*topology, {}));
  FlowLimits limits;
  limits.gap = 0.03;
  FlowSolution solution = solve_by_bushes(problem, limits);
  limits.gap = 0.01;
  solution = solve_by_pdhg(problem, std::move(solution), limits);
  std::size_t pairs = 0;
  std::size_t paths = 0;
  while (state.KeepRunning()) {
    state.PauseTiming();
    FlowSolution pushed = solution;
    state.ResumeTiming();
    if (whole_units) push_to_whole_units(problem, (1 + limits.gap) * solution.bound, pushed);
    for (std::vector<double>& flow : pushed.flow) flow = by_link_id(problem, flow);
    std::vector<PairPaths> all = decompose(*topology, problem.sources, pushed.flow, threads);
    state.PauseTiming();
    pairs = all.size();
    paths = 0;
    for (const PairPaths& pair : all) paths += pair.paths.size();
    all = {};
    state.counters["gap"] = pushed.load / solution.bound - 1;
    state.ResumeTiming();
  }
  state.counters["paths_per_pair"] = static_cast<double>(paths) / static_cast<double>(pairs);
}

/// One source per orbit: the exact optimum of vertex-transitive graphs.
void transitive_flow(benchmark::State& state, const char* specification) {
  const Result<Topology> topology = generate(specification);
  FlowOptions options;
  options.paths = false;
  while (state.KeepRunning()) benchmark::DoNotOptimize(max_concurrent_flow(*topology, options)->flow);
}

BENCHMARK_CAPTURE(concurrent_flow, without_symmetry, false, 1)->Apply(kautz_sizes);
BENCHMARK_CAPTURE(concurrent_flow, two_threads, false, 2)->Apply(kautz_sizes);
BENCHMARK_CAPTURE(concurrent_flow, with_symmetry, true, 1)->Apply(kautz_sizes);
BENCHMARK_CAPTURE(flow_to_paths, genkautz_1000_4, "genkautz:1000,4", false, 1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(flow_to_paths, whole_units, "genkautz:1000,4", true, 1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(flow_to_paths, whole_units_two_threads, "genkautz:1000,4", true, 2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(transitive_flow, torus_16x16x16, "torus:16x16x16")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(transitive_flow, hypercube_12, "hypercube:12")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(transitive_flow, circulant_4096, "circulant:4096,7,31")->Unit(benchmark::kMillisecond);

#define LIBCOLL_LOADS(name, specification)                                                 \
  BENCHMARK_CAPTURE(bfb_loads, name, specification, false)->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(bfb_loads, name##_with_symmetry, specification, true)->Unit(benchmark::kMillisecond)

LIBCOLL_LOADS(hypercube_10, "hypercube:10");
LIBCOLL_LOADS(torus_50x50, "torus:50x50");
LIBCOLL_LOADS(torus_10x10x10, "torus:10x10x10");
LIBCOLL_LOADS(genkautz_1000_4, "genkautz:1000,4");

#define LIBCOLL_PLAN(algorithm)                                                                \
  BENCHMARK_CAPTURE(algorithm, hypercube_3, "hypercube:3")->Unit(benchmark::kMillisecond);     \
  BENCHMARK_CAPTURE(algorithm, genkautz_16_4, "genkautz:16,4")->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(algorithm, torus_3x3x3, "torus:3x3x3")->Unit(benchmark::kMillisecond);     \
  BENCHMARK_CAPTURE(algorithm, genkautz_32_4, "genkautz:32,4")->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(algorithm, torus_4x4x4, "torus:4x4x4")->Unit(benchmark::kMillisecond)

LIBCOLL_PLAN(bfb);
LIBCOLL_PLAN(mcf_path);
LIBCOLL_PLAN(mcf_link);

}  // namespace
}  // namespace libcoll
