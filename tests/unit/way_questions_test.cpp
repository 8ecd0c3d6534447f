#include "libcoll/comm/way_questions.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "libcoll/node/call_ways.h"

namespace libcoll::way_questions_test {

using namespace comm;
using namespace node;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t world = 17;
constexpr std::uint8_t alltoall = 3;
constexpr std::uint8_t native = 0;
constexpr std::uint8_t planned = 3;

/// The processes' messages, and their clock. One process acts at a time.
struct Network {
  std::vector<std::deque<std::pair<int, WayQuestions::Message>>> inbox;
  int acting = 0;
  int sent = 0;
  std::chrono::steady_clock::time_point now;
};
Network network;

bool send(int to, const WayQuestions::Message& message) noexcept {
  network.inbox[static_cast<std::size_t>(to)].emplace_back(network.acting, message);
  ++network.sent;
  return true;
}

bool receive(int& from, WayQuestions::Message& message) noexcept {
  auto& inbox = network.inbox[static_cast<std::size_t>(network.acting)];
  if (inbox.empty()) return false;
  std::tie(from, message) = inbox.front();
  inbox.pop_front();
  return true;
}

class WaysOfHosts : public ::testing::Test {
 protected:
  void make(std::size_t ranks) {
    network = {};
    network.inbox.resize(ranks);
    network.now += 1h;
    std::vector<int> world_ranks(ranks);
    std::iota(world_ranks.begin(), world_ranks.end(), 0);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      ways_.push_back(std::make_unique<CallWays>());
      questions_.push_back(std::make_unique<WayQuestions>());
      questions_.back()->open({&send, &receive, []() noexcept { return network.now; }});
      questions_.back()->add(world, *ways_.back(), world_ranks, static_cast<std::int32_t>(rank));
    }
  }
  void begin(std::size_t rank, std::uint8_t way) { ways_[rank]->begin(alltoall, way); }
  void all_begin(std::uint8_t way) {
    for (std::size_t rank = 0; rank < ways_.size(); ++rank) begin(rank, way);
  }
  WayQuestions& acting(std::size_t rank) {
    network.acting = static_cast<int>(rank);
    return *questions_[rank];
  }
  /// That rank waits in a call of its own MPI, or of ours, for a while.
  void wait_in_mpi(std::size_t rank) {
    for (int look = 0; look < 100; ++look) acting(rank).look();
  }
  void wait_in_call(std::size_t rank) { acting(rank).ask(world); }
  /// All wait for so long; those that find the ways to differ leave the call.
  void all_wait(std::chrono::milliseconds time) {
    for (const auto end = network.now + time; network.now < end; network.now += 25ms) {
      for (std::size_t rank = 0; rank < ways_.size(); ++rank) {
        const bool is_native = is_native_[rank];
        is_native ? wait_in_mpi(rank) : wait_in_call(rank);
        if (is_native || !ways_[rank]->differ()) continue;
        ways_[rank]->leave();
        begin(rank, native);
        is_native_[rank] = true;
      }
    }
  }
  [[nodiscard]] std::size_t in_mpi() const {
    std::size_t number = 0;
    for (std::size_t rank = 0; rank < ways_.size(); ++rank) number += is_native_[rank] ? 1 : 0;
    return number;
  }

  std::vector<std::unique_ptr<CallWays>> ways_;
  std::vector<std::unique_ptr<WayQuestions>> questions_;
  std::array<bool, 64> is_native_{};
};

TEST_F(WaysOfHosts, WhoWaitsHearsOfAnotherWay) {
  make(2);
  all_begin(planned);
  begin(0, native);
  begin(1, planned);
  wait_in_call(1);
  EXPECT_FALSE(ways_[1]->differ()) << "nobody has answered yet";
  wait_in_mpi(0);
  wait_in_call(1);
  EXPECT_TRUE(ways_[1]->differ());
  EXPECT_TRUE(ways_[0]->left()) << "MPI has the later calls of who was asked, too";
}

TEST_F(WaysOfHosts, TheSameWayIsNoReasonToLeave) {
  make(5);
  all_begin(planned);
  all_wait(10s);
  EXPECT_EQ(in_mpi(), 0U);
}

/// They compute, and come to the call much later.
TEST_F(WaysOfHosts, WhoIsLateIsNotTakenForOneThatGoesAnotherWay) {
  make(3);
  all_begin(planned);
  begin(0, planned);
  all_wait(10s);
  EXPECT_EQ(in_mpi(), 0U);
  begin(1, planned);
  begin(2, planned);
  all_wait(10s);
  EXPECT_EQ(in_mpi(), 0U);
}

/// Every rank hears of the one that went another way, whichever that is.
TEST_F(WaysOfHosts, AllLeaveSoon) {
  for (const std::size_t ranks : {2U, 3U, 8U, 13U, 64U}) {
    SCOPED_TRACE(ranks);
    ways_.clear();
    questions_.clear();
    is_native_ = {};
    make(ranks);
    all_begin(planned);
    const std::size_t other = ranks / 3;
    is_native_[other] = true;
    for (std::size_t rank = 0; rank < ranks; ++rank) begin(rank, rank == other ? native : planned);
    all_wait(4s);
    EXPECT_EQ(in_mpi(), ranks);
    for (const auto& each : ways_) EXPECT_TRUE(each->left());
  }
}

/// Who has left a call begins it anew: it is no further one.
TEST_F(WaysOfHosts, NumbersStayEqual) {
  make(2);
  begin(0, native);
  begin(1, planned);
  ways_[1]->leave();
  begin(1, native);
  EXPECT_EQ(ways_[0]->present().word, ways_[1]->present().word);
}

/// Others may compute for long.
TEST_F(WaysOfHosts, QuestionsDoNotPileUp) {
  make(8);
  all_begin(planned);
  begin(0, planned);
  for (int i = 0; i < 1000; ++i, network.now += 25ms) wait_in_call(0);
  EXPECT_EQ(network.sent, 3) << "to the ranks at distances 1, 2 and 4";
}

TEST_F(WaysOfHosts, NobodyAsksWithoutAChannel) {
  make(2);
  begin(0, native);
  begin(1, planned);
  questions_[1]->close();
  wait_in_call(1);
  EXPECT_EQ(network.sent, 0);
}

TEST_F(WaysOfHosts, OthersCommunicatorsAreNotTheirs) {
  make(2);
  begin(0, native);
  begin(1, planned);
  questions_[0]->remove(world);
  CallWays other;
  other.begin(alltoall, native);
  questions_[0]->add(world + 1, other, {0, 1}, 0);
  wait_in_call(1);
  wait_in_mpi(0);
  wait_in_call(1);
  EXPECT_FALSE(ways_[1]->differ());
  EXPECT_EQ(network.sent, 2) << "it is answered all the same";
}

}  // namespace
}  // namespace libcoll::way_questions_test
