// What `ibnetdiscover` prints: the wiring of an InfiniBand subnet.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "planner/base/result.h"
#include "planner/exchange/subnet.h"

namespace libcoll::exchange {

/// Names by GUID, in place of node descriptions.
using NodeNameMap = std::map<std::uint64_t, std::string>;

/// A node-name-map file of infiniband-diags: lines `0xGUID "name"`, comments after '#'. Errors start with "FILE:LINE:
/// ".
Result<NodeNameMap> read_node_name_map(std::string_view text, const std::string& file);

/// Reads what ibnetdiscover prints. A cable's bandwidth is lanes × the data rate of a lane: SDR 2, DDR 4, QDR 8,
/// FDR10 10, FDR 13.64, EDR 25, HDR 50, NDR 100, XDR 200 Gbps (after 8b/10b or 64b/66b coding). Every cable has to be
/// listed at both of its ends. Errors start with "FILE:LINE: " and say what was found and what was expected.
Result<Subnet> read_ibnetdiscover(std::string_view text, const std::string& file, const NodeNameMap& names = {});

}  // namespace libcoll::exchange
