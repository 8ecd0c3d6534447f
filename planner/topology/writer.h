// Topologies as files.
#pragma once

#include <string>

#include "planner/topology/topology.h"

namespace libcoll::topology {

/// A topology file that load_topology() reads as this very topology (host names of switches excepted): names, hosts,
/// link order, bandwidths, latencies.
std::string write_topology(const Topology& topology);

}  // namespace libcoll::topology
