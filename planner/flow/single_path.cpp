#include "planner/flow/single_path.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "planner/flow/certificate.h"
#include "planner/flow/concurrent_flow.h"
#include "planner/route/dor.h"
#include "planner/route/route_classes.h"
#include "planner/route/sssp.h"
#include "planner/schedule/cost.h"
#include "planner/topology/facts.h"

namespace libcoll {
namespace {

// The linear program then takes a second or two; the routes take less.
constexpr std::int64_t most_columns = 20'000;

FlowCertificate bound(const Topology& topology) {
  const bool symmetric = !translations(topology).empty();
  const std::int64_t sources = symmetric ? 1 : topology.host_count();
  if (sources * topology.link_count() <= most_columns) {
    Result<ConcurrentFlow> optimum = max_concurrent_flow(topology);
    if (optimum) return std::move(optimum->certificate);
  }
  return certify_flow(topology, std::vector<double>(topology.links().size(), 1));
}

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

Result<Schedule> plan(const Topology& topology, const char* algorithm, Result<std::vector<Route>> routes) {
  if (!routes) return routes.error();
  Schedule schedule = lower_routes(topology, algorithm, std::move(routes).value());
  const FlowCertificate certificate = bound(topology);
  const Rational unit(degree(topology), topology.host_count());
  schedule.proof.max_link_load = max_link_load(schedule);
  schedule.proof.bandwidth_time = unit * schedule.proof.max_link_load;
  schedule.proof.bandwidth_bound = unit * certificate.load_lower_bound;
  schedule.proof.flow = std::min(1 / schedule.proof.max_link_load.to_double(), certificate.flow_upper_bound);
  schedule.proof.flow_upper_bound = certificate.flow_upper_bound;
  return schedule;
}

}  // namespace

Result<Schedule> plan_sssp(const Topology& topology, const PlanOptions& /*options*/) {
  return plan(topology, "sssp", sssp_routes(topology));
}

Result<Schedule> plan_dor(const Topology& topology, const PlanOptions& /*options*/) {
  return plan(topology, "dor", dor_routes(topology));
}

}  // namespace libcoll
