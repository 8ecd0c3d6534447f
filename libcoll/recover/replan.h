// New plans for a communicator while its calls go on: made by one rank, handed to the others, and gone by from a call
// on that all of them agree on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "libcoll/recover/agreement_tree.h"
#include "libcoll/recover/replan_participant.h"
#include "libcoll/transport/tag_space.h"
#include "libcoll/transport/transport.h"

namespace libcoll::recover {

/// The latest place that some rank has come to, of all that there are: nobody has begun what comes after.
Switch agreed_switch(std::span<const Standing> ranks);

/// The first rank gives orders down a tree and has answers to most of them come up, so that everybody is at the same
/// order. Nobody has to wait for it but those whom it holds up: between two messages of each.
class Replan final : public transport::Waiter {
 public:
  /// `places` by participant, 0 is the first; `self` is this one. `tags` gives those of one more order, the same on all
  /// ranks. Messages have at most `piece_bytes` bytes. All arguments must outlive it.
  Replan(ReplanParticipant& party, transport::Transport& transport, std::vector<TreePlace> places, int self,
         topology::NodeId nodes, std::int64_t piece_bytes, std::function<transport::TagSpace()> tags);

  /// Does what need not be waited for.
  void advance();
  [[nodiscard]] bool over() const { return stage_ == Stage::over; }
  /// A message could not be delivered: it will never be over.
  [[nodiscard]] bool failed() const { return failed_; }
  void completed(std::uint32_t index, bool ok) noexcept override;

 private:
  enum class Word : std::uint32_t {
    plan,     ///< here is one
    hold,     ///< what begins, and say how far you have come
    release,  ///< it; somebody has asked for more plans meanwhile
    go,       ///< by the new plans from there on
  };
  struct Order {
    Word word = Word::release;
    std::uint32_t collective = 0;
    std::uint64_t bytes = 0;
  };
  struct Answer {
    std::uint64_t good = 1;
    std::uint64_t bytes = 0;
  };
  enum class Stage : std::uint8_t { idle, ordered, informed, obeyed, answered, heard, told, over };

  [[nodiscard]] bool leads() const { return self_ == 0; }
  [[nodiscard]] bool is_answered() const { return order_.word <= Word::hold; }
  void next();
  /// The first rank's; false: there is nothing to say now.
  bool decide();
  bool give(Word word, std::uint32_t collective = 0, std::vector<std::byte> body = {});
  void conclude();
  void obey();
  void end_order();
  void send(int to, std::uint32_t& number, const void* data, std::size_t bytes);
  void receive(int from, std::uint32_t& number, void* data, std::size_t bytes);
  /// `number`: of the message among those of this order that go the same way; counted up.
  void send_pieces(int to, std::uint32_t& number, std::span<const std::byte> data);
  void receive_pieces(int from, std::uint32_t& number, std::span<std::byte> data);
  [[nodiscard]] std::uint64_t tag(int from, int to, std::uint32_t number) const;
  transport::Completion& start();
  void count(transport::Posted posted);

  ReplanParticipant& party_;
  transport::Transport& transport_;
  const std::vector<TreePlace> places_;
  const int self_;
  const topology::NodeId nodes_;
  const std::int64_t piece_bytes_;
  const std::function<transport::TagSpace()> tags_;
  std::vector<int> children_;

  Stage stage_ = Stage::idle;
  std::optional<transport::TagSpace> space_;  ///< of the order
  Order order_;
  std::vector<std::byte> body_;
  Answer own_;
  std::vector<std::byte> own_body_;  ///< with those of all below
  std::vector<Answer> answers_;      ///< by child
  std::vector<std::vector<std::byte>> answer_bodies_;
  std::uint32_t down_ = 0;                         ///< messages from above so far
  std::vector<std::uint32_t> up_;                  ///< from each child
  std::deque<transport::Completion> completions_;  ///< of the stage
  std::int64_t waiting_ = 0;
  bool failed_ = false;

  // The first rank's.
  std::uint32_t considered_ = 0;
  std::uint32_t accepted_ = 0;
  std::uint32_t asked_ = 0;
  Switch agreed_;
};

}  // namespace libcoll::recover
