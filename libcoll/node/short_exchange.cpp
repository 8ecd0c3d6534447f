#include "libcoll/node/short_exchange.h"

#include <array>
#include <functional>
#include <new>
#include <utility>

#include "libcoll/node/call_blocks.h"
#include "libcoll/node/staging.h"

namespace libcoll::node {

using namespace execute;
using namespace schedule;

namespace {

std::int32_t count_ranks(const std::vector<std::vector<std::int32_t>>& domains) {
  std::size_t ranks = 0;
  for (const std::vector<std::int32_t>& domain : domains) ranks += domain.size();
  return static_cast<std::int32_t>(ranks);
}

}  // namespace

/// Plain memory: written before the rank posts the call, read after the others have seen that.
struct alignas(alignment_bytes) ShortExchange::Slot {
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
  return call.counts.empty() && !calls_mpi(call) && block_bytes(call) <= most_bytes_;
}

std::byte* ShortExchange::data_of(std::int32_t rank, std::int64_t bytes) const {
  Phases::Note& note = phases_.note(rank);
  if (bytes <= static_cast<std::int64_t>(sizeof note.data)) return note.data;
  return slots_[static_cast<std::int32_t>(phases_.number() % 2) * ranks_ + rank].data;
}

const std::byte* ShortExchange::part_of(std::int32_t rank, const Call& call) const {
  if (rank == rank_ && keeps_own(call)) return own_part(call);
  const std::int64_t first_byte = shows_block_per_rank(call.collective) ? rank_ * block_bytes(call) : 0;
  return data_of(rank, shown_bytes(call, ranks_)) + first_byte;
}

const std::byte* ShortExchange::own_part(const Call& call) const {
  return call.input + (shows_block_per_rank(call.collective) ? rank_ * block_bytes(call) : 0);
}

bool ShortExchange::keeps_own(const Call& call) const {
  if (!is_reduction(call.collective)) return true;
  const std::byte* const own = own_part(call);
  const std::int64_t bytes = block_bytes(call);
  const std::less<> before;
  return !before(own, call.output + bytes) || !before(call.output, own + bytes);
}

void ShortExchange::begin(const Call& call) {
  const std::int64_t bytes = shown_bytes(call, ranks_);
  phases_.next().number = bytes;
  std::byte* const to = data_of(rank_, bytes);
  if (shows_block_per_rank(call.collective) && keeps_own(call)) {
    const std::int64_t own = rank_ * block_bytes(call);
    const std::int64_t next = own + block_bytes(call);
    copy_bytes(to, call.input, own);
    copy_bytes(to + next, call.input + next, bytes - next);
  } else {
    copy_bytes(to, call.input, bytes);
  }
  phases_.post();
  // While the others come.
  if (!is_reduction(call.collective)) copy_own_block(call);
}

bool ShortExchange::finish(const Call& call) const {
  if (!phases_.all_say(shown_bytes(call, ranks_))) return false;
  if (is_reduction(call.collective)) {
    reduce(call);
  } else {
    copy_blocks_of_others(call);
  }
  return true;
}

void ShortExchange::reduce(const Call& call) const {
  std::array<std::byte, most_bytes> of_domain;  // NOLINT(cppcoreguidelines-pro-type-member-init): written first
  const std::byte* sum = reduce_domain(call, domains_.front(), call.output);
  for (std::size_t domain = 1; domain < domains_.size(); ++domain) {
    const std::byte* more = reduce_domain(call, domains_[domain], of_domain.data());
    call.reducer.apply(call.reducer.context, call.output, sum, more, call.elements);
    sum = call.output;
  }
}

const std::byte* ShortExchange::reduce_domain(const Call& call, const std::vector<std::int32_t>& domain,
                                              std::byte* to) const {
  const std::byte* sum = part_of(domain.front(), call);
  for (std::size_t i = 1; i < domain.size(); ++i) {
    call.reducer.apply(call.reducer.context, to, sum, part_of(domain[i], call), call.elements);
    sum = to;
  }
  return sum;
}

void ShortExchange::copy_own_block(const Call& call) const {
  std::byte* const to = call.output + rank_ * block_bytes(call);
  if (to != own_part(call)) copy_bytes(to, own_part(call), block_bytes(call));
}

void ShortExchange::copy_blocks_of_others(const Call& call) const {
  const std::int64_t block = block_bytes(call);
  for (std::int32_t rank = 0; rank < ranks_; ++rank) {
    if (rank != rank_) copy_bytes(call.output + rank * block, part_of(rank, call), block);
  }
}

}  // namespace libcoll::node
