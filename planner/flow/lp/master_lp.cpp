#include "planner/flow/lp/master_lp.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "planner/flow/problem/demand.h"
#include "planner/lp/glpk_solver.h"

namespace libcoll::flow_lp {

using namespace flow::problem;
using namespace lp;
using namespace topology;

namespace {

/// The program and where its parts are.
struct MasterLp {
  LinearProgram program;
  std::vector<std::vector<std::int32_t>> column;  ///< [source][link], no_column for links into the source
  std::vector<std::int32_t> capacity_row;         ///< by class
};

/// (9): one column per source and link. Nothing has to flow back into its source.
void add_columns(const Topology& topology, const LinkClasses& classes, MasterLp& lp) {
  for (const NodeId source : classes.sources) {
    std::vector<std::int32_t>& columns = lp.column.emplace_back();
    for (const Link& link : topology.links()) {
      columns.push_back(link.to == source ? no_column : lp.program.add_column({}));
    }
  }
}

/// (7): Σ_s f'_{s,e} ≤ cap_e·U for every class of links.
void add_capacity_rows(const LinkClasses& classes, MasterLp& lp) {
  const std::int32_t largest_load = lp.program.add_column({0, no_bound, 1});
  std::vector<LpRow> rows(classes.capacity.size());
  for (const std::vector<std::int32_t>& columns : lp.column) {
    for (std::size_t link = 0; link < columns.size(); ++link) {
      if (columns[link] == no_column) continue;
      for (const ClassLoad& load : classes.loads[link]) {
        rows[static_cast<std::size_t>(load.link_class)].entries.push_back(
            {columns[link], static_cast<double>(load.times)});
      }
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].upper = 0;
    rows[i].entries.push_back({largest_load, -classes.capacity[i].to_double()});
    lp.capacity_row.push_back(lp.program.add_row(std::move(rows[i])));
  }
}

/// (8): what comes in and does not go on is the demand that stays; nothing stays in a switch.
void add_conservation_rows(const Topology& topology, const LinkClasses& classes, std::span<const double> demand,
                           MasterLp& lp) {
  for (std::size_t i = 0; i < classes.sources.size(); ++i) {
    for (NodeId u = 0; u < topology.node_count(); ++u) {
      if (u == classes.sources[i]) continue;
      const double stays = topology.node(u).is_switch ? 0 : share(demand, topology.host_count(), classes.sources[i], u);
      LpRow row{stays, stays, {}};
      for (const LinkId link : topology.in_links(u)) {
        row.entries.push_back({lp.column[i][static_cast<std::size_t>(link)], 1});
      }
      for (const LinkId link : topology.out_links(u)) {
        const std::int32_t column = lp.column[i][static_cast<std::size_t>(link)];
        if (column != no_column) row.entries.push_back({column, -1});
      }
      lp.program.add_row(std::move(row));
    }
  }
}

MasterLp make_master_lp(const Topology& topology, const LinkClasses& classes, std::span<const double> demand) {
  MasterLp lp;
  add_columns(topology, classes, lp);
  add_capacity_rows(classes, lp);
  add_conservation_rows(topology, classes, demand, lp);
  return lp;
}

MasterFlow read_solution(const LinkClasses& classes, const MasterLp& lp, const LpSolution& solution) {
  MasterFlow result;
  result.load = solution.objective;
  for (const std::vector<std::int32_t>& columns : lp.column) {
    std::vector<double>& flow = result.flow.emplace_back();
    for (const std::int32_t column : columns) {
      flow.push_back(column == no_column ? 0.0 : std::max(0.0, solution.primal[static_cast<std::size_t>(column)]));
    }
  }
  for (const std::vector<ClassLoad>& loads : classes.loads) {
    double price = 0;
    for (const ClassLoad& load : loads) {
      const std::int32_t row = lp.capacity_row[static_cast<std::size_t>(load.link_class)];
      price += load.times * std::max(0.0, -solution.row_duals[static_cast<std::size_t>(row)]);
    }
    result.prices.push_back(price);
  }
  return result;
}

}  // namespace

std::int64_t master_lp_columns(const Topology& topology, const LinkClasses& classes) {
  return static_cast<std::int64_t>(classes.sources.size()) * topology.link_count();
}

LinearProgram master_lp(const Topology& topology, const LinkClasses& classes) {
  return make_master_lp(topology, classes, {}).program;
}

Result<MasterFlow> solve_master_lp(const Topology& topology, const LinkClasses& classes, LpMethod method,
                                   std::span<const double> demand, double seconds) {
  const MasterLp lp = make_master_lp(topology, classes, demand);
  const Result<LpSolution> solution = solve_with_glpk(lp.program, method, seconds);
  if (!solution) return solution.error();
  if (solution->status == LpStatus::time_limit) return Error{"the master LP of " + topology.name() + " took too long"};
  if (solution->status != LpStatus::optimal) {
    return Error{"the master LP of " + topology.name() + " has no solution: some host cannot reach another"};
  }
  return read_solution(classes, lp, *solution);
}

}  // namespace libcoll::flow_lp
