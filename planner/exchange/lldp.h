// What `lldpctl -f json` prints on the hosts of an Ethernet fabric.
#pragma once

#include <string>
#include <string_view>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::exchange {

/// A JSON object that has, by host name, what `lldpctl -f json` prints on that host: {"node01": {"lldp": …}, …}. A
/// neighbour that is a host of the file is a host, any other a switch, so that a direct-connect fabric has no switches.
/// A cable seen from both ends is one; several between two chassis add up. LLDP does not tell the speed: every cable
/// has the default bandwidth. Hosts are numbered in the order of their names. Errors start with "FILE:LINE: " where the
/// text is no JSON, otherwise with "FILE: " and the place in the document.
Result<topology::Topology> read_lldp(std::string_view text, const std::string& file);

}  // namespace libcoll::exchange
