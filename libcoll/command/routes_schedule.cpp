#include "libcoll/command/routes_schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libcoll/command/command.h"
#include "libcoll/command/planning.h"
#include "planner/base/deadline.h"
#include "planner/base/index.h"
#include "planner/exchange/port_fabric.h"
#include "planner/exchange/subnet_plan.h"
#include "planner/route/destination_classes.h"
#include "planner/route/fewer_classes.h"
#include "planner/route/manager_lanes.h"
#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"
#include "planner/topology/reader.h"

namespace libcoll::command {

using namespace exchange;
using namespace registry;
using namespace route;
using namespace schedule;
using namespace topology;

namespace {

constexpr double accepted_lane_loss = 0.02;  // of F
/// Beyond them a plan takes long: one more is made at most.
constexpr std::int32_t most_hosts_to_replan = 256;

/// Schedule files are XML; anything else is a topology.
bool is_schedule(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '<';
}

Result<Schedule> read_checked(const std::string& text, const std::string& file) {
  Result<Schedule> schedule = read_schedule(text, file);
  if (!schedule) return schedule;
  const std::vector<std::string> faults = verify(*schedule);
  if (!faults.empty()) return Error{file + ": the schedule is wrong: " + faults.front()};
  return schedule;
}

/// By link the first of its cables' ports.
std::vector<std::int32_t> ports_of_links(const SubnetTopology& fabric) {
  std::vector<std::int32_t> ports;
  ports.reserve(fabric.egress.size());
  for (const std::vector<PortId>& cables : fabric.egress) ports.push_back(cables.empty() ? 0 : cables.front().port);
  return ports;
}

/// By node the place of its switch in the order of GUIDs, or -1.
std::vector<std::int32_t> switch_order(const Subnet& subnet, const SubnetTopology& fabric) {
  std::vector<std::pair<std::uint64_t, std::size_t>> nodes;
  for (std::size_t node = 0; node < fabric.forwarder.size(); ++node) {
    const DeviceId device = fabric.forwarder[node];
    if (device >= 0) nodes.emplace_back(subnet.devices[at(device)].guid, node);
  }
  std::sort(nodes.begin(), nodes.end());
  std::vector<std::int32_t> order(fabric.forwarder.size(), -1);
  for (std::size_t place = 0; place < nodes.size(); ++place) {
    order[nodes[place].second] = static_cast<std::int32_t>(place);
  }
  return order;
}

/// What the options say; otherwise what the subnet manager's own engines take.
std::int32_t most_lanes_on(const Subnet& subnet, const SubnetTopology& fabric, const RoutesOptions& options) {
  if (options.max_service_levels) return *options.max_service_levels;
  const std::int32_t most = SubnetLimits{}.service_levels;
  const Result<std::int32_t> of_manager =
      manager_lanes(fabric.topology, ports_of_links(fabric), switch_order(subnet, fabric));
  return of_manager ? std::min(most, *of_manager) : most;
}

/// `lanes`: most there may be; 0: any number.
Result<Planned> plan_in_lanes(const Topology& topology, const RoutesOptions& options, const std::vector<double>& demand,
                              std::int32_t lanes, const Deadline& deadline) {
  PlanOptions wanted;
  wanted.time_limit_seconds = deadline.remaining();
  wanted.class_loss = options.class_loss;
  wanted.demand = demand;
  wanted.max_layers = lanes;
  if (!options.ip.wanted) wanted.max_classes = std::int32_t{1} << static_cast<unsigned>(options.max_lmc);
  Result<Plan> plan = make_plan(topology, Collective::alltoall, "mcf-path", wanted);
  if (!plan) return plan.error();
  if (!plan->faults.empty()) return Error{"the plan is wrong: " + plan->faults.front()};
  Planned planned{std::move(plan->schedule), 0};
  for (const auto& [name, value] : plan->figures.more) {
    if (name != "loss_classes" && name != "loss_layers") continue;
    planned.loss = 1 - (1 - planned.loss) * (1 - std::get<double>(value));
  }
  return planned;
}

/// What full tables for a schedule's routes take.
struct TablesTaken {
  std::int32_t lanes = 0;
  std::size_t classes = 0;
};

std::optional<TablesTaken> tables_taken(const Schedule& schedule) {
  std::vector<Route> routes = schedule.routes;
  ClassLimits limits;
  limits.forwards = forwarding_nodes(schedule.topology);
  const Result<DestinationClasses> classes = assign_destination_classes(schedule.topology, routes, limits);
  if (!classes) return std::nullopt;
  return TablesTaken{classes->layers, classes->classes.size()};
}

/// In so many lanes at most, and unless the options say how many in fewer where that costs little of F and no class.
Result<Planned> plan_in_few_lanes(const Topology& topology, const RoutesOptions& options,
                                  const std::vector<double>& demand, std::int32_t most_lanes) {
  const bool is_limited = options.max_service_levels && *options.max_service_levels < SubnetLimits{}.service_levels;
  const Deadline deadline(options.time_limit_seconds);
  Result<Planned> planned = plan_in_lanes(topology, options, demand, is_limited ? most_lanes : 0, deadline);
  if (!planned || options.max_service_levels) return planned;
  const std::optional<TablesTaken> usual = tables_taken(planned->schedule);
  if (!usual) return planned;
  const std::int32_t first = topology.host_count() > most_hosts_to_replan ? most_lanes : 1;
  for (std::int32_t lanes = first; lanes <= most_lanes && lanes < usual->lanes && !deadline.passed(); ++lanes) {
    Result<Planned> in_fewer = plan_in_lanes(topology, options, demand, lanes, deadline);
    if (!in_fewer) continue;
    // Without a demand the loads are what the routes carry.
    if (demand.empty()) {
      const double kept = (planned->schedule.proof.max_link_load / in_fewer->schedule.proof.max_link_load).to_double();
      in_fewer->loss = std::max(0.0, 1 - (1 - planned->loss) * kept);
    }
    if (lanes == most_lanes) return in_fewer;
    if (in_fewer->loss > accepted_lane_loss) continue;
    const std::optional<TablesTaken> taken = tables_taken(in_fewer->schedule);
    if (taken && taken->lanes <= lanes && taken->classes <= usual->classes) return in_fewer;
  }
  return planned;
}

Result<Planned> plan_all_to_all(const Subnet& subnet, const SubnetTopology& fabric, const RoutesOptions& options,
                                const std::vector<double>& demand = {}) {
  const std::int32_t most_lanes = most_lanes_on(subnet, fabric, options);
  Result<Planned> planned = plan_in_few_lanes(fabric.topology, options, demand, most_lanes);
  if (planned) planned->most_lanes = most_lanes;
  return planned;
}

/// An all-to-all on a fabric whose hosts have ports on several switches: one of the ports.
Result<Planned> plan_on_ports(const Subnet& subnet, const SubnetTopology& fabric, const RoutesOptions& options) {
  const Result<PortFabric> ports = port_fabric(subnet, fabric);
  if (!ports) return ports.error();
  Result<Planned> planned = plan_all_to_all(subnet, ports->fabric, options, demand_of_ports(*ports));
  if (!planned) return planned;
  planned->schedule = schedule_of_hosts(*ports, fabric.topology, planned->schedule);
  const std::vector<std::string> faults = verify(planned->schedule);
  if (!faults.empty()) return Error{"the plan is wrong: " + faults.front()};
  return planned;
}

/// The schedule of a file; nothing where PLAN is a topology.
Result<std::optional<Planned>> schedule_of_file(const RoutesOptions& options) {
  std::error_code ignored;
  if (options.plan != "-" && !std::filesystem::is_regular_file(options.plan, ignored)) return std::optional<Planned>();
  const Result<std::string> text = read_text(options.plan);
  if (!text) return text.error();
  if (!is_schedule(*text)) return std::optional<Planned>();
  Result<Schedule> schedule = read_checked(*text, options.plan);
  if (!schedule) return schedule.error();
  return std::optional<Planned>(Planned{std::move(schedule).value(), 0});
}

/// A file's schedule on the fabric.
Result<Planned> with_most_lanes(Planned planned, const RoutesOptions& options, const Fabric& fabric) {
  const Result<SubnetTopology> reading = numbered_reading(options, fabric, planned.schedule.topology);
  if (!reading) return reading.error();
  if (has_port_fabric(fabric.subnet, *reading)) {
    const Result<PortFabric> ports = port_fabric(fabric.subnet, *reading);
    if (!ports) return ports.error();
    planned.most_lanes = most_lanes_on(fabric.subnet, ports->fabric, options);
  } else {
    planned.most_lanes = most_lanes_on(fabric.subnet, *reading, options);
  }
  return planned;
}

}  // namespace

Result<Planned> named_schedule(const RoutesOptions& options) {
  Result<std::optional<Planned>> of_file = schedule_of_file(options);
  if (!of_file) return of_file.error();
  if (*of_file) return std::move(**of_file);
  const Result<Topology> topology = load_topology(options.plan);
  if (!topology) return topology.error();
  return plan_in_lanes(*topology, options, {}, 0, Deadline(options.time_limit_seconds));
}

Result<Planned> schedule_for(const RoutesOptions& options, const Fabric& fabric) {
  SubnetTopology reading = fabric.readings.front();
  if (!options.plan.empty()) {
    Result<std::optional<Planned>> of_file = schedule_of_file(options);
    if (!of_file) return of_file.error();
    if (*of_file) return with_most_lanes(std::move(**of_file), options, fabric);
    const Result<Topology> topology = load_topology(options.plan);
    if (!topology) return topology.error();
    Result<SubnetTopology> numbered = numbered_reading(options, fabric, *topology);
    if (!numbered) return numbered.error();
    reading = std::move(numbered).value();
  }
  if (has_port_fabric(fabric.subnet, reading)) return plan_on_ports(fabric.subnet, reading, options);
  return plan_all_to_all(fabric.subnet, reading, options);
}

}  // namespace libcoll::command
