#include "libcoll/node/short_exchange.h"

#include <algorithm>
#include <functional>
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

std::size_t ShortExchange::bytes(std::int32_t ranks) {
  return Phases::bytes(ranks) + 2 * static_cast<std::size_t>(half_bytes(ranks));
}

std::int64_t ShortExchange::half_bytes(std::int32_t ranks) {
  return ranks == 0 ? 0 : std::max(ranks * most_bytes, 2 * most_broadcast_bytes);
}

std::int64_t ShortExchange::most_bytes_to_root(std::int32_t ranks) {
  if (ranks > most_ranks) return 0;
  constexpr std::int64_t most_more = 48 * 1024;
  const std::int64_t that_fit = half_bytes(ranks) / ranks / alignment_bytes * alignment_bytes;
  const std::int64_t shares = (ranks - 1) * (ranks - 2);
  return shares == 0 ? that_fit : std::min(that_fit, most_more * ranks / shares);
}

ShortExchange::ShortExchange(std::byte* memory, std::vector<std::vector<std::int32_t>> domains, std::int32_t rank)
    : domains_(std::move(domains)),
      ranks_(count_ranks(domains_)),
      rank_(rank),
      most_bytes_(most_bytes_of(ranks_)),
      most_bytes_to_root_(most_bytes_to_root(ranks_)),
      half_bytes_(half_bytes(ranks_)),
      halves_(memory + Phases::bytes(ranks_)),
      of_domain_(domains_.size() < 2 ? 0 : static_cast<std::size_t>(std::max(most_bytes_, most_bytes_to_root_))),
      phases_(memory, ranks_, rank) {}

bool ShortExchange::fits(const Call& call) const {
  if (calls_mpi(call)) return false;
  if (call.is_rooted) {
    return block_bytes(call) <= (is_reduction(call.collective) ? most_bytes_to_root_ : most_broadcast_bytes);
  }
  return call.counts.empty() && block_bytes(call) <= most_bytes_;
}

std::byte* ShortExchange::data_of(std::int32_t rank, const Call& call) const {
  const std::int64_t bytes = shown_bytes(call, ranks_);
  Phases::Note& note = phases_.note(rank);
  if (bytes <= static_cast<std::int64_t>(sizeof note.data)) return note.data;
  std::byte* const half = halves_ + phases_.number() % 2 * half_bytes_;
  if (!call.is_rooted) return half + rank * most_bytes;
  if (!is_reduction(call.collective)) return half;  // nobody shows anything but the root
  return half + rank * ((bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes);
}

const std::byte* ShortExchange::part_of(std::int32_t rank, const Call& call) const {
  if (rank == rank_ && keeps_own(call)) return own_part(call);
  const std::int64_t first_byte = shows_block_per_rank(call) ? rank_ * block_bytes(call) : 0;
  return data_of(rank, call) + first_byte;
}

const std::byte* ShortExchange::own_part(const Call& call) const {
  return call.input + (shows_block_per_rank(call) ? rank_ * block_bytes(call) : 0);
}

bool ShortExchange::keeps_own(const Call& call) const {
  if (!is_reduction(call.collective)) return true;
  const std::byte* const own = own_part(call);
  const std::int64_t bytes = block_bytes(call);
  const std::less<> before;
  return !before(own, call.output + bytes) || !before(call.output, own + bytes);
}

bool ShortExchange::shows_own(const Call& call) const {
  if (!call.is_rooted) return true;
  const bool is_root = rank_ == call.root;
  return is_reduction(call.collective) ? !is_root || !keeps_own(call) : is_root;
}

void ShortExchange::begin(const Call& call) {
  const std::int64_t bytes = shown_bytes(call, ranks_);
  phases_.next().number = bytes;
  if (shows_own(call)) show(call, data_of(rank_, call), bytes);
  phases_.post();
  // While the others come.
  if (!is_reduction(call.collective) && !call.is_rooted) copy_own_block(call);
}

void ShortExchange::show(const Call& call, std::byte* to, std::int64_t bytes) const {
  if (shows_block_per_rank(call) && keeps_own(call)) {
    const std::int64_t own = rank_ * block_bytes(call);
    const std::int64_t next = own + block_bytes(call);
    copy_bytes(to, call.input, own);
    copy_bytes(to + next, call.input + next, bytes - next);
  } else {
    copy_bytes(to, call.input, bytes);
  }
}

bool ShortExchange::finish(const Call& call) {
  if (!phases_.all_say(shown_bytes(call, ranks_))) return false;
  if (is_reduction(call.collective)) {
    if (!call.is_rooted || rank_ == call.root) reduce(call);
  } else if (call.is_rooted) {
    if (rank_ != call.root) copy_bytes(call.output, part_of(call.root, call), block_bytes(call));
  } else {
    copy_blocks_of_others(call);
  }
  return true;
}

void ShortExchange::reduce(const Call& call) {
  const std::byte* sum = reduce_domain(call, domains_.front(), call.output);
  for (std::size_t domain = 1; domain < domains_.size(); ++domain) {
    const std::byte* more = reduce_domain(call, domains_[domain], of_domain_.data());
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
