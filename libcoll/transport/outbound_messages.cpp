#include "libcoll/transport/outbound_messages.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "libcoll/transport/acknowledgements.h"
#include "libcoll/transport/tag_space.h"

namespace libcoll::transport {
namespace {

constexpr std::uint32_t no_slot = std::numeric_limits<std::uint32_t>::max();

}  // namespace

Posted OutboundMessages::send(RecoveryGroupState& state, Stream& stream, PeerId peer, std::uint64_t tag,
                              const void* data, std::size_t bytes, Completion* completion) {
  const std::int32_t route_class = directory_.place_of(peer).route_class;
  const std::uint32_t slot = sendings_.take();
  Sending& sending = sendings_[slot];
  sending = {&state, &stream, tag, stream.next_sequence++, route_class, bytes, core_.lends(bytes)};
  sending.completion = completion;
  sending.sent_at = core_.clock.now();
  sending.inner = {&relay_, slot, 0};
  sending.stamp = {sending.sequence, stream.received};
  confirmed_all(stream);
  sending.lent_data = static_cast<const std::byte*>(data);
  if (!sending.lent) keep(sending);
  if (stream.unconfirmed.empty()) stream.poke_at = core_.clock.now() + 2 * core_.options.patience_nanoseconds;
  stream.unconfirmed.push_back(slot);

  Remote::Lane& lane = directory_.lane_of(stream, route_class);
  if (!lane.outward_dead) {
    const Posted posted =
        sending.lent ? core_.inner.send_pieces(peer, tag, *this, bytes + stamp_bytes, &sending.inner)
                     : core_.inner.send(peer, tag, sending.memory.memory.get(), bytes + stamp_bytes, &sending.inner);
    sending.pending = posted == Posted::pending;
    if (sending.pending || (sending.lent && posted == Posted::done)) {
      sending.owed = true;
      return Posted::pending;
    }
    if (posted == Posted::done) {
      if (kept_bytes_ <= core_.options.kept_bytes) return Posted::done;
      hold(slot);
      return Posted::pending;
    }
    lane.outward_dead = true;
  }
  sending.owed = true;
  ++core_.counts.messages_sent_around;
  send_around(sending);
  return Posted::pending;
}

void OutboundMessages::forget(std::uint32_t communicator) {
  for (Sending& sending : sendings_.all()) {
    if (TagSpace::communicator_of(sending.tag) != communicator) continue;
    // Messages of others to the same process are confirmed after it: it still has to arrive.
    if (sending.lent && sending.owed) keep(sending);
    sending.owed = sending.held = false;
  }
}

void OutboundMessages::confirm(Stream& stream, std::uint64_t sequence) {
  if (sequence < stream.first_unconfirmed || sequence >= stream.next_sequence) return;
  const std::uint32_t slot = std::exchange(stream.unconfirmed[sequence - stream.first_unconfirmed], no_slot);
  if (slot == no_slot) return;
  Sending& sending = sendings_[slot];
  sending.confirmed = true;
  sending.held = false;
  if (!sending.lent) kept_bytes_ -= static_cast<std::int64_t>(sending.bytes);
  if (std::exchange(sending.owed, false)) core_.tell(*sending.completion, true);
  finish(slot);
}

void OutboundMessages::confirm_until(Stream& stream, std::uint64_t received) {
  if (received >= stream.first_unconfirmed) {
    stream.poke_at = core_.clock.now() + 2 * core_.options.patience_nanoseconds;
    stream.poked = 0;
  }
  while (!stream.unconfirmed.empty() && stream.first_unconfirmed <= received) {
    confirm(stream, stream.first_unconfirmed);
    stream.unconfirmed.pop_front();
    ++stream.first_unconfirmed;
  }
  release_held();
}

bool OutboundMessages::send_overdue_again(RecoveryGroupState& state, Stream& stream, std::int32_t route_class,
                                          std::span<const std::uint64_t> calls) {
  const auto is_awaited = [calls](std::uint64_t tag) {
    return calls.empty() || std::find(calls.begin(), calls.end(), TagSpace::call_of(tag)) != calls.end();
  };
  bool& dead = directory_.lane_of(stream, route_class).outward_dead;
  const std::int64_t patience = core_.options.patience_nanoseconds;
  const std::int64_t age = dead ? patience / tries_in_patience : patience;
  std::vector<std::uint32_t> owed;
  bool overdue = false;
  for (const std::uint32_t slot : stream.unconfirmed) {
    if (slot == no_slot || sendings_[slot].route_class != route_class) continue;
    owed.push_back(slot);
    overdue = overdue || (core_.clock.now() - sendings_[slot].sent_at >= age && is_awaited(sendings_[slot].tag));
  }
  if (!overdue) return false;
  if (!std::exchange(dead, true)) doubt_hop(state, stream.node, route_class);
  for (const std::uint32_t slot : owed) {
    ++core_.counts.messages_sent_again;
    send_around(sendings_[slot]);
  }
  return true;
}

/// A piece of a message that its own way is ready for. When it has been confirmed, nobody wants it any more, and the
/// caller's memory may be gone.
void OutboundMessages::give(std::uint32_t slot, std::size_t offset, std::span<std::byte> piece) noexcept {
  const Sending& sending = sendings_[slot];
  if (core_.closing || sending.confirmed) {
    std::fill(piece.begin(), piece.end(), std::byte{0});
    return;
  }
  if (offset < stamp_bytes) {
    const std::size_t bytes = std::min(piece.size(), stamp_bytes - offset);
    std::memcpy(piece.data(), reinterpret_cast<const std::byte*>(&sending.stamp) + offset, bytes);
    piece = piece.subspan(bytes);
    offset += bytes;
  }
  if (!piece.empty()) std::memcpy(piece.data(), data_of(sending).data() + (offset - stamp_bytes), piece.size());
}

std::span<const std::byte> OutboundMessages::data_of(const Sending& sending) {
  return {sending.lent ? sending.lent_data : sending.memory.memory.get() + stamp_bytes, sending.bytes};
}

/// A copy of the message and of its stamp.
void OutboundMessages::keep(Sending& sending) {
  sending.lent = false;
  sending.memory = core_.pool.take(sending.bytes + stamp_bytes);
  std::byte* memory = sending.memory.memory.get();
  std::memcpy(memory, &sending.stamp, stamp_bytes);
  if (sending.bytes > 0) std::memcpy(memory + stamp_bytes, sending.lent_data, sending.bytes);
  kept_bytes_ += static_cast<std::int64_t>(sending.bytes);
}

void OutboundMessages::hold(std::uint32_t slot) {
  sendings_[slot].owed = sendings_[slot].held = true;
  held_.push_back(slot);
}

void OutboundMessages::release_held() {
  while (!held_.empty() && kept_bytes_ <= core_.options.kept_bytes) {
    Sending& sending = sendings_[held_.front()];
    held_.pop_front();
    if (!std::exchange(sending.held, false)) continue;
    sending.owed = false;
    core_.tell(*sending.completion, true);
  }
}

/// The message's own way has taken it, or given up on it.
void OutboundMessages::sent(std::uint32_t slot, bool ok) {
  if (core_.closing) return;
  Sending& sending = sendings_[slot];
  sending.pending = false;
  if (sending.confirmed) {
    finish(slot);
  } else if (!ok) {
    directory_.lane_of(*sending.stream, sending.route_class).outward_dead = true;
    send_around(sending);
  } else if (sending.lent) {
    return;  // until it is confirmed
  } else if (sending.owed && kept_bytes_ > core_.options.kept_bytes) {
    hold(slot);
  } else if (std::exchange(sending.owed, false)) {
    core_.tell(*sending.completion, true);
  }
}

/// From host to host, in pieces.
void OutboundMessages::send_around(Sending& sending) {
  RecoveryGroupState& state = *sending.recovery_group;
  const Stream& stream = *sending.stream;
  sending.sent_at = core_.clock.now();
  const HostPath path = way_to(state, stream);
  PacketHeader header{PacketKind::data};
  header.route_class = static_cast<std::uint16_t>(sending.route_class);
  header.tag = sending.tag;
  header.sequence = sending.sequence;
  header.received = stream.received;
  header.total = sending.bytes;
  const std::span<const std::byte> data = data_of(sending);
  std::size_t offset = 0;
  do {
    header.offset = static_cast<std::uint32_t>(offset);
    const std::size_t bytes = std::min(large_payload_bytes, data.size() - offset);
    router_.send(state, header, data.subspan(offset, bytes), path);
    offset += bytes;
  } while (offset < data.size());
}

void OutboundMessages::finish(std::uint32_t slot) {
  Sending& sending = sendings_[slot];
  if (sending.pending) return;
  core_.pool.give(std::move(sending.memory));
  sendings_.give(slot);
}

}  // namespace libcoll::transport
