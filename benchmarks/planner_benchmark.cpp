// Planning time by number of nodes: BFB allgather and all-to-all by the maximum concurrent flow, both lowerings.
#include <benchmark/benchmark.h>

#include <span>
#include <string>

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

void mcf_path(benchmark::State& state, const char* specification) {
  plan(state, flow_planners(), Collective::alltoall, "mcf-path", specification);
}

void mcf_link(benchmark::State& state, const char* specification) {
  plan(state, flow_planners(), Collective::alltoall, "mcf-link", specification);
}

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
