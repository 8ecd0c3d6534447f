#include "libcoll/comm/way_questions.h"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace libcoll::comm {

using namespace node;

namespace {

/// Who waits for others that compute asks seldom.
constexpr std::chrono::milliseconds shortest_interval{100};
constexpr std::chrono::milliseconds longest_interval{1600};

/// Looking for questions takes MPI's progress time: it is asked as seldom, and the clock at one call in so many.
constexpr std::chrono::milliseconds look_interval{20};
constexpr unsigned calls_per_look = 64;

}  // namespace

void WayQuestions::take_busy() noexcept {
  while (busy_.test_and_set(std::memory_order_acquire)) sched_yield();
}

void WayQuestions::open(Channel channel) {
  take_busy();
  channel_ = channel;
  open_ = true;
  busy_.clear(std::memory_order_release);
}

void WayQuestions::close() {
  take_busy();
  open_ = false;
  busy_.clear(std::memory_order_release);
}

void WayQuestions::add(std::uint64_t communicator, CallWays& ways, const std::vector<int>& world_ranks,
                       std::int32_t rank) {
  Asking asking{&ways, {}, 0, {}, shortest_interval};
  for (std::size_t distance = 1; distance < world_ranks.size(); distance *= 2) {
    const std::size_t peer = (static_cast<std::size_t>(rank) + distance) % world_ranks.size();
    asking.peers.push_back({world_ranks[peer], false});
  }
  take_busy();
  asking_.insert_or_assign(communicator, std::move(asking));
  has_any_ = true;
  busy_.clear(std::memory_order_release);
}

void WayQuestions::remove(std::uint64_t communicator) noexcept {
  take_busy();
  asking_.erase(communicator);
  has_any_ = !asking_.empty();
  busy_.clear(std::memory_order_release);
}

void WayQuestions::ask(std::uint64_t communicator) noexcept {
  if (busy_.test_and_set(std::memory_order_acquire)) return;
  const auto found = asking_.find(communicator);
  if (open_ && found != asking_.end()) {
    take_messages();
    send_questions(communicator, found->second);
  }
  busy_.clear(std::memory_order_release);
}

void WayQuestions::look() noexcept {
  if (!has_any_.load(std::memory_order_relaxed)) return;
  const unsigned looks = looks_.load(std::memory_order_relaxed) + 1;
  looks_.store(looks, std::memory_order_relaxed);
  if (looks % calls_per_look != 0 || busy_.test_and_set(std::memory_order_acquire)) return;
  const Time now = channel_.now();
  if (open_ && now - last_look_ >= look_interval) {
    last_look_ = now;
    take_messages();
  }
  busy_.clear(std::memory_order_release);
}

void WayQuestions::send_questions(std::uint64_t communicator, Asking& asking) noexcept {
  const CallWays::Shown call = asking.ways->present();
  const Time now = channel_.now();
  if (asking.number != call.number) {
    asking.number = call.number;
    asking.interval = shortest_interval;
    asking.next = now;
  }
  if (now < asking.next) return;
  asking.next = now + asking.interval;
  asking.interval = std::min<Time::duration>(2 * asking.interval, longest_interval);
  for (Peer& peer : asking.peers) {
    if (!peer.is_asked) peer.is_asked = channel_.send(peer.world_rank, {communicator, 0, call});
  }
}

void WayQuestions::take_messages() noexcept {
  int from = 0;
  Message message{};
  while (channel_.receive(from, message)) take(from, message);
}

/// A rank whose ways are not known here has no such call yet, or no longer: nothing is to be said of it.
void WayQuestions::take(int from, const Message& message) noexcept {
  const auto found = asking_.find(message.communicator);
  CallWays::Shown own{message.call.number, 0};
  if (found != asking_.end()) {
    own = found->second.ways->shown(message.call.number);
    if (CallWays::differ(own, message.call)) found->second.ways->leave_from(own.number);
  }
  if (message.is_answer == 0) {
    channel_.send(from, {message.communicator, 1, own});
  } else if (found != asking_.end()) {
    for (Peer& peer : found->second.peers) peer.is_asked = peer.is_asked && peer.world_rank != from;
  }
}

}  // namespace libcoll::comm
