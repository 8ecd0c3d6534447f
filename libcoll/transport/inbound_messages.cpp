#include "libcoll/transport/inbound_messages.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "libcoll/transport/tag_space.h"

namespace libcoll::transport {
namespace {

/// In an inquiry, beside what was received.
constexpr std::size_t most_calls_named = 12;

}  // namespace

Posted InboundMessages::receive(RecoveryGroupState& state, Stream& stream, std::int32_t route_class, std::uint64_t tag,
                                void* data, std::size_t bytes, Completion* completion) {
  const Key key{tag, route_class};
  if (const auto early = early_.find(key); early != early_.end()) {
    Early message = std::move(early->second);
    early_.erase(early);
    const bool fits = message.bytes == bytes;
    if (fits && bytes > 0) std::memcpy(data, message.memory.memory.get(), bytes);
    core_.pool.give(std::move(message.memory));
    completion->other_length = !fits;
    return fits ? Posted::done : Posted::failed;
  }
  Listening& listening = stream.lanes[at(route_class)];
  if (listening.receives++ == 0) listening.since = core_.clock.attend();
  const std::uint32_t slot = receivings_.take();
  Receiving& receiving = receivings_[slot];
  receiving = {&state, &stream, key, data, bytes, completion};
  expected_.emplace(key, slot);
  if (directory_.lane_of(stream, route_class).inward_dead) return Posted::pending;
  receiving.inner = {&relay_, slot, 0};
  receiving.pending = true;
  Posted posted = Posted::failed;
  if (core_.lends(bytes)) {
    posted = core_.inner.receive_pieces(route_class, tag, *this, bytes + stamp_bytes, &receiving.inner);
  } else {
    receiving.memory = core_.pool.take(bytes + stamp_bytes);
    posted =
        core_.inner.receive(route_class, tag, receiving.memory.memory.get(), bytes + stamp_bytes, &receiving.inner);
  }
  if (posted != Posted::pending) received(slot, posted == Posted::done);
  return Posted::pending;
}

void InboundMessages::forget(std::uint32_t communicator) {
  for (auto each = expected_.begin(); each != expected_.end();) {
    Receiving& receiving = receivings_[each->second];
    if (TagSpace::communicator_of(receiving.key.tag) != communicator) {
      ++each;
      continue;
    }
    --listening_for(receiving).receives;
    receiving.delivered = true;
    const std::uint32_t slot = each->second;
    each = expected_.erase(each);
    forget_slot(slot);
  }
}

void InboundMessages::take_packet(RecoveryGroupState& state, Stream& stream, const PacketHeader& header,
                                  std::span<const std::byte> payload, const HostPath& back) {
  Listening& listening = stream.lanes[header.route_class];
  listening.heard_at = core_.clock.now();
  answered(state, listening);
  stream.way = back;
  outbound_.confirm_until(stream, header.received);
  bool& dead = directory_.lane_of(stream, header.route_class).inward_dead;
  const bool died = !std::exchange(dead, true);
  if (died) doubt_hop(state, stream.node, header.route_class);
  if (header.sequence <= stream.received || stream.beyond.contains(header.sequence)) {
    ++core_.counts.duplicates_dropped;
    // Told once a message is enough; its first piece stands for it.
    if (header.offset == 0) acknowledgements_.acknowledge(state, stream, header.sequence, back);
  } else {
    assemble(state, stream, header, payload, back);
  }
  if (died && state.observer != nullptr) state.observer->lane_died(stream.node, header.route_class);
}

std::vector<std::uint64_t> InboundMessages::awaited_calls(const Stream& stream, std::int32_t route_class) const {
  std::set<std::uint64_t> calls;
  for (const auto& [key, slot] : expected_) {
    if (receivings_[slot].stream != &stream || key.route_class != route_class) continue;
    calls.insert(TagSpace::call_of(key.tag));
    if (calls.size() > most_calls_named) return {};
  }
  return {calls.begin(), calls.end()};
}

/// A piece of a message that its own way brings. When it has come around, nobody wants it any more.
void InboundMessages::take(std::uint32_t slot, std::size_t offset, std::span<const std::byte> piece) noexcept {
  if (core_.closing) return;
  Receiving& receiving = receivings_[slot];
  if (receiving.delivered) return;
  ++core_.completions;
  listening_for(receiving).heard_at = core_.clock.now();
  if (offset < stamp_bytes) {
    const std::size_t bytes = std::min(piece.size(), stamp_bytes - offset);
    std::memcpy(reinterpret_cast<std::byte*>(&receiving.stamp) + offset, piece.data(), bytes);
    piece = piece.subspan(bytes);
    offset += bytes;
  }
  if (piece.empty() || offset + piece.size() > receiving.bytes + stamp_bytes) return;
  std::memcpy(static_cast<std::byte*>(receiving.data) + (offset - stamp_bytes), piece.data(), piece.size());
}

/// The message's own way has brought it, or given up on it.
void InboundMessages::received(std::uint32_t slot, bool ok) {
  if (core_.closing) return;
  Receiving& receiving = receivings_[slot];
  receiving.pending = false;
  if (ok) {
    Stream& stream = *receiving.stream;
    const std::byte* memory = receiving.memory.memory.get();
    Stamp stamp = receiving.stamp;
    if (memory != nullptr) std::memcpy(&stamp, memory, sizeof stamp);
    Listening& listening = listening_for(receiving);
    listening.heard_at = core_.clock.now();
    heard(listening);
    stream.heard_class = receiving.key.route_class;
    outbound_.confirm_until(stream, stamp.received);
    const bool fresh = acknowledgements_.note_received(stream, stamp.sequence, receiving.bytes);
    if (!fresh) ++core_.counts.duplicates_dropped;
    acknowledgements_.note_debtor(*receiving.recovery_group, stream);
    if (fresh && !receiving.delivered) {
      deliver(slot, memory == nullptr ? nullptr : memory + sizeof stamp, receiving.bytes);
      return;
    }
  }
  // Without success it stays expected: the length may be another, but then it will come around as well.
  if (receiving.delivered) forget_slot(slot);
}

/// `data` is null where the pieces have found their places by themselves.
void InboundMessages::deliver(std::uint32_t slot, const std::byte* data, std::size_t bytes) {
  Receiving& receiving = receivings_[slot];
  const bool fits = bytes == receiving.bytes;
  if (fits && bytes > 0 && data != nullptr) std::memcpy(receiving.data, data, bytes);
  expected_.erase(receiving.key);
  --listening_for(receiving).receives;
  receiving.delivered = true;
  receiving.completion->other_length = !fits;
  const Completion completion = *receiving.completion;
  forget_slot(slot);
  core_.tell(completion, fits);
}

void InboundMessages::forget_slot(std::uint32_t slot) {
  Receiving& receiving = receivings_[slot];
  if (receiving.pending) return;
  core_.pool.give(std::move(receiving.memory));
  receivings_.give(slot);
}

void InboundMessages::assemble(RecoveryGroupState& state, Stream& stream, const PacketHeader& header,
                               std::span<const std::byte> payload, const HostPath& back) {
  Assembly& assembly = stream.assemblies[header.sequence];
  if (assembly.memory.memory == nullptr) {
    assembly.total = header.total;
    assembly.memory = core_.pool.take(header.total);
    assembly.missing = std::max<std::size_t>(1, (header.total + large_payload_bytes - 1) / large_payload_bytes);
    assembly.pieces.assign(assembly.missing, false);
  }
  const std::size_t piece = header.offset / large_payload_bytes;
  if (header.total != assembly.total || piece >= assembly.pieces.size() ||
      header.offset + payload.size() > assembly.total || assembly.pieces[piece]) {
    return;
  }
  if (!payload.empty()) std::memcpy(assembly.memory.memory.get() + header.offset, payload.data(), payload.size());
  assembly.pieces[piece] = true;
  ++core_.completions;
  if (--assembly.missing > 0) return;

  Buffer memory = std::move(assembly.memory);
  const std::size_t bytes = header.total;
  stream.assemblies.erase(header.sequence);
  acknowledgements_.note_received(stream, header.sequence, bytes);
  acknowledgements_.acknowledge(state, stream, header.sequence, back);
  const Key key{header.tag, header.route_class};
  if (const auto found = expected_.find(key); found != expected_.end()) {
    deliver(found->second, memory.memory.get(), bytes);
    core_.pool.give(std::move(memory));
  } else {
    early_.insert_or_assign(key, Early{std::move(memory), bytes});
  }
}

}  // namespace libcoll::transport
