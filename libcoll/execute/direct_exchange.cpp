#include "libcoll/execute/direct_exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "planner/base/index.h"

namespace libcoll::execute {

using namespace transport;

DirectExchange::DirectExchange(Transport& transport, std::int32_t rank, std::vector<PeerId> peers)
    : transport_(transport),
      rank_(rank),
      peers_(std::move(peers)),
      messages_(concatenation(ranks(), rank, ports_for_small_blocks(ranks()))),
      completions_(2 * messages_.size()),
      awaited_(messages_.empty() ? 0 : at(messages_.back().round) + 1) {
  for (const ConcatenationMessage& message : messages_) {
    largest_blocks_ = std::max<std::int64_t>(largest_blocks_, message.blocks);
  }
  for (std::uint32_t index = 0; index < completions_.size(); ++index) completions_[index] = {this, index, 0};
}

std::vector<bool> DirectExchange::talks_to(std::int32_t ranks, std::int32_t rank) {
  return partners_in_concatenation(ranks, rank, ports_for_small_blocks(ranks));
}

void DirectExchange::start(std::span<const std::byte> block, TagSpace tags) {
  block_bytes_ = static_cast<std::int64_t>(block.size());
  tags_ = tags;
  const std::size_t bytes = block.size() * peers_.size();
  if (blocks_.size() < bytes) blocks_.resize(bytes);
  std::memcpy(place(0), block.data(), block.size());
  std::fill(awaited_.begin(), awaited_.end(), 0);
  is_missing_.assign(messages_.size(), 1);
  for (const ConcatenationMessage& message : messages_) ++awaited_[at(message.round)];
  next_send_ = 0;
  unfinished_ = completions_.size();
  if (std::exchange(lengths_differ_, false)) forget_lengths(completions_);
  // What the others wait for goes first.
  post_sends();
  post_receives();
  post_sends();
}

void DirectExchange::post_receives() {
  for (std::uint32_t index = 0; index < messages_.size(); ++index) {
    const ConcatenationMessage& message = messages_[index];
    count(index, transport_.receive(0, tags_.tag(message.from, index), place(message.place), bytes_of(message),
                                    &completions_[index]));
  }
}

/// As far as what they are made of is there.
void DirectExchange::post_sends() {
  while (next_send_ < messages_.size() && !failed_) {
    const ConcatenationMessage& message = messages_[next_send_];
    // A later round's may all be there before an earlier one's: whoever sent them got theirs sooner.
    for (std::int32_t round = 0; round < message.round; ++round) {
      if (awaited_[at(round)] > 0) return;
    }
    const auto index = static_cast<std::uint32_t>(next_send_++);
    const std::uint32_t completion = static_cast<std::uint32_t>(messages_.size()) + index;
    count(completion, transport_.send(peers_[at(message.to)], tags_.tag(rank_, index), place(0), bytes_of(message),
                                      &completions_[completion]));
  }
}

void DirectExchange::count(std::uint32_t index, Posted posted) noexcept {
  if (posted != Posted::pending) completed(index, posted == Posted::done);
}

void DirectExchange::completed(std::uint32_t index, bool ok) noexcept {
  --unfinished_;
  if (!ok) (completions_[index].other_length ? lengths_differ_ : failed_) = true;
  if (index >= messages_.size()) return;
  is_missing_[index] = 0;
  --awaited_[at(messages_[index].round)];
}

void DirectExchange::advance() noexcept { post_sends(); }

void DirectExchange::add_awaited(std::vector<std::int32_t>& senders) const {
  for (std::size_t index = 0; index < is_missing_.size(); ++index) {
    const std::int32_t sender = messages_[index].from;
    const bool is_known = std::find(senders.begin(), senders.end(), sender) != senders.end();
    if (is_missing_[index] != 0 && !is_known) senders.push_back(sender);
  }
}

const std::byte* DirectExchange::block_of(std::int32_t rank) const {
  return blocks_.data() + (rank - rank_ + ranks()) % ranks() * block_bytes_;
}

void DirectExchange::reduce_into(std::byte* output, const Reducer& reducer, std::int64_t elements) const {
  const std::byte* left = block_of(0);
  for (std::int32_t rank = 1; rank < ranks(); ++rank) {
    reducer.apply(reducer.context, output, left, block_of(rank), elements);
    left = output;
  }
}

void DirectExchange::gather_into(std::byte* output) const {
  for (std::int32_t rank = 0; rank < ranks(); ++rank) {
    std::memcpy(output + rank * block_bytes_, block_of(rank), at(block_bytes_));
  }
}

}  // namespace libcoll::execute
