// Who says words to whom: both ends of a lane, or one first and the other one in answer.
#include "libcoll/execute/wire_up.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/support/memory_transport.h"

namespace libcoll::wire_up_test {

using namespace execute;
using namespace test;
using namespace transport;

namespace {

/// Notes to whom messages were sent, as (peer's place, route class), and passes everything on.
class Noting final : public Transport {
 public:
  Noting(std::unique_ptr<Transport> inner, std::int32_t classes) : inner_(std::move(inner)), classes_(classes) {}
  std::string name() const override { return "noting"; }
  const std::string& address() const override { return inner_->address(); }
  std::int32_t route_classes() const override { return classes_; }
  Result<PeerId> connect(const std::string& address, std::int32_t route_class) override {
    return inner_->connect(address, route_class);
  }
  Posted send(PeerId peer, std::uint64_t tag, const void* data, std::size_t bytes,
              Completion* completion) noexcept override {
    sent.emplace(peer / classes_, peer % classes_);
    return inner_->send(peer, tag, data, bytes, completion);
  }
  Posted receive(std::int32_t route_class, std::uint64_t tag, void* data, std::size_t bytes,
                 Completion* completion) noexcept override {
    return inner_->receive(route_class, tag, data, bytes, completion);
  }
  bool progress() noexcept override { return inner_->progress(); }
  bool flushed(Flush& flush, std::span<const PeerId> peers) noexcept override { return inner_->flushed(flush, peers); }
  void block(int timeout_milliseconds) noexcept override { inner_->block(timeout_milliseconds); }

  std::multiset<std::pair<std::int32_t, std::int32_t>> sent;

 private:
  std::unique_ptr<Transport> inner_;
  std::int32_t classes_;
};

constexpr std::int32_t places = 4;
constexpr std::int32_t classes = 2;

/// Four processes; each talks to each by class 0, and to the next and the one before by class 1.
class Village {
 public:
  Village() {
    auto inner = make_memory_transports(places, classes);
    for (std::int32_t place = 0; place < places; ++place) {
      transports_.push_back(std::make_unique<Noting>(std::move(inner[static_cast<std::size_t>(place)]), classes));
      peers_.emplace_back(static_cast<std::size_t>(classes * places), -1);
      for (std::int32_t other = 0; other < places; ++other) {
        if (other == place) continue;
        const auto lane = static_cast<std::size_t>(other);
        peers_.back()[lane] = awaited_peer;
        const bool is_neighbour = other == place + 1 || other == place - 1;
        if (is_neighbour) peers_.back()[lane + places] = awaited_peer;
      }
    }
  }

  /// Connects callers, or those who answer.
  void connect(bool callers) {
    for (std::int32_t place = 0; place < places; ++place) {
      for (std::size_t lane = 0; lane < peers_[static_cast<std::size_t>(place)].size(); ++lane) {
        const auto other = static_cast<std::int32_t>(lane) % places;
        PeerId& peer = peers_[static_cast<std::size_t>(place)][lane];
        if (peer != awaited_peer || calls(place, other) != callers) continue;
        const auto route_class = static_cast<std::int32_t>(lane) / places;
        peer = transports_[static_cast<std::size_t>(place)]->connect(std::to_string(other), route_class).value();
      }
    }
  }

  /// Has all say such words; false when some are not heard.
  bool greet(Words words, std::uint32_t number) {
    std::vector<std::unique_ptr<WireUp>> wire_ups;
    for (std::size_t place = 0; place < peers_.size(); ++place) {
      transports_[place]->sent.clear();
      wire_ups.push_back(
          std::make_unique<WireUp>(*transports_[place], static_cast<std::int32_t>(place), places, peers_[place], 8));
      wire_ups.back()->start(TagSpace(1, number), words);
    }
    for (const auto& transport : transports_) transport->progress();
    for (const auto& wire : wire_ups) {
      if (!wire->over() || wire->failed()) return false;
    }
    return true;
  }

  const auto& sent_by(std::int32_t place) const { return transports_[static_cast<std::size_t>(place)]->sent; }

 private:
  std::vector<std::unique_ptr<Noting>> transports_;
  std::vector<std::vector<PeerId>> peers_;
};

using Sent = std::multiset<std::pair<std::int32_t, std::int32_t>>;

// Of a pair whose places differ by an odd number the lower one calls, of the others the higher one.
TEST(WireUp, OneEndCallsAndTheOtherAnswers) {
  Village village;
  village.connect(true);
  ASSERT_TRUE(village.greet(Words::call, 0));
  EXPECT_EQ(village.sent_by(0), (Sent{{1, 0}, {1, 1}, {3, 0}}));
  EXPECT_EQ(village.sent_by(1), (Sent{{2, 0}, {2, 1}}));
  EXPECT_EQ(village.sent_by(2), (Sent{{0, 0}, {3, 0}, {3, 1}}));
  EXPECT_EQ(village.sent_by(3), (Sent{{1, 0}}));
  village.connect(false);
  ASSERT_TRUE(village.greet(Words::answer, 1));
  EXPECT_EQ(village.sent_by(0), (Sent{{2, 0}}));
  EXPECT_EQ(village.sent_by(1), (Sent{{0, 0}, {0, 1}, {3, 0}}));
  EXPECT_EQ(village.sent_by(2), (Sent{{1, 0}, {1, 1}}));
  EXPECT_EQ(village.sent_by(3), (Sent{{0, 0}, {2, 0}, {2, 1}}));
}

TEST(WireUp, EverybodyCallsHalfOfTheOthers) {
  constexpr std::int32_t many = 27;
  for (std::int32_t self = 0; self < many; ++self) {
    std::int32_t count = 0;
    for (std::int32_t other = 0; other < many; ++other) {
      if (other == self) continue;
      EXPECT_NE(calls(self, other), calls(other, self));
      count += calls(self, other) ? 1 : 0;
    }
    EXPECT_EQ(count, (many - 1) / 2);
  }
}

TEST(WireUp, BothEndsSayAWord) {
  Village village;
  village.connect(true);
  village.connect(false);
  ASSERT_TRUE(village.greet(Words::both, 0));
  EXPECT_EQ(village.sent_by(1), (Sent{{0, 0}, {0, 1}, {2, 0}, {2, 1}, {3, 0}}));
}

}  // namespace
}  // namespace libcoll::wire_up_test
