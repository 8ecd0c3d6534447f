#include "tests/unit/support/bfb_lp.h"

#include <cstddef>
#include <cstdint>
#include <map>

#include "planner/lp/glpk_solver.h"
#include "planner/lp/linear_program.h"
#include "planner/topology/facts.h"

namespace libcoll::test {

using namespace lp;
using namespace topology;

namespace {

/// LP (1) for node u and step t: minimise U subject to Σ_v x_{v,w} ≤ cap(w,u)·U for every in-neighbour w and
/// Σ_w x_{v,w} = 1 for every source v at distance t.
LinearProgram program_of(const Topology& topology, const DistanceMatrix& distance, NodeId u, std::int32_t t) {
  LinearProgram program;
  const std::int32_t largest_load = program.add_column({0, no_bound, 1});
  std::map<LinkId, LpRow> load_of;
  for (NodeId v = 0; v < topology.host_count(); ++v) {
    const std::vector<std::int32_t>& from_v = distance[static_cast<std::size_t>(v)];
    if (from_v[static_cast<std::size_t>(u)] != t) continue;
    LpRow everything{1, 1, {}};
    for (const LinkId link : topology.in_links(u)) {
      if (from_v[static_cast<std::size_t>(topology.link(link).from)] != t - 1) continue;
      const std::int32_t share = program.add_column({});
      everything.entries.push_back({share, 1});
      load_of[link].entries.push_back({share, 1});
    }
    program.add_row(std::move(everything));
  }
  for (auto& [link, row] : load_of) {
    row.upper = 0;
    row.entries.push_back({largest_load, -topology.capacity(link).to_double()});
    program.add_row(std::move(row));
  }
  return program;
}

Result<double> load_of(const Topology& topology, const DistanceMatrix& distance, NodeId u, std::int32_t t) {
  const LinearProgram program = program_of(topology, distance, u, t);
  if (program.rows.empty()) return 0.0;
  const Result<LpSolution> solution = solve_with_glpk(program, LpMethod::simplex);
  if (!solution) return solution.error();
  if (solution->status != LpStatus::optimal) return Error{"LP (1) of BFB has no optimum"};
  return solution->objective;
}

}  // namespace

Result<std::vector<std::vector<double>>> bfb_lp_loads(const Topology& topology) {
  const Facts facts = graph_facts(topology);
  if (topology.node_count() != topology.host_count()) return Error{"bfb plans hosts only, not switches"};
  if (!facts.connected) return Error{"some host cannot reach another"};
  const DistanceMatrix distance = hop_distances(topology);
  std::vector<std::vector<double>> loads(static_cast<std::size_t>(facts.diameter));
  for (std::int32_t t = 1; t <= facts.diameter; ++t) {
    for (NodeId u = 0; u < topology.host_count(); ++u) {
      const Result<double> load = load_of(topology, distance, u, t);
      if (!load) return load.error();
      loads[static_cast<std::size_t>(t) - 1].push_back(*load);
    }
  }
  return loads;
}

}  // namespace libcoll::test
