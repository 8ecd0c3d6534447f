// What the executor relies on, of any Transport: checks over two of them that live in one process.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libcoll/transport/transport.h"

namespace libcoll::test {

/// Two transports, with as many route classes each, not connected yet; or why there are none.
struct TransportPair {
  std::unique_ptr<transport::Transport> left;
  std::unique_ptr<transport::Transport> right;
  std::string unavailable;  ///< the kind of transport does not exist on this machine: the checks are skipped
};

struct TransportKind {
  std::string name;
  TransportPair (*make)() = nullptr;
  /// A message that is longer than its receive is reported, and the transport works on.
  bool survives_long_messages = true;
};

inline void PrintTo(const TransportKind& kind, std::ostream* out) { *out << kind.name; }  // NOLINT: GoogleTest's name

/// Fails the test when there is none.
inline std::unique_ptr<transport::Transport> taken(Result<std::unique_ptr<transport::Transport>> opened) {
  if (opened.ok()) return std::move(opened.value());
  ADD_FAILURE() << opened.error().message;
  return nullptr;
}

constexpr std::uint32_t watched_index = 7;

/// One message that was posted: what has become of it.
class Watched final : public transport::Waiter {
 public:
  void completed(std::uint32_t index, bool ok) noexcept override {
    EXPECT_EQ(index, completion.index);
    ++calls;
    succeeded = ok;
  }
  void posted(transport::Posted how) {
    posted_ = how;
    if (how == transport::Posted::done) succeeded = true;
  }
  [[nodiscard]] bool over() const { return posted_ != transport::Posted::pending || calls > 0; }
  /// Complete, as posted, and told of exactly as often as transport.h says.
  [[nodiscard]] bool sound() const { return succeeded && calls == (posted_ == transport::Posted::pending ? 1 : 0); }

  transport::Completion completion{this, watched_index, 0};
  int calls = 0;
  bool succeeded = false;

 private:
  transport::Posted posted_ = transport::Posted::pending;
};

/// Memory that a transport has only pieces of. It checks that they are of the message.
class InPieces final : public transport::Pieces {
 public:
  explicit InPieces(std::vector<std::byte> data) : data_(std::move(data)) {}
  void give(std::uint32_t index, std::size_t offset, std::span<std::byte> piece) noexcept override {
    EXPECT_EQ(index, watched_index);
    if (!holds(offset, piece.size())) return;
    std::copy_n(data_.begin() + static_cast<std::ptrdiff_t>(offset), piece.size(), piece.begin());
  }
  void take(std::uint32_t index, std::size_t offset, std::span<const std::byte> piece) noexcept override {
    EXPECT_EQ(index, watched_index);
    if (!holds(offset, piece.size())) return;
    std::copy(piece.begin(), piece.end(), data_.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  [[nodiscard]] const std::vector<std::byte>& data() const { return data_; }

 private:
  [[nodiscard]] bool holds(std::size_t offset, std::size_t bytes) const {
    EXPECT_LE(offset + bytes, data_.size());
    return offset + bytes <= data_.size();
  }

  std::vector<std::byte> data_;
};

inline std::vector<std::byte> pattern(std::size_t bytes, std::uint32_t seed) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>((i * 131 + i / 256 + seed * 29 + 1) & 0xffU);
  return data;
}

class TransportConformance : public testing::TestWithParam<TransportKind> {
 protected:
  static constexpr auto patience = std::chrono::seconds(60);

  void SetUp() override {
    pair_ = GetParam().make();
    if (!pair_.unavailable.empty()) GTEST_SKIP() << pair_.unavailable;
    ASSERT_NE(pair_.left, nullptr);
    ASSERT_NE(pair_.right, nullptr);
    ASSERT_EQ(left().route_classes(), right().route_classes());
    for (std::int32_t k = 0; k < classes(); ++k) {
      to_right_.push_back(connected(left(), right(), k));
      to_left_.push_back(connected(right(), left(), k));
    }
  }

  /// As the runtime does: nothing is held back by either side when they go.
  void TearDown() override {
    if (pair_.left == nullptr || pair_.right == nullptr || to_left_.empty()) return;
    transport::Flush left_flush;
    transport::Flush right_flush;
    bool left_done = false;
    bool right_done = false;
    EXPECT_TRUE(both_until([&] {
      left_done = left_done || left().flushed(left_flush, to_right_);
      right_done = right_done || right().flushed(right_flush, to_left_);
      return left_done && right_done;
    }));
  }

  static transport::PeerId connected(transport::Transport& from, transport::Transport& to, std::int32_t route_class) {
    const Result<transport::PeerId> peer = from.connect(to.address(), route_class);
    EXPECT_TRUE(peer.ok()) << (peer.ok() ? "" : peer.error().message);
    return peer.ok() ? *peer : -1;
  }

  /// Checks look at two route classes, or at the only one of a transport that does not steer.
  [[nodiscard]] std::int32_t classes() { return std::min(left().route_classes(), 2); }

  transport::Transport& left() { return *pair_.left; }
  transport::Transport& right() { return *pair_.right; }

  /// Moves both along until the condition holds; false when it never does.
  template <class Condition>
  bool both_until(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
      left().progress();
      right().progress();
      if (std::chrono::steady_clock::now() > deadline) return false;
    }
    return true;
  }

  Watched& send_right(std::int32_t route_class, std::uint64_t tag, const std::vector<std::byte>& data) {
    return send(left(), to_right_[static_cast<std::size_t>(route_class)], tag, data);
  }
  Watched& send(transport::Transport& from, transport::PeerId peer, std::uint64_t tag,
                const std::vector<std::byte>& data) {
    Watched& watched = watched_.emplace_back();
    watched.posted(from.send(peer, tag, data.data(), data.size(), &watched.completion));
    return watched;
  }
  Watched& receive(transport::Transport& at, std::int32_t route_class, std::uint64_t tag,
                   std::vector<std::byte>& data) {
    Watched& watched = watched_.emplace_back();
    watched.posted(at.receive(route_class, tag, data.data(), data.size(), &watched.completion));
    return watched;
  }
  Watched& send_in_pieces(std::uint64_t tag, InPieces& pieces) {
    Watched& watched = watched_.emplace_back();
    watched.posted(left().send_pieces(to_right_.front(), tag, pieces, pieces.data().size(), &watched.completion));
    return watched;
  }
  Watched& receive_in_pieces(std::uint64_t tag, InPieces& pieces) {
    Watched& watched = watched_.emplace_back();
    watched.posted(right().receive_pieces(0, tag, pieces, pieces.data().size(), &watched.completion));
    return watched;
  }
  /// Until everything posted is over; then that all of it went well.
  void expect_all_sound() {
    ASSERT_TRUE(both_until([&] { return all_over(); }));
    for (const Watched& each : watched_) EXPECT_TRUE(each.sound());
  }
  [[nodiscard]] bool all_over() const {
    for (const Watched& each : watched_) {
      if (!each.over()) return false;
    }
    return true;
  }

  void check_message(std::size_t bytes) {
    const std::vector<std::byte> data = pattern(bytes, 1);
    std::vector<std::byte> got(bytes);
    receive(right(), 0, 5, got);
    send_right(0, 5, data);
    expect_all_sound();
    EXPECT_EQ(got, data);
  }

  TransportPair pair_;
  std::vector<transport::PeerId> to_right_;  ///< by route class
  std::vector<transport::PeerId> to_left_;
  std::deque<Watched> watched_;
};

/// Whoever sends or receives, the other end need not do so in pieces.
/// Who cannot move pieces says so, and fails what is asked for all the same at once, without a call of the waiter.
TEST_P(TransportConformance, Pieces) {
  ASSERT_EQ(left().takes_pieces(), right().takes_pieces());
  if (!left().takes_pieces()) {
    InPieces source(pattern(13, 1));
    Watched watched;
    EXPECT_EQ(left().send_pieces(to_right_.front(), 1, source, 13, &watched.completion), transport::Posted::failed);
    EXPECT_EQ(right().receive_pieces(0, 1, source, 13, &watched.completion), transport::Posted::failed);
    EXPECT_FALSE(watched.over());
    return;
  }
  for (const std::size_t bytes : {std::size_t{13}, std::size_t{20'000}, (std::size_t{3} << 20U) + 5}) {
    SCOPED_TRACE(bytes);
    InPieces source(pattern(bytes, 1));
    InPieces both{std::vector<std::byte>(bytes)};
    InPieces late{std::vector<std::byte>(bytes)};
    InPieces only{std::vector<std::byte>(bytes)};
    std::vector<std::byte> whole(bytes);
    receive_in_pieces(1, both);
    receive(right(), 0, 2, whole);
    receive_in_pieces(3, only);
    send_in_pieces(1, source);
    send_in_pieces(2, source);
    send_right(0, 3, source.data());
    send_in_pieces(4, source);
    ASSERT_TRUE(both_until([&] { return whole == source.data(); }));
    receive_in_pieces(4, late);
    expect_all_sound();
    for (const InPieces* each : {&both, &late, &only}) EXPECT_EQ(each->data(), source.data());
    EXPECT_EQ(whole, source.data());
  }
}

TEST_P(TransportConformance, Small) { check_message(13); }

TEST_P(TransportConformance, Large) { check_message((std::size_t{3} << 20U) + 5); }

TEST_P(TransportConformance, EveryLengthAroundAFragment) {
  for (std::size_t bytes = 8100; bytes < 8300; ++bytes) {
    const std::vector<std::byte> data = pattern(bytes, 3);
    std::vector<std::byte> got(bytes);
    receive(right(), 0, bytes, got);
    send_right(0, bytes, data);
    expect_all_sound();
    ASSERT_EQ(got, data) << bytes;
    watched_.clear();
  }
}

TEST_P(TransportConformance, ZeroBytes) { check_message(0); }

TEST_P(TransportConformance, ConnectingAgainGivesTheSamePeer) {
  for (std::int32_t k = 0; k < classes(); ++k) {
    EXPECT_EQ(connected(left(), right(), k), to_right_[static_cast<std::size_t>(k)]);
  }
  EXPECT_TRUE(classes() == 1 || to_right_[0] != to_right_[1]);
}

TEST_P(TransportConformance, ConnectingRefusesAnUnknownClass) {
  EXPECT_FALSE(left().connect(right().address(), left().route_classes()).ok());
  EXPECT_FALSE(left().connect(right().address(), -1).ok());
}

TEST_P(TransportConformance, UnexpectedMessagesAreKept) {
  // The third is behind them on the same route, so they are there when it is.
  const std::vector<std::byte> first = pattern(100, 1);
  const std::vector<std::byte> second = pattern(20000, 2);
  const std::vector<std::byte> empty;
  const std::vector<std::byte> mark = pattern(1, 3);
  send_right(0, 1, first);
  send_right(0, 2, second);
  send_right(0, 3, empty);
  send_right(0, 4, mark);
  std::vector<std::byte> got_mark(1);
  receive(right(), 0, 4, got_mark);
  ASSERT_TRUE(both_until([&] { return watched_.back().over(); }));
  std::vector<std::byte> got_second(second.size());
  std::vector<std::byte> got_first(first.size());
  std::vector<std::byte> got_empty;
  receive(right(), 0, 2, got_second);
  receive(right(), 0, 3, got_empty);
  receive(right(), 0, 1, got_first);
  expect_all_sound();
  EXPECT_EQ(got_first, first);
  EXPECT_EQ(got_second, second);
  EXPECT_EQ(got_mark, mark);
}

TEST_P(TransportConformance, AReceiveMayComeInTheMiddleOfItsMessage) {
  const std::vector<std::byte> data = pattern(std::size_t{2} << 20U, 4);
  send_right(0, 9, data);
  left().progress();
  right().progress();
  std::vector<std::byte> got(data.size());
  receive(right(), 0, 9, got);
  expect_all_sound();
  EXPECT_EQ(got, data);
}

TEST_P(TransportConformance, ManyInFlightBothWaysOnAllClasses) {
  constexpr std::uint32_t count = 64;
  std::vector<std::vector<std::byte>> sent;
  std::vector<std::vector<std::byte>> got;
  sent.reserve(4 * count);
  got.reserve(4 * count);
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::int32_t k = 0; k < classes(); ++k) {
      for (transport::Transport* to : {&left(), &right()}) {
        const auto seed = static_cast<std::uint32_t>(sent.size());
        const std::size_t bytes = (std::size_t{i} * 977) % 40000;
        sent.push_back(pattern(bytes, seed));
        got.emplace_back(bytes);
        const bool right_wards = to == &right();
        const auto& peers = right_wards ? to_right_ : to_left_;
        if (i % 2 == 0) receive(*to, k, i, got.back());
        send(right_wards ? left() : right(), peers[static_cast<std::size_t>(k)], i, sent.back());
        if (i % 2 == 1) receive(*to, k, i, got.back());
      }
    }
  }
  expect_all_sound();
  EXPECT_EQ(got, sent);
}

TEST_P(TransportConformance, TheSameTagOnTwoClassesIsTwoMessages) {
  if (classes() == 1) GTEST_SKIP() << "it has one route class";
  const std::vector<std::byte> zero = pattern(5000, 10);
  const std::vector<std::byte> one = pattern(5000, 11);
  std::vector<std::byte> got_zero(zero.size());
  std::vector<std::byte> got_one(one.size());
  receive(right(), 1, 77, got_one);
  send_right(0, 77, zero);
  send_right(1, 77, one);
  receive(right(), 0, 77, got_zero);
  expect_all_sound();
  EXPECT_EQ(got_zero, zero);
  EXPECT_EQ(got_one, one);
}

TEST_P(TransportConformance, TagsAreMatchedWhole) {
  const std::vector<std::byte> low = pattern(8, 1);
  const std::vector<std::byte> high = pattern(8, 2);
  std::vector<std::byte> got_low(8);
  std::vector<std::byte> got_high(8);
  receive(right(), 0, (std::uint64_t{1} << 63U) | 1U, got_high);
  receive(right(), 0, 1, got_low);
  send_right(0, 1, low);
  send_right(0, (std::uint64_t{1} << 63U) | 1U, high);
  expect_all_sound();
  EXPECT_EQ(got_low, low);
  EXPECT_EQ(got_high, high);
}

/// Lengths sent where 4096 bytes are waited for.
constexpr std::size_t wrong_lengths[] = {0, 100, 4095, 4097, 100000};

TEST_P(TransportConformance, AWrongLengthIsReported) {
  std::uint64_t tag = 0;
  for (const std::size_t bytes : wrong_lengths) {
    if (bytes > 4096 && !GetParam().survives_long_messages) continue;
    const std::vector<std::byte> data = pattern(bytes, 1);
    // Room for all of it: a transport that writes beyond the length posted is caught by the guard behind it.
    std::vector<std::byte> got(4096 + 64, std::byte{0xa5});
    Watched& watched = watched_.emplace_back();
    watched.posted(right().receive(0, ++tag, got.data(), 4096, &watched.completion));
    send_right(0, tag, data);
    ASSERT_TRUE(both_until([&] { return all_over(); }));
    EXPECT_FALSE(watched.succeeded) << bytes;
    EXPECT_EQ(watched.calls, 1) << bytes;
    EXPECT_EQ(std::vector<std::byte>(got.begin() + 4096, got.end()), std::vector<std::byte>(64, std::byte{0xa5}));
    watched_.clear();
  }
  check_message(3000);
}

TEST_P(TransportConformance, AWrongLengthIsReportedWhenUnexpectedToo) {
  std::uint64_t tag = 0;
  for (const std::size_t bytes : wrong_lengths) {
    if (bytes > 4096 && !GetParam().survives_long_messages) continue;
    const std::vector<std::byte> data = pattern(bytes, 1);
    const std::vector<std::byte> mark = pattern(1, 1);
    std::vector<std::byte> got_mark(1);
    send_right(0, ++tag, data);
    send_right(0, 1000 + tag, mark);
    Watched& marked = receive(right(), 0, 1000 + tag, got_mark);
    ASSERT_TRUE(both_until([&] { return marked.over(); }));
    std::vector<std::byte> got(4096);
    Watched& watched = receive(right(), 0, tag, got);
    ASSERT_TRUE(both_until([&] { return all_over(); }));
    EXPECT_FALSE(watched.succeeded) << bytes;
    EXPECT_EQ(watched.calls, 1) << bytes;
    watched_.clear();
  }
  check_message(3000);
}

TEST_P(TransportConformance, WhatArrivesWakesASleeper) {
  check_message(8);  // connections are up
  watched_.clear();
  std::vector<std::byte> got(64);
  const std::vector<std::byte> data = pattern(got.size(), 6);
  Watched& received = receive(right(), 0, 11, got);
  while (right().progress()) {
  }
  send_right(0, 11, data);
  while (left().progress()) {
  }
  const auto start = std::chrono::steady_clock::now();
  while (!received.over() && std::chrono::steady_clock::now() - start < patience) {
    if (!right().progress() && right().arm()) right().block(static_cast<int>(2 * 1000 * patience.count()));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, patience);
  expect_all_sound();
  EXPECT_EQ(got, data);
}

inline std::string kind_name(const testing::TestParamInfo<TransportKind>& information) {
  return information.param.name;
}

}  // namespace libcoll::test
