#include "planner/exchange/formats.h"

#include <algorithm>
#include <array>

#include "planner/exchange/dot.h"
#include "planner/exchange/graphml.h"
#include "planner/exchange/ibsim.h"
#include "planner/exchange/lldp.h"
#include "planner/exchange/simgrid.h"
#include "planner/exchange/slurm_topology.h"
#include "planner/topology/writer.h"

namespace libcoll::exchange {

using namespace topology;

namespace {

Result<Topology> import_ibnetdiscover(std::string_view text, const std::string& file, const ImportOptions& options) {
  const Result<Subnet> subnet = read_ibnetdiscover(text, file, options.names);
  if (!subnet) return subnet.error();
  Result<SubnetTopology> fabric = topology_of(*subnet, file, options.host_switches);
  if (!fabric) return fabric.error();
  return std::move(fabric->topology);
}

Result<Topology> import_lldp(std::string_view text, const std::string& file, const ImportOptions& /*options*/) {
  return read_lldp(text, file);
}
Result<Topology> import_graphml(std::string_view text, const std::string& file, const ImportOptions& /*options*/) {
  return read_graphml(text, file);
}
Result<Topology> import_slurm_topology(std::string_view text, const std::string& file,
                                       const ImportOptions& /*options*/) {
  return read_slurm_topology(text, file);
}

Result<std::string> export_graphml(const Topology& topology) { return write_graphml(topology); }
Result<std::string> export_simgrid(const Topology& topology) { return write_simgrid(topology); }
Result<std::string> export_dot(const Topology& topology) { return write_dot(topology); }
Result<std::string> export_toml(const Topology& topology) { return write_topology(topology); }

template <class Format>
Result<Format> find_format(std::span<const Format> formats, std::string_view name) {
  std::string names;
  for (const Format& format : formats) {
    if (format.name == name) return format;
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  }
  return Error{"found the format '" + std::string(name) + "', expected one of " + names};
}

}  // namespace

std::span<const ImportFormat> import_formats() {
  static constexpr std::array<ImportFormat, 4> formats = {{
      {"ibnetdiscover", "what ibnetdiscover prints of an InfiniBand subnet", import_ibnetdiscover},
      {"lldp", "what lldpctl -f json prints, by host", import_lldp},
      {"graphml", "GraphML, as of networkx", import_graphml},
      {"slurm-topology", "Slurm's topology.conf (topology/tree)", import_slurm_topology},
  }};
  return formats;
}

std::span<const ExportFormat> export_formats() {
  static constexpr std::array<ExportFormat, 5> formats = {{
      {"toml", "a topology file of libcoll", export_toml},
      {"dot", "a digraph for Graphviz", export_dot},
      {"ibsim", "a network file for ibsim, the InfiniBand simulator", write_ibsim},
      {"graphml", "GraphML, as of networkx", export_graphml},
      {"simgrid", "a platform file for SimGrid", export_simgrid},
  }};
  return formats;
}

Result<ImportFormat> find_import_format(std::string_view name) { return find_format(import_formats(), name); }
Result<ExportFormat> find_export_format(std::string_view name) { return find_format(export_formats(), name); }

}  // namespace libcoll::exchange
