// libcoll routes: forwarding by destination for an InfiniBand subnet, and whether the subnet has it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "libcoll/command/command.h"
#include "libcoll/command/ip_routes.h"
#include "libcoll/command/planning.h"
#include "libcoll/command/validators.h"
#include "libcoll/plan/plan_cache.h"
#include "planner/base/deadline.h"
#include "planner/base/index.h"
#include "planner/exchange/ibnetdiscover.h"
#include "planner/exchange/opensm.h"
#include "planner/exchange/port_fabric.h"
#include "planner/exchange/subnet_plan.h"
#include "planner/exchange/subnet_topology.h"
#include "planner/route/destination_classes.h"
#include "planner/route/fewer_classes.h"
#include "planner/route/manager_lanes.h"
#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"
#include "planner/topology/reader.h"

namespace libcoll::command {
namespace {

// What lies in --output.
constexpr const char* plan_file = "plan.xml";
constexpr const char* binding_file = "route-binding.toml";
constexpr const char* lfts_file = "lfts";
constexpr const char* options_file = "opensm.conf";
constexpr const char* lids_file = "guid2lid";
constexpr const char* trace_file = "trace.sh";

constexpr double accepted_lane_loss = 0.02;  // of F
/// Beyond them a plan takes long: one more is made at most.
constexpr std::int32_t most_hosts_to_replan = 256;

struct RoutesOptions {
  std::string plan;
  std::string fabric;
  std::string names;
  std::string host_switches;
  std::string output;
  std::string device;
  std::string cache_dir;
  std::vector<std::string> verify;
  std::int32_t max_lmc = SubnetLimits{}.lmc;
  std::optional<std::int32_t> max_service_levels;
  IpOptions ip;
  double class_loss = 0;
  double time_limit_seconds = 0;
  bool json = false;
};

/// The wiring as it is.
struct Fabric {
  Subnet subnet;
  std::vector<SubnetTopology> readings;  ///< one for each way to look at switches of one host, the default first
};

Result<Fabric> load_fabric(const RoutesOptions& options) {
  NodeNameMap names;
  if (!options.names.empty()) {
    const Result<std::string> text = read_text(options.names);
    if (!text) return text.error();
    Result<NodeNameMap> read = read_node_name_map(*text, options.names);
    if (!read) return read.error();
    names = std::move(read).value();
  }
  const Result<std::string> text = read_text(options.fabric);
  if (!text) return text.error();
  Result<Subnet> subnet = read_ibnetdiscover(*text, options.fabric, names);
  if (!subnet) return subnet.error();
  Fabric fabric{std::move(subnet).value(), {}};
  std::vector<HostSwitches> ways = {HostSwitches::automatic, HostSwitches::collapse, HostSwitches::keep};
  if (!options.host_switches.empty()) {
    const Result<HostSwitches> wanted = parse_host_switches(options.host_switches);
    if (!wanted) return Error{"--host-switches: " + wanted.error().message};
    ways = {*wanted};
  }
  for (const HostSwitches way : ways) {
    Result<SubnetTopology> reading = topology_of(fabric.subnet, options.fabric, way);
    if (!reading) return reading.error();
    fabric.readings.push_back(std::move(reading).value());
  }
  return fabric;
}

/// The reading of the fabric that a plan is for; the error is that of the first reading.
Result<SubnetTopology> reading_for(const Fabric& fabric, const Topology& topology) {
  std::optional<Error> error;
  for (const SubnetTopology& reading : fabric.readings) {
    Result<SubnetTopology> numbered = numbered_as(reading, topology);
    if (numbered) return reading;
    if (!error) error = numbered.error();
  }
  return *error;
}

/// The same with that topology's numbers.
Result<SubnetTopology> numbered_reading(const RoutesOptions& options, const Fabric& fabric, const Topology& topology) {
  const Result<SubnetTopology> found = reading_for(fabric, topology);
  Result<SubnetTopology> numbered = found ? numbered_as(*found, topology) : found;
  if (!numbered) return Error{options.fabric + ": " + numbered.error().message};
  return numbered;
}

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

/// A schedule, what it lost of F for fewer classes and lanes when it was planned here, and most lanes for its tables.
struct Planned {
  Schedule schedule;
  double loss = 0;
  std::int32_t most_lanes = SubnetLimits{}.service_levels;
};

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

/// The schedule of a file, or an all-to-all on the topology given.
Result<Planned> named_schedule(const RoutesOptions& options) {
  Result<std::optional<Planned>> of_file = schedule_of_file(options);
  if (!of_file) return of_file.error();
  if (*of_file) return std::move(**of_file);
  const Result<Topology> topology = load_topology(options.plan);
  if (!topology) return topology.error();
  return plan_in_lanes(*topology, options, {}, 0, Deadline(options.time_limit_seconds));
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

/// The same, or an all-to-all on the fabric itself.
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

// ---- writing ----------------------------------------------------------------------------------------------------

std::string in_folder(const RoutesOptions& options, const char* name) {
  return (std::filesystem::path(options.output) / name).string();
}

/// A shell script that traces every route, as --verify reads it.
std::string trace_script(const Subnet& subnet, const SubnetPlan& plan, const Schedule& schedule,
                         const std::string& title) {
  std::string text = "#!/bin/sh\n# " + title + "\n";
  for (const RouteEnds& ends : route_ends(subnet, plan.fabric, plan.lids, schedule, plan.addresses)) {
    const std::string command =
        "ibtracert " + std::to_string(ends.source_lid) + " " + std::to_string(ends.destination_lid);
    text.append("echo '").append(command).append("'; ").append(command).append("\n");
  }
  return text;
}

Status write_files(const RoutesOptions& options, const Subnet& subnet, const SubnetPlan& plan,
                   const Schedule& schedule) {
  std::error_code failure;
  std::filesystem::create_directories(options.output, failure);
  if (failure) return Error{options.output + ": cannot be made: " + failure.message()};
  const RouteBinding binding = subnet_binding(plan, schedule, options.device);
  const std::string title = "libcoll routes, digest " + binding.routes;
  const std::string lfts_path = std::filesystem::absolute(in_folder(options, lfts_file)).string();
  const std::array<std::pair<const char*, std::string>, 6> files = {{
      {lfts_file, write_lfts(subnet, plan.tables, plan.lids, title)},
      {options_file, write_opensm_options(plan.lids.lmc, plan.classes.layers, lfts_path, title)},
      {lids_file, write_guid2lid(subnet, plan.lids)},
      {binding_file, "# " + title + "\n" + write_route_binding(binding)},
      {plan_file, write_schedule(schedule)},
      {trace_file, trace_script(subnet, plan, schedule, title)},
  }};
  for (const auto& [name, text] : files) {
    if (Status written = write_text(in_folder(options, name), text); !written) return written;
  }
  return {};
}

// ---- making -----------------------------------------------------------------------------------------------------

double rate(const Schedule& schedule) { return 1 / schedule.proof.max_link_load.to_double(); }

Json routes_json(const SubnetPlan& plan, const Schedule& schedule, double before) {
  return {{"topology", schedule.topology.name()},
          {"hosts", schedule.topology.host_count()},
          {"routes", schedule.routes.size()},
          {"routes_digest", route_set_digest(schedule.topology, schedule.routes)},
          {"classes", plan.addresses.size()},
          {"ports", plan.places},
          {"service_levels", plan.classes.layers},
          {"lmc", plan.lids.lmc},
          {"rerouted", plan.classes.rerouted},
          {"F", rate(schedule)},
          {"F_planned", before},
          {"F_loss", 1 - rate(schedule) / before}};
}

std::string counted(std::int64_t number, const std::string& one, const std::string& many) {
  return std::to_string(number) + " " + (number == 1 ? one : many);
}

std::string routes_text(const SubnetPlan& plan, const Schedule& schedule, double before, const std::string& output) {
  char kept[96];
  std::snprintf(kept, sizeof kept, "%.9g, %.4g %% of the plan's; %lld routes changed", rate(schedule),
                100 * rate(schedule) / before, static_cast<long long>(plan.classes.rerouted));
  std::vector<std::vector<std::string>> rows = {
      {"routes", std::to_string(schedule.routes.size()) + " in " +
                     counted(static_cast<std::int64_t>(plan.addresses.size()), "class", "classes") + ", LMC " +
                     std::to_string(plan.lids.lmc)},
      {"lanes",
       counted(plan.classes.layers, "service level", "service levels") + "; complete tables checked for deadlock"},
      {"F", kept},
      {"digest", route_set_digest(schedule.topology, schedule.routes)}};
  if (!output.empty()) rows.push_back({"written", output});
  return schedule.topology.name() + "\n" + columns(rows);
}

Status store(const RoutesOptions& options, const Schedule& schedule) {
  if (options.cache_dir.empty()) return {};
  if (Status stored = store_plan(options.cache_dir, schedule); !stored) return stored;
  return store_plan(options.cache_dir, schedule, automatic_plan);
}

int make_routes(const RoutesOptions& options) {
  const Result<Fabric> fabric = load_fabric(options);
  if (!fabric) return fail(fabric.error().message, options.json);
  Result<Planned> planned = schedule_for(options, *fabric);
  if (!planned) return fail(planned.error().message, options.json);
  Schedule* const schedule = &planned->schedule;
  const Result<SubnetTopology> reading = reading_for(*fabric, schedule->topology);
  if (!reading) return fail(options.fabric + ": " + reading.error().message, options.json);
  const double before = rate(*schedule) / (1 - planned->loss);
  const SubnetLimits limits{options.max_lmc, planned->most_lanes};
  const Result<SubnetPlan> plan = plan_subnet(fabric->subnet, *reading, *schedule, limits);
  if (!plan) return fail(plan.error().message, options.json);
  const std::vector<std::string> faults = verify(*schedule);
  if (!faults.empty()) return fail("the schedule is wrong: " + faults.front(), options.json);
  if (!options.output.empty()) {
    if (const Status named = check_devices(*plan, options.device); !named) {
      return fail("--device: " + named.error().message, options.json);
    }
    if (const Status written = write_files(options, fabric->subnet, *plan, *schedule); !written) {
      return fail(written.error().message, options.json);
    }
  }
  if (const Status stored = store(options, *schedule); !stored) return fail(stored.error().message, options.json);
  if (options.json) {
    print_json(routes_json(*plan, *schedule, before));
  } else {
    std::fputs(routes_text(*plan, *schedule, before, options.output).c_str(), stdout);
  }
  return ExitCode::good;
}

int make_routes_of_hosts(const RoutesOptions& options) {
  if (options.plan.empty()) return fail("--ip needs PLAN, a schedule or a topology to plan for", options.json);
  Result<Planned> planned = named_schedule(options);
  if (!planned) return fail(planned.error().message, options.json);
  Schedule* const schedule = &planned->schedule;
  const Result<Json> made = make_ip_routes(options.ip, options.device, options.output, *schedule);
  if (!made) return fail(made.error().message, options.json);
  if (const Status stored = store(options, *schedule); !stored) return fail(stored.error().message, options.json);
  if (options.json) {
    print_json(*made);
  } else {
    std::printf("%s\n  %s in %s, digest %s%s%s\n", schedule->topology.name().c_str(),
                counted(std::ssize(schedule->routes), "route", "routes").c_str(),
                counted((*made)["classes"].get<std::int64_t>(), "class", "classes").c_str(),
                (*made)["routes_digest"].get<std::string>().c_str(), options.output.empty() ? "" : ", written to ",
                options.output.c_str());
  }
  return ExitCode::good;
}

// ---- verifying --------------------------------------------------------------------------------------------------

/// What was written, and what the subnet has now.
struct Installed {
  Schedule schedule;
  SubnetTopology fabric;
  std::vector<RouteEnds> ends;
  SubnetLids lids;
};

/// The value of a setting; empty where the class has none.
std::string setting_of(const RouteClassBinding& each, const std::string& name) {
  const auto found = std::find_if(each.settings.begin(), each.settings.end(),
                                  [&](const auto& setting) { return setting.first == name; });
  return found == each.settings.end() ? std::string() : found->second;
}

/// By class − 1. Devices stand for ports, in the order in which classes name them.
Result<std::vector<ClassAddress>> addresses_of(const RouteBinding& binding, const std::string& file, bool several) {
  std::vector<ClassAddress> addresses;
  std::vector<std::string> devices;
  for (const RouteClassBinding& each : binding.classes) {
    const std::string bits = setting_of(each, "IB_LID_PATH_BITS");
    std::int32_t number = -1;
    const char* const end = bits.data() + bits.size();
    if (std::from_chars(bits.data(), end, number).ptr != end) number = -1;
    if (number < 0 || number >= std::int32_t{1} << static_cast<unsigned>(largest_lmc)) {
      return Error{file + ": found no IB_LID_PATH_BITS of class " + std::to_string(each.route_class) +
                   ", expected a number from 0 to 127"};
    }
    if (each.route_class == 0) continue;
    ClassAddress& address = addresses.emplace_back(ClassAddress{number, 0, any_port});
    if (!several) continue;
    const auto found = std::find(devices.begin(), devices.end(), setting_of(each, "NET_DEVICES"));
    address.place = static_cast<std::int32_t>(found - devices.begin());
    if (found == devices.end()) devices.push_back(setting_of(each, "NET_DEVICES"));
  }
  return addresses;
}

Result<Installed> load_installed(const RoutesOptions& options, const Fabric& fabric) {
  const std::string plan_path = in_folder(options, plan_file);
  const Result<std::string> text = read_text(plan_path);
  if (!text) return text.error();
  Result<Schedule> schedule = read_schedule(*text, plan_path);
  if (!schedule) return schedule.error();
  const std::string binding_path = in_folder(options, binding_file);
  const Result<RouteBinding> binding = load_route_binding(binding_path);
  if (!binding) return binding.error();
  const std::string digest = route_set_digest(schedule->topology, schedule->routes);
  if (binding->routes != digest) {
    return Error{binding_path + ": found the digest " + binding->routes + ", expected " + digest + " of " + plan_path};
  }
  const Result<SubnetTopology> reading = reading_for(fabric, schedule->topology);
  if (!reading) return Error{options.fabric + ": " + reading.error().message};
  Result<SubnetTopology> numbered = numbered_as(*reading, schedule->topology);
  if (!numbered) return numbered.error();
  const Result<std::vector<ClassAddress>> addresses =
      addresses_of(*binding, binding_path, has_port_fabric(fabric.subnet, *numbered));
  if (!addresses) return addresses.error();
  for (const Route& route : schedule->routes) {
    if (route.route_class >= 1 && at(route.route_class) <= addresses->size()) continue;
    return Error{binding_path + ": found no class " + std::to_string(route.route_class) + ", expected all of the plan"};
  }
  Installed installed{std::move(schedule).value(), std::move(numbered).value(), {}, present_lids(fabric.subnet)};
  installed.ends = route_ends(fabric.subnet, installed.fabric, installed.lids, installed.schedule, *addresses);
  if (const Status status = check_ends(installed.schedule, installed.ends); !status) {
    return Error{options.fabric + ": " + status.error().message};
  }
  for (const RouteEnds& ends : installed.ends) {
    const std::int32_t bits = (*addresses)[at(installed.schedule.routes[ends.route].route_class) - 1].path_bits;
    const SubnetPort& port = *find_port(fabric.subnet.devices[at(ends.source.device)], ends.source.port);
    if (port.lid > 0 && bits < std::int32_t{1} << static_cast<unsigned>(port.lmc)) continue;
    return Error{options.fabric + ": found LID " + std::to_string(port.lid) + " and LMC " + std::to_string(port.lmc) +
                 " at '" + fabric.subnet.devices[at(ends.source.device)].description + "', expected path bits " +
                 std::to_string(bits) + " to be among its LIDs"};
  }
  return installed;
}

/// Where packets to a route's LID go, by what the diagnostics printed.
class Observed {
 public:
  Status read(const std::string& file, const Subnet& subnet) {
    const Result<std::string> text = read_text(file);
    if (!text) return text.error();
    if (text->find("Unicast lids") != std::string::npos) {
      Result<SubnetTables> tables = read_lfts(*text, file, subnet);
      if (!tables) return tables.error();
      tables_.port.resize(subnet.devices.size());
      for (std::size_t device = 0; device < tables->port.size(); ++device) {
        if (!tables->port[device].empty()) tables_.port[device] = std::move(tables->port[device]);
      }
      return {};
    }
    Result<std::vector<TracedPath>> paths = read_ibtracert(*text, file, subnet);
    if (!paths) return paths.error();
    for (TracedPath& path : *paths) paths_[{path.from_lid, path.to_lid}] = std::move(path.hops);
    return {};
  }

  /// By traced paths where there are any, otherwise by tables.
  [[nodiscard]] Result<std::vector<PortId>> hops(const Subnet& subnet, const SubnetLids& lids,
                                                 const RouteEnds& ends) const {
    if (paths_.empty()) return trace(subnet, tables_, lids, ends.source, ends.destination_lid);
    const auto found = paths_.find({ends.source_lid, ends.destination_lid});
    if (found != paths_.end()) return found->second;
    return Error{"found no 'ibtracert " + std::to_string(ends.source_lid) + " " + std::to_string(ends.destination_lid) +
                 "', expected one for every route"};
  }

 private:
  SubnetTables tables_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<PortId>> paths_;
};

int verify_routes(const RoutesOptions& options) {
  if (options.output.empty())
    return fail("--verify needs --output, the folder that libcoll routes wrote", options.json);
  const Result<Fabric> fabric = load_fabric(options);
  if (!fabric) return fail(fabric.error().message, options.json);
  const Result<Installed> installed = load_installed(options, *fabric);
  if (!installed) return fail(installed.error().message, options.json);
  Observed observed;
  for (const std::string& file : options.verify) {
    if (const Status status = observed.read(file, fabric->subnet); !status) {
      return fail(status.error().message, options.json);
    }
  }
  std::size_t equal = 0;
  std::string first;
  for (const RouteEnds& ends : installed->ends) {
    const Result<std::vector<PortId>> hops = observed.hops(fabric->subnet, installed->lids, ends);
    const Status status =
        hops ? check_hops(fabric->subnet, installed->fabric, installed->schedule, ends, *hops) : Status(hops.error());
    if (status) {
      ++equal;
    } else if (first.empty()) {
      first = route_text(installed->schedule, ends) + ": " + status.error().message;
    }
  }
  if (options.json) {
    print_json(
        {{"ok", first.empty()}, {"routes", installed->ends.size()}, {"equal", equal}, {"first_difference", first}});
  } else {
    std::printf("%zu of %zu routes are as planned\n", equal, installed->ends.size());
    if (!first.empty()) std::printf("the first that differs: %s\n", first.c_str());
  }
  return first.empty() ? ExitCode::good : ExitCode::bad;
}

int routes(const RoutesOptions& options) {
  if (options.ip.wanted) return make_routes_of_hosts(options);
  if (options.fabric.empty()) {
    return fail("found neither --fabric FILE (InfiniBand) nor --ip (plain IP and RoCE), expected one", options.json);
  }
  return options.verify.empty() ? make_routes(options) : verify_routes(options);
}

}  // namespace

void add_routes(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RoutesOptions>();
  CLI::App* sub =
      app.add_subcommand("routes", "Write a plan's routes for InfiniBand, RoCE or IP fabrics, or check a subnet's");
  sub->add_option("plan", options->plan,
                  "All-to-all schedule, or a topology to plan for; left out: plan for the fabric");
  CLI::Option* fabric =
      sub->add_option("--fabric", options->fabric, "What ibnetdiscover prints; - is standard input")->type_name("FILE");
  sub->add_option("--node-name-map", options->names, "Names by GUID, as infiniband-diags take them")->type_name("FILE");
  sub->add_option("--host-switches", options->host_switches,
                  "Switches of one host: auto, collapse or keep; left out: as the plan has them")
      ->type_name("HOW");
  sub->add_option("--output", options->output, "Folder for tables, options, LIDs, route binding and plan")
      ->type_name("FOLDER");
  sub->add_option("--max-lmc", options->max_lmc, "Largest LMC: 2^LMC classes at most")
      ->check(whole_in(0, largest_lmc))
      ->capture_default_str();
  sub->add_option("--class-loss", options->class_loss,
                  "For a plan made here: part of F that it may lose for fewer classes")
      ->check(number_in(0, 1))
      ->capture_default_str();
  sub->add_option("--max-service-levels", options->max_service_levels,
                  "Most service levels, one virtual lane each; left out: what LASH and DF-SSSP of OpenSM take")
      ->check(whole_in(1, 15));
  sub->add_option("--device", options->device, "The hosts' port in the route binding, such as mlx5_0:1")
      ->type_name("NAME");
  sub->add_option("--cache-dir", options->cache_dir, "Also store the plan in this plan cache")->type_name("FOLDER");
  CLI::Option* verify =
      sub->add_option("--verify", options->verify,
                      "Check that OpenSM's dump, or what ibroute or ibtracert print, has every route in --output")
          ->type_name("FILE");
  sub->add_option("--time-limit", options->time_limit_seconds, "For planning; 0: none")
      ->type_name("SECONDS")
      ->check(seconds_from(0));
  for (const char* other :
       {"plan", "--max-lmc", "--class-loss", "--max-service-levels", "--device", "--cache-dir", "--time-limit"}) {
    verify->excludes(sub->get_option(other));
  }
  sub->add_flag("--json", options->json, "Machine-readable output");
  CLI::Option* ip =
      sub->add_flag("--ip", options->ip.wanted, "For plain IP and RoCE: ip -batch files by host, CSV tables by switch")
          ->excludes(fabric)
          ->excludes(verify);
  sub->add_option("--steer-by", options->ip.steering,
                  "device: an address and a device for each class; gid: an address on one RoCE port; port: UDP source "
                  "port of RoCE v2")
      ->type_name("device|gid|port")
      ->needs(ip)
      ->capture_default_str();
  sub->add_option("--network", options->ip.network,
                  "Host i has NETWORK + 65536 * class + 256 * (i / 250) + i % 250 + 1")
      ->type_name("ADDRESS")
      ->needs(ip)
      ->capture_default_str();
  sub->add_option("--devices", options->ip.devices, "Device, or switch port, of each link: lines FROM,TO,DEVICE")
      ->type_name("FILE")
      ->needs(ip);
  sub->add_option("--link-device", options->ip.link_device,
                  "Device of other links: {number} and {name} of the neighbour")
      ->type_name("NAME")
      ->needs(ip)
      ->capture_default_str();
  sub->add_option("--class-device", options->ip.class_device, "Device that has the address of a class")
      ->type_name("NAME")
      ->needs(ip)
      ->capture_default_str();
  sub->add_option("--first-gid-index", options->ip.first_gid_index, "GID index of class 0; the others follow")
      ->check(whole_in(0, 255))
      ->needs(ip)
      ->capture_default_str();
  sub->callback([options, &exit_code] { exit_code = routes(*options); });
}

}  // namespace libcoll::command
