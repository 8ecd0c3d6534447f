// Messages that were sent and whose arrival nobody has confirmed yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "libcoll/transport/packet_router.h"
#include "libcoll/transport/recovery_directory.h"
#include "libcoll/transport/resend_core.h"
#include "libcoll/transport/slot_pool.h"

namespace libcoll::transport {

class OutboundMessages final : private Pieces {
 public:
  OutboundMessages(ResendCore& core, RecoveryDirectory& directory, PacketRouter& router)
      : core_(core), directory_(directory), router_(router) {}
  OutboundMessages(const OutboundMessages&) = delete;
  OutboundMessages& operator=(const OutboundMessages&) = delete;

  /// As Transport::send, to a process of the recovery group. Precondition: the peer is the stream's, by a route class
  /// that the directory knows.
  Posted send(RecoveryGroupState& state, Stream& stream, PeerId peer, std::uint64_t tag, const void* data,
              std::size_t bytes, Completion* completion);
  /// The waiters and the memory of that communicator's messages are left alone from now on.
  void forget(std::uint32_t communicator);

  /// The receiver has this message.
  void confirm(Stream& stream, std::uint64_t sequence);
  /// The receiver has all up to this one.
  void confirm_until(Stream& stream, std::uint64_t received);

  /// The receiver waits for messages by that route class, of these calls (none: of any). Where one that left as long
  /// ago as the patience is not confirmed, the lane is dead, and all that left by it goes around; otherwise false.
  bool send_overdue_again(RecoveryGroupState& state, Stream& stream, std::int32_t route_class,
                          std::span<const std::uint64_t> calls);

 private:
  struct Sending {
    RecoveryGroupState* recovery_group = nullptr;
    Stream* stream = nullptr;
    std::uint64_t tag = 0;
    std::uint64_t sequence = 0;
    std::int32_t route_class = 0;
    std::size_t bytes = 0;
    bool lent = false;  ///< the data is in the caller's memory, until it is confirmed
    Buffer memory{};    ///< otherwise: stamp and data
    Stamp stamp{};
    const std::byte* lent_data = nullptr;
    Completion* completion = nullptr;
    Completion inner{};
    std::int64_t sent_at = 0;
    bool pending = false;    ///< underneath
    bool owed = false;       ///< the waiter is to be told
    bool held = false;       ///< … when there is room
    bool confirmed = false;  ///< the receiver has it
  };

  void give(std::uint32_t slot, std::size_t offset, std::span<std::byte> piece) noexcept override;
  void take(std::uint32_t, std::size_t, std::span<const std::byte>) noexcept override {}  // nothing is received here
  static std::span<const std::byte> data_of(const Sending& sending);
  void keep(Sending& sending);
  void hold(std::uint32_t slot);
  void release_held();
  void sent(std::uint32_t slot, bool ok);
  void send_around(Sending& sending);
  void finish(std::uint32_t slot);

  ResendCore& core_;
  RecoveryDirectory& directory_;
  PacketRouter& router_;
  SlotPool<Sending> sendings_;
  std::deque<std::uint32_t> held_;
  std::int64_t kept_bytes_ = 0;
  Relay<OutboundMessages, &OutboundMessages::sent> relay_{*this};
};

}  // namespace libcoll::transport
