#include "libcoll/transport/mpi/mpi_transport.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libcoll/transport/nap.h"

namespace libcoll::transport::mpi {
namespace {

/// MPI's tag of headers; those of long messages' data are above it.
constexpr std::int32_t header_tag = 0;
/// What every MPI has room for (MPI_TAG_UB is at least this).
constexpr std::int32_t highest_tag = 32767;
/// Longer data do not travel with their header.
constexpr std::size_t short_bytes = 4096;
/// Receives for headers on each channel; what arrives beyond them waits in MPI.
constexpr std::size_t slots_per_channel = 32;
/// MPI counts in int.
constexpr std::size_t longest_bytes = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t finished_per_look = 16;

struct Header {
  std::uint64_t tag = 0;
  std::uint32_t bytes = 0;
  std::int32_t data_tag = 0;  ///< of a long message's data; 0: they follow here
};

struct Peer {
  MpiPlace place;
  std::int64_t sends_under_way = 0;
};

/// What MPI has of ours: its index is the token.
struct Operation {
  enum class Kind : std::uint8_t { slot, send, receive, discard };
  Kind kind = Kind::slot;
  Completion* completion = nullptr;
  PeerId peer = -1;
  MpiPlace place;                 ///< of a slot: any process of the channel
  std::int32_t parts = 0;         ///< of a send: not over yet
  bool ok = true;                 ///< all parts so far
  std::int32_t data_tag = 0;      ///< to give back
  std::vector<std::byte> memory;  ///< header and short data, or what nobody wants
};

/// A receive that has met no header.
struct Posting {
  void* data = nullptr;
  std::size_t bytes = 0;
  Completion* completion = nullptr;
};

/// A header that has met no receive.
struct Arrival {
  Header header;
  MpiPlace from;
  std::vector<std::byte> data;  ///< of a short message
};

/// A long message that waits for a tag.
struct Postponed {
  PeerId peer;
  std::uint64_t tag;
  const void* data;
  std::size_t bytes;
  Completion* completion;
};

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(MpiMessages& messages) : messages_(messages), address_(std::to_string(messages.world_rank())) {}

  std::string name() const override { return "mpi"; }
  const std::string& address() const override { return address_; }
  /// What is held back is MPI's, and MPI's own progress moves it.
  std::int64_t unflushed_bytes() const override { return std::numeric_limits<std::int64_t>::max(); }

  Result<PeerId> connect(const std::string& address, std::int32_t route_class) override {
    if (route_class != 0) {
      return Error{"MPI: no route class " + std::to_string(route_class) + ", expected 0: messages are not steered"};
    }
    const auto known = peers_by_address_.find(address);
    if (known != peers_by_address_.end()) return known->second;
    std::int32_t world_rank = 0;
    const auto [end, error] = std::from_chars(address.data(), address.data() + address.size(), world_rank);
    const bool number = error == std::errc() && end == address.data() + address.size();
    const std::optional<MpiPlace> place = number ? messages_.place_of(world_rank) : std::nullopt;
    if (!place) return Error{"MPI: no private communicator reaches process \"" + address + "\""};
    listen();
    const auto peer = static_cast<PeerId>(peers_.size());
    peers_.push_back({*place, 0});
    peers_by_address_.emplace(address, peer);
    return peer;
  }

  Posted send(PeerId peer, std::uint64_t tag, const void* data, std::size_t bytes,
              Completion* completion) noexcept override {
    if (bytes > longest_bytes) return Posted::failed;
    const Postponed message{peer, tag, data, bytes, completion};
    std::int32_t data_tag = 0;
    if (bytes > short_bytes) {
      data_tag = take_tag();
      if (data_tag == 0) {
        postponed_.push_back(message);
        ++peer_of(peer).sends_under_way;
        return Posted::pending;
      }
    }
    if (!start_send(message, data_tag)) return Posted::failed;
    ++peer_of(peer).sends_under_way;
    return Posted::pending;
  }

  Posted receive(std::int32_t, std::uint64_t tag, void* data, std::size_t bytes,
                 Completion* completion) noexcept override {
    const Posting posting{data, bytes, completion};
    const auto arrived = arrivals_.find(tag);
    if (arrived == arrivals_.end()) {
      postings_.emplace(tag, posting);
      return Posted::pending;
    }
    const Arrival arrival = std::move(arrived->second);
    arrivals_.erase(arrived);
    if (arrival.header.data_tag != 0) {
      return start_long_receive(arrival.header, arrival.from, posting) ? Posted::pending : Posted::failed;
    }
    return deliver(arrival.data, posting) ? Posted::done : wrong_length(completion);
  }

  bool progress() noexcept override {
    listen();
    // Nothing is waited for: what arrives can stay in MPI, and the program's own calls of MPI are not slowed.
    if (postings_.empty() && under_way_ == 0) return false;
    bool moved = false;
    for (;;) {
      std::array<MpiFinished, finished_per_look> list{};
      const std::size_t count = messages_.finished(list);
      for (const MpiFinished& each : std::span(list).first(count)) finish(each);
      moved = moved || count > 0;
      if (count < list.size()) break;
    }
    if (moved) nap_.disturb();
    return moved;
  }

  bool flushed(Flush&, std::span<const PeerId> peers) noexcept override {
    return std::all_of(peers.begin(), peers.end(),
                       [&](PeerId peer) { return peer < 0 || peer_of(peer).sends_under_way == 0; });
  }

  void block(int timeout_milliseconds) noexcept override { nap_.take(timeout_milliseconds); }

 private:
  Peer& peer_of(PeerId peer) { return peers_[static_cast<std::size_t>(peer)]; }

  std::uint32_t take_operation(Operation::Kind kind) {
    if (free_operations_.empty()) {
      operations_.emplace_back();
      free_operations_.push_back(static_cast<std::uint32_t>(operations_.size() - 1));
    }
    const std::uint32_t token = free_operations_.back();
    free_operations_.pop_back();
    operations_[token].kind = kind;
    operations_[token].ok = true;
    return token;
  }

  /// 0: all are in use.
  std::int32_t take_tag() {
    if (!free_tags_.empty()) {
      const std::int32_t tag = free_tags_.back();
      free_tags_.pop_back();
      return tag;
    }
    return next_tag_ <= highest_tag ? next_tag_++ : 0;
  }

  /// Posts the receives for headers on channels that are new.
  void listen() {
    for (; listening_ < messages_.channels(); ++listening_) {
      for (std::size_t i = 0; i < slots_per_channel; ++i) {
        const std::uint32_t token = take_operation(Operation::Kind::slot);
        operations_[token].place = {listening_, -1};
        operations_[token].memory.resize(sizeof(Header) + short_bytes);
        post_slot(token);
      }
    }
  }

  /// A slot that MPI refuses is lost; the others remain.
  void post_slot(std::uint32_t token) {
    Operation& slot = operations_[token];
    messages_.receive(slot.place, header_tag, slot.memory.data(), slot.memory.size(), token);
  }

  /// Header, and data behind it or by themselves. False when MPI took nothing.
  bool start_send(const Postponed& message, std::int32_t data_tag) {
    const std::uint32_t token = take_operation(Operation::Kind::send);
    Operation& operation = operations_[token];
    const Header header{message.tag, static_cast<std::uint32_t>(message.bytes), data_tag};
    const std::size_t following = data_tag == 0 ? message.bytes : 0;
    operation.memory.resize(sizeof header + following);
    std::memcpy(operation.memory.data(), &header, sizeof header);
    if (following > 0) std::memcpy(operation.memory.data() + sizeof header, message.data, following);
    operation.completion = message.completion;
    operation.peer = message.peer;
    operation.data_tag = data_tag;
    const MpiPlace to = peer_of(message.peer).place;
    operation.parts = 0;
    if (messages_.send(to, header_tag, operation.memory.data(), operation.memory.size(), false, token)) {
      ++operation.parts;
      if (data_tag != 0 && messages_.send(to, data_tag, message.data, message.bytes, true, token)) {
        ++operation.parts;
      } else if (data_tag != 0) {
        // The receiver waits for data under this tag that will not come: it is not used again.
        operation.ok = false;
        operation.data_tag = 0;
      }
    }
    if (operation.parts > 0) {
      ++under_way_;
      return true;
    }
    if (data_tag != 0) free_tags_.push_back(data_tag);
    free_operations_.push_back(token);
    return false;
  }

  static bool deliver(std::span<const std::byte> data, const Posting& posting) {
    posting.completion->other_length = data.size() != posting.bytes;
    if (posting.completion->other_length) return false;
    if (!data.empty()) std::memcpy(posting.data, data.data(), data.size());
    return true;
  }

  /// Tells the waiter, which the interface has for receives that were posted and failed.
  static Posted wrong_length(const Completion* completion) {
    completion->waiter->completed(completion->index, false);
    return Posted::pending;
  }

  /// Data of another length than the posted one are received all the same, for the sender waits for it.
  bool start_long_receive(const Header& header, MpiPlace from, const Posting& posting) {
    const bool fits = header.bytes == posting.bytes;
    const std::uint32_t token = take_operation(fits ? Operation::Kind::receive : Operation::Kind::discard);
    Operation& operation = operations_[token];
    operation.completion = posting.completion;
    if (!fits) operation.memory.resize(header.bytes);
    void* data = fits ? posting.data : operation.memory.data();
    if (!messages_.receive(from, header.data_tag, data, header.bytes, token)) {
      free_operations_.push_back(token);
      return false;
    }
    ++under_way_;
    return true;
  }

  void finish(const MpiFinished& finished) {
    Operation& operation = operations_[finished.token];
    switch (operation.kind) {
      case Operation::Kind::slot:
        if (finished.ok && finished.bytes >= sizeof(Header)) take_in(operation, finished);
        post_slot(finished.token);
        return;
      case Operation::Kind::send:
        operation.ok = operation.ok && finished.ok;
        if (--operation.parts == 0) finish_send(finished.token);
        return;
      case Operation::Kind::receive:
      case Operation::Kind::discard:
        break;
    }
    const bool ok = finished.ok && operation.kind == Operation::Kind::receive;
    operation.completion->other_length = finished.ok && !ok;
    operation.memory = {};
    complete(finished.token, ok);
  }

  void complete(std::uint32_t token, bool ok) {
    const Completion* completion = operations_[token].completion;
    free_operations_.push_back(token);
    --under_way_;
    completion->waiter->completed(completion->index, ok);
  }

  void finish_send(std::uint32_t token) {
    const Operation& operation = operations_[token];
    --peer_of(operation.peer).sends_under_way;
    if (operation.data_tag != 0) free_tags_.push_back(operation.data_tag);
    complete(token, operation.ok);
    while (!postponed_.empty()) {
      const std::int32_t tag = take_tag();
      if (tag == 0) return;
      const Postponed next = postponed_.front();
      postponed_.pop_front();
      if (start_send(next, tag)) continue;
      --peer_of(next.peer).sends_under_way;
      next.completion->waiter->completed(next.completion->index, false);
    }
  }

  /// A header has arrived in the slot.
  void take_in(const Operation& slot, const MpiFinished& finished) {
    Header header;
    std::memcpy(&header, slot.memory.data(), sizeof header);
    const std::span<const std::byte> data(slot.memory.data() + sizeof header, finished.bytes - sizeof header);
    const MpiPlace from{slot.place.channel, finished.source};
    const auto posted = postings_.find(header.tag);
    if (posted == postings_.end()) {
      arrivals_.emplace(header.tag, Arrival{header, from, {data.begin(), data.end()}});
      return;
    }
    const Posting posting = posted->second;
    postings_.erase(posted);
    if (header.data_tag == 0) {
      posting.completion->waiter->completed(posting.completion->index, deliver(data, posting));
    } else if (!start_long_receive(header, from, posting)) {
      posting.completion->waiter->completed(posting.completion->index, false);
    }
  }

  MpiMessages& messages_;
  std::string address_;
  std::vector<Peer> peers_;
  std::map<std::string, PeerId> peers_by_address_;
  std::deque<Operation> operations_;  ///< stay in place: MPI has the addresses of their memory
  std::vector<std::uint32_t> free_operations_;
  std::int64_t under_way_ = 0;  ///< operations but slots
  std::int32_t listening_ = 0;  ///< channels whose slots are posted
  std::vector<std::int32_t> free_tags_;
  std::int32_t next_tag_ = header_tag + 1;
  std::deque<Postponed> postponed_;
  // Tags are not in use twice, but by callers that are wrong; then first come, first served.
  std::multimap<std::uint64_t, Posting> postings_;
  std::multimap<std::uint64_t, Arrival> arrivals_;
  Nap nap_;
};

}  // namespace

std::unique_ptr<Transport> make_mpi_transport(MpiMessages& messages) {
  return std::make_unique<MpiTransport>(messages);
}

}  // namespace libcoll::transport::mpi
