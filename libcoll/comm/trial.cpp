#include "libcoll/comm/trial.h"

#include <algorithm>

namespace libcoll::comm {

using namespace execute;
using namespace schedule;

namespace {

constexpr std::int64_t word_bytes = 8;
constexpr std::int64_t largest_vector = 256 * 1024;
constexpr std::int64_t largest_buffer = 4 * 1024 * 1024;  ///< of all blocks together

void or_words(const void*, void* destination, const void* left, const void* right, std::int64_t elements) noexcept {
  auto* to = static_cast<std::uint64_t*>(destination);
  const auto* a = static_cast<const std::uint64_t*>(left);
  const auto* b = static_cast<const std::uint64_t*>(right);
  for (std::int64_t i = 0; i < elements; ++i) to[i] = a[i] | b[i];
}

}  // namespace

Trial::Trial(const Learner& learner, CallKind kind)
    : learner_(learner), kind_(kind), ranks_(learner.communicator.size()) {
  const auto words = static_cast<std::size_t>(ranks_ * largest_bytes() / word_bytes);
  input_.resize(words);
  output_.resize(words);
  learner.communicator.keep_record(nullptr);
}

Trial::~Trial() { learner_.communicator.keep_record(learner_.record); }

std::int64_t Trial::largest_bytes() const {
  const std::int64_t largest = learner_.communicator.needs_messages(kind_) ? largest_vector : largest_buffer;
  return std::max(word_bytes, std::min(largest, largest_buffer / ranks_));
}

std::int64_t Trial::smallest_bytes() const {
  const bool is_of_vector = kind_ == CallKind::allreduce || has_known_blocks(kind_);
  return std::min(is_of_vector ? word_bytes * ranks_ : word_bytes, largest_bytes());
}

bool Trial::own(std::int64_t bytes, Protocol selected) {
  Call call;
  call.collective = *collective_of(kind_);
  call.input = input();
  call.output = output();
  call.elements = bytes / word_bytes;
  call.element_bytes = word_bytes;
  call.reducer = {&or_words, nullptr};
  call.is_rooted = is_rooted(kind_);
  if (call.is_rooted) {
    call.counts.assign(static_cast<std::size_t>(ranks_), 0);
    call.counts.front() = call.elements;
    offsets_of(call).assign(static_cast<std::size_t>(ranks_), 0);
    if (kind_ == CallKind::bcast) call.input = call.output;
  } else if (has_known_blocks(kind_)) {
    const std::int64_t block = call.elements / ranks_;
    call.counts.assign(static_cast<std::size_t>(ranks_), block);
    for (std::int64_t rank = 0; rank < ranks_; ++rank) offsets_of(call).push_back(rank * block * word_bytes);
  }
  return learner_.communicator.run(call, learner_.hook, selected);
}

/// Where the blocks lie that all ranks know.
std::vector<std::int64_t>& Trial::offsets_of(Call& call) {
  return call.collective == Collective::allgather ? call.output_offsets : call.input_offsets;
}

bool Trial::native(std::int64_t bytes) { return learner_.native(kind_, input(), output(), bytes); }

const std::byte* Trial::input() const { return reinterpret_cast<const std::byte*>(input_.data()); }
std::byte* Trial::output() { return reinterpret_cast<std::byte*>(output_.data()); }

}  // namespace libcoll::comm
