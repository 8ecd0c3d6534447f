#include "libcoll/transport/resilient_transport.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "libcoll/transport/acknowledgements.h"
#include "libcoll/transport/inbound_messages.h"
#include "libcoll/transport/neighbour_check.h"
#include "libcoll/transport/outbound_messages.h"
#include "libcoll/transport/packet_router.h"
#include "libcoll/transport/recovery_directory.h"
#include "libcoll/transport/resend_core.h"
#include "libcoll/transport/slot_pool.h"
#include "libcoll/transport/tag_space.h"
#include "planner/base/index.h"

namespace libcoll::transport {

using namespace topology;

namespace {

/// So many inquiries without an answer, and pokes without effect, come at even intervals, and further ones in ever
/// longer ones: the other process may be computing for hours.
constexpr std::int64_t steady_inquiries = 32;
constexpr std::int64_t steady_pokes = 16;
constexpr std::int64_t most_doublings = 6;

std::int64_t spread(std::int64_t interval, std::int64_t number, std::int64_t steady) {
  return interval << std::clamp<std::int64_t>(number - steady, 0, most_doublings);
}

std::vector<std::uint64_t> listed(std::span<const std::byte> payload) {
  std::vector<std::uint64_t> list(payload.size() / sizeof(std::uint64_t));
  if (!list.empty()) std::memcpy(list.data(), payload.data(), list.size() * sizeof(std::uint64_t));
  return list;
}

class Resilient final : public ResilientTransport {
 public:
  Resilient(std::unique_ptr<Transport> inner, const ResendOptions& options)
      : core_(options, *inner), directory_(inner->route_classes()), inner_(std::move(inner)) {}

  ~Resilient() override {
    core_.closing = true;
    for (const Remote& remote : directory_.remotes()) {
      for (const Remote::Lane& lane : remote.lanes) {
        if (lane.peer >= 0 && (lane.outward_dead || lane.inward_dead)) inner_->forsake(lane.peer);
      }
    }
  }

  std::string name() const override { return inner_->name(); }
  const std::string& address() const override { return inner_->address(); }
  std::int32_t route_classes() const override { return inner_->route_classes(); }
  /// A recovery group's long messages are flushed by their confirmation; what others send may stay behind when UCX
  /// copies it.
  std::int64_t unflushed_bytes() const override {
    return passes_long_ ? Transport::unflushed_bytes() : inner_->unflushed_bytes();
  }
  bool arm() noexcept override {
    acknowledgements_.pay_debts(Acknowledgements::Haste::now);
    return !router_.has_arrivals() && inner_->arm();
  }
  void block(int timeout_milliseconds) noexcept override { inner_->block(timeout_milliseconds); }
  void abandon(Flush& flush) noexcept override { inner_->abandon(flush); }
  ResendCounts counts() const override { return core_.counts; }

  Result<PeerId> connect(const std::string& address, std::int32_t route_class) override {
    return router_.connect(address, route_class);
  }

  void enrol(RecoveryGroup recovery_group) override {
    if (!router_.is_open()) router_.open();
    directory_.enrol(std::move(recovery_group));
  }
  void annex(std::uint32_t communicator, std::uint32_t to, std::vector<NodeId> places) override {
    directory_.annex(communicator, to, std::move(places));
  }
  void annex(std::uint32_t communicator, std::uint32_t like) override { directory_.annex(communicator, like); }
  void observe(std::uint32_t communicator, RecoveryGroupObserver* observer) override {
    if (RecoveryGroupState* state = directory_.recovery_group(communicator)) state->observer = observer;
  }

  Posted send(PeerId peer, std::uint64_t tag, const void* data, std::size_t bytes,
              Completion* completion) noexcept override {
    RecoveryGroupState* state = directory_.recovery_group_with(TagSpace::communicator_of(tag));
    Stream* stream = state == nullptr ? nullptr : directory_.stream_to(*state, peer);
    if (stream != nullptr) return outbound_.send(*state, *stream, peer, tag, data, bytes, completion);
    passes_long_ = passes_long_ || static_cast<std::int64_t>(bytes) > Transport::unflushed_bytes();
    return pass([&](Completion* inner) { return inner_->send(peer, tag, data, bytes, inner); }, completion);
  }

  Posted receive(std::int32_t route_class, std::uint64_t tag, void* data, std::size_t bytes,
                 Completion* completion) noexcept override {
    RecoveryGroupState* state = directory_.recovery_group_with(TagSpace::communicator_of(tag));
    const NodeId sender = directory_.place_of_sender(tag);
    if (state == nullptr || sender >= static_cast<NodeId>(state->streams.size())) {
      return pass([&](Completion* inner) { return inner_->receive(route_class, tag, data, bytes, inner); }, completion);
    }
    const Posted posted =
        inbound_.receive(*state, state->streams[at(sender)], route_class, tag, data, bytes, completion);
    // What it found has ended here, and nobody may call progress() afterwards.
    acknowledgements_.pay_debts(Acknowledgements::Haste::little);
    return posted;
  }

  bool progress() noexcept override {
    core_.completions = 0;
    const bool moved = inner_->progress();
    if (!router_.is_open()) return core_.completions > 0 || moved;
    core_.clock.attend();
    router_.take_arrivals([this](Packet& packet) { handle(packet); });
    router_.post();
    acknowledgements_.pay_debts(Acknowledgements::Haste::little);
    if (core_.clock.last_look() - last_tick_ >= core_.options.patience_nanoseconds / ticks_in_patience) tick();
    return core_.completions > 0;
  }

  bool flushed(Flush& flush, std::span<const PeerId> peers) noexcept override {
    if (flush.started_at == 0) {
      flush.started_at = std::max<std::int64_t>(1, core_.clock.attend());
      acknowledgements_.pay_debts(Acknowledgements::Haste::now);
    }
    std::vector<PeerId> alive;
    for (const PeerId peer : peers) {
      if (peer < 0) continue;
      const RecoveryDirectory::Place place = directory_.place_of(peer);
      if (place.known) {
        const Remote::Lane& lane = directory_.lane_of(place);
        if (lane.outward_dead || lane.inward_dead) continue;
      }
      alive.push_back(peer);
    }
    if (inner_->flushed(flush, alive)) return true;
    // What is broken is noticed by those who miss something.
    if (core_.clock.attend() - flush.started_at < core_.options.patience_nanoseconds) return false;
    inner_->abandon(flush);
    return true;
  }

  void forget(std::uint32_t communicator) noexcept override {
    if (directory_.recovery_group_with(communicator) == nullptr) return;
    outbound_.forget(communicator);
    inbound_.forget(communicator);
  }

  void post_note(std::uint32_t communicator, NodeId to, std::span<const std::byte> note,
                 NoteWay way) noexcept override {
    RecoveryGroupState* state = directory_.recovery_group(communicator);
    if (state == nullptr) return;
    Stream& stream = state->streams[at(to)];
    if (way == NoteWay::other) state->detours.blame(stream.note_path);
    stream.notes_in_vain = way == NoteWay::other ? stream.notes_in_vain + 1 : 0;
    if (way != NoteWay::back || stream.note_path.empty()) {
      stream.note_path = state->detours.search(state->recovery_group.self, to, false, stream.notes_in_vain);
    }
    router_.send(*state, {PacketKind::note}, note, stream.note_path);
  }

  void exclude(std::uint32_t communicator, NodeId a, NodeId b) noexcept override {
    RecoveryGroupState* state = directory_.recovery_group(communicator);
    if (state == nullptr || std::max(a, b) >= state->detours.hosts()) return;
    state->detours.exclude(a, b);
    // What was found before may lead over it.
    for (Stream& stream : state->streams) stream.way.clear();
  }

  void check_neighbours(std::uint32_t communicator) noexcept override {
    if (RecoveryGroupState* state = directory_.recovery_group(communicator)) begin_check(*state, core_.clock.now());
  }

 private:
  /// A message of no recovery group's.
  struct Passing {
    Completion* completion = nullptr;
    Completion inner{};
  };

  // ---- messages of others ---------------------------------------------------------------------------------------

  /// They count as something that happened when they end.
  template <class Post>
  Posted pass(Post post, Completion* completion) {
    const std::uint32_t slot = passings_.take();
    Passing& passing = passings_[slot];
    passing = {completion, {&pass_relay_, slot, 0}};
    const Posted posted = post(&passing.inner);
    if (posted != Posted::pending) passings_.give(slot);
    return posted;
  }

  void passed(std::uint32_t slot, bool ok) {
    if (core_.closing) return;
    passings_.give(slot);
    core_.tell(*passings_[slot].completion, ok);
  }

  // ---- packets ------------------------------------------------------------------------------------------------

  void handle(Packet& packet) {
    if (!packet.sound()) return;
    const PacketHeader header = packet.header();
    RecoveryGroupState* state = directory_.recovery_group(header.communicator);
    if (state == nullptr || header.path[header.place] != state->recovery_group.self) return;
    if (header.place + 1 < header.hosts) {
      ++core_.counts.packets_passed_on;
      HostPath so_far = path_of(header);
      so_far.resize(header.place + std::size_t{1});
      if (so_far.size() > 2) state->detours.trust(so_far);
      router_.pass_on(*state, std::move(packet));
      return;
    }
    const NodeId origin = header.path[0];
    if (origin >= static_cast<NodeId>(state->streams.size()) || origin == state->recovery_group.self) return;
    HostPath back = path_of(header);
    if (back.size() > 2) state->detours.trust(back);  // one hop may have been another route class
    std::reverse(back.begin(), back.end());
    handle(*state, state->streams[at(origin)], header, packet.payload(), back);
  }

  void handle(RecoveryGroupState& state, Stream& stream, const PacketHeader& header, std::span<const std::byte> payload,
              const HostPath& back) {
    const bool known_class = header.route_class < stream.lanes.size();
    switch (header.kind) {
      case PacketKind::inquiry:
        if (known_class) answer(state, stream, header, payload, back);
        return;
      case PacketKind::nothing_owed:
        if (known_class) {
          Listening& listening = stream.lanes[header.route_class];
          answered(state, listening);
          listening.ask_at = core_.clock.now() + core_.options.patience_nanoseconds;
        }
        return;
      case PacketKind::data:
        if (known_class) inbound_.take_packet(state, stream, header, payload, back);
        return;
      case PacketKind::acknowledgement:
        stream.poke_unanswered = false;
        take_confirmations(stream, header, payload);
        return;
      case PacketKind::poke:
        acknowledgements_.acknowledge(state, stream, 0, back);
        return;
      case PacketKind::ping: {
        PacketHeader pong = {PacketKind::pong};
        pong.sequence = header.sequence;
        router_.send(state, pong, {}, back, back.size() == 2 ? 0 : -1);
        return;
      }
      case PacketKind::pong:
        take_pong(state, stream.node, header.sequence != 0, core_.clock.now());
        return;
      case PacketKind::note:
        stream.note_path = back;
        if (state.observer != nullptr) state.observer->noted(stream.node, payload);
        return;
    }
  }

  void take_confirmations(Stream& stream, const PacketHeader& header, std::span<const std::byte> payload) {
    outbound_.confirm(stream, header.sequence);
    for (const std::uint64_t sequence : listed(payload)) outbound_.confirm(stream, sequence);
    outbound_.confirm_until(stream, header.received);
  }

  // ---- who misses what ----------------------------------------------------------------------------------------

  void inquire(RecoveryGroupState& state, Stream& stream, std::int32_t route_class) {
    Listening& listening = stream.lanes[at(route_class)];
    if (listening.unanswered) state.detours.blame(listening.path);
    listening.path = next_way(state, stream.node, listening.in_vain);
    listening.unanswered = true;
    listening.ask_at = core_.clock.now() + spread(core_.options.patience_nanoseconds / tries_in_patience,
                                                  listening.in_vain++, steady_inquiries);
    PacketHeader header{PacketKind::inquiry};
    header.route_class = static_cast<std::uint16_t>(route_class);
    header.received = stream.received;
    std::vector<std::uint64_t> list = inbound_.awaited_calls(stream, route_class);
    header.offset = static_cast<std::uint32_t>(list.size() * sizeof(std::uint64_t));
    list_beyond(stream, list);
    router_.send(state, header, std::as_bytes(std::span(list)), listening.path);
  }

  /// A receiver has waited for longer than the patience and the lane was silent: what left here as long ago is lost,
  /// and the lane with it. But for what it does not wait for: calls that it has not begun yet, while this process has.
  void answer(RecoveryGroupState& state, Stream& stream, const PacketHeader& header, std::span<const std::byte> payload,
              const HostPath& back) {
    const std::size_t named = std::min<std::size_t>(header.offset, payload.size());
    const std::vector<std::uint64_t> calls = listed(payload.first(named));
    take_confirmations(stream, header, payload.subspan(named));
    stream.way = back;
    if (outbound_.send_overdue_again(state, stream, header.route_class, calls)) return;
    PacketHeader nothing{PacketKind::nothing_owed};
    nothing.route_class = header.route_class;
    router_.send(state, nothing, {}, back);
  }

  // ---- from time to time --------------------------------------------------------------------------------------

  void tick() {
    last_tick_ = core_.clock.last_look();
    for (const auto& state : directory_.recovery_groups()) {
      if (state == nullptr) continue;
      for (Stream& stream : state->streams) tick(*state, stream);
      if (!state->checks.empty()) advance_check(core_, router_, *state);
      if (state->observer != nullptr) state->observer->tick();
    }
  }

  void tick(RecoveryGroupState& state, Stream& stream) {
    const std::int64_t patience = core_.options.patience_nanoseconds;
    const std::int64_t now = core_.clock.now();
    for (std::size_t k = 0; k < stream.lanes.size(); ++k) {
      const Listening& listening = stream.lanes[k];
      if (listening.receives > 0 && now >= listening.ask_at &&
          now - std::max(listening.since, listening.heard_at) >= patience) {
        inquire(state, stream, static_cast<std::int32_t>(k));
      }
    }
    if (stream.debt_messages > 0) acknowledgements_.pay(state, stream);
    if (stream.unconfirmed.empty() || now < stream.poke_at) return;
    // Confirmations get lost, too.
    if (stream.poke_unanswered) state.detours.blame(stream.poke_path);
    stream.poke_path = next_way(state, stream.node, stream.poke_unanswered ? stream.poked : 0);
    stream.poke_unanswered = true;
    stream.poke_at = now + spread(2 * patience, stream.poked++, steady_pokes);
    router_.send(state, {PacketKind::poke}, {}, stream.poke_path);
  }

  ResendCore core_;
  RecoveryDirectory directory_;
  PacketRouter router_{core_, directory_};
  Acknowledgements acknowledgements_{core_, directory_, router_};
  OutboundMessages outbound_{core_, directory_, router_};
  InboundMessages inbound_{core_, directory_, outbound_, acknowledgements_};
  std::int64_t last_tick_ = 0;
  bool passes_long_ = false;  ///< messages of no recovery group's that would have to be flushed
  SlotPool<Passing> passings_;
  Relay<Resilient, &Resilient::passed> pass_relay_{*this};
  std::unique_ptr<Transport> inner_;  ///< goes first: it has addresses of all that is above
};

}  // namespace

std::unique_ptr<ResilientTransport> make_resilient_transport(std::unique_ptr<Transport> inner, ResendOptions options) {
  return std::make_unique<Resilient>(std::move(inner), options);
}

}  // namespace libcoll::transport
