#include "libcoll/command/routes_verify.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "libcoll/command/command.h"
#include "libcoll/command/routes_fabric.h"
#include "planner/base/index.h"
#include "planner/exchange/opensm.h"
#include "planner/exchange/port_fabric.h"
#include "planner/exchange/subnet_plan.h"
#include "planner/schedule/route_binding.h"
#include "planner/schedule/xml.h"

namespace libcoll::command {

using namespace exchange;
using namespace schedule;

namespace {

/// What was written, and what the subnet has now.
struct Installed {
  Schedule schedule;
  SubnetTopology fabric;
  std::vector<RouteEnds> ends;
  SubnetLids lids;
};

/// By class − 1. Devices stand for ports, in the order in which classes name them.
Result<std::vector<ClassAddress>> addresses_of(const RouteBinding& binding, const std::string& file, bool several) {
  std::vector<ClassAddress> addresses;
  std::vector<std::string> devices;
  for (const RouteClassBinding& each : binding.classes) {
    const std::string bits = setting_of(each, "IB_LID_PATH_BITS").value_or("");
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
    const auto found = std::find(devices.begin(), devices.end(), setting_of(each, "NET_DEVICES").value_or(""));
    address.place = static_cast<std::int32_t>(found - devices.begin());
    if (found == devices.end()) devices.push_back(setting_of(each, "NET_DEVICES").value_or(""));
  }
  return addresses;
}

Result<Installed> load_installed(const RoutesOptions& options, const Fabric& fabric) {
  const std::string plan_path = in_folder(options, RoutesFiles::plan);
  const Result<std::string> text = read_text(plan_path);
  if (!text) return text.error();
  Result<Schedule> schedule = read_schedule(*text, plan_path);
  if (!schedule) return schedule.error();
  const std::string binding_path = in_folder(options, RoutesFiles::binding);
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

}  // namespace

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

}  // namespace libcoll::command
