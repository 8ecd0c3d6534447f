// Messages that receives are posted for: by their own way or, in pieces, around what is broken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "libcoll/transport/acknowledgements.h"
#include "libcoll/transport/outbound_messages.h"
#include "libcoll/transport/recovery_directory.h"
#include "libcoll/transport/resend_core.h"
#include "libcoll/transport/slot_pool.h"

namespace libcoll::transport {

class InboundMessages final : private Pieces {
 public:
  InboundMessages(ResendCore& core, RecoveryDirectory& directory, OutboundMessages& outbound,
                  Acknowledgements& acknowledgements)
      : core_(core), directory_(directory), outbound_(outbound), acknowledgements_(acknowledgements) {}
  InboundMessages(const InboundMessages&) = delete;
  InboundMessages& operator=(const InboundMessages&) = delete;

  /// As Transport::receive, from a process of the recovery group.
  Posted receive(RecoveryGroupState& state, Stream& stream, std::int32_t route_class, std::uint64_t tag, void* data,
                 std::size_t bytes, Completion* completion);
  /// The waiters and the memory of that communicator's messages are left alone from now on.
  void forget(std::uint32_t communicator);
  /// A packet of a message that comes around.
  void take_packet(RecoveryGroupState& state, Stream& stream, const PacketHeader& header,
                   std::span<const std::byte> payload, const HostPath& back);
  /// Calls of which something is missing from there, ascending; none when there are too many.
  [[nodiscard]] std::vector<std::uint64_t> awaited_calls(const Stream& stream, std::int32_t route_class) const;

 private:
  /// A message by what it is matched with.
  struct Key {
    std::uint64_t tag = 0;
    std::int32_t route_class = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return (key.tag ^ static_cast<std::uint64_t>(key.route_class)) * 0x9e3779b97f4a7c15U;
    }
  };
  struct Receiving {
    RecoveryGroupState* recovery_group = nullptr;
    Stream* stream = nullptr;
    Key key;
    void* data = nullptr;
    std::size_t bytes = 0;
    Completion* completion = nullptr;
    Buffer memory{};  ///< of messages that are not received in pieces
    Stamp stamp{};    ///< of those that are
    Completion inner{};
    bool pending = false;  ///< underneath
    bool delivered = false;
  };
  /// A message that came around before its receive was posted.
  struct Early {
    Buffer memory;
    std::size_t bytes = 0;
  };

  void give(std::uint32_t, std::size_t, std::span<std::byte>) noexcept override {}  // nothing is sent here
  void take(std::uint32_t slot, std::size_t offset, std::span<const std::byte> piece) noexcept override;
  Listening& listening_for(const Receiving& receiving) {
    return receiving.stream->lanes[at(receiving.key.route_class)];
  }
  void received(std::uint32_t slot, bool ok);
  void deliver(std::uint32_t slot, const std::byte* data, std::size_t bytes);
  void forget_slot(std::uint32_t slot);
  void assemble(RecoveryGroupState& state, Stream& stream, const PacketHeader& header,
                std::span<const std::byte> payload, const HostPath& back);

  ResendCore& core_;
  RecoveryDirectory& directory_;
  OutboundMessages& outbound_;
  Acknowledgements& acknowledgements_;
  SlotPool<Receiving> receivings_;
  std::unordered_map<Key, std::uint32_t, KeyHash> expected_;
  std::unordered_map<Key, Early, KeyHash> early_;
  Relay<InboundMessages, &InboundMessages::received> relay_{*this};
};

}  // namespace libcoll::transport
