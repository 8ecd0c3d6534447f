// OpenSM's files: linear forwarding tables, options, LIDs; and what the diagnostics print of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/base/result.h"
#include "planner/exchange/subnet.h"
#include "planner/exchange/subnet_tables.h"

namespace libcoll::exchange {

/// The file for `opensm -R file -U FILE`: every LID of every switch. `title` is a comment in its first line.
std::string write_lfts(const Subnet& subnet, const SubnetTables& tables, const SubnetLids& lids,
                       const std::string& title);

/// The file guid2lid of OpenSM's cache directory: the LIDs of every port.
std::string write_guid2lid(const Subnet& subnet, const SubnetLids& lids);

/// Options for `opensm -F FILE`: LMC, routing from `lfts_path`, and where there are several service levels QoS with one
/// virtual lane for each. Service levels beyond them share lane 0.
std::string write_opensm_options(std::int32_t lmc, std::int32_t service_levels, const std::string& lfts_path,
                                 const std::string& title);

/// Reads forwarding tables as write_lfts, OpenSM's dump (opensm-lfts.dump) or `ibroute` have them; several outputs may
/// stand one after the other, the last one counts. Errors start with "FILE:LINE: "; a switch that the subnet does not
/// have is one.
Result<SubnetTables> read_lfts(std::string_view text, const std::string& file, const Subnet& subnet);

/// A path as `ibtracert` prints it.
struct TracedPath {
  std::int32_t from_lid = 0;
  std::int32_t to_lid = 0;
  std::vector<PortId> hops;  ///< egress ports: of the adapter, then of every switch on the way
  std::int32_t line = 0;
};

/// Reads outputs of `ibtracert`. As these do not tell which LID of a port was asked for, a line "ibtracert FROM TO" has
/// to stand before each (`sh -x` prints such lines). A path that ibtracert found none for has no hops. Errors start
/// with "FILE:LINE: ".
Result<std::vector<TracedPath>> read_ibtracert(std::string_view text, const std::string& file, const Subnet& subnet);

}  // namespace libcoll::exchange
