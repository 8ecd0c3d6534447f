#include "planner/flow/link_mcf.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/flow/baseline/fptas.h"
#include "planner/flow/lowering/lowering.h"
#include "planner/flow/lp/path_lp.h"
#include "planner/flow/paths/widest_paths.h"
#include "planner/flow/problem/demand.h"

namespace libcoll::flow {

using namespace baseline;
using namespace flow_lp;
using namespace lowering;
using namespace lp;
using namespace paths;
using namespace problem;
using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

constexpr std::int64_t most_link_columns = 300'000;

struct Commodity {
  NodeId source = 0;
  NodeId destination = 0;
  double asked = 1;
  std::vector<std::int32_t> column;  ///< by link, no_column where nothing has to flow: into the source, out of the sink
};

/// The program and where its parts are.
struct LinkLp {
  LinearProgram program;
  std::vector<Commodity> commodities;  ///< those that demand something
  std::vector<std::int32_t> capacity_row;
};

void add_commodities(const Topology& topology, std::span<const double> demand, LinkLp& lp) {
  const std::int32_t hosts = topology.host_count();
  for (NodeId source = 0; source < hosts; ++source) {
    for (NodeId destination = 0; destination < hosts; ++destination) {
      if (source == destination || share(demand, hosts, source, destination) <= 0) continue;
      Commodity& commodity =
          lp.commodities.emplace_back(Commodity{source, destination, share(demand, hosts, source, destination), {}});
      for (const Link& link : topology.links()) {  // (5)
        const bool idle = link.to == source || link.from == destination;
        commodity.column.push_back(idle ? no_column : lp.program.add_column({}));
      }
    }
  }
}

/// (2)
void add_capacity_rows(const Topology& topology, LinkLp& lp) {
  const std::int32_t largest_load_column = lp.program.add_column({0, no_bound, 1});
  for (LinkId link = 0; link < topology.link_count(); ++link) {
    LpRow row{-no_bound, 0, {{largest_load_column, -topology.capacity(link).to_double()}}};
    for (const Commodity& commodity : lp.commodities) {
      if (commodity.column[at(link)] != no_column) row.entries.push_back({commodity.column[at(link)], 1});
    }
    lp.capacity_row.push_back(lp.program.add_row(std::move(row)));
  }
}

/// (3) and, at the destination, (4).
void add_conservation_rows(const Topology& topology, LinkLp& lp) {
  for (const Commodity& commodity : lp.commodities) {
    for (NodeId u = 0; u < topology.node_count(); ++u) {
      if (u == commodity.source) continue;
      const double stays = u == commodity.destination ? commodity.asked : 0;
      LpRow row{stays, stays, {}};
      const auto add = [&](std::span<const LinkId> links, double sign) {
        for (const LinkId link : links) {
          if (commodity.column[at(link)] != no_column) row.entries.push_back({commodity.column[at(link)], sign});
        }
      };
      add(topology.in_links(u), 1);
      add(topology.out_links(u), -1);
      lp.program.add_row(std::move(row));
    }
  }
}

std::vector<PairPaths> extract_pairs(const Topology& topology, const LinkLp& lp, const LpSolution& solution) {
  std::vector<PairPaths> pairs;
  std::vector<double> flow(topology.links().size());
  auto commodity = lp.commodities.begin();
  for (NodeId source = 0; source < topology.host_count(); ++source) {
    for (NodeId destination = 0; destination < topology.host_count(); ++destination) {
      if (source == destination) continue;
      std::fill(flow.begin(), flow.end(), 0);
      double asked = 1;  // without demand nothing flows, and the pair gets a path of fewest hops
      if (commodity != lp.commodities.end() && commodity->source == source && commodity->destination == destination) {
        for (std::size_t link = 0; link < flow.size(); ++link) {
          const std::int32_t column = commodity->column[link];
          if (column != no_column) flow[link] = std::max(0.0, solution.primal[at(column)]);
        }
        asked = commodity->asked;
        ++commodity;
      }
      pairs.push_back(extract_widest_paths(topology, source, destination, flow, asked));
    }
  }
  return pairs;
}

}  // namespace

Result<Schedule> plan_mcf(const Topology& topology, const PlanOptions& options) {
  const Deadline deadline(options.time_limit_seconds);
  Result<InjectionNetwork> network = checked_network(topology, options, ForwardedBy::nics, "mcf");
  if (!network) return network.error();
  const Topology& graph = network->topology;
  const std::int64_t hosts = graph.host_count();
  const std::int64_t columns = hosts * (hosts - 1) * graph.link_count();
  if (columns > most_link_columns) {
    return Error{"mcf on " + topology.name() + ": the LP (1)-(5) has " + std::to_string(columns) +
                 " columns, expected at most " + std::to_string(most_link_columns) +
                 ": use mcf-path or mcf-decomposed"};
  }
  LinkLp lp;
  add_commodities(graph, options.demand, lp);
  add_capacity_rows(graph, lp);
  add_conservation_rows(graph, lp);
  const LpMethod method = method_for(columns, options.time_limit_seconds);
  const Result<LpSolution> solution = solve_linear_program(lp.program, method, deadline.remaining());
  if (!solution) return solution.error();
  if (solution->status == LpStatus::time_limit) {
    return lower_to_routes(topology, plan_in_haste(std::move(*network), options, deadline), options, "mcf", deadline);
  }
  if (solution->status != LpStatus::optimal) return Error{"mcf on " + topology.name() + ": the LP has no optimum"};
  std::vector<double> prices;
  for (const std::int32_t row : lp.capacity_row) prices.push_back(std::max(0.0, -solution->row_duals[at(row)]));
  FluidPlan plan;
  plan.flow = certified_flow(graph, link_classes(graph, {}), extract_pairs(graph, lp, *solution), prices,
                             options.demand, deadline);
  plan.network = std::move(*network);
  plan.method = to_string(method);
  return lower_to_routes(topology, std::move(plan), options, "mcf", deadline);
}

}  // namespace libcoll::flow
