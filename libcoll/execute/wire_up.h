// A message to and from every peer: to connect them, and to see what that takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libcoll/execute/driven.h"
#include "libcoll/execute/execution.h"

namespace libcoll::execute {

/// In place of a peer who will be there once he has called.
inline constexpr transport::PeerId awaited_peer = -2;

/// What is said: both ends say a word, or only one calls, or only the other one answers.
enum class Words : std::uint8_t { both, call, answer };

/// Which of two ends calls: everybody calls half of the others.
constexpr bool calls(std::int32_t self, std::int32_t other) { return (self < other) == ((self + other) % 2 == 1); }

/// One exchange at a time.
class WireUp final : public Driven, public transport::Waiter {
 public:
  /// `peers` by route class and place, negative where there is none; this process's own place is `self` of `places`.
  /// Messages have `bytes` bytes. The arguments must outlive this. Awaited peers are there by the time they are
  /// answered.
  WireUp(transport::Transport& transport, std::int32_t self, std::int32_t places,
         std::span<const transport::PeerId> peers, std::size_t bytes);
  WireUp(const WireUp&) = delete;
  WireUp& operator=(const WireUp&) = delete;
  ~WireUp() = default;

  /// `tags` may be those of a call as well, which numbers its messages from 0 on. Precondition: the exchange before is
  /// over.
  void start(transport::TagSpace tags, Words words = Words::both);
  void advance() noexcept override {}
  [[nodiscard]] bool over() const override { return waiting_ == 0; }
  /// Some peer could not be reached.
  [[nodiscard]] bool failed() const override { return failed_; }
  [[nodiscard]] std::span<const transport::PeerId> peers() const override { return peers_; }
  [[nodiscard]] std::int64_t largest_message_bytes() const override { return static_cast<std::int64_t>(bytes_); }
  void completed(std::uint32_t index, bool ok) noexcept override;

 private:
  void hear(std::size_t lane, transport::TagSpace tags);
  void say(std::size_t lane, transport::TagSpace tags);
  void count(transport::Posted posted);

  transport::Transport& transport_;
  const std::int32_t self_;
  const std::int32_t places_;
  const std::span<const transport::PeerId> peers_;
  const std::size_t bytes_;
  std::vector<std::byte> words_;  ///< what is said, then what is heard from each
  std::vector<transport::Completion> completions_;
  std::int64_t waiting_ = 0;
  bool failed_ = false;
};

}  // namespace libcoll::execute
