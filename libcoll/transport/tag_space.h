// What the tags of messages are made of.
#pragma once

#include <cstdint>

#include "planner/topology/topology.h"

namespace libcoll::transport {

/// Tags of one call: 12 bits communicator, 12 bits call, 16 bits sender (node), 24 bits message.
class TagSpace {
 public:
  TagSpace(std::uint32_t communicator, std::uint32_t call)
      : prefix_((std::uint64_t{communicator & 0xfffU} << 52U) | (std::uint64_t{call & 0xfffU} << 40U)) {}
  [[nodiscard]] std::uint64_t tag(topology::NodeId sender, std::uint32_t message) const {
    const auto number = static_cast<std::uint16_t>(sender + first_sender_);
    return prefix_ | (std::uint64_t{number} << 24U) | (message & 0xffffffU);
  }
  /// The same call's tags, but for senders that are numbered from there on.
  [[nodiscard]] TagSpace with_senders_from(topology::NodeId first) const {
    TagSpace tags = *this;
    tags.first_sender_ = first;
    return tags;
  }
  static std::uint32_t communicator_of(std::uint64_t tag) { return static_cast<std::uint32_t>(tag >> 52U); }
  /// Communicator and call.
  static std::uint64_t call_of(std::uint64_t tag) { return tag >> 40U; }
  static topology::NodeId sender_of(std::uint64_t tag) { return static_cast<std::uint16_t>(tag >> 24U); }
  static constexpr std::uint32_t max_communicator = 0xfff;
  static constexpr std::uint32_t max_message = 0xffffff;
  static constexpr topology::NodeId max_sender = 0xffff;

 private:
  std::uint64_t prefix_;
  topology::NodeId first_sender_ = 0;
};

}  // namespace libcoll::transport
