#include "libcoll/transport/acknowledgements.h"

#include <algorithm>
#include <span>

namespace libcoll::transport {
namespace {

/// What is owed of confirmations before one travels by itself; usually they go with messages the other way.
constexpr std::int64_t debt_messages_limit = 64;
constexpr std::int64_t debt_bytes_limit = std::int64_t{512} << 10;

/// Senders of long messages wait for their confirmation. It is put off for so long, in nanoseconds, for more messages
/// to come that it can confirm, or one to go the other way.
constexpr std::int64_t longest_lull = 50'000;

}  // namespace

void confirmed_all(Stream& stream) {
  stream.debt_messages = stream.debt_bytes = 0;
  stream.awaited_since = -1;
}

void list_beyond(const Stream& stream, std::vector<std::uint64_t>& list) {
  for (const std::uint64_t sequence : stream.beyond) {
    if (list.size() == small_payload_bytes / sizeof sequence) break;
    list.push_back(sequence);
  }
}

bool Acknowledgements::note_received(Stream& stream, std::uint64_t sequence, std::size_t bytes) {
  if (sequence <= stream.received || stream.beyond.contains(sequence)) return false;
  if (sequence == stream.received + 1) {
    ++stream.received;
    while (!stream.beyond.empty() && *stream.beyond.begin() == stream.received + 1) {
      ++stream.received;
      stream.beyond.erase(stream.beyond.begin());
    }
  } else {
    stream.beyond.insert(sequence);
  }
  ++stream.debt_messages;
  stream.debt_bytes += static_cast<std::int64_t>(bytes);
  if (core_.lends(bytes)) stream.awaited_since = core_.clock.now();
  return true;
}

void Acknowledgements::note_debtor(RecoveryGroupState& state, Stream& stream) {
  if (stream.is_debtor || (stream.awaited_since < 0 && !due(stream, Haste::little))) return;
  stream.is_debtor = true;
  debtors_.emplace_back(&state, &stream);
}

void Acknowledgements::acknowledge(RecoveryGroupState& state, Stream& stream, std::uint64_t sequence,
                                   const HostPath& path, std::int32_t route_class) {
  PacketHeader header{PacketKind::acknowledgement};
  header.sequence = sequence;
  header.received = stream.received;
  confirmed_all(stream);
  std::vector<std::uint64_t> list;
  list_beyond(stream, list);
  router_.send(state, header, std::as_bytes(std::span(list)), path, route_class);
}

void Acknowledgements::pay(RecoveryGroupState& state, Stream& stream) {
  const Remote::Lane& lane = directory_.lane_of(stream, stream.heard_class);
  if (lane.peer >= 0 && !lane.outward_dead) {
    acknowledge(state, stream, 0, state.direct_path(stream.node), stream.heard_class);
  } else {
    acknowledge(state, stream, 0, way_to(state, stream));
  }
}

void Acknowledgements::pay_debts(Haste haste) {
  std::erase_if(debtors_, [&](const auto& debtor) {
    const auto& [state, stream] = debtor;
    if (due(*stream, haste)) pay(*state, *stream);
    stream->is_debtor = stream->awaited_since >= 0;
    return !stream->is_debtor;
  });
}

bool Acknowledgements::due(const Stream& stream, Haste haste) const {
  if (stream.debt_messages >= debt_messages_limit || stream.debt_bytes >= debt_bytes_limit) return true;
  if (stream.awaited_since < 0) return false;
  return haste == Haste::now || core_.clock.now() - stream.awaited_since >= longest_lull ||
         std::all_of(stream.lanes.begin(), stream.lanes.end(),
                     [](const Listening& lane) { return lane.receives == 0; });
}

}  // namespace libcoll::transport
