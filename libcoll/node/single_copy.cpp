#include "libcoll/node/single_copy.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "libcoll/node/call_blocks.h"
#include "libcoll/node/process_memory.h"
#include "libcoll/node/staging.h"

namespace libcoll::node {

using namespace execute;
using namespace schedule;

namespace {

/// At a time; the kernel holds the pages meanwhile.
constexpr std::int64_t read_piece_bytes = 512 * 1024;

bool overlap(const std::byte* one, std::int64_t bytes_of_one, const std::byte* other, std::int64_t bytes_of_other) {
  const std::less<> before;
  return before(one, other + bytes_of_other) && before(other, one + bytes_of_one);
}

/// Whether the result is written where others still read.
bool spoils_input(const Call& call, std::int32_t ranks) {
  if (call.collective != Collective::alltoall) return false;
  const std::int64_t bytes = shown_bytes(call, ranks);
  return overlap(call.input, bytes, call.output, bytes);
}

std::uint64_t at(std::uint64_t address, std::int64_t bytes) { return address + static_cast<std::uint64_t>(bytes); }

}  // namespace

SingleCopy::SingleCopy(CallPhases& phases, std::vector<pid_t> processes, bool is_crowded)
    : phases_(phases),
      processes_(std::move(processes)),
      least_bytes_(is_crowded ? least_bytes_of_the_crowded : least_bytes),
      is_read_(processes_.size()) {}

bool SingleCopy::fits(const Call& call) const {
  return call.counts.empty() && !is_reduction(call.collective) && block_bytes(call) >= least_bytes_;
}

void SingleCopy::begin(const Call& call) {
  has_read_ = failed_ = false;
  std::fill(is_read_.begin(), is_read_.end(), 0);
  is_read_[static_cast<std::size_t>(phases_.rank())] = 1;
  show(call);
  copy_own_block(call);
  read_blocks(call);
}

void SingleCopy::show(const Call& call) {
  const std::int64_t bytes = shown_bytes(call, phases_.ranks());
  input_ = call.input;
  if (spoils_input(call, phases_.ranks())) {
    input_copy_.assign(call.input, call.input + bytes);
    input_ = input_copy_.data();
  }
  Phases::Note& note = phases_.next();
  note.number = bytes;
  std::memcpy(note.data, &input_, sizeof input_);
  phases_.post();
}

SingleCopy::State SingleCopy::go_on(const Call& call) {
  if (has_read_) {
    input_copy_ = {};
    return State::over;
  }
  if (!phases_.all_say(shown_bytes(call, phases_.ranks()))) return State::lengths_differ;
  read_blocks(call);
  if (failed_) return State::failed;
  has_read_ = true;
  // The others may write to what this rank has read.
  static_cast<void>(phases_.next());
  phases_.post();
  return State::goes_on;
}

void SingleCopy::copy_own_block(const Call& call) const {
  const std::int64_t first_byte = phases_.rank() * block_bytes(call);
  const std::byte* const from = input_ + (shows_block_per_rank(call.collective) ? first_byte : 0);
  if (from != call.output + first_byte) copy_bytes(call.output + first_byte, from, block_bytes(call));
}

void SingleCopy::read_blocks(const Call& call) {
  const std::int64_t block = block_bytes(call);
  const std::int64_t first_byte = shows_block_per_rank(call.collective) ? phases_.rank() * block : 0;
  for (std::int32_t step = 1; step < phases_.ranks(); ++step) {
    // Not all from one at a time.
    const std::int32_t rank = (phases_.rank() + step) % phases_.ranks();
    char& is_read = is_read_[static_cast<std::size_t>(rank)];
    if (is_read != 0 || !phases_.has_come(rank)) continue;
    if (phases_.note(rank).number != shown_bytes(call, phases_.ranks())) continue;  // go_on() says so
    std::uint64_t from = 0;
    std::memcpy(&from, phases_.note(rank).data, sizeof from);
    read(rank, at(from, first_byte), call.output + rank * block, block);
    is_read = 1;
  }
}

void SingleCopy::read(std::int32_t rank, std::uint64_t from, std::byte* to, std::int64_t bytes) {
  const pid_t process = processes_[static_cast<std::size_t>(rank)];
  for (std::int64_t done = 0; done < bytes && !failed_; done += read_piece_bytes) {
    failed_ = !read_memory(process, at(from, done), to + done, std::min(read_piece_bytes, bytes - done));
    phases_.phases().signs_of_life().fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace libcoll::node
