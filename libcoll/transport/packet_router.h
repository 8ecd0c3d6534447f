// Packets from host to host: those of this process, and those that it passes on for others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libcoll/transport/packet.h"
#include "libcoll/transport/recovery_directory.h"
#include "libcoll/transport/resend_core.h"
#include "libcoll/transport/slot_pool.h"

namespace libcoll::transport {

class PacketRouter {
 public:
  PacketRouter(ResendCore& core, RecoveryDirectory& directory) : core_(core), directory_(directory) {}
  PacketRouter(const PacketRouter&) = delete;
  PacketRouter& operator=(const PacketRouter&) = delete;

  /// A peer of the transport underneath, which the directory knows from then on.
  Result<PeerId> connect(const std::string& address, std::int32_t route_class);

  /// Receives packets from now on.
  void open();
  [[nodiscard]] bool is_open() const { return !inboxes_.empty(); }
  /// Posts receives in place of those that brought something.
  void post();

  [[nodiscard]] bool has_arrivals() const { return !arrivals_.empty(); }
  /// Calls handle(Packet&) for what has arrived, and for what arrives meanwhile.
  template <class Handle>
  void take_arrivals(Handle handle) {
    for (std::size_t next = 0; next != arrivals_.size();) {
      Packet packet = std::move(arrivals_[next++]);
      handle(packet);
    }
    arrivals_.clear();
  }

  /// Along the path, on the first hop by that route class or, when it is negative, by one that is thought to work. A
  /// path that is too long or empty: nothing is sent.
  void send(RecoveryGroupState& state, PacketHeader header, std::span<const std::byte> payload, const HostPath& path,
            std::int32_t route_class = -1);
  /// To the next host on its path.
  void pass_on(RecoveryGroupState& state, Packet packet, std::int32_t route_class = -1);

 private:
  struct Inbox {
    std::int32_t route_class = 0;
    std::uint64_t tag = 0;
    Packet packet;
    Completion inner;
    bool posted = false;
  };
  struct Outgoing {
    Packet packet;
    Completion inner;
  };

  PeerId peer_for(Remote& remote, std::int32_t route_class);
  void arrived(std::uint32_t number, bool ok);
  void sent(std::uint32_t slot, bool ok);

  ResendCore& core_;
  RecoveryDirectory& directory_;
  std::vector<std::unique_ptr<Inbox>> inboxes_;
  std::size_t unposted_ = 0;
  std::vector<Packet> arrivals_;
  SlotPool<std::optional<Outgoing>> outgoing_;
  Relay<PacketRouter, &PacketRouter::arrived> inbox_relay_{*this};
  Relay<PacketRouter, &PacketRouter::sent> outgoing_relay_{*this};
};

}  // namespace libcoll::transport
