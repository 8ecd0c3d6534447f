#include "libcoll/node/single_copy.h"

#include <algorithm>
#include <cstring>

#include "libcoll/node/call_blocks.h"
#include "libcoll/node/staging.h"

namespace libcoll::node {

using namespace execute;
using namespace schedule;

std::int64_t SingleCopy::least_bytes(Collective collective) const {
  return collective == Collective::allgather ? NeighbourMemory::least_block_bytes_of_gather(phases_.ranks())
                                             : NeighbourMemory::least_block_bytes;
}

bool SingleCopy::fits(const Call& call) const {
  return call.counts.empty() && !is_reduction(call.collective) && block_bytes(call) >= least_bytes(call.collective);
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
  const std::byte* const from = input_ + (shows_block_per_rank(call) ? first_byte : 0);
  if (from != call.output + first_byte) copy_bytes(call.output + first_byte, from, block_bytes(call));
}

void SingleCopy::read_blocks(const Call& call) {
  const std::int64_t block = block_bytes(call);
  const std::int64_t first_byte = shows_block_per_rank(call) ? phases_.rank() * block : 0;
  for (std::int32_t step = 1; step < phases_.ranks(); ++step) {
    // Not all from one at a time.
    const std::int32_t rank = (phases_.rank() + step) % phases_.ranks();
    char& is_read = is_read_[static_cast<std::size_t>(rank)];
    if (is_read != 0 || !phases_.has_come(rank)) continue;
    if (phases_.note(rank).number != shown_bytes(call, phases_.ranks())) continue;  // go_on() says so
    std::uint64_t from = 0;
    std::memcpy(&from, phases_.note(rank).data, sizeof from);
    from += static_cast<std::uint64_t>(first_byte);
    if (!neighbours_.read(rank, from, call.output + rank * block, block, phases_.phases().signs_of_life())) {
      failed_ = true;
      return;
    }
    is_read = 1;
  }
}

}  // namespace libcoll::node
