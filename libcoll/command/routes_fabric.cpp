#include "libcoll/command/routes_fabric.h"

#include <optional>
#include <string>
#include <utility>

#include "libcoll/command/command.h"

namespace libcoll::command {

using namespace exchange;
using namespace topology;

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

Result<SubnetTopology> reading_for(const Fabric& fabric, const Topology& topology) {
  std::optional<Error> error;
  for (const SubnetTopology& reading : fabric.readings) {
    Result<SubnetTopology> numbered = numbered_as(reading, topology);
    if (numbered) return reading;
    if (!error) error = numbered.error();
  }
  return *error;
}

Result<SubnetTopology> numbered_reading(const RoutesOptions& options, const Fabric& fabric, const Topology& topology) {
  const Result<SubnetTopology> found = reading_for(fabric, topology);
  Result<SubnetTopology> numbered = found ? numbered_as(*found, topology) : found;
  if (!numbered) return Error{options.fabric + ": " + numbered.error().message};
  return numbered;
}

}  // namespace libcoll::command
