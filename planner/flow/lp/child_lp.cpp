#include "planner/flow/lp/child_lp.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "planner/base/index.h"
#include "planner/lp/glpk_solver.h"

namespace libcoll::flow_lp {

using namespace lp;
using namespace topology;

namespace {

constexpr double least_child_flow = 1e-9;  // what is below is noise of the master's solver
constexpr double slack = 1e-6;             // that the noise may need: charged dearly, so that it stays unused

}  // namespace

std::int64_t child_lp_columns(const Topology& topology, std::span<const double> flow) {
  const auto used = std::count_if(flow.begin(), flow.end(), [](double amount) { return amount > least_child_flow; });
  return (std::int64_t{topology.host_count()} - 1) * used;
}

Result<std::vector<std::vector<double>>> solve_child_lp(const Topology& topology, NodeId source,
                                                        std::span<const double> flow, std::span<const double> amounts,
                                                        double seconds) {
  LinearProgram program;
  std::vector<std::vector<std::int32_t>> column(at(topology.host_count()));
  std::vector<LpRow> capacity_rows(flow.size());
  for (NodeId destination = 0; destination < topology.host_count(); ++destination) {
    if (destination == source || amounts[at(destination)] <= 0) continue;
    for (LinkId link = 0; link < topology.link_count(); ++link) {
      const Link& ends = topology.link(link);
      const bool idle = ends.to == source || ends.from == destination || flow[at(link)] <= least_child_flow;
      column[at(destination)].push_back(idle ? no_column : program.add_column({0, no_bound, 1}));
      if (!idle) capacity_rows[at(link)].entries.push_back({column[at(destination)].back(), 1});
    }
  }
  for (std::size_t link = 0; link < flow.size(); ++link) {
    if (capacity_rows[link].entries.empty()) continue;
    constexpr double price_of_slack = 1e3;
    capacity_rows[link].entries.push_back({program.add_column({0, slack, price_of_slack}), -1});
    capacity_rows[link].upper = flow[link];
    program.add_row(std::move(capacity_rows[link]));
  }
  for (NodeId destination = 0; destination < topology.host_count(); ++destination) {
    const std::vector<std::int32_t>& columns = column[at(destination)];
    if (columns.empty()) continue;
    for (NodeId u = 0; u < topology.node_count(); ++u) {
      if (u == source) continue;
      const double stays = u == destination ? amounts[at(destination)] : 0;
      LpRow row{stays, stays, {}};
      for (const LinkId link : topology.in_links(u)) {
        if (columns[at(link)] != no_column) row.entries.push_back({columns[at(link)], 1});
      }
      for (const LinkId link : topology.out_links(u)) {
        if (columns[at(link)] != no_column) row.entries.push_back({columns[at(link)], -1});
      }
      if (!row.entries.empty() || stays > 0) program.add_row(std::move(row));
    }
  }
  const Result<LpSolution> solution = solve_with_glpk(program, LpMethod::simplex, seconds);
  if (!solution) return solution.error();
  if (solution->status != LpStatus::optimal) {
    return Error{"the child LP of source " + std::to_string(source) + " on " + topology.name() +
                 (solution->status == LpStatus::time_limit ? " took too long" : " has no solution within its flow")};
  }
  std::vector<std::vector<double>> result(column.size());
  for (std::size_t destination = 0; destination < column.size(); ++destination) {
    for (const std::int32_t id : column[destination]) {
      result[destination].push_back(id == no_column ? 0.0 : std::max(0.0, solution->primal[at(id)]));
    }
  }
  return result;
}

}  // namespace libcoll::flow_lp
