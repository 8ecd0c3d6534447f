// Small collectives from rank to rank, without a plan: every rank gets every rank's block by the concatenation of
// Bruck et al., and makes its result of them by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libcoll/execute/concatenation.h"
#include "libcoll/execute/driven.h"
#include "libcoll/execute/execution.h"

namespace libcoll::execute {

/// One exchange at a time; its memory stays from call to call. Messages go by route class 0, the fabric's default
/// routing. start(), then advance() after each Transport::progress() until over().
class DirectExchange final : public Driven, public transport::Waiter {
 public:
  /// Ranks whose blocks together are longer than this would gain nothing.
  static constexpr std::int64_t most_bytes = 64 * 1024;

  /// `peers[r]` reaches rank r; those of talks_to() are used. `transport` must outlive this.
  DirectExchange(transport::Transport& transport, std::int32_t rank, std::vector<transport::PeerId> peers);
  DirectExchange(const DirectExchange&) = delete;
  DirectExchange& operator=(const DirectExchange&) = delete;
  ~DirectExchange() = default;

  /// Whether a rank sends to or receives from another one, by rank.
  static std::vector<bool> talks_to(std::int32_t ranks, std::int32_t rank);

  /// `block` is this rank's, as long as everybody else's and not empty; it is copied. Precondition: the exchange before
  /// is over and has not failed.
  void start(std::span<const std::byte> block, transport::TagSpace tags);
  void advance() noexcept override;
  [[nodiscard]] bool over() const override { return failed_ || unfinished_ == 0; }
  [[nodiscard]] bool failed() const override { return failed_; }
  [[nodiscard]] bool lengths_differ() const override { return lengths_differ_; }
  void add_awaited(std::vector<std::int32_t>& senders) const override;
  [[nodiscard]] std::span<const transport::PeerId> peers() const override { return peers_; }
  [[nodiscard]] std::int64_t largest_message_bytes() const override { return largest_blocks_ * block_bytes_; }
  void completed(std::uint32_t index, bool ok) noexcept override;

  /// When it is over: a rank's block.
  [[nodiscard]] const std::byte* block_of(std::int32_t rank) const;
  [[nodiscard]] std::span<const ConcatenationMessage> messages() const { return messages_; }

  /// When it is over: the blocks reduced in the order of ranks, hence to the same bits everywhere; `output` may be the
  /// memory that the block came from.
  void reduce_into(std::byte* output, const Reducer& reducer, std::int64_t elements) const;
  /// When it is over: the blocks one after the other.
  void gather_into(std::byte* output) const;

 private:
  [[nodiscard]] std::int32_t ranks() const { return static_cast<std::int32_t>(peers_.size()); }
  [[nodiscard]] std::byte* place(std::int32_t index) { return blocks_.data() + index * block_bytes_; }
  [[nodiscard]] std::size_t bytes_of(const ConcatenationMessage& message) const {
    return static_cast<std::size_t>(message.blocks * block_bytes_);
  }
  void post_receives();
  void post_sends();
  void count(std::uint32_t index, transport::Posted posted) noexcept;

  transport::Transport& transport_;
  const std::int32_t rank_;
  const std::vector<transport::PeerId> peers_;  ///< by rank
  const std::vector<ConcatenationMessage> messages_;
  std::int64_t largest_blocks_ = 0;
  std::vector<transport::Completion> completions_;  ///< receives in the order of messages, then sends
  std::vector<std::byte> blocks_;                   ///< by place
  std::int64_t block_bytes_ = 0;
  transport::TagSpace tags_{0, 0};
  std::vector<std::uint8_t> is_missing_;  ///< by receive
  std::vector<std::int32_t> awaited_;     ///< receives that are not there, by round
  std::size_t next_send_ = 0;             ///< first message that was not sent yet
  std::size_t unfinished_ = 0;            ///< receives and sends
  bool failed_ = false;
  bool lengths_differ_ = false;
};

}  // namespace libcoll::execute
