// What processes say to each other beside their messages: who misses what, what was received, and messages that take
// another way, cut in pieces. Hosts on the way pass packets on.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "libcoll/transport/detours.h"

namespace libcoll::transport {

enum class PacketKind : std::uint8_t {
  inquiry,       ///< a receiver waits: have you sent anything for these calls, by this route class, that I do not have?
  nothing_owed,  ///< the answer when there is nothing
  data,          ///< a piece of a message that its way did not bring
  acknowledgement,  ///< what was received
  poke,             ///< asks for an acknowledgement
  ping,             ///< asks for an answer by the same way
  pong,
  note,  ///< of the layer above
};

inline constexpr std::size_t longest_host_path = 72;

struct PacketHeader {
  PacketKind kind = PacketKind::note;
  std::uint8_t hosts = 0;  ///< on the path
  std::uint8_t place = 0;  ///< of the host that has it, on the path
  std::uint8_t reserved = 0;
  std::uint16_t communicator = 0;
  std::uint16_t route_class = 0;  ///< of the messages it is about
  std::uint32_t bytes = 0;        ///< that follow
  std::uint32_t offset = 0;       ///< data: of the piece in the message; inquiry: bytes that name calls, 0: any call
  std::uint64_t tag = 0;          ///< data: the message's
  std::uint64_t sequence = 0;     ///< data: the message's; acknowledgement: of a message that was received
  std::uint64_t received = 0;     ///< by the one who says this: all messages up to this one
  std::uint64_t total = 0;        ///< data: bytes of the message
  std::array<std::uint16_t, longest_host_path> path{};
};
static_assert(std::is_trivially_copyable_v<PacketHeader>);

/// Packets have one of two lengths, so that receives for them can be posted before anybody knows what will come.
inline constexpr std::size_t small_payload_bytes = 256;
inline constexpr std::size_t large_payload_bytes = 8192;
inline constexpr std::size_t small_packet_bytes = sizeof(PacketHeader) + small_payload_bytes;
inline constexpr std::size_t large_packet_bytes = sizeof(PacketHeader) + large_payload_bytes;

/// Memory of one packet.
class Packet {
 public:
  /// A new one; its length follows from the payload's.
  Packet(PacketHeader header, std::span<const std::byte> payload)
      : memory_(payload.size() > small_payload_bytes ? large_packet_bytes : small_packet_bytes) {
    header.bytes = static_cast<std::uint32_t>(payload.size());
    set_header(header);
    if (!payload.empty()) std::memcpy(memory_.data() + sizeof header, payload.data(), payload.size());
  }
  /// One to receive.
  explicit Packet(std::size_t bytes) : memory_(bytes) {}

  [[nodiscard]] PacketHeader header() const {
    PacketHeader header;
    std::memcpy(&header, memory_.data(), sizeof header);
    return header;
  }
  void set_header(const PacketHeader& header) { std::memcpy(memory_.data(), &header, sizeof header); }
  [[nodiscard]] std::span<const std::byte> payload() const {
    return std::span<const std::byte>(memory_).subspan(sizeof(PacketHeader), header().bytes);
  }
  [[nodiscard]] std::byte* data() { return memory_.data(); }
  [[nodiscard]] std::size_t size() const { return memory_.size(); }

  /// What another process sent may be anything.
  [[nodiscard]] bool sound() const {
    const PacketHeader found = header();
    return found.kind <= PacketKind::note && found.hosts >= 2 && found.hosts <= longest_host_path && found.place > 0 &&
           found.place < found.hosts && found.bytes <= memory_.size() - sizeof(PacketHeader);
  }

 private:
  std::vector<std::byte> memory_;
};

inline HostPath path_of(const PacketHeader& header) {
  return {header.path.begin(), header.path.begin() + header.hosts};
}

/// False when it is too long.
inline bool set_path(PacketHeader& header, const HostPath& path) {
  if (path.size() < 2 || path.size() > longest_host_path) return false;
  header.hosts = static_cast<std::uint8_t>(path.size());
  header.place = 0;
  std::copy(path.begin(), path.end(), header.path.begin());
  return true;
}

}  // namespace libcoll::transport
