// The InfiniBand subnet that routes are for, as ibnetdiscover printed it.
#pragma once

#include <vector>

#include "libcoll/command/routes_options.h"
#include "planner/base/result.h"
#include "planner/exchange/ibnetdiscover.h"
#include "planner/exchange/subnet_topology.h"
#include "planner/topology/topology.h"

namespace libcoll::command {

/// The wiring as it is.
struct Fabric {
  exchange::Subnet subnet;
  std::vector<exchange::SubnetTopology>
      readings;  ///< one for each way to look at switches of one host, the default first
};

/// Of --fabric, --names and --host-switches.
Result<Fabric> load_fabric(const RoutesOptions& options);

/// The reading of the fabric that a plan is for; the error is that of the first reading.
Result<exchange::SubnetTopology> reading_for(const Fabric& fabric, const topology::Topology& topology);

/// The same with that topology's numbers.
Result<exchange::SubnetTopology> numbered_reading(const RoutesOptions& options, const Fabric& fabric,
                                                  const topology::Topology& topology);

}  // namespace libcoll::command
