#include "libcoll/transport/resilient_transport.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "libcoll/transport/buffer_pool.h"
#include "libcoll/transport/packet.h"
#include "libcoll/transport/tag_space.h"
#include "planner/base/index.h"

namespace libcoll::transport {

using namespace topology;

namespace {

/// Tags of packets: communicator 0 has no messages.
constexpr std::uint64_t small_packet_tag = 1;
constexpr std::uint64_t large_packet_tag = 2;

/// What is owed of confirmations before one travels by itself; usually they go with messages the other way.
constexpr std::int64_t debt_messages_limit = 64;
constexpr std::int64_t debt_bytes_limit = std::int64_t{512} << 10;

/// Senders of long messages wait for their confirmation. It is put off for so long, in nanoseconds, for more messages
/// to come that it can confirm, or one to go the other way.
constexpr std::int64_t longest_lull = 50'000;

/// In a patience.
constexpr std::int64_t ticks = 8;
constexpr std::int64_t tries = 2;

/// So many inquiries without an answer, and pokes without effect, come at even intervals, and further ones in ever
/// longer ones: the other process may be computing for hours.
constexpr std::int64_t steady_inquiries = 32;
constexpr std::int64_t steady_pokes = 16;
constexpr std::int64_t most_doublings = 6;

std::int64_t spread(std::int64_t interval, std::int64_t number, std::int64_t steady) {
  return interval << std::clamp<std::int64_t>(number - steady, 0, most_doublings);
}

/// Named in an inquiry, beside what was received.
constexpr std::size_t most_calls_named = 12;

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

/// Ahead of every message.
struct Stamp {
  std::uint64_t sequence = 0;  ///< of the messages from one process of a recovery group to another: 1, 2, …
  std::uint64_t received = 0;  ///< all messages of the other direction up to this one
};
static_assert(sizeof(Stamp) == stamp_bytes);

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

/// Calls a member function of its owner.
template <class Owner, void (Owner::*Member)(std::uint32_t, bool)>
class Relay final : public Waiter {
 public:
  explicit Relay(Owner& owner) : owner_(owner) {}
  void completed(std::uint32_t index, bool ok) noexcept override { (owner_.*Member)(index, ok); }

 private:
  Owner& owner_;
};

// ---- who there is -----------------------------------------------------------------------------------------------

/// A process, whatever communicators it shares with this one.
struct Remote {
  struct Lane {
    PeerId peer = -1;
    bool outward_dead = false;
    bool inward_dead = false;
  };
  std::string address;
  std::vector<Lane> lanes;  ///< by route class
};

/// A message on its way through packets.
struct Assembly {
  Buffer memory;
  std::uint64_t total = 0;
  std::vector<bool> pieces;
  std::size_t missing = 0;
};

/// Waiting for messages of one process by one route class. Times are those of attended().
struct Listening {
  std::int64_t receives = 0;
  std::int64_t since = 0;
  std::int64_t heard_at = 0;
  std::int64_t ask_at = 0;
  bool unanswered = false;
  std::int64_t in_vain = 0;  ///< since the last answer or message
  HostPath path;             ///< of the last inquiry
};

/// This process and another one in a recovery group.
struct Stream {
  NodeId node = 0;
  std::size_t remote = 0;
  std::vector<Listening> lanes;  ///< by route class
  // Outwards.
  std::uint64_t next_sequence = 1;
  std::uint64_t first_unconfirmed = 1;
  std::deque<std::uint32_t> unconfirmed;  ///< by sequence from there on: slots, or none
  std::int64_t poke_at = 0;
  bool poke_unanswered = false;
  std::int64_t poked = 0;  ///< since something was last confirmed
  HostPath poke_path;
  HostPath way;  ///< around what is broken: as the last answer to an inquiry
  HostPath note_path;
  std::int64_t notes_in_vain = 0;
  // Inwards.
  std::uint64_t received = 0;      ///< all up to this one …
  std::set<std::uint64_t> beyond;  ///< … and these
  std::int64_t debt_messages = 0;
  std::int64_t debt_bytes = 0;
  std::int64_t awaited_since = -1;  ///< the last message that is owed for, and whose sender waits; negative: none is
  bool is_debtor = false;           ///< noted as such
  std::int32_t heard_class = 0;
  std::map<std::uint64_t, Assembly> assemblies;  ///< by sequence
};

/// How a neighbour answers.
struct Check {
  NodeId node = 0;
  bool direct = false;
  std::int64_t around_at = -1;
  HostPath path;
  std::int64_t tries = 0;
};

struct RecoveryGroupState {
  RecoveryGroupState(RecoveryGroup enrolled, std::size_t remotes)
      : recovery_group(std::move(enrolled)),
        detours(std::move(recovery_group.neighbours), recovery_group.linked),
        node_of_remote(remotes, -1) {}

  RecoveryGroup recovery_group;
  Detours detours;
  std::vector<NodeId> node_of_remote;
  std::deque<Stream> streams;  ///< by node
  RecoveryGroupObserver* observer = nullptr;
  std::vector<Check> checks;  ///< empty: nothing is being checked
  std::int64_t check_at = 0;
};

/// A communicator whose messages are a recovery group's.
struct Annex {
  RecoveryGroupState* recovery_group = nullptr;
  std::vector<NodeId> places;  ///< in the recovery group, by sender; empty: the same
};

// ---- the transport ----------------------------------------------------------------------------------------------

class Resilient final : public ResilientTransport, private Pieces {
 public:
  Resilient(std::unique_ptr<Transport> inner, const ResendOptions& options)
      : options_(options), last_look_(options.now_nanoseconds()), inner_(std::move(inner)) {}

  ~Resilient() override {
    closing_ = true;
    for (const Remote& remote : remotes_) {
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
    pay_debts(Haste::now);
    return arrivals_.empty() && inner_->arm();
  }
  void block(int timeout_milliseconds) noexcept override { inner_->block(timeout_milliseconds); }
  void abandon(Flush& flush) noexcept override { inner_->abandon(flush); }
  ResendCounts counts() const override { return counts_; }

  Result<PeerId> connect(const std::string& address, std::int32_t route_class) override {
    Result<PeerId> peer = inner_->connect(address, route_class);
    if (!peer) return peer;
    const std::size_t remote = remote_of(address);
    remotes_[remote].lanes[at(route_class)].peer = *peer;
    if (at(*peer) >= places_.size()) places_.resize(at(*peer) + 1);
    places_[at(*peer)] = {remote, route_class, true};
    return peer;
  }

  void enrol(RecoveryGroup recovery_group) override {
    if (inboxes_.empty()) open_inboxes();
    const std::uint32_t id = recovery_group.communicator;
    if (id >= recovery_groups_.size()) recovery_groups_.resize(id + 1);
    std::vector<std::size_t> remotes;
    for (const std::string& address : recovery_group.addresses) remotes.push_back(remote_of(address));
    auto state = std::make_unique<RecoveryGroupState>(std::move(recovery_group), remotes_.size());
    for (std::size_t node = 0; node < remotes.size(); ++node) {
      Stream& stream = state->streams.emplace_back();
      stream.node = static_cast<NodeId>(node);
      stream.remote = remotes[node];
      stream.lanes.resize(at(route_classes()));
      state->node_of_remote[remotes[node]] = stream.node;
    }
    recovery_groups_[id] = std::move(state);
  }

  void annex(std::uint32_t communicator, std::uint32_t to, std::vector<NodeId> places) override {
    if (communicator >= annexes_.size()) annexes_.resize(communicator + 1);
    annexes_[communicator] = {recovery_group(to), std::move(places)};
  }

  void annex(std::uint32_t communicator, std::uint32_t like) override {
    annexes_.resize(std::max<std::size_t>(annexes_.size(), std::max(communicator, like) + 1));
    annexes_[communicator] = {recovery_group_with(like), annexes_[like].places};
  }

  void observe(std::uint32_t communicator, RecoveryGroupObserver* observer) override {
    if (RecoveryGroupState* state = recovery_group(communicator)) state->observer = observer;
  }

  Posted send(PeerId peer, std::uint64_t tag, const void* data, std::size_t bytes,
              Completion* completion) noexcept override {
    RecoveryGroupState* state = recovery_group_with(TagSpace::communicator_of(tag));
    Stream* stream = state == nullptr ? nullptr : stream_to(*state, peer);
    if (stream == nullptr) {
      passes_long_ = passes_long_ || static_cast<std::int64_t>(bytes) > Transport::unflushed_bytes();
      return pass([&](Completion* inner) { return inner_->send(peer, tag, data, bytes, inner); }, completion);
    }
    const std::int32_t route_class = places_[at(peer)].route_class;
    const std::uint32_t slot = take(sendings_, free_sendings_);
    Sending& sending = sendings_[slot];
    sending = {state, stream, tag, stream->next_sequence++, route_class, bytes, lends(bytes)};
    sending.completion = completion;
    sending.sent_at = attended_;
    sending.inner = {&send_relay_, slot, 0};
    sending.stamp = {sending.sequence, stream->received};
    confirmed_all(*stream);
    sending.lent_data = static_cast<const std::byte*>(data);
    if (!sending.lent) keep(sending);
    if (stream->unconfirmed.empty()) stream->poke_at = attended_ + 2 * options_.patience_nanoseconds;
    stream->unconfirmed.push_back(slot);

    Remote::Lane& lane = remotes_[stream->remote].lanes[at(route_class)];
    if (!lane.outward_dead) {
      const Posted posted =
          sending.lent ? inner_->send_pieces(peer, tag, pieces(), bytes + stamp_bytes, &sending.inner)
                       : inner_->send(peer, tag, sending.memory.memory.get(), bytes + stamp_bytes, &sending.inner);
      sending.pending = posted == Posted::pending;
      if (sending.pending || (sending.lent && posted == Posted::done)) {
        sending.owed = true;
        return Posted::pending;
      }
      if (posted == Posted::done) {
        if (kept_bytes_ <= options_.kept_bytes) return Posted::done;
        hold(slot);
        return Posted::pending;
      }
      lane.outward_dead = true;
    }
    sending.owed = true;
    ++counts_.messages_sent_around;
    send_around(sending);
    return Posted::pending;
  }

  Posted receive(std::int32_t route_class, std::uint64_t tag, void* data, std::size_t bytes,
                 Completion* completion) noexcept override {
    RecoveryGroupState* state = recovery_group_with(TagSpace::communicator_of(tag));
    const NodeId sender = place_of_sender(tag);
    if (state == nullptr || sender >= static_cast<NodeId>(state->streams.size())) {
      return pass([&](Completion* inner) { return inner_->receive(route_class, tag, data, bytes, inner); }, completion);
    }
    const Key key{tag, route_class};
    if (const auto early = early_.find(key); early != early_.end()) {
      Early message = std::move(early->second);
      early_.erase(early);
      const bool fits = message.bytes == bytes;
      if (fits && bytes > 0) std::memcpy(data, message.memory.memory.get(), bytes);
      pool_.give(std::move(message.memory));
      return fits ? Posted::done : Posted::failed;
    }
    Stream& stream = state->streams[at(sender)];
    Listening& listening = stream.lanes[at(route_class)];
    if (listening.receives++ == 0) listening.since = attend();
    const std::uint32_t slot = take(receivings_, free_receivings_);
    Receiving& receiving = receivings_[slot];
    receiving = {state, &stream, key, data, bytes, completion};
    expected_.emplace(key, slot);
    if (remotes_[stream.remote].lanes[at(route_class)].inward_dead) return Posted::pending;
    receiving.inner = {&receive_relay_, slot, 0};
    receiving.pending = true;
    Posted posted = Posted::failed;
    if (lends(bytes)) {
      posted = inner_->receive_pieces(route_class, tag, pieces(), bytes + stamp_bytes, &receiving.inner);
    } else {
      receiving.memory = pool_.take(bytes + stamp_bytes);
      posted = inner_->receive(route_class, tag, receiving.memory.memory.get(), bytes + stamp_bytes, &receiving.inner);
    }
    if (posted != Posted::pending) received(slot, posted == Posted::done);
    return Posted::pending;
  }

  bool progress() noexcept override {
    completions_ = 0;
    const bool moved = inner_->progress();
    if (!inboxes_.empty()) {
      attend();
      // Handlers may find that more has arrived.
      for (std::size_t next = 0; next != arrivals_.size();) {
        Packet packet = std::move(arrivals_[next++]);
        handle(packet);
      }
      arrivals_.clear();
      if (unposted_ > 0) post_inboxes();
      pay_debts(Haste::little);
      if (last_look_ - last_tick_ >= options_.patience_nanoseconds / ticks) tick();
    }
    return completions_ > 0 || (moved && inboxes_.empty());
  }

  bool flushed(Flush& flush, std::span<const PeerId> peers) noexcept override {
    if (flush.started_at == 0) flush.started_at = std::max<std::int64_t>(1, attend());
    std::vector<PeerId> alive;
    for (const PeerId peer : peers) {
      if (peer < 0) continue;
      const Place place = place_of(peer);
      if (place.known) {
        const Remote::Lane& lane = remotes_[place.remote].lanes[at(place.route_class)];
        if (lane.outward_dead || lane.inward_dead) continue;
      }
      alive.push_back(peer);
    }
    if (inner_->flushed(flush, alive)) return true;
    // What is broken is noticed by those who miss something.
    if (attend() - flush.started_at < options_.patience_nanoseconds) return false;
    inner_->abandon(flush);
    return true;
  }

  void forget(std::uint32_t communicator) noexcept override {
    if (recovery_group_with(communicator) == nullptr) return;
    for (Sending& sending : sendings_) {
      if (TagSpace::communicator_of(sending.tag) != communicator) continue;
      // Messages of others to the same process are confirmed after it: it still has to arrive.
      if (sending.lent && sending.owed) keep(sending);
      sending.owed = sending.held = false;
    }
    for (auto each = expected_.begin(); each != expected_.end();) {
      Receiving& receiving = receivings_[each->second];
      if (TagSpace::communicator_of(receiving.key.tag) != communicator) {
        ++each;
        continue;
      }
      --receiving.stream->lanes[at(receiving.key.route_class)].receives;
      receiving.delivered = true;
      const std::uint32_t slot = each->second;
      each = expected_.erase(each);
      forget_slot(slot);
    }
  }

  void post_note(std::uint32_t communicator, NodeId to, std::span<const std::byte> note,
                 NoteWay way) noexcept override {
    RecoveryGroupState* state = recovery_group(communicator);
    if (state == nullptr) return;
    Stream& stream = state->streams[at(to)];
    if (way == NoteWay::other) state->detours.blame(stream.note_path);
    stream.notes_in_vain = way == NoteWay::other ? stream.notes_in_vain + 1 : 0;
    if (way != NoteWay::back || stream.note_path.empty()) {
      stream.note_path = state->detours.search(state->recovery_group.self, to, false, stream.notes_in_vain);
    }
    send_packet(*state, {PacketKind::note}, note, stream.note_path);
  }

  void exclude(std::uint32_t communicator, NodeId a, NodeId b) noexcept override {
    RecoveryGroupState* state = recovery_group(communicator);
    if (state == nullptr || std::max(a, b) >= state->detours.hosts()) return;
    state->detours.exclude(a, b);
    // What was found before may lead over it.
    for (Stream& stream : state->streams) stream.way.clear();
  }

  void check_neighbours(std::uint32_t communicator) noexcept override {
    RecoveryGroupState* state = recovery_group(communicator);
    if (state == nullptr) return;
    state->checks.clear();
    for (const NodeId node : state->detours.neighbours(state->recovery_group.self)) {
      state->checks.push_back({node, false, -1, {}, 0});
    }
    state->check_at = attended_;
    if (state->checks.empty() && state->observer != nullptr) state->observer->neighbours_checked({});
  }

 private:
  /// What a peer of the transport underneath is.
  struct Place {
    std::size_t remote = 0;
    std::int32_t route_class = 0;
    bool known = false;
  };

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

  /// A message of no recovery group's.
  struct Passing {
    Completion* completion = nullptr;
    Completion inner{};
  };

  /// A message that came around before its receive was posted.
  struct Early {
    Buffer memory;
    std::size_t bytes = 0;
  };

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

  // ---- looking things up --------------------------------------------------------------------------------------

  template <class Slot>
  static std::uint32_t take(std::deque<Slot>& slots, std::vector<std::uint32_t>& free) {
    if (free.empty()) {
      slots.emplace_back();
      return static_cast<std::uint32_t>(slots.size() - 1);
    }
    const std::uint32_t slot = free.back();
    free.pop_back();
    return slot;
  }

  RecoveryGroupState* recovery_group(std::uint32_t communicator) {
    return communicator < recovery_groups_.size() ? recovery_groups_[communicator].get() : nullptr;
  }

  /// Also by a communicator that was annexed.
  RecoveryGroupState* recovery_group_with(std::uint32_t communicator) {
    RecoveryGroupState* own = recovery_group(communicator);
    return own != nullptr || communicator >= annexes_.size() ? own : annexes_[communicator].recovery_group;
  }

  /// Beyond all places where there is none.
  [[nodiscard]] NodeId place_of_sender(std::uint64_t tag) const {
    const NodeId sender = TagSpace::sender_of(tag);
    const std::uint32_t communicator = TagSpace::communicator_of(tag);
    if (communicator >= annexes_.size() || annexes_[communicator].places.empty()) return sender;
    const std::vector<NodeId>& places = annexes_[communicator].places;
    return at(sender) < places.size() ? places[at(sender)] : TagSpace::max_sender;
  }

  [[nodiscard]] Place place_of(PeerId peer) const { return at(peer) < places_.size() ? places_[at(peer)] : Place{}; }

  Stream* stream_to(RecoveryGroupState& state, PeerId peer) {
    const Place place = place_of(peer);
    if (!place.known || place.remote >= state.node_of_remote.size()) return nullptr;
    const NodeId node = state.node_of_remote[place.remote];
    return node < 0 ? nullptr : &state.streams[at(node)];
  }

  std::size_t remote_of(const std::string& address) {
    const auto [found, fresh] = remote_of_address_.emplace(address, remotes_.size());
    if (fresh) remotes_.push_back({address, std::vector<Remote::Lane>(at(route_classes()))});
    return found->second;
  }

  /// Brings the clock up to date, which runs only while somebody looks: a process that was busy elsewhere has no reason
  /// to find that others are late.
  std::int64_t attend() {
    const std::int64_t now = options_.now_nanoseconds();
    attended_ += std::min(now - last_look_, options_.patience_nanoseconds / ticks);
    last_look_ = now;
    return attended_;
  }

  void tell(const Completion& completion, bool ok) {
    ++completions_;
    completion.waiter->completed(completion.index, ok);
  }

  // ---- messages of others ---------------------------------------------------------------------------------------

  /// They count as something that happened when they end.
  template <class Post>
  Posted pass(Post post, Completion* completion) {
    const std::uint32_t slot = take(passings_, free_passings_);
    Passing& passing = passings_[slot];
    passing = {completion, {&pass_relay_, slot, 0}};
    const Posted posted = post(&passing.inner);
    if (posted != Posted::pending) free_passings_.push_back(slot);
    return posted;
  }

  void passed(std::uint32_t slot, bool ok) {
    if (closing_) return;
    free_passings_.push_back(slot);
    tell(*passings_[slot].completion, ok);
  }

  // ---- messages out -------------------------------------------------------------------------------------------

  /// Long messages go from and to the caller's memory, and are complete when the receiver has them.
  [[nodiscard]] bool lends(std::size_t bytes) const { return bytes >= options_.lent_bytes && inner_->takes_pieces(); }

  /// A copy of the message and of its stamp.
  void keep(Sending& sending) {
    sending.lent = false;
    sending.memory = pool_.take(sending.bytes + stamp_bytes);
    std::byte* memory = sending.memory.memory.get();
    std::memcpy(memory, &sending.stamp, stamp_bytes);
    if (sending.bytes > 0) std::memcpy(memory + stamp_bytes, sending.lent_data, sending.bytes);
    kept_bytes_ += static_cast<std::int64_t>(sending.bytes);
  }

  static std::span<const std::byte> data_of(const Sending& sending) {
    return {sending.lent ? sending.lent_data : sending.memory.memory.get() + stamp_bytes, sending.bytes};
  }

  Pieces& pieces() { return *this; }

  /// A piece of a message that its own way is ready for. When it has been confirmed, nobody wants it any more, and the
  /// caller's memory may be gone.
  void give(std::uint32_t slot, std::size_t offset, std::span<std::byte> piece) noexcept override {
    const Sending& sending = sendings_[slot];
    if (closing_ || sending.confirmed) {
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

  void hold(std::uint32_t slot) {
    sendings_[slot].owed = sendings_[slot].held = true;
    held_.push_back(slot);
  }

  /// The message's own way has taken it, or given up on it.
  void sent(std::uint32_t slot, bool ok) {
    if (closing_) return;
    Sending& sending = sendings_[slot];
    sending.pending = false;
    if (sending.confirmed) {
      finish(slot);
    } else if (!ok) {
      remotes_[sending.stream->remote].lanes[at(sending.route_class)].outward_dead = true;
      send_around(sending);
    } else if (sending.lent) {
      return;  // until it is confirmed
    } else if (sending.owed && kept_bytes_ > options_.kept_bytes) {
      hold(slot);
    } else if (std::exchange(sending.owed, false)) {
      tell(*sending.completion, true);
    }
  }

  void finish(std::uint32_t slot) {
    Sending& sending = sendings_[slot];
    if (sending.pending) return;
    pool_.give(std::move(sending.memory));
    free_sendings_.push_back(slot);
  }

  void confirm(Stream& stream, std::uint64_t sequence) {
    if (sequence < stream.first_unconfirmed || sequence >= stream.next_sequence) return;
    const std::uint32_t slot = std::exchange(stream.unconfirmed[sequence - stream.first_unconfirmed], none);
    if (slot == none) return;
    Sending& sending = sendings_[slot];
    sending.confirmed = true;
    sending.held = false;
    if (!sending.lent) kept_bytes_ -= static_cast<std::int64_t>(sending.bytes);
    if (std::exchange(sending.owed, false)) tell(*sending.completion, true);
    finish(slot);
  }

  void confirm_until(Stream& stream, std::uint64_t received) {
    if (received >= stream.first_unconfirmed) {
      stream.poke_at = attended_ + 2 * options_.patience_nanoseconds;
      stream.poked = 0;
    }
    while (!stream.unconfirmed.empty() && stream.first_unconfirmed <= received) {
      confirm(stream, stream.first_unconfirmed);
      stream.unconfirmed.pop_front();
      ++stream.first_unconfirmed;
    }
    release_held();
  }

  void release_held() {
    while (!held_.empty() && kept_bytes_ <= options_.kept_bytes) {
      Sending& sending = sendings_[held_.front()];
      held_.pop_front();
      if (!std::exchange(sending.held, false)) continue;
      sending.owed = false;
      tell(*sending.completion, true);
    }
  }

  /// From host to host, in pieces.
  void send_around(Sending& sending) {
    RecoveryGroupState& state = *sending.recovery_group;
    const Stream& stream = *sending.stream;
    sending.sent_at = attended_;
    const HostPath path = stream.way.empty() ? way_around(state, stream.node, true) : stream.way;
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
      send_packet(state, header, data.subspan(offset, bytes), path);
      offset += bytes;
    } while (offset < data.size());
  }

  /// The single hop where there is no other way.
  static HostPath way_around(const RecoveryGroupState& state, NodeId to, bool indirect) {
    HostPath path = state.detours.find(state.recovery_group.self, to, indirect);
    return path.empty() ? state.detours.find(state.recovery_group.self, to, false) : path;
  }

  /// A lane to or from there is dead.
  static void doubt_hop(RecoveryGroupState& state, NodeId node, std::int32_t route_class) {
    const auto self = static_cast<std::uint16_t>(state.recovery_group.self);
    if (route_class == 0) state.detours.blame({self, static_cast<std::uint16_t>(node)});
  }

  /// After so many tries in vain. The single hop is in doubt at first. But all others may be broken, and trying them
  /// over and over would only put the blame on hops that are good.
  static HostPath next_way(RecoveryGroupState& state, NodeId to, std::int64_t in_vain) {
    if (in_vain == 0) return way_around(state, to, true);
    return state.detours.search(state.recovery_group.self, to, false, in_vain - 1);
  }

  // ---- messages in --------------------------------------------------------------------------------------------

  /// Whether it is new.
  bool note_received(Stream& stream, std::uint64_t sequence, std::size_t bytes) {
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
    if (lends(bytes)) stream.awaited_since = attended_;
    return true;
  }

  /// What goes out now says what was received.
  static void confirmed_all(Stream& stream) {
    stream.debt_messages = stream.debt_bytes = 0;
    stream.awaited_since = -1;
  }

  /// A piece of a message that its own way brings. When it has come around, nobody wants it any more.
  void take(std::uint32_t slot, std::size_t offset, std::span<const std::byte> piece) noexcept override {
    if (closing_) return;
    Receiving& receiving = receivings_[slot];
    if (receiving.delivered) return;
    ++completions_;
    receiving.stream->lanes[at(receiving.key.route_class)].heard_at = attended_;
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
  void received(std::uint32_t slot, bool ok) {
    if (closing_) return;
    Receiving& receiving = receivings_[slot];
    receiving.pending = false;
    if (ok) {
      Stream& stream = *receiving.stream;
      const std::byte* memory = receiving.memory.memory.get();
      Stamp stamp = receiving.stamp;
      if (memory != nullptr) std::memcpy(&stamp, memory, sizeof stamp);
      Listening& listening = stream.lanes[at(receiving.key.route_class)];
      listening.heard_at = attended_;
      heard(listening);
      stream.heard_class = receiving.key.route_class;
      confirm_until(stream, stamp.received);
      const bool fresh = note_received(stream, stamp.sequence, receiving.bytes);
      if (!fresh) ++counts_.duplicates_dropped;
      note_debtor(*receiving.recovery_group, stream);
      if (fresh && !receiving.delivered) {
        deliver(slot, memory == nullptr ? nullptr : memory + sizeof stamp, receiving.bytes);
        return;
      }
    }
    // Without success it stays expected: the length may be another, but then it will come around as well.
    if (receiving.delivered) forget_slot(slot);
  }

  void forget_slot(std::uint32_t slot) {
    Receiving& receiving = receivings_[slot];
    if (receiving.pending) return;
    pool_.give(std::move(receiving.memory));
    free_receivings_.push_back(slot);
  }

  /// `data` is null where the pieces have found their places by themselves.
  void deliver(std::uint32_t slot, const std::byte* data, std::size_t bytes) {
    Receiving& receiving = receivings_[slot];
    const bool fits = bytes == receiving.bytes;
    if (fits && bytes > 0 && data != nullptr) std::memcpy(receiving.data, data, bytes);
    expected_.erase(receiving.key);
    --receiving.stream->lanes[at(receiving.key.route_class)].receives;
    receiving.delivered = true;
    const Completion completion = *receiving.completion;
    forget_slot(slot);
    tell(completion, fits);
  }

  // ---- packets ------------------------------------------------------------------------------------------------

  void open_inboxes() {
    for (std::int32_t route_class = 0; route_class < route_classes(); ++route_class) {
      for (const auto& [tag, bytes] :
           {std::pair(small_packet_tag, small_packet_bytes), std::pair(large_packet_tag, large_packet_bytes)}) {
        auto inbox = std::make_unique<Inbox>(Inbox{route_class, tag, Packet(bytes), {}, false});
        inbox->inner = {&inbox_relay_, static_cast<std::uint32_t>(inboxes_.size()), 0};
        inboxes_.push_back(std::move(inbox));
      }
    }
    unposted_ = inboxes_.size();
    post_inboxes();
  }

  void post_inboxes() {
    for (const auto& inbox : inboxes_) {
      while (!inbox->posted) {
        inbox->posted = true;
        --unposted_;
        const Posted posted =
            inner_->receive(inbox->route_class, inbox->tag, inbox->packet.data(), inbox->packet.size(), &inbox->inner);
        if (posted == Posted::pending) break;
        packet_arrived(inbox->inner.index, posted == Posted::done);
        if (posted == Posted::failed) break;  // until the next look
      }
    }
  }

  void packet_arrived(std::uint32_t number, bool ok) {
    if (closing_) return;
    Inbox& inbox = *inboxes_[number];
    inbox.posted = false;
    ++unposted_;
    if (ok) arrivals_.push_back(std::exchange(inbox.packet, Packet(inbox.packet.size())));
  }

  void send_packet(RecoveryGroupState& state, PacketHeader header, std::span<const std::byte> payload,
                   const HostPath& path, std::int32_t route_class = -1) {
    header.communicator = static_cast<std::uint16_t>(state.recovery_group.communicator);
    if (set_path(header, path)) pass_on(state, Packet(header, payload), route_class);
  }

  /// To the next host on its path, by that route class or, when it is negative, by one that is thought to work.
  void pass_on(RecoveryGroupState& state, Packet packet, std::int32_t route_class) {
    PacketHeader header = packet.header();
    ++header.place;
    const NodeId next = header.path[header.place];
    if (next >= static_cast<NodeId>(state.streams.size())) return;
    packet.set_header(header);
    const PeerId peer = peer_for_packets(remotes_[state.streams[at(next)].remote], route_class);
    if (peer < 0) return;
    std::uint32_t slot = 0;
    if (free_outgoing_.empty()) {
      slot = static_cast<std::uint32_t>(outgoing_.size());
      outgoing_.emplace_back();
    } else {
      slot = free_outgoing_.back();
      free_outgoing_.pop_back();
    }
    outgoing_[slot] = std::make_unique<Outgoing>(Outgoing{std::move(packet), {&outgoing_relay_, slot, 0}});
    Packet& kept = outgoing_[slot]->packet;
    const std::uint64_t tag = kept.size() == small_packet_bytes ? small_packet_tag : large_packet_tag;
    const Posted posted = inner_->send(peer, tag, kept.data(), kept.size(), &outgoing_[slot]->inner);
    if (posted != Posted::pending) packet_sent(slot, true);
  }

  void packet_sent(std::uint32_t slot, bool) {
    if (closing_) return;
    outgoing_[slot].reset();
    free_outgoing_.push_back(slot);
  }

  PeerId peer_for_packets(Remote& remote, std::int32_t route_class) {
    if (route_class < 0) {
      route_class = 0;
      for (std::size_t k = 0; k < remote.lanes.size() && remote.lanes[at(route_class)].outward_dead; ++k) {
        if (remote.lanes[k].peer >= 0 && !remote.lanes[k].outward_dead) route_class = static_cast<std::int32_t>(k);
      }
    }
    const PeerId peer = remote.lanes[at(route_class)].peer;
    if (peer >= 0) return peer;
    const Result<PeerId> connected = connect(std::string(remote.address), route_class);
    return connected ? *connected : -1;
  }

  void handle(Packet& packet) {
    if (!packet.sound()) return;
    const PacketHeader header = packet.header();
    RecoveryGroupState* state = recovery_group(header.communicator);
    if (state == nullptr || header.path[header.place] != state->recovery_group.self) return;
    if (header.place + 1 < header.hosts) {
      ++counts_.packets_passed_on;
      HostPath so_far = path_of(header);
      so_far.resize(header.place + std::size_t{1});
      if (so_far.size() > 2) state->detours.trust(so_far);
      pass_on(*state, std::move(packet), -1);
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
          listening.ask_at = attended_ + options_.patience_nanoseconds;
        }
        return;
      case PacketKind::data:
        if (known_class) take_piece(state, stream, header, payload, back);
        return;
      case PacketKind::acknowledgement:
        stream.poke_unanswered = false;
        take_confirmations(stream, header, payload);
        return;
      case PacketKind::poke:
        acknowledge(state, stream, 0, back);
        return;
      case PacketKind::ping: {
        PacketHeader pong = {PacketKind::pong};
        pong.sequence = header.sequence;
        send_packet(state, pong, {}, back, back.size() == 2 ? 0 : -1);
        return;
      }
      case PacketKind::pong:
        take_pong(state, stream.node, header.sequence != 0);
        return;
      case PacketKind::note:
        stream.note_path = back;
        if (state.observer != nullptr) state.observer->noted(stream.node, payload);
        return;
    }
  }

  static void heard(Listening& listening) {
    listening.unanswered = false;
    listening.in_vain = 0;
  }

  /// By a packet: its way there is good.
  static void answered(RecoveryGroupState& state, Listening& listening) {
    if (listening.unanswered) state.detours.trust(listening.path);
    heard(listening);
  }

  // ---- who misses what ----------------------------------------------------------------------------------------

  /// All that was received, as far as there is room.
  static void list_beyond(const Stream& stream, std::vector<std::uint64_t>& list) {
    for (const std::uint64_t sequence : stream.beyond) {
      if (list.size() == small_payload_bytes / sizeof sequence) break;
      list.push_back(sequence);
    }
  }

  static std::vector<std::uint64_t> listed(std::span<const std::byte> payload) {
    std::vector<std::uint64_t> list(payload.size() / sizeof(std::uint64_t));
    if (!list.empty()) std::memcpy(list.data(), payload.data(), list.size() * sizeof(std::uint64_t));
    return list;
  }

  void take_confirmations(Stream& stream, const PacketHeader& header, std::span<const std::byte> payload) {
    confirm(stream, header.sequence);
    for (const std::uint64_t sequence : listed(payload)) confirm(stream, sequence);
    confirm_until(stream, header.received);
  }

  void acknowledge(RecoveryGroupState& state, Stream& stream, std::uint64_t sequence, const HostPath& path,
                   std::int32_t route_class = -1) {
    PacketHeader header{PacketKind::acknowledgement};
    header.sequence = sequence;
    header.received = stream.received;
    confirmed_all(stream);
    std::vector<std::uint64_t> list;
    list_beyond(stream, list);
    send_packet(state, header, std::as_bytes(std::span(list)), path, route_class);
  }

  enum class Haste : std::uint8_t { little, now };

  [[nodiscard]] bool debt_due(const Stream& stream, Haste haste) const {
    if (stream.debt_messages >= debt_messages_limit || stream.debt_bytes >= debt_bytes_limit) return true;
    if (stream.awaited_since < 0) return false;
    return haste == Haste::now || attended_ - stream.awaited_since >= longest_lull ||
           std::all_of(stream.lanes.begin(), stream.lanes.end(),
                       [](const Listening& lane) { return lane.receives == 0; });
  }

  void note_debtor(RecoveryGroupState& state, Stream& stream) {
    if (stream.is_debtor || (stream.awaited_since < 0 && !debt_due(stream, Haste::little))) return;
    stream.is_debtor = true;
    debtors_.emplace_back(&state, &stream);
  }

  void pay(RecoveryGroupState& state, Stream& stream) {
    const Remote::Lane& lane = remotes_[stream.remote].lanes[at(stream.heard_class)];
    if (lane.peer >= 0 && !lane.outward_dead) {
      const HostPath direct = {static_cast<std::uint16_t>(state.recovery_group.self),
                               static_cast<std::uint16_t>(stream.node)};
      acknowledge(state, stream, 0, direct, stream.heard_class);
    } else {
      acknowledge(state, stream, 0, stream.way.empty() ? way_around(state, stream.node, true) : stream.way);
    }
  }

  void pay_debts(Haste haste) {
    std::erase_if(debtors_, [&](const auto& debtor) {
      const auto& [state, stream] = debtor;
      if (debt_due(*stream, haste)) pay(*state, *stream);
      stream->is_debtor = stream->awaited_since >= 0;
      return !stream->is_debtor;
    });
  }

  void inquire(RecoveryGroupState& state, Stream& stream, std::int32_t route_class) {
    Listening& listening = stream.lanes[at(route_class)];
    if (listening.unanswered) state.detours.blame(listening.path);
    listening.path = next_way(state, stream.node, listening.in_vain);
    listening.unanswered = true;
    listening.ask_at = attended_ + spread(options_.patience_nanoseconds / tries, listening.in_vain++, steady_inquiries);
    PacketHeader header{PacketKind::inquiry};
    header.route_class = static_cast<std::uint16_t>(route_class);
    header.received = stream.received;
    std::vector<std::uint64_t> list = awaited_calls(stream, route_class);
    header.offset = static_cast<std::uint32_t>(list.size() * sizeof(std::uint64_t));
    list_beyond(stream, list);
    send_packet(state, header, std::as_bytes(std::span(list)), listening.path);
  }

  /// Of which something is missing from there; none when there are too many.
  [[nodiscard]] std::vector<std::uint64_t> awaited_calls(const Stream& stream, std::int32_t route_class) const {
    std::set<std::uint64_t> calls;
    for (const auto& [key, slot] : expected_) {
      if (receivings_[slot].stream != &stream || key.route_class != route_class) continue;
      calls.insert(TagSpace::call_of(key.tag));
      if (calls.size() > most_calls_named) return {};
    }
    return {calls.begin(), calls.end()};
  }

  /// A receiver has waited for longer than the patience and the lane was silent: what left here as long ago is lost,
  /// and the lane with it. But for what it does not wait for: calls that it has not begun yet, while this process has.
  void answer(RecoveryGroupState& state, Stream& stream, const PacketHeader& header, std::span<const std::byte> payload,
              const HostPath& back) {
    const std::size_t named = std::min<std::size_t>(header.offset, payload.size());
    const std::vector<std::uint64_t> calls = listed(payload.first(named));
    take_confirmations(stream, header, payload.subspan(named));
    const auto is_awaited = [&calls](std::uint64_t tag) {
      return calls.empty() || std::find(calls.begin(), calls.end(), TagSpace::call_of(tag)) != calls.end();
    };
    stream.way = back;
    bool& dead = remotes_[stream.remote].lanes[header.route_class].outward_dead;
    const std::int64_t age = dead ? options_.patience_nanoseconds / tries : options_.patience_nanoseconds;
    std::vector<std::uint32_t> owed;
    bool overdue = false;
    for (const std::uint32_t slot : stream.unconfirmed) {
      if (slot == none || sendings_[slot].route_class != header.route_class) continue;
      owed.push_back(slot);
      overdue = overdue || (attended_ - sendings_[slot].sent_at >= age && is_awaited(sendings_[slot].tag));
    }
    if (!overdue) {
      PacketHeader nothing{PacketKind::nothing_owed};
      nothing.route_class = header.route_class;
      send_packet(state, nothing, {}, back);
      return;
    }
    if (!std::exchange(dead, true)) doubt_hop(state, stream.node, header.route_class);
    for (const std::uint32_t slot : owed) {
      ++counts_.messages_sent_again;
      send_around(sendings_[slot]);
    }
  }

  void take_piece(RecoveryGroupState& state, Stream& stream, const PacketHeader& header,
                  std::span<const std::byte> payload, const HostPath& back) {
    Listening& listening = stream.lanes[header.route_class];
    listening.heard_at = attended_;
    answered(state, listening);
    stream.way = back;
    confirm_until(stream, header.received);
    bool& dead = remotes_[stream.remote].lanes[header.route_class].inward_dead;
    const bool died = !std::exchange(dead, true);
    if (died) doubt_hop(state, stream.node, header.route_class);
    if (header.sequence <= stream.received || stream.beyond.contains(header.sequence)) {
      ++counts_.duplicates_dropped;
      // Told once a message is enough; its first piece stands for it.
      if (header.offset == 0) acknowledge(state, stream, header.sequence, back);
    } else {
      assemble(state, stream, header, payload, back);
    }
    if (died && state.observer != nullptr) state.observer->lane_died(stream.node, header.route_class);
  }

  void assemble(RecoveryGroupState& state, Stream& stream, const PacketHeader& header,
                std::span<const std::byte> payload, const HostPath& back) {
    Assembly& assembly = stream.assemblies[header.sequence];
    if (assembly.memory.memory == nullptr) {
      assembly.total = header.total;
      assembly.memory = pool_.take(header.total);
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
    ++completions_;
    if (--assembly.missing > 0) return;

    Buffer memory = std::move(assembly.memory);
    const std::size_t bytes = header.total;
    stream.assemblies.erase(header.sequence);
    note_received(stream, header.sequence, bytes);
    acknowledge(state, stream, header.sequence, back);
    const Key key{header.tag, header.route_class};
    if (const auto found = expected_.find(key); found != expected_.end()) {
      deliver(found->second, memory.memory.get(), bytes);
      pool_.give(std::move(memory));
    } else {
      early_.insert_or_assign(key, Early{std::move(memory), bytes});
    }
  }

  // ---- from time to time --------------------------------------------------------------------------------------

  void tick() {
    last_tick_ = last_look_;
    for (const auto& state : recovery_groups_) {
      if (state == nullptr) continue;
      for (Stream& stream : state->streams) tick(*state, stream);
      if (!state->checks.empty()) check(*state);
      if (state->observer != nullptr) state->observer->tick();
    }
  }

  void tick(RecoveryGroupState& state, Stream& stream) {
    const std::int64_t patience = options_.patience_nanoseconds;
    for (std::size_t k = 0; k < stream.lanes.size(); ++k) {
      const Listening& listening = stream.lanes[k];
      if (listening.receives > 0 && attended_ >= listening.ask_at &&
          attended_ - std::max(listening.since, listening.heard_at) >= patience) {
        inquire(state, stream, static_cast<std::int32_t>(k));
      }
    }
    if (stream.debt_messages > 0) pay(state, stream);
    if (stream.unconfirmed.empty() || attended_ < stream.poke_at) return;
    // Confirmations get lost, too.
    if (stream.poke_unanswered) state.detours.blame(stream.poke_path);
    stream.poke_path = next_way(state, stream.node, stream.poke_unanswered ? stream.poked : 0);
    stream.poke_unanswered = true;
    stream.poke_at = attended_ + spread(2 * patience, stream.poked++, steady_pokes);
    send_packet(state, {PacketKind::poke}, {}, stream.poke_path);
  }

  /// A neighbour who answers around and, long after that, not directly, has no link.
  void check(RecoveryGroupState& state) {
    const std::int64_t patience = options_.patience_nanoseconds;
    const auto settled = [&](const Check& each) {
      return each.direct || (each.around_at >= 0 && attended_ - each.around_at >= patience);
    };
    if (attended_ >= state.check_at) {
      state.check_at = attended_ + patience / ticks;  // single losses must not look like a cut
      for (Check& each : state.checks) {
        if (settled(each)) continue;
        const HostPath direct = {static_cast<std::uint16_t>(state.recovery_group.self),
                                 static_cast<std::uint16_t>(each.node)};
        send_packet(state, {PacketKind::ping}, {}, direct, 0);
        if (each.around_at >= 0) continue;
        state.detours.blame(each.path);
        each.path = state.detours.search(state.recovery_group.self, each.node, true, each.tries++);
        PacketHeader header{PacketKind::ping};
        header.sequence = 1;
        send_packet(state, header, {}, each.path);
      }
    }
    if (!std::all_of(state.checks.begin(), state.checks.end(), settled)) return;
    std::vector<NodeId> unreachable;
    for (const Check& each : state.checks) {
      if (each.direct) continue;
      unreachable.push_back(each.node);
      state.detours.exclude(state.recovery_group.self, each.node);
    }
    state.checks.clear();
    if (state.observer != nullptr) state.observer->neighbours_checked(unreachable);
  }

  void take_pong(RecoveryGroupState& state, NodeId node, bool around) {
    for (Check& each : state.checks) {
      if (each.node != node) continue;
      if (!around) {
        each.direct = true;
        const auto self = static_cast<std::uint16_t>(state.recovery_group.self);
        state.detours.trust({self, static_cast<std::uint16_t>(node)});
        state.detours.trust({static_cast<std::uint16_t>(node), self});
      }
      if (around && each.around_at < 0) each.around_at = attended_;
    }
  }

  const ResendOptions options_;
  std::int64_t last_look_ = 0;
  std::int64_t last_tick_ = 0;
  std::int64_t attended_ = 0;
  bool closing_ = false;
  std::int64_t completions_ = 0;  ///< in this progress(): of messages, and of the pieces of one that comes around
  ResendCounts counts_;

  std::deque<Remote> remotes_;
  std::map<std::string, std::size_t> remote_of_address_;
  std::vector<Place> places_;                                         ///< by peer
  std::vector<std::unique_ptr<RecoveryGroupState>> recovery_groups_;  ///< by communicator
  std::vector<Annex> annexes_;                                        ///< by communicator

  BufferPool pool_;
  std::deque<Sending> sendings_;
  std::vector<std::uint32_t> free_sendings_;
  std::deque<std::uint32_t> held_;
  std::int64_t kept_bytes_ = 0;
  bool passes_long_ = false;  ///< messages of no recovery group's that would have to be flushed
  std::deque<Passing> passings_;
  std::vector<std::uint32_t> free_passings_;
  std::deque<Receiving> receivings_;
  std::vector<std::uint32_t> free_receivings_;
  std::unordered_map<Key, std::uint32_t, KeyHash> expected_;
  std::unordered_map<Key, Early, KeyHash> early_;
  std::vector<std::pair<RecoveryGroupState*, Stream*>> debtors_;

  std::vector<std::unique_ptr<Inbox>> inboxes_;
  std::size_t unposted_ = 0;
  std::vector<Packet> arrivals_;
  std::vector<std::unique_ptr<Outgoing>> outgoing_;
  std::vector<std::uint32_t> free_outgoing_;

  Relay<Resilient, &Resilient::sent> send_relay_{*this};
  Relay<Resilient, &Resilient::received> receive_relay_{*this};
  Relay<Resilient, &Resilient::passed> pass_relay_{*this};
  Relay<Resilient, &Resilient::packet_arrived> inbox_relay_{*this};
  Relay<Resilient, &Resilient::packet_sent> outgoing_relay_{*this};

  std::unique_ptr<Transport> inner_;  ///< goes first: it has addresses of all that is above
};

}  // namespace

std::unique_ptr<ResilientTransport> make_resilient_transport(std::unique_ptr<Transport> inner, ResendOptions options) {
  return std::make_unique<Resilient>(std::move(inner), options);
}

}  // namespace libcoll::transport
