#include "libcoll/execute/scattered_reduction.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "planner/base/index.h"

namespace libcoll::execute {

using namespace transport;

namespace {

/// A rank sends to one other at a time: where vectors are not tiny, messages cost more than rounds.
constexpr std::int32_t ports = 1;

}  // namespace

ScatteredReduction::ScatteredReduction(Transport& transport, std::int32_t rank, std::vector<PeerId> peers)
    : transport_(transport),
      rank_(rank),
      peers_(std::move(peers)),
      messages_(concatenation(ranks(), rank, ports)),
      rounds_(concatenation_rounds(ranks(), ports)),
      completions_(4 * messages_.size()),
      awaited_(at(2 * rounds_)) {
  for (const ConcatenationMessage& message : messages_) {
    largest_blocks_ = std::max<std::int64_t>(largest_blocks_, message.blocks);
  }
  for (std::uint32_t index = 0; index < completions_.size(); ++index) completions_[index] = {this, index, 0};
}

std::vector<bool> ScatteredReduction::talks_to(std::int32_t ranks, std::int32_t rank) {
  return partners_in_concatenation(ranks, rank, ports);
}

ScatteredReduction::Slice ScatteredReduction::slice_at(std::int32_t place) const {
  const std::int64_t begin = std::min((rank_ + place) % ranks() * block_bytes_, vector_bytes_);
  return {begin, std::min(block_bytes_, vector_bytes_ - begin)};
}

void ScatteredReduction::start(const std::byte* input, std::int64_t elements, std::int64_t element_bytes,
                               const Reducer& reducer, TagSpace tags) {
  element_bytes_ = element_bytes;
  vector_bytes_ = elements * element_bytes;
  block_bytes_ = (elements + ranks() - 1) / ranks() * element_bytes;
  reducer_ = reducer;
  tags_ = tags;
  const std::size_t bytes = at(block_bytes_ * ranks());
  for (std::vector<std::byte>* blocks : {&sums_, &parts_, &result_}) {
    if (blocks->size() < bytes) blocks->resize(bytes);
  }
  for (std::int32_t place = 0; place < ranks(); ++place) {
    const Slice slice = slice_at(place);
    std::memcpy(at_place(sums_, place), input + slice.begin, at(slice.bytes));
    // What is reduced along with it has to be numbers, too.
    std::memset(at_place(sums_, place) + slice.bytes, 0, at(block_bytes_ - slice.bytes));
  }
  std::fill(awaited_.begin(), awaited_.end(), 0);
  is_missing_.assign(2 * messages_.size(), 1);
  for (const ConcatenationMessage& message : messages_) {
    ++awaited_[at(rounds_ - 1 - message.round)];
    ++awaited_[at(rounds_ + message.round)];
  }
  next_step_ = 0;
  unfinished_ = completions_.size();
  if (std::exchange(lengths_differ_, false)) forget_lengths(completions_);
  post_receives();
  advance();
}

/// Backwards, what a rank receives in the concatenation it sends, and the other way round.
void ScatteredReduction::post_receives() {
  const auto count_of_messages = static_cast<std::uint32_t>(messages_.size());
  std::int32_t place = 0;  // in parts_, where every message has its own
  for (std::uint32_t index = 0; index < count_of_messages; ++index) {
    const ConcatenationMessage& message = messages_[index];
    const std::size_t bytes = at(bytes_of(message));
    const std::uint32_t forwards = count_of_messages + index;
    count(index,
          transport_.receive(0, tags_.tag(message.to, index), at_place(parts_, place), bytes, &completions_[index]));
    count(forwards, transport_.receive(0, tags_.tag(message.from, forwards), at_place(result_, message.place), bytes,
                                       &completions_[forwards]));
    place += message.blocks;
  }
}

void ScatteredReduction::post_sends(std::int32_t step) {
  const auto count_of_messages = static_cast<std::uint32_t>(messages_.size());
  const bool backwards = is_backwards(step);
  for (std::uint32_t message_index = 0; message_index < count_of_messages && !failed_; ++message_index) {
    const ConcatenationMessage& message = messages_[message_index];
    if (message.round != round_of(step)) continue;
    const std::uint32_t index = message_index + (backwards ? 0 : count_of_messages);
    const std::uint32_t completion = 2 * count_of_messages + index;
    const std::byte* blocks = backwards ? at_place(sums_, message.place) : result_.data();
    const PeerId peer = peers_[at(backwards ? message.from : message.to)];
    count(completion,
          transport_.send(peer, tags_.tag(rank_, index), blocks, at(bytes_of(message)), &completions_[completion]));
  }
}

void ScatteredReduction::finish(std::int32_t step) noexcept {
  if (!is_backwards(step)) return;
  std::int32_t place = 0;
  for (const ConcatenationMessage& message : messages_) {
    if (message.round == round_of(step)) {
      reducer_.apply(reducer_.context, sums_.data(), sums_.data(), at_place(parts_, place),
                     bytes_of(message) / element_bytes_);
    }
    place += message.blocks;
  }
  if (step == rounds_ - 1) std::memcpy(result_.data(), sums_.data(), at(block_bytes_));
}

void ScatteredReduction::advance() noexcept {
  while (next_step_ < step_count() && !failed_) {
    if (next_step_ > 0) {
      if (awaited_[at(next_step_ - 1)] > 0) return;
      finish(next_step_ - 1);
    }
    post_sends(next_step_++);
  }
}

void ScatteredReduction::add_awaited(std::vector<std::int32_t>& senders) const {
  for (std::size_t index = 0; index < is_missing_.size(); ++index) {
    const bool backwards = index < messages_.size();
    const ConcatenationMessage& message = messages_[backwards ? index : index - messages_.size()];
    const std::int32_t sender = backwards ? message.to : message.from;
    const bool is_known = std::find(senders.begin(), senders.end(), sender) != senders.end();
    if (is_missing_[index] != 0 && !is_known) senders.push_back(sender);
  }
}

void ScatteredReduction::count(std::uint32_t index, Posted posted) noexcept {
  if (posted != Posted::pending) completed(index, posted == Posted::done);
}

void ScatteredReduction::completed(std::uint32_t index, bool ok) noexcept {
  --unfinished_;
  if (!ok) (completions_[index].other_length ? lengths_differ_ : failed_) = true;
  const std::size_t receives = 2 * messages_.size();
  if (index >= receives) return;
  is_missing_[index] = 0;
  const bool backwards = index < messages_.size();
  const std::int32_t round = messages_[backwards ? index : index - messages_.size()].round;
  --awaited_[at(backwards ? rounds_ - 1 - round : rounds_ + round)];
}

void ScatteredReduction::copy_into(std::byte* output) const {
  for (std::int32_t place = 0; place < ranks(); ++place) {
    const Slice slice = slice_at(place);
    std::memcpy(output + slice.begin, result_.data() + place * block_bytes_, at(slice.bytes));
  }
}

}  // namespace libcoll::execute
