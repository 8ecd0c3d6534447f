// Planning time by number of nodes: BFB allgather and its loads alone, all-to-all by the maximum concurrent flow, both
// lowerings, the fluid plan alone, its split into paths and those into chunks.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "planner/broadcast/bfb/bfb_steps.h"
#include "planner/broadcast/planners.h"
#include "planner/flow/first_order/bushes.h"
#include "planner/flow/first_order/pdhg.h"
#include "planner/flow/lowering/chunking.h"
#include "planner/flow/lowering/concurrent_flow.h"
#include "planner/flow/paths/path_decomposition.h"
#include "planner/flow/planners.h"
#include "planner/flow/problem/flow_problem.h"
#include "planner/registry/planner.h"
#include "planner/topology/generators.h"

namespace libcoll {

using namespace broadcast;
using namespace broadcast::bfb;
using namespace flow;
using namespace flow::first_order;
using namespace flow::lowering;
using namespace flow::paths;
using namespace flow::problem;
using namespace registry;
using namespace schedule;
using namespace topology;

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

/// A flow known to 1 %, every source by itself, and what it belongs to.
struct KnownFlow {
  Topology topology;
  FlowProblem problem;
  FlowSolution solution;
};

constexpr double known_gap = 0.01;

/// Found once for all benchmarks of a topology.
const KnownFlow& known_flow(const std::string& specification) {
  static std::map<std::string, KnownFlow> known;
  const auto found = known.find(specification);
  if (found != known.end()) return found->second;
  KnownFlow& flow = known[specification];
  flow.topology = generate(specification).value();
  flow.problem = flow_problem(flow.topology, source_orbits(flow.topology, {}));
  FlowLimits limits;
  limits.gap = 0.03;
  flow.solution = Bushes(flow.problem).solve(limits);
  limits.gap = known_gap;
  flow.solution = solve_by_pdhg(flow.problem, std::move(flow.solution), limits);
  return flow;
}

/// The largest load of a link of a graph whose links all have the same bandwidth.
double load_of(const Topology& topology, const std::vector<PairPaths>& pairs) {
  std::vector<double> load(topology.links().size(), 0);
  for (const PairPaths& pair : pairs) {
    for (const WeightedPath& path : pair.paths) {
      for (const LinkId link : path.links) load[static_cast<std::size_t>(link)] += path.weight;
    }
  }
  return *std::max_element(load.begin(), load.end());
}

/// From the flow on links to the paths of all pairs: as the flow comes, or in whole units as far as the gap allows.
std::vector<PairPaths> to_paths(const KnownFlow& known, bool whole_units, std::int32_t threads,
                                std::vector<std::vector<double>>& flow) {
  if (whole_units) return decompose_into_whole_units(known.problem, (1 + known_gap) * known.solution.bound, flow);
  renumber_by_link_id(known.problem, flow);
  return decompose(known.topology, known.problem.sources, flow, threads);
}

/// `gap` is that of the paths.
void flow_to_paths(benchmark::State& state, const char* specification, bool whole_units, std::int32_t threads) {
  const KnownFlow& known = known_flow(specification);
  while (state.KeepRunning()) {
    state.PauseTiming();
    std::vector<std::vector<double>> flow = known.solution.flow;
    state.ResumeTiming();
    std::vector<PairPaths> pairs = to_paths(known, whole_units, threads, flow);
    state.PauseTiming();
    std::size_t paths = 0;
    for (const PairPaths& pair : pairs) paths += pair.paths.size();
    state.counters["paths_per_pair"] = static_cast<double>(paths) / static_cast<double>(pairs.size());
    state.counters["gap"] = load_of(known.topology, pairs) / known.solution.bound - 1;
    pairs = {};
    malloc_trim(0);  // a plan is made once, on a heap that is not full of another's pieces
    state.ResumeTiming();
  }
}

/// From those paths to whole chunks.
void paths_to_chunks(benchmark::State& state, const char* specification, bool whole_units) {
  const KnownFlow& known = known_flow(specification);
  std::vector<std::vector<double>> flow = known.solution.flow;
  ConcurrentFlow plan;
  plan.classes = link_classes(known.topology, {});
  plan.pairs = to_paths(known, whole_units, 1, flow);
  plan.flow = 1 / load_of(known.topology, plan.pairs);
  Chunking chunking;
  while (state.KeepRunning()) {
    chunking = {};
    chunking = round_to_chunks(known.topology, plan, PlanOptions{});
  }
  std::size_t paths = 0;
  for (const ChunkedPair& pair : chunking.pairs) paths += pair.paths.size();
  state.counters["chunks_per_shard"] = chunking.chunks_per_shard;
  state.counters["loss"] = chunking.loss;
  state.counters["paths_per_pair"] = static_cast<double>(paths) / static_cast<double>(chunking.pairs.size());
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
#define LIBCOLL_TO_PATHS(phase, name, ...) \
  BENCHMARK_CAPTURE(phase, name, "genkautz:1000,4", __VA_ARGS__)->Unit(benchmark::kMillisecond)->UseRealTime()

LIBCOLL_TO_PATHS(flow_to_paths, as_it_comes, false, 1);
LIBCOLL_TO_PATHS(flow_to_paths, as_it_comes_two_threads, false, 2);
LIBCOLL_TO_PATHS(flow_to_paths, whole_units, true, 1);
LIBCOLL_TO_PATHS(paths_to_chunks, as_they_come, false);
LIBCOLL_TO_PATHS(paths_to_chunks, whole_units, true);
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
