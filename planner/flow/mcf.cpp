#include "planner/flow/mcf.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "planner/flow/lowering/concurrent_flow.h"
#include "planner/flow/lowering/lowering.h"
#include "planner/flow/lp/path_lp.h"
#include "planner/flow/mcf_decomposed.h"
#include "planner/route/dor.h"

namespace libcoll::flow {

using namespace lowering;
using namespace problem;
using namespace registry;
using namespace route;
using namespace schedule;
using namespace topology;

namespace {

constexpr double rounding_gap = 1e-9;  // a gap that is rounding

/// A budget of layers is about routes, whether they are written out or not.
bool needs_paths(const PlanOptions& options) { return options.schedule || options.max_layers > 0; }

/// Paths, chunks, layers and classes take longer than a flow that is cut short.
constexpr double share_of_flow = 0.4;

FlowOptions flow_options(const PlanOptions& options, const Deadline& deadline) {
  FlowOptions result;
  result.gap = options.gap;
  result.time_limit_seconds = (options.schedule ? share_of_flow : 1) * deadline.remaining();
  result.threads = options.threads;
  result.paths = needs_paths(options);
  result.few_paths = needs_paths(options);
  result.symmetry = options.symmetry;
  return result;
}

/// Dimension-ordered routes as a plan, where they carry as much as the certificate says that any can; its certificate
/// and figures are those of the flow found without them.
std::optional<FluidPlan> dimension_ordered(const InjectionNetwork& network, const PlanOptions& options,
                                           const Deadline& deadline) {
  if (network.bottleneck || !needs_paths(options)) return std::nullopt;
  const Topology& topology = network.topology;
  const Result<std::vector<Route>> routes = dor_routes(topology);
  if (!routes) return std::nullopt;
  FlowOptions rate_only = flow_options(options, deadline);
  rate_only.paths = false;
  Result<ConcurrentFlow> flow = max_concurrent_flow(topology, rate_only);
  if (!flow) return std::nullopt;
  FluidPlan plan;
  plan.flow = std::move(*flow);
  plan.flow.classes = link_classes(topology, {});
  plan.flow.pairs.reserve(routes->size());
  for (const Route& route : *routes) {
    plan.flow.pairs.push_back({route.source, route.destination, {{route.links, 1}}});
  }
  const double load = largest_load(plan.flow.classes, plan.flow.pairs, topology.host_count(), {});
  if (plan.flow.certificate.flow_upper_bound * load > 1 + rounding_gap) return std::nullopt;
  plan.flow.flow = std::min(1 / load, plan.flow.certificate.flow_upper_bound);
  plan.network = network;
  plan.method = plan.flow.method + ", dimension order";
  return plan;
}

Result<FluidPlan> fluid_plan(const Topology& topology, const PlanOptions& options, ForwardedBy forwarded_by,
                             const char* algorithm, const Deadline& deadline) {
  if (!options.demand.empty()) {
    Result<FluidPlan> plan = decomposed_flow(topology, options, forwarded_by, algorithm, deadline);
    if (plan.ok()) plan->chunk_paths = ChunkPaths::shortest;
    return plan;
  }
  Result<InjectionNetwork> network = checked_network(topology, options, forwarded_by, algorithm);
  if (!network) return network.error();
  if (std::optional<FluidPlan> plan = dimension_ordered(*network, options, deadline)) return std::move(*plan);
  Result<ConcurrentFlow> flow = max_concurrent_flow(network->topology, flow_options(options, deadline));
  if (!flow) return flow.error();
  FluidPlan plan;
  plan.flow = std::move(*flow);
  plan.network = std::move(*network);
  plan.method = plan.flow.method;
  plan.chunk_paths = ChunkPaths::shortest;
  return plan;
}

}  // namespace

Result<Schedule> plan_mcf_path(const Topology& topology, const PlanOptions& options) {
  const Deadline deadline(options.time_limit_seconds);
  Result<FluidPlan> plan = fluid_plan(topology, options, ForwardedBy::nics, "mcf-path", deadline);
  if (!plan) return plan.error();
  return lower_to_routes(topology, std::move(*plan), options, "mcf-path", deadline);
}

Result<Schedule> plan_mcf_link(const Topology& topology, const PlanOptions& options) {
  const Deadline deadline(options.time_limit_seconds);
  Result<FluidPlan> plan = fluid_plan(topology, options, ForwardedBy::hosts, "mcf-link", deadline);
  if (!plan) return plan.error();
  return lower_to_links(topology, std::move(*plan), options, "mcf-link", deadline);
}

}  // namespace libcoll::flow
