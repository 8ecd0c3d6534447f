#include "libcoll/command/ip_routes.h"

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "planner/schedule/xml.h"

namespace libcoll::command {

using namespace exchange;
using namespace route;
using namespace schedule;
using namespace topology;

namespace {

namespace fs = std::filesystem;

Result<IpScheme> scheme_of(const IpOptions& options, const std::string& roce_device, const Topology& topology) {
  IpScheme scheme;
  const Result<IpSteering> steering = parse_ip_steering(options.steering);
  if (!steering) return Error{"--steer-by: " + steering.error().message};
  const Result<std::uint32_t> network = parse_ipv4(options.network);
  if (!network) return Error{"--network: " + network.error().message};
  scheme.steering = *steering;
  scheme.network = *network;
  scheme.link_device = options.link_device;
  scheme.class_device = options.class_device;
  scheme.roce_device = roce_device;
  scheme.first_gid_index = options.first_gid_index;
  if (options.devices.empty()) return scheme;
  const Result<std::string> text = read_text(options.devices);
  if (!text) return text.error();
  Result<LinkDevices> devices = read_link_devices(*text, options.devices, topology);
  if (!devices) return devices.error();
  scheme.devices = std::move(devices).value();
  return scheme;
}

/// A file's name: names of nodes may have anything in them.
std::string file_name(const Topology& topology, NodeId node) {
  const Node& each = topology.node(node);
  std::string name = each.host.empty() ? each.name : each.host;
  for (char& letter : name) {
    if (letter == '/' || letter == '\0') letter = '_';
  }
  return name.starts_with('.') ? "_" + name : name;
}

Status write_ip_files(const std::string& output, const IpScheme& scheme, const DestinationClasses& classes,
                      const Schedule& schedule) {
  std::error_code failure;
  const fs::path folder(output);
  for (const char* part : {"hosts", "switches"}) {
    if (!failure) fs::create_directories(folder / part, failure);
  }
  if (failure) return Error{output + ": cannot be made: " + failure.message()};
  const Topology& topology = schedule.topology;
  const std::string title = "# libcoll routes --ip, digest " + route_set_digest(topology, schedule.routes) + "\n";
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    const std::string name = file_name(topology, node);
    if (topology.node(node).is_switch) {
      const std::string path = (folder / "switches" / (name + ".csv")).string();
      if (Status written = write_text(path, ip_switch_table(scheme, topology, classes, node)); !written) return written;
      continue;
    }
    const std::array<std::pair<std::string, std::string>, 2> files{
        {{name + ".addresses", ip_addresses_batch(scheme, classes, node)},
         {name + ".routes", ip_routes_batch(scheme, topology, classes, node)}}};
    for (const auto& [file, text] : files) {
      if (Status written = write_text((folder / "hosts" / file).string(), title + text); !written) return written;
    }
  }
  const std::string binding = title + write_route_binding(ip_binding(scheme, classes, schedule));
  if (Status written = write_text((folder / "route-binding.toml").string(), binding); !written) return written;
  return write_text((folder / "plan.xml").string(), write_schedule(schedule));
}

}  // namespace

Result<Json> make_ip_routes(const IpOptions& options, const std::string& roce_device, const std::string& output,
                            Schedule& schedule) {
  const Result<IpScheme> scheme = scheme_of(options, roce_device, schedule.topology);
  if (!scheme) return scheme.error();
  const Result<DestinationClasses> classes = plan_ip_classes(schedule);
  if (!classes) return classes.error();
  if (!output.empty()) {
    if (const Status written = write_ip_files(output, *scheme, *classes, schedule); !written) return written.error();
  }
  return Json{
      {"topology", schedule.topology.name()}, {"hosts", schedule.topology.host_count()},
      {"routes", schedule.routes.size()},     {"routes_digest", route_set_digest(schedule.topology, schedule.routes)},
      {"classes", classes->classes.size()},   {"service_levels", classes->layers}};
}

}  // namespace libcoll::command
