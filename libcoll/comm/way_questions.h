// What ranks ask each other that share no memory: whether a call that somebody waits in goes another way elsewhere.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "libcoll/node/call_ways.h"

namespace libcoll::comm {

/// One per process. Who waits asks the ranks at distances of powers of two, so that all hear of a rank in as many
/// rounds as the number of ranks has bits: who leaves the call is then among those that go the other way. Whoever is in
/// MPI answers. Any thread may call; who comes while another one is at it does nothing.
class WayQuestions {
 public:
  struct Message {
    std::uint64_t communicator;
    std::uint64_t is_answer;
    node::CallWays::Shown call;  ///< the sender's; of an answer the one that was asked for
  };
  /// Messages between the processes of the world, by rank in it, through MPI.
  struct Channel {
    bool (*send)(int to, const Message& message) noexcept = nullptr;  ///< does not wait; false: not sent
    bool (*receive)(int& from, Message& message) noexcept = nullptr;  ///< false: none has come
    std::chrono::steady_clock::time_point (*now)() noexcept = nullptr;
  };

  /// Questions are sent and answered from now on, until the channel is closed.
  void open(Channel channel);
  void close();
  [[nodiscard]] bool is_open() const { return open_.load(std::memory_order_acquire); }

  /// The ways of a communicator's calls on this rank, until they are removed. `communicator`: the same on all ranks,
  /// and of no other one, earlier or later: questions may be old when they are read. `world_ranks`: by rank.
  void add(std::uint64_t communicator, node::CallWays& ways, const std::vector<int>& world_ranks, std::int32_t rank);
  void remove(std::uint64_t communicator) noexcept;

  /// For who has waited for long in the communicator's present call, over and over: asks now and then, and takes what
  /// has come. The communicator's ways differ once an answer says so. From the thread that makes the call.
  void ask(std::uint64_t communicator) noexcept;
  /// From MPI's progress, over and over: answers now and then.
  void look() noexcept;

 private:
  using Time = std::chrono::steady_clock::time_point;

  struct Peer {
    int world_rank;
    bool is_asked;  ///< and has not answered
  };
  struct Asking {
    node::CallWays* ways;
    std::vector<Peer> peers;
    std::uint64_t number = 0;  ///< of the call that was asked about last
    Time next;
    Time::duration interval;
  };

  /// What follows, from whoever has taken `busy_`.
  void send_questions(std::uint64_t communicator, Asking& asking) noexcept;
  void take_messages() noexcept;
  void take(int from, const Message& message) noexcept;
  void take_busy() noexcept;

  Channel channel_;
  std::map<std::uint64_t, Asking> asking_;  ///< by communicator
  Time last_look_;
  std::atomic<bool> open_{false};
  std::atomic<bool> has_any_{false};
  std::atomic<unsigned> looks_{0};  ///< not exact
  std::atomic_flag busy_;           ///< not a lock: MPI's progress calls back
};

}  // namespace libcoll::comm
