// What crossed the links of a fabric, read from /proc without entering it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libcoll/fabric/state.h"

namespace libcoll::fabric {

/// Since the fabric came up, at the sending end of a link, Ethernet headers included.
struct LinkCounters {
  std::uint64_t bytes = 0;    ///< without what the shaper dropped
  std::uint64_t packets = 0;  ///< large ones that the kernel has not cut into frames count once
  std::uint64_t drops = 0;    ///< for which the receiving end had no room and, where asked for, the shaper
};

struct FabricCounters {
  double seconds = 0;                      ///< on CLOCK_BOOTTIME
  std::vector<LinkCounters> links;         ///< by link
  std::vector<std::uint64_t> retransmits;  ///< TCP segments sent again, by node
};

/// The text of /proc/PID/net/dev → transmit counters by device.
std::map<std::string, LinkCounters> parse_devices(const std::string& text);
/// The text of /proc/PID/net/snmp → RetransSegs of its Tcp lines.
std::uint64_t parse_retransmits(const std::string& text);

FabricCounters read_counters(const FabricState& state);

/// The JSON text of `tc -s -j qdisc show` → packets dropped by device.
std::map<std::string, std::uint64_t> parse_shapers(const std::string& text);

/// Adds what the shapers dropped since they were last set (up, cut, mend); cut links drop everything. Starts `tc` in
/// every node, so it is not for tight loops.
Status add_shaper_drops(const FabricState& state, FabricCounters& counters);

}  // namespace libcoll::fabric
