// A topology as the network file of ibsim, the InfiniBand fabric simulator.
#pragma once

#include <string>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::exchange {

/// The text of a .net file. A host that is joined to hosts is an adapter NAME on a switch "NAME-switch" of its own
/// (port 1); a host that is joined to switches only is an adapter with a port for each of them. ibsim knows no
/// bandwidths but widths: a cable is 1x, 4x or 12x wide where its bandwidth is that many times the smallest one
/// (rounded down), and a host link beside a switch of its own 12x. Read back from ibnetdiscover, a topology of degree
/// 12 at most, all of whose bandwidths are equal, is the same but for bandwidths.
///
/// Errors: a link without its reverse (InfiniBand has cables only), more than 254 ports, names that quotes cannot hold.
Result<std::string> write_ibsim(const topology::Topology& topology);

/// Refuses links without their reverse; names the first.
Status check_cables(const topology::Topology& topology);

}  // namespace libcoll::exchange
