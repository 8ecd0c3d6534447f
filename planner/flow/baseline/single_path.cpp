#include "planner/flow/baseline/single_path.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "planner/flow/lowering/lowering.h"
#include "planner/flow/problem/certificate.h"
#include "planner/flow/problem/injection.h"
#include "planner/route/dor.h"
#include "planner/route/lash.h"
#include "planner/route/layer_rerouting.h"
#include "planner/route/layers.h"
#include "planner/route/route_classes.h"
#include "planner/route/sssp.h"
#include "planner/schedule/cost.h"
#include "planner/topology/facts.h"

namespace libcoll::flow::baseline {

using namespace lowering;
using namespace problem;
using namespace registry;
using namespace route;
using namespace schedule;
using namespace topology;

namespace {

constexpr double any_load = std::numeric_limits<double>::infinity();

Schedule lower_routes(const Topology& topology, const char* algorithm, std::vector<Route> routes) {
  Schedule schedule;
  schedule.collective = Collective::alltoall;
  schedule.algorithm = algorithm;
  schedule.topology = topology;
  schedule.chunks_per_shard = 1;
  schedule.steps = 1;
  schedule.routes = std::move(routes);
  assign_route_classes(topology, schedule.routes);
  for (std::size_t i = 0; i < schedule.routes.size(); ++i) {
    const Route& route = schedule.routes[i];
    schedule.transfers.push_back({route.source * topology.host_count() + route.destination, 0, 1, route.source,
                                  route.destination, 1, static_cast<std::int32_t>(i), TransferKind::copy});
  }
  sort_transfers(schedule);
  return schedule;
}

/// The routes come in layers by LASH; another method may be asked for, and no more layers than so many.
Status put_in_layers(const Topology& topology, const PlanOptions& options, const char* algorithm,
                     std::vector<Route>& routes) {
  if (!options.layer_method.empty()) {
    const Result<LayerMethod> method = parse_layer_method(options.layer_method);
    if (!method) return method.error();
    assign_layers_by(*method, topology, routes);
  }
  const std::int32_t layers = layer_count(routes);
  if (options.max_layers <= 0) note_many_layers(layers, options);
  if (options.max_layers <= 0 || layers <= options.max_layers) return {};
  return Error{std::string(algorithm) + " on " + topology.name() + ": the routes need " + std::to_string(layers) +
               " layers, expected at most " + std::to_string(options.max_layers) + ": use mcf-path or p-mcf"};
}

/// The routes are in layers.
Schedule plan_in_layers(const Topology& topology, const PlanOptions& options, const char* algorithm,
                        const Deadline& deadline, std::vector<Route> routes) {
  Schedule schedule = lower_routes(topology, algorithm, std::move(routes));
  Proof& proof = schedule.proof;
  proof.max_link_load = std::max(max_link_load(schedule), injection_load(schedule));
  const InjectionNetwork network = with_injection(topology, ForwardedBy::nics);
  const double load = proof.max_link_load.to_double();
  const FlowCertificate certificate = tightest_bound(network.topology, flow_classes(network, options), {}, {},
                                                     load * network.unit.to_double(), deadline);
  const Rational time_of_load(degree(topology), topology.host_count());
  proof.bandwidth_time = time_of_load * proof.max_link_load;
  proof.bandwidth_bound = time_of_load * certificate.load_lower_bound / network.unit;
  proof.flow_upper_bound = upper_rate_on_fabric(network, certificate.flow_upper_bound);
  proof.lengths = certificate.lengths;
  proof.flow = std::min(1 / load, proof.flow_upper_bound);
  if (!options.schedule) {
    schedule.routes.clear();
    schedule.transfers.clear();
  }
  return schedule;
}

Result<Schedule> plan(const Topology& topology, const PlanOptions& options, const char* algorithm,
                      const Deadline& deadline, Result<std::vector<Route>> routes) {
  if (!routes) return routes.error();
  if (const Status status = check_forwarding(topology); !status) {
    return Error{std::string(algorithm) + " on " + topology.name() + ": " + status.error().message};
  }
  if (const Status status = put_in_layers(topology, options, algorithm, *routes); !status) return status.error();
  return plan_in_layers(topology, options, algorithm, deadline, std::move(routes).value());
}

}  // namespace

Result<Schedule> plan_sssp(const Topology& topology, const PlanOptions& options) {
  return plan(topology, options, "sssp", Deadline(options.time_limit_seconds), sssp_routes(topology));
}

Result<Schedule> plan_sssp_rerouted(const Topology& topology, const PlanOptions& options) {
  const char* const algorithm = "sssp-rerouted";
  const Deadline deadline(options.time_limit_seconds);
  Result<std::vector<Route>> routes = sssp_paths(topology);
  if (!routes) return routes.error();
  const std::vector<double> amounts(routes->size(), 1);
  const std::int32_t layers = options.max_layers > 0 ? options.max_layers : usual_layers;
  if (!reroute_into_layers(topology, *routes, amounts, layers, any_load, deadline)) {
    assign_layers(topology, *routes);
    if (const Status status = put_in_layers(topology, options, algorithm, *routes); !status) return status.error();
  }
  return plan_in_layers(topology, options, algorithm, deadline, std::move(routes).value());
}

Result<Schedule> plan_dor(const Topology& topology, const PlanOptions& options) {
  return plan(topology, options, "dor", Deadline(options.time_limit_seconds), dor_routes(topology));
}

}  // namespace libcoll::flow::baseline
