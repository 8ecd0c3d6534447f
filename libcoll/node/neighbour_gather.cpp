#include "libcoll/node/neighbour_gather.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "libcoll/node/call_blocks.h"
#include "libcoll/node/staging.h"

namespace libcoll::node {

using namespace execute;
using namespace schedule;

namespace {

/// Where a rank has its block, and how long it is.
struct ShownBlock {
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
};
static_assert(sizeof(ShownBlock) <= sizeof(Phases::Note::data));

std::int64_t all_bytes(const Call& call, std::int64_t ranks) {
  if (call.counts.empty()) return ranks * block_bytes(call);
  return std::accumulate(call.counts.begin(), call.counts.end(), std::int64_t{0}) * call.element_bytes;
}

}  // namespace

bool NeighbourGather::serves(const RankLayout& layout, const Call& call) {
  const auto ranks = static_cast<std::int64_t>(layout.node_of_rank.size());
  return call.collective == Collective::allgather && !call.is_rooted && layout.nodes.size() == 1 && ranks > 1 &&
         all_bytes(call, ranks) >= ranks * NeighbourMemory::least_block_bytes_of_gather(ranks);
}

NeighbourGather::NeighbourGather(const RankLayout& layout, const NeighbourMemory& neighbours, std::int32_t rank,
                                 Call call)
    : layout_(layout), neighbours_(neighbours), rank_(rank), call_(std::move(call)) {}

RoundOutline NeighbourGather::outline() const {
  RoundOutline outline;
  outline.locals = layout_.most_ranks;
  outline.local = layout_.local_of_rank[static_cast<std::size_t>(rank_)];
  outline.reads_neighbours = true;
  return outline;
}

std::int64_t NeighbourGather::bytes_of(std::int32_t rank) const {
  return call_.counts.empty() ? block_bytes(call_) : call_.counts[static_cast<std::size_t>(rank)] * call_.element_bytes;
}

std::byte* NeighbourGather::place_of(std::int32_t rank) const {
  return call_.output +
         (call_.counts.empty() ? rank * block_bytes(call_) : call_.output_offsets[static_cast<std::size_t>(rank)]);
}

void NeighbourGather::show(Phases::Note& note) {
  const ShownBlock block{reinterpret_cast<std::uint64_t>(call_.input), bytes_of(rank_)};
  std::memcpy(note.data, &block, sizeof block);
}

std::optional<std::int64_t> NeighbourGather::read_neighbours(std::span<const Phases::Note> shown,
                                                             std::atomic<std::uint32_t>& signs_of_life) {
  const std::vector<std::int32_t>& ranks = layout_.nodes.front().ranks;
  const auto own = static_cast<std::size_t>(layout_.local_of_rank[static_cast<std::size_t>(rank_)]);
  std::int64_t moved = 0;
  for (std::size_t step = 1; step < ranks.size(); ++step) {
    // Not all from one at a time.
    const std::size_t local = (own + step) % ranks.size();
    ShownBlock block;
    std::memcpy(&block, shown[local].data, sizeof block);
    const std::int64_t bytes = std::min(block.bytes, bytes_of(ranks[local]));
    if (bytes == 0) continue;
    if (!neighbours_.read(ranks[local], block.address, place_of(ranks[local]), bytes, signs_of_life)) {
      return std::nullopt;
    }
    moved += 2 * bytes;
  }
  return moved;
}

std::int64_t NeighbourGather::copy_out() {
  std::byte* const to = place_of(rank_);
  return to == call_.input ? 0 : copy_bytes(to, call_.input, bytes_of(rank_));
}

}  // namespace libcoll::node
