#include "planner/flow/mcf_decomposed.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/flow/baseline/fptas.h"
#include "planner/flow/lowering/lowering.h"
#include "planner/flow/lp/child_lp.h"
#include "planner/flow/lp/master_lp.h"
#include "planner/flow/lp/path_lp.h"
#include "planner/flow/paths/path_decomposition.h"
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

constexpr std::int64_t most_child_columns = 20'000;

enum class Split : std::uint8_t { decomposition, child_lps, widest_paths };

/// What a source asks to send to each host.
std::vector<double> amounts_of(const Topology& topology, NodeId source, std::span<const double> demand) {
  std::vector<double> amounts(at(topology.host_count()), 0);
  for (NodeId to = 0; to < topology.host_count(); ++to) {
    if (to != source) amounts[at(to)] = share(demand, topology.host_count(), source, to);
  }
  return amounts;
}

/// decompose() knows unit demands only.
std::vector<PairPaths> decomposed(const Topology& topology, NodeId source, std::vector<double> flow,
                                  std::span<const double> demand, std::span<const double> amounts) {
  return demand.empty() ? decompose(topology, source, flow)
                        : extract_from_source(topology, source, std::move(flow), amounts);
}

/// The flow of one pair again, as the sum of its paths.
std::vector<double> flow_of(const Topology& topology, const PairPaths& pair, double amount) {
  std::vector<double> flow(topology.links().size(), 0);
  for (const WeightedPath& path : pair.paths) {
    for (const LinkId link : path.links) flow[at(link)] += amount * path.weight;
  }
  return flow;
}

struct Extraction {
  std::vector<PairPaths> pairs;
  bool by_child_lps = true;
};

/// The paths of one source's flow.
Result<Extraction> extract(const Topology& topology, NodeId source, const std::vector<double>& flow,
                           std::span<const double> demand, Split split, const Deadline& deadline) {
  const std::vector<double> amounts = amounts_of(topology, source, demand);
  if (split == Split::decomposition) return Extraction{decomposed(topology, source, flow, demand, amounts), false};
  Extraction result;
  std::vector<std::vector<double>> flows;
  if (split == Split::child_lps || child_lp_columns(topology, flow) <= most_child_columns) {
    auto children = solve_child_lp(topology, source, flow, amounts, deadline.remaining());
    if (!children) return children.error();
    flows = std::move(*children);
  } else {
    result.by_child_lps = false;
    flows.resize(amounts.size());
    for (const PairPaths& pair : decomposed(topology, source, flow, demand, amounts)) {
      flows[at(pair.destination)] = flow_of(topology, pair, amounts[at(pair.destination)]);
    }
  }
  for (NodeId to = 0; to < topology.host_count(); ++to) {
    if (to == source) continue;
    std::vector<double>& of_pair = flows[at(to)];
    of_pair.resize(topology.links().size(), 0);
    const double asked = amounts[at(to)] > 0 ? amounts[at(to)] : 1;
    result.pairs.push_back(extract_widest_paths(topology, source, to, of_pair, asked));
  }
  return result;
}

Result<FluidPlan> split_flow(const Topology& topology, const PlanOptions& options, Split split,
                             ForwardedBy forwarded_by, const char* algorithm, const Deadline& deadline) {
  Result<InjectionNetwork> network = checked_network(topology, options, forwarded_by, algorithm);
  if (!network) return network.error();
  const Topology& graph = network->topology;
  LinkClasses classes = flow_classes(*network, options);
  const LpMethod method = method_for(master_lp_columns(graph, classes), options.time_limit_seconds);
  Result<MasterFlow> master = solve_master_lp(graph, classes, method, options.demand, deadline.remaining());
  if (!master && method == LpMethod::interior_point) {
    master = solve_master_lp(graph, classes, LpMethod::simplex, options.demand, deadline.remaining());
  }
  if (!master && deadline.passed()) return plan_in_haste(std::move(*network), options, deadline);
  if (!master) return master.error();
  std::vector<PairPaths> pairs;
  bool by_child_lps = true;
  for (std::size_t i = 0; i < classes.sources.size(); ++i) {
    Result<Extraction> part = extract(graph, classes.sources[i], master->flow[i], options.demand, split, deadline);
    if (!part && deadline.passed()) return plan_in_haste(std::move(*network), options, deadline);
    if (!part) return part.error();
    by_child_lps = by_child_lps && part->by_child_lps;
    std::move(part->pairs.begin(), part->pairs.end(), std::back_inserter(pairs));
  }
  FluidPlan plan;
  plan.flow = certified_flow(graph, std::move(classes), std::move(pairs), master->prices, options.demand, deadline);
  plan.network = std::move(*network);
  plan.method = to_string(method);
  if (split == Split::widest_paths && options.figures != nullptr) {
    options.figures->more.emplace_back("pair_flows", std::string(by_child_lps ? "child LPs" : "decomposition"));
  }
  return plan;
}

Result<Schedule> plan_split(const Topology& topology, const PlanOptions& options, Split split, const char* algorithm) {
  const Deadline deadline(options.time_limit_seconds);
  Result<FluidPlan> plan = split_flow(topology, options, split, ForwardedBy::nics, algorithm, deadline);
  if (!plan) return plan.error();
  return lower_to_routes(topology, std::move(*plan), options, algorithm, deadline);
}

}  // namespace

Result<FluidPlan> decomposed_flow(const Topology& topology, const PlanOptions& options, ForwardedBy forwarded_by,
                                  const char* algorithm, const Deadline& deadline) {
  return split_flow(topology, options, Split::decomposition, forwarded_by, algorithm, deadline);
}

Result<Schedule> plan_mcf_decomposed(const Topology& topology, const PlanOptions& options) {
  return plan_split(topology, options, Split::decomposition, "mcf-decomposed");
}

Result<Schedule> plan_mcf_child(const Topology& topology, const PlanOptions& options) {
  return plan_split(topology, options, Split::child_lps, "mcf-child");
}

Result<Schedule> plan_mcf_extp(const Topology& topology, const PlanOptions& options) {
  return plan_split(topology, options, Split::widest_paths, "mcf-extp");
}

}  // namespace libcoll::flow
