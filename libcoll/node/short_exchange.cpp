#include "libcoll/node/short_exchange.h"

#include <array>
#include <new>
#include <utility>

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

std::int32_t count_ranks(const std::vector<std::vector<std::int32_t>>& domains) {
  std::size_t ranks = 0;
  for (const std::vector<std::int32_t>& domain : domains) ranks += domain.size();
  return static_cast<std::int32_t>(ranks);
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

ShortExchange::ShortExchange(std::byte* memory, std::vector<std::vector<std::int32_t>> domains, std::int32_t rank)
    : domains_(std::move(domains)),
      ranks_(count_ranks(domains_)),
      rank_(rank),
      most_bytes_(most_bytes_of(ranks_)),
      slots_(std::launder(reinterpret_cast<Slot*>(memory + Phases::bytes(ranks_)))),
      phases_(memory, ranks_, rank) {}

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
  std::array<std::byte, most_bytes> of_domain;  // NOLINT(cppcoreguidelines-pro-type-member-init): written first
  const std::byte* sum = reduce_domain(call, domains_.front(), first_byte, call.output);
  for (std::size_t domain = 1; domain < domains_.size(); ++domain) {
    const std::byte* more = reduce_domain(call, domains_[domain], first_byte, of_domain.data());
    call.reducer.apply(call.reducer.context, call.output, sum, more, call.elements);
    sum = call.output;
  }
}

const std::byte* ShortExchange::reduce_domain(const Call& call, const std::vector<std::int32_t>& domain,
                                              std::int64_t first_byte, std::byte* to) const {
  const std::byte* sum = slot(domain.front()).data + first_byte;
  for (std::size_t i = 1; i < domain.size(); ++i) {
    call.reducer.apply(call.reducer.context, to, sum, slot(domain[i]).data + first_byte, call.elements);
    sum = to;
  }
  return sum;
}

void ShortExchange::copy_blocks(const Call& call, std::int64_t first_byte) const {
  const std::int64_t block = block_bytes(call);
  for (std::int32_t rank = 0; rank < ranks_; ++rank) {
    copy_bytes(call.output + rank * block, slot(rank).data + first_byte, block);
  }
}

}  // namespace libcoll::node
