#include "tests/unit/support/memory_transport.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

namespace libcoll::test {

using namespace transport;

namespace {

/// What sends and receives are matched by: route class and tag.
using Key = std::pair<std::int32_t, std::uint64_t>;

struct Arrived {
  std::vector<std::byte> data;
};

struct Waiting {
  void* data = nullptr;  ///< null: received in pieces
  std::size_t bytes = 0;
  Completion* completion = nullptr;
};

/// Some of a message that is received in pieces.
constexpr std::size_t piece_bytes = 100;

void deliver(const std::vector<std::byte>& message, const Waiting& receive) {
  if (receive.data != nullptr) {
    if (!message.empty()) std::memcpy(receive.data, message.data(), message.size());
    return;
  }
  for (std::size_t begin = 0; begin < message.size(); begin += piece_bytes) {
    const std::size_t bytes = std::min(piece_bytes, message.size() - begin);
    receive.completion->pieces->take(receive.completion->index, begin, std::span(message).subspan(begin, bytes));
  }
}

/// What has arrived for one rank, by tag.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable arrival;
  std::deque<std::pair<Key, Arrived>> arrivals;
};

class MemoryTransport final : public Transport {
 public:
  MemoryTransport(int rank, std::int32_t route_classes, std::shared_ptr<std::vector<Mailbox>> mailboxes)
      : rank_(static_cast<std::size_t>(rank)),
        route_classes_(route_classes),
        address_(std::to_string(rank)),
        mailboxes_(std::move(mailboxes)) {}

  std::string name() const override { return "memory"; }
  const std::string& address() const override { return address_; }

  std::int32_t route_classes() const override { return route_classes_; }

  Result<PeerId> connect(const std::string& address, std::int32_t route_class) override {
    const auto rank = static_cast<std::int32_t>(std::strtol(address.c_str(), nullptr, 10));
    if (rank < 0 || static_cast<std::size_t>(rank) >= mailboxes_->size()) return Error{"no rank " + address};
    if (route_class < 0 || route_class >= route_classes_) return Error{"no class " + std::to_string(route_class)};
    return rank * route_classes_ + route_class;
  }

  Posted send(PeerId peer, std::uint64_t tag, const void* data, std::size_t bytes, Completion*) noexcept override {
    const auto* first = static_cast<const std::byte*>(data);
    Mailbox& mailbox = (*mailboxes_)[static_cast<std::size_t>(peer / route_classes_)];
    const std::lock_guard lock(mailbox.mutex);
    mailbox.arrivals.emplace_back(Key{peer % route_classes_, tag}, Arrived{{first, first + bytes}});
    mailbox.arrival.notify_one();
    return Posted::done;
  }

  bool takes_pieces() const override { return true; }

  Posted send_pieces(PeerId peer, std::uint64_t tag, Pieces& pieces, std::size_t bytes,
                     Completion* completion) noexcept override {
    std::vector<std::byte> message(bytes);
    for (std::size_t begin = 0; begin < bytes; begin += piece_bytes) {
      const std::size_t length = std::min(piece_bytes, bytes - begin);
      pieces.give(completion->index, begin, std::span(message).subspan(begin, length));
    }
    return send(peer, tag, message.data(), message.size(), completion);
  }

  Posted receive_pieces(std::int32_t route_class, std::uint64_t tag, Pieces& pieces, std::size_t bytes,
                        Completion* completion) noexcept override {
    completion->pieces = &pieces;
    return receive(route_class, tag, nullptr, bytes, completion);
  }

  Posted receive(std::int32_t route_class, std::uint64_t tag, void* data, std::size_t bytes,
                 Completion* completion) noexcept override {
    waiting_[{route_class, tag}] = Waiting{data, bytes, completion};
    return Posted::pending;
  }

  bool progress() noexcept override {
    collect();
    bool moved = false;
    for (auto arrived = unmatched_.begin(); arrived != unmatched_.end();) {
      const auto waiting = waiting_.find(arrived->first);
      if (waiting == waiting_.end()) {
        ++arrived;
        continue;
      }
      const Waiting receive = waiting->second;
      waiting_.erase(waiting);
      const bool fits = arrived->second.data.size() == receive.bytes;
      if (fits) deliver(arrived->second.data, receive);
      receive.completion->other_length = !fits;
      arrived = unmatched_.erase(arrived);
      moved = true;
      receive.completion->waiter->completed(receive.completion->index, fits);
    }
    return moved;
  }

  bool flushed(Flush&, std::span<const PeerId>) noexcept override { return true; }

  void block(int timeout_milliseconds) noexcept override {
    Mailbox& mailbox = (*mailboxes_)[rank_];
    std::unique_lock lock(mailbox.mutex);
    mailbox.arrival.wait_for(lock, std::chrono::milliseconds(timeout_milliseconds),
                             [&] { return !mailbox.arrivals.empty(); });
  }

 private:
  void collect() {
    Mailbox& mailbox = (*mailboxes_)[rank_];
    const std::lock_guard lock(mailbox.mutex);
    for (auto& [key, arrived] : mailbox.arrivals) unmatched_.emplace(key, std::move(arrived));
    mailbox.arrivals.clear();
  }

  std::size_t rank_;
  std::int32_t route_classes_;
  std::string address_;
  std::shared_ptr<std::vector<Mailbox>> mailboxes_;
  std::multimap<Key, Arrived> unmatched_;
  std::map<Key, Waiting> waiting_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_memory_transports(int ranks, std::int32_t route_classes) {
  auto mailboxes = std::make_shared<std::vector<Mailbox>>(static_cast<std::size_t>(ranks));
  std::vector<std::unique_ptr<Transport>> transports;
  transports.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    transports.push_back(std::make_unique<MemoryTransport>(rank, route_classes, mailboxes));
  }
  return transports;
}

}  // namespace libcoll::test
