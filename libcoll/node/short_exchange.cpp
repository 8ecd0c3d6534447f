#include "libcoll/node/short_exchange.h"

#include <algorithm>
#include <new>

#include "libcoll/node/staging.h"

namespace libcoll::node {

using namespace execute;
using namespace schedule;

namespace {

/// Where processes share a processor, longer looking keeps from running whom it waits for.
constexpr int looks_in_a_row = 10;

/// Lets the processor's other thread run.
void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

bool is_reduction(Collective collective) {
  return collective == Collective::allreduce || collective == Collective::reduce_scatter;
}

/// Whether a rank shows a block for each rank, of which that one reads its own.
bool shows_block_per_rank(Collective collective) {
  return collective == Collective::alltoall || collective == Collective::reduce_scatter;
}

std::int64_t block_bytes(const Call& call) { return call.elements * call.element_bytes; }

}  // namespace

/// Plain memory: written before the rank posts the call, read after the others have seen that.
struct alignas(alignment_bytes) ShortExchange::Slot {
  std::int64_t bytes;
  std::int64_t unused;  ///< data is aligned as elements are
  std::byte data[most_bytes];
};

std::size_t ShortExchange::bytes(std::int32_t ranks) {
  return Phases::bytes(ranks) + 2 * static_cast<std::size_t>(ranks) * sizeof(Slot);
}

ShortExchange::ShortExchange(std::byte* memory, std::int32_t ranks, std::int32_t rank)
    : slots_(std::launder(reinterpret_cast<Slot*>(memory + Phases::bytes(ranks)))),
      phases_(memory, ranks, rank),
      ranks_(ranks),
      rank_(rank),
      most_bytes_(most_bytes_of(ranks)) {}

bool ShortExchange::fits(const Call& call) const {
  return call.counts.empty() && !call.reducer.calls_mpi && block_bytes(call) <= most_bytes_;
}

std::int64_t ShortExchange::shown_bytes(const Call& call) const {
  return block_bytes(call) * (shows_block_per_rank(call.collective) ? ranks_ : 1);
}

ShortExchange::Slot& ShortExchange::slot(std::int32_t rank) const {
  return slots_[static_cast<std::int32_t>(number_ % 2) * ranks_ + rank];
}

void ShortExchange::begin(const Call& call) {
  ++number_;
  Slot& own = slot(rank_);
  own.bytes = shown_bytes(call);
  copy_bytes(own.data, call.input, own.bytes);
  phases_.post(number_);
}

bool ShortExchange::all_came_soon() const {
  for (int look = 0; look < looks_in_a_row; ++look) {
    if (phases_.have_come(awaited())) return true;
    relax();
  }
  return false;
}

bool ShortExchange::finish(const Call& call) const {
  const std::int64_t shown = shown_bytes(call);
  for (std::int32_t rank = 0; rank < ranks_; ++rank) {
    if (slot(rank).bytes != shown) return false;
  }
  const std::int64_t first_byte = shows_block_per_rank(call.collective) ? rank_ * block_bytes(call) : 0;
  if (is_reduction(call.collective)) {
    reduce(call, first_byte);
  } else {
    copy_blocks(call, first_byte);
  }
  return true;
}

void ShortExchange::reduce(const Call& call, std::int64_t first_byte) const {
  const Reducer& reducer = call.reducer;
  const std::byte* sum = slot(0).data + first_byte;
  for (std::int32_t rank = 1; rank < ranks_; ++rank) {
    reducer.apply(reducer.context, call.output, sum, slot(rank).data + first_byte, call.elements);
    sum = call.output;
  }
}

void ShortExchange::copy_blocks(const Call& call, std::int64_t first_byte) const {
  const std::int64_t block = block_bytes(call);
  for (std::int32_t rank = 0; rank < ranks_; ++rank) {
    copy_bytes(call.output + rank * block, slot(rank).data + first_byte, block);
  }
}

}  // namespace libcoll::node
