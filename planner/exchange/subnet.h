// An InfiniBand subnet as its subnet manager sees it: switches and channel adapters, cabled port to port.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace libcoll::exchange {

/// InfiniBand: unicast LIDs are 1 to 0xBFFF, and a port has 2^LMC of them at most.
inline constexpr std::int32_t largest_unicast_lid = 0xBFFF;
inline constexpr std::int32_t largest_lmc = 7;

using DeviceId = std::int32_t;

/// A port that is cabled.
struct SubnetPort {
  std::int32_t number = 0;  ///< 1 to 254
  DeviceId peer = 0;
  std::int32_t peer_port = 0;
  std::int64_t bandwidth_bytes_per_second = 0;  ///< of data, each way
  // Of channel adapters; a switch's stand in the device.
  std::uint64_t guid = 0;
  std::int32_t lid = 0;  ///< the first one; 0: not assigned
  std::int32_t lmc = 0;
};

/// A switch or a channel adapter (HCA).
struct SubnetDevice {
  bool is_switch = false;
  std::uint64_t guid = 0;
  std::string description;  ///< "node01 HCA-1"
  std::int32_t lid = 0;     ///< of a switch; 0: not assigned
  std::vector<SubnetPort> ports;
  std::int32_t line = 0;  ///< where the file describes it
};

struct Subnet {
  std::vector<SubnetDevice> devices;
};

/// The port of that number, or nullptr where it is not cabled.
inline const SubnetPort* find_port(const SubnetDevice& device, std::int32_t number) {
  for (const SubnetPort& port : device.ports) {
    if (port.number == number) return &port;
  }
  return nullptr;
}

}  // namespace libcoll::exchange
