#include "planner/flow/lp/path_lp.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "planner/base/index.h"
#include "planner/flow/problem/demand.h"
#include "planner/lp/glpk_solver.h"

namespace libcoll::flow_lp {

using namespace flow::paths;
using namespace flow::problem;
using namespace lp;
using namespace topology;

namespace {

constexpr double least_path_weight = 1e-7;  // what is below is noise of the solver

/// The program and where its parts are.
struct PathLp {
  LinearProgram program;
  std::vector<std::vector<std::int32_t>> column;  ///< [pair][path]; none for pairs without demand
  std::vector<std::int32_t> capacity_row;         ///< by class
};

/// (22) by class, (23) by pair, (24) by column.
PathLp formulate(const Topology& topology, const LinkClasses& classes, const std::vector<PairPaths>& pairs,
                 std::span<const double> demand) {
  PathLp lp;
  std::vector<LpRow> capacity_rows(classes.capacity.size());
  std::vector<LpRow> demand_rows;
  for (const PairPaths& pair : pairs) {
    std::vector<std::int32_t>& columns = lp.column.emplace_back();
    const double asked = share(demand, topology.host_count(), pair.source, pair.destination);
    if (asked <= 0) continue;
    LpRow& whole = demand_rows.emplace_back(LpRow{1, 1, {}});
    for (const WeightedPath& path : pair.paths) {
      columns.push_back(lp.program.add_column({}));
      whole.entries.push_back({columns.back(), 1});
      std::map<std::int32_t, double> loads;
      for (const LinkId link : path.links) {
        for (const ClassLoad& load : classes.loads[at(link)]) loads[load.link_class] += asked * load.times;
      }
      for (const auto& [link_class, load] : loads) {
        capacity_rows[at(link_class)].entries.push_back({columns.back(), load});
      }
    }
  }
  const std::int32_t largest_load_column = lp.program.add_column({0, no_bound, 1});
  for (std::size_t i = 0; i < capacity_rows.size(); ++i) {
    capacity_rows[i].upper = 0;
    capacity_rows[i].entries.push_back({largest_load_column, -classes.capacity[i].to_double()});
    lp.capacity_row.push_back(lp.program.add_row(std::move(capacity_rows[i])));
  }
  for (LpRow& row : demand_rows) lp.program.add_row(std::move(row));
  return lp;
}

void read_weights(PairPaths& pair, const std::vector<std::int32_t>& columns, const std::vector<double>& primal) {
  if (columns.empty()) {
    pair.paths.resize(1);
    pair.paths.front().weight = 1;
    return;
  }
  double total = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const double weight = primal[at(columns[i])];
    pair.paths[i].weight = weight > least_path_weight ? weight : 0;
    total += pair.paths[i].weight;
  }
  std::erase_if(pair.paths, [](const WeightedPath& path) { return !(path.weight > 0); });
  for (WeightedPath& path : pair.paths) path.weight /= total;
}

}  // namespace

LpMethod method_for(std::int64_t columns, double seconds) {
  return columns <= most_columns_for_simplex || seconds > 0 ? LpMethod::simplex : LpMethod::interior_point;
}

const char* to_string(LpMethod method) { return method == LpMethod::simplex ? "simplex" : "interior point"; }

Result<LpSolution> solve_linear_program(const LinearProgram& program, LpMethod method, double seconds) {
  Result<LpSolution> solution = solve_with_glpk(program, method, seconds);
  const bool again = method == LpMethod::interior_point && (!solution || solution->status != LpStatus::optimal);
  return again ? solve_with_glpk(program, LpMethod::simplex, seconds) : solution;
}

Result<PathFlow> solve_path_lp(const Topology& topology, const LinkClasses& classes, std::vector<PairPaths> pairs,
                               std::span<const double> demand, double seconds) {
  const PathLp lp = formulate(topology, classes, pairs, demand);
  const auto columns = static_cast<std::int64_t>(lp.program.columns.size());
  const Result<LpSolution> solution = solve_linear_program(lp.program, method_for(columns, seconds), seconds);
  if (!solution) return solution.error();
  if (solution->status != LpStatus::optimal) {
    return Error{"the LP of " + std::to_string(columns) + " paths on " + topology.name() + " took too long"};
  }
  PathFlow result;
  for (std::size_t i = 0; i < pairs.size(); ++i) read_weights(pairs[i], lp.column[i], solution->primal);
  result.load = largest_load(classes, pairs, topology.host_count(), demand);
  result.pairs = std::move(pairs);
  for (const std::vector<ClassLoad>& loads : classes.loads) {
    double price = 0;
    for (const ClassLoad& load : loads) {
      price += load.times * std::max(0.0, -solution->row_duals[at(lp.capacity_row[at(load.link_class)])]);
    }
    result.prices.push_back(price);
  }
  return result;
}

}  // namespace libcoll::flow_lp
