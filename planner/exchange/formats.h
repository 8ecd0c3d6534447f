// The formats of others that topologies are read from and written in.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "planner/base/result.h"
#include "planner/exchange/ibnetdiscover.h"
#include "planner/exchange/subnet_topology.h"
#include "planner/topology/topology.h"

namespace libcoll::exchange {

/// What only some formats take.
struct ImportOptions {
  NodeNameMap names;                                     ///< ibnetdiscover
  HostSwitches host_switches = HostSwitches::automatic;  ///< ibnetdiscover
};

struct ImportFormat {
  std::string_view name;  ///< "ibnetdiscover"
  std::string_view text;  ///< one line for --help
  Result<topology::Topology> (*read)(std::string_view text, const std::string& file, const ImportOptions& options);
};

struct ExportFormat {
  std::string_view name;  ///< "dot"
  std::string_view text;  ///< one line for --help
  Result<std::string> (*write)(const topology::Topology& topology);
};

std::span<const ImportFormat> import_formats();
std::span<const ExportFormat> export_formats();

/// The error lists the formats there are.
Result<ImportFormat> find_import_format(std::string_view name);
Result<ExportFormat> find_export_format(std::string_view name);

}  // namespace libcoll::exchange
