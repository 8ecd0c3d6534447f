// A topology as a platform of SimGrid.
#pragma once

#include <string>

#include "planner/topology/topology.h"

namespace libcoll::exchange {

/// A platform file (version 4.1): hosts and routers in one zone, a link for each direction, routes of one link between
/// neighbours, from which SimGrid's Floyd routing makes shortest paths. `host_speed` is that of every host, as SimGrid
/// writes it.
std::string write_simgrid(const topology::Topology& topology, const std::string& host_speed = "1Gf");

}  // namespace libcoll::exchange
