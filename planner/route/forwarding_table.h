// A route set as a fabric's own tool takes it: source routes as the egress ports to leave by (paper 003 §4).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::route {

/// The port by which a link leaves its node: its place among the node's outgoing links, counted from 1.
std::int32_t egress_port(const topology::Topology& topology, topology::LinkId link);

/// One line for each route, columns separated by commas, under the header
/// "source,destination,route,layer,egress_ports": names of the nodes, the route's number within its pair (its route
/// class where it has one, else counted from 1), its layer, and the egress port at every node on the way, separated by
/// blanks. Lines are in the order of the routes. Names with a comma or a quote are quoted as in RFC 4180.
std::string write_forwarding_table(const topology::Topology& topology, std::span<const schedule::Route> routes);

}  // namespace libcoll::route
