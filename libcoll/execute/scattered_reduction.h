// Allreduces of middling size from rank to rank, without a plan: the vector is reduced in parts, one on each rank, by
// the concatenation of Bruck et al. run backwards, and the parts are then concatenated. For ranks that are a power of
// two it is Rabenseifner's scheme (Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, section 4.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libcoll/execute/concatenation.h"
#include "libcoll/execute/driven.h"
#include "libcoll/execute/execution.h"

namespace libcoll::execute {

/// One allreduce at a time; its memory stays from call to call. Messages go by route class 0, the fabric's default
/// routing. start(), then advance() after each Transport::progress() until over(). Each part is reduced on one rank in
/// an order that does not depend on arrival: the result has the same bits everywhere and from run to run.
class ScatteredReduction final : public Driven, public transport::Waiter {
 public:
  /// Longer vectors are bound by bandwidth, for which there are plans.
  static constexpr std::int64_t most_bytes = 256 * 1024;

  /// `peers[r]` reaches rank r; those of talks_to() are used. `transport` must outlive this.
  ScatteredReduction(transport::Transport& transport, std::int32_t rank, std::vector<transport::PeerId> peers);
  ScatteredReduction(const ScatteredReduction&) = delete;
  ScatteredReduction& operator=(const ScatteredReduction&) = delete;
  ~ScatteredReduction() = default;

  /// Whether a rank sends to or receives from another one, by rank.
  static std::vector<bool> talks_to(std::int32_t ranks, std::int32_t rank);

  /// `input` has as many elements, one at least, as everybody else's; it is copied. Precondition: the call before is
  /// over and has not failed.
  void start(const std::byte* input, std::int64_t elements, std::int64_t element_bytes, const Reducer& reducer,
             transport::TagSpace tags);
  void advance() noexcept override;
  [[nodiscard]] bool over() const override { return failed_ || (next_step_ == step_count() && unfinished_ == 0); }
  [[nodiscard]] bool failed() const override { return failed_; }
  [[nodiscard]] bool lengths_differ() const override { return lengths_differ_; }
  void add_awaited(std::vector<std::int32_t>& senders) const override;
  [[nodiscard]] std::span<const transport::PeerId> peers() const override { return peers_; }
  [[nodiscard]] std::int64_t largest_message_bytes() const override { return largest_blocks_ * block_bytes_; }
  void completed(std::uint32_t index, bool ok) noexcept override;

  /// When it is over: the result, which may go to where the input came from.
  void copy_into(std::byte* output) const;

  /// Each goes once forwards and once backwards, from its receiver to its sender, with so many bytes in this call.
  [[nodiscard]] std::span<const ConcatenationMessage> messages() const { return messages_; }
  [[nodiscard]] std::int64_t bytes_of(const ConcatenationMessage& message) const {
    return message.blocks * block_bytes_;
  }

 private:
  [[nodiscard]] std::int32_t ranks() const { return static_cast<std::int32_t>(peers_.size()); }
  /// First the rounds of the concatenation backwards, then forwards.
  [[nodiscard]] std::int32_t step_count() const { return 2 * rounds_; }
  [[nodiscard]] bool is_backwards(std::int32_t step) const { return step < rounds_; }
  [[nodiscard]] std::int32_t round_of(std::int32_t step) const {
    return is_backwards(step) ? rounds_ - 1 - step : step - rounds_;
  }
  /// Bytes of the vector that a place stands for, the last ones may have none.
  struct Slice {
    std::int64_t begin = 0;
    std::int64_t bytes = 0;
  };
  [[nodiscard]] Slice slice_at(std::int32_t place) const;
  [[nodiscard]] std::byte* at_place(std::vector<std::byte>& blocks, std::int32_t place) const {
    return blocks.data() + place * block_bytes_;
  }
  void post_receives();
  void post_sends(std::int32_t step);
  /// All of the step's messages are there.
  void finish(std::int32_t step) noexcept;
  void count(std::uint32_t index, transport::Posted posted) noexcept;

  transport::Transport& transport_;
  const std::int32_t rank_;
  const std::vector<transport::PeerId> peers_;  ///< by rank
  const std::vector<ConcatenationMessage> messages_;
  const std::int32_t rounds_;
  std::int64_t largest_blocks_ = 0;
  /// Receives backwards and forwards in the order of messages, then sends likewise.
  std::vector<transport::Completion> completions_;
  std::vector<std::byte> sums_;    ///< by place: of this rank's input and what came in for it
  std::vector<std::byte> parts_;   ///< what came in, at the places that its sender has it at
  std::vector<std::byte> result_;  ///< by place
  std::int64_t block_bytes_ = 0;   ///< all as long as the longest
  std::int64_t vector_bytes_ = 0;
  std::int64_t element_bytes_ = 0;
  Reducer reducer_;
  transport::TagSpace tags_{0, 0};
  std::vector<std::uint8_t> is_missing_;  ///< by receive
  std::vector<std::int32_t> awaited_;     ///< receives that are not there, by step
  std::int32_t next_step_ = 0;            ///< whose messages were not sent yet
  std::size_t unfinished_ = 0;            ///< receives and sends
  bool failed_ = false;
  bool lengths_differ_ = false;
};

}  // namespace libcoll::execute
