#include "libcoll/node/staging.h"

#include <algorithm>

namespace libcoll::node {

using namespace execute;
using namespace schedule;
using namespace topology;

namespace {

/// Of one rank's part.
constexpr std::int64_t least_bytes_left = 128 * 1024;
static_assert(least_bytes_left > most_bytes_reduced_alone);
/// Within a node: two vectors, which take turns, lie in a core's cache then.
constexpr std::int64_t most_round_vector_bytes = 1024 * 1024;
/// Fewer bytes are written as fast anywhere.
constexpr std::int64_t least_bytes_in_turn = 16 * 1024;
/// Reductions go through the vectors in blocks of this size, so that the sum stays in a core's cache.
constexpr std::int64_t reduction_block_bytes = 32768;

std::int64_t bytes_of(const Round& round) { return round.elements * round.element_bytes; }

/// Where the round's part of a rank's block begins in the user's buffer.
std::int64_t offset_of(const Round& round, std::size_t rank) {
  return (static_cast<std::int64_t>(rank) * round.block_elements + round.begin) * round.element_bytes;
}

}  // namespace

std::int64_t offset_in_turn(std::uint32_t turn, std::int64_t bytes, std::int64_t room_bytes) {
  if (bytes < least_bytes_in_turn) return 0;
  const std::int64_t place_bytes = (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
  const std::int64_t places = room_bytes / place_bytes;
  return places > 1 ? turn % places * place_bytes : 0;
}

std::int64_t reduce_stretch(Stretch stretch, std::int64_t element_bytes, std::byte* sum,
                            std::span<const std::byte* const> vectors, const Reducer& reducer) {
  const std::int64_t first_byte = stretch.begin * element_bytes;
  if (vectors.size() == 1) {
    const std::byte* const from = vectors.front() + first_byte;
    return from == sum + first_byte ? 0 : copy_bytes(sum + first_byte, from, stretch.length() * element_bytes);
  }
  const std::int64_t block = std::max<std::int64_t>(1, reduction_block_bytes / element_bytes);
  for (std::int64_t begin = stretch.begin; begin < stretch.end; begin += block) {
    const std::int64_t elements = std::min(block, stretch.end - begin);
    std::byte* const to = sum + begin * element_bytes;
    const std::byte* left = vectors.front() + begin * element_bytes;
    for (const std::byte* other : vectors.subspan(1)) {
      reducer.apply(reducer.context, to, left, other + begin * element_bytes, elements);
      left = to;
    }
  }
  return (static_cast<std::int64_t>(vectors.size()) + 1) * stretch.length() * element_bytes;
}

NodeStaging::NodeStaging(const RankLayout& layout, std::int32_t rank, std::int64_t bytes)
    : layout_(layout),
      node_(layout.node_of_rank[static_cast<std::size_t>(rank)]),
      local_(layout.local_of_rank[static_cast<std::size_t>(rank)]),
      nodes_(static_cast<std::int64_t>(layout.nodes.size())),
      most_ranks_(layout.most_ranks),
      bytes_(bytes),
      vector_bytes_(bytes / most_ranks_ / alignment_bytes * alignment_bytes) {}

bool NodeStaging::serves(Collective collective) {
  return collective == Collective::allreduce || collective == Collective::allgather ||
         collective == Collective::alltoall;
}

std::int64_t NodeStaging::shard_blocks(Collective collective) const {
  return collective == Collective::alltoall ? most_ranks_ * most_ranks_ : most_ranks_;
}

std::int64_t NodeStaging::capacity(Collective collective, std::int64_t element_bytes) const {
  if (collective == Collective::allreduce) {
    return std::min(vector_bytes_, nodes_ == 1 ? most_round_vector_bytes : vector_bytes_) / element_bytes;
  }
  const std::int64_t areas = collective == Collective::alltoall ? 2 : 1;
  return bytes_ / (areas * nodes_ * shard_blocks(collective) * element_bytes);
}

std::byte* NodeStaging::place(const Round& round, const RoundMemory& memory) const {
  if (nodes_ > 1) return memory.begin;
  if (round.collective == Collective::allreduce) {
    return memory.begin + offset_in_turn(memory.turn, bytes_of(round), vector_bytes_in_turn());
  }
  const std::int64_t room = std::min(bytes_, bytes_in_turn);
  return memory.begin + offset_in_turn(memory.turn, shard_blocks(round.collective) * bytes_of(round), room);
}

std::int32_t NodeStaging::leaders(const Round& round) const {
  const std::int64_t shard_bytes = round.collective == Collective::allreduce
                                       ? bytes_of(round) / nodes_
                                       : bytes_of(round) * shard_blocks(round.collective);
  return leaders_for(shard_bytes, layout_.leaders);
}

std::byte* NodeStaging::vector_of(const Round& round, std::int32_t local) const {
  return round.memory + local * vector_bytes_;
}

std::byte* NodeStaging::outgoing(const Round& round, NodeId node, std::int64_t source, std::int64_t destination) const {
  return round.memory + ((node * most_ranks_ + source) * most_ranks_ + destination) * bytes_of(round);
}

std::byte* NodeStaging::incoming(const Round& round, NodeId node, std::int64_t source, std::int64_t destination) const {
  return outgoing(round, static_cast<NodeId>(nodes_) + node, source, destination);
}

std::int64_t NodeStaging::copy_in(const Round& round, const std::byte* input) const {
  const std::int64_t skipped = round.begin * round.element_bytes;
  switch (round.collective) {
    case Collective::allreduce:
      return copy_vector_in(round, input + skipped);
    case Collective::allgather:
      return copy_bytes(round.memory + (node_ * most_ranks_ + local_) * bytes_of(round), input + skipped,
                        bytes_of(round));
    case Collective::alltoall:
      return copy_blocks_in(round, input);
    case Collective::reduce_scatter:
    case Collective::broadcast:
    case Collective::reduce:
      break;
  }
  return 0;
}

std::int64_t NodeStaging::copy_vector_in(const Round& round, const std::byte* vector) const {
  Stretch own;
  if (leaves_own(round))
    own = has_domains() ? stretch_in_domain(this->own(), local_, round.elements)
                        : stretch_of(round.elements, locals(), local_);
  const std::int64_t begin = own.begin * round.element_bytes;
  const std::int64_t end = own.end * round.element_bytes;
  std::byte* const to = vector_of(round, local_);
  return copy_bytes(to, vector, begin) + copy_bytes(to + end, vector + end, bytes_of(round) - end);
}

std::int64_t NodeStaging::copy_blocks_in(const Round& round, const std::byte* input) const {
  std::int64_t moved = 0;
  for (std::size_t rank = 0; rank < layout_.node_of_rank.size(); ++rank) {
    if (rank == static_cast<std::size_t>(this->rank())) continue;
    if (round.leaves_neighbours_out && layout_.node_of_rank[rank] == node_) continue;
    moved += copy_bytes(outgoing(round, layout_.node_of_rank[rank], local_, layout_.local_of_rank[rank]),
                        input + offset_of(round, rank), bytes_of(round));
  }
  return moved;
}

std::int64_t NodeStaging::copy_out(const Round& round, std::byte* output, const std::byte* input) const {
  if (round.collective == Collective::allreduce) {
    const Stretch there = copies_own_sum(round) ? own_stretch(round) : Stretch{};
    return copy_sum(round, output, {0, there.begin}) + copy_sum(round, output, {there.end, round.elements});
  }
  const std::int64_t skipped = round.begin * round.element_bytes;
  std::int64_t moved = 0;
  for (std::size_t rank = 0; rank < layout_.node_of_rank.size(); ++rank) {
    const NodeId node = layout_.node_of_rank[rank];
    const std::int64_t local = layout_.local_of_rank[rank];
    const std::byte* from = round.memory + (node * most_ranks_ + local) * bytes_of(round);
    if (round.collective == Collective::alltoall) {
      // What stays on the node was never moved when there is no other.
      from = node == node_ ? outgoing(round, node, local, local_) : incoming(round, node, local, local_);
    }
    const bool is_own = rank == static_cast<std::size_t>(this->rank());
    if (round.leaves_neighbours_out && node == node_ && !is_own) continue;
    if (is_own) from = input + (round.collective == Collective::alltoall ? offset_of(round, rank) : skipped);
    // In place, its own block is where it belongs.
    std::byte* const to = output + offset_of(round, rank);
    if (from != to) moved += copy_bytes(to, from, bytes_of(round));
  }
  return moved;
}

Stretch NodeStaging::own_stretch(const Round& round) const { return stretch_of(round.elements, locals(), local_); }

std::int64_t NodeStaging::copy_sum(const Round& round, std::byte* output, Stretch stretch) const {
  const std::int64_t element = round.element_bytes;
  return copy_bytes(output + (round.begin + stretch.begin) * element, vector_of(round, 0) + stretch.begin * element,
                    stretch.length() * element);
}

bool NodeStaging::copies_own_sum(const Round& round) const {
  return round.collective == Collective::allreduce && nodes_ == 1 && !is_small(round);
}

std::int64_t NodeStaging::copy_own_sum(const Round& round, std::byte* output) const {
  return copy_sum(round, output, own_stretch(round));
}

bool NodeStaging::leaves_own(const Round& round) const { return bytes_of(round) / locals() >= least_bytes_left; }

const std::byte* NodeStaging::source_of(const Round& round, std::int32_t local, const std::byte* input) const {
  const bool is_outside = local == local_ && input != nullptr && leaves_own(round);
  return is_outside ? input + round.begin * round.element_bytes : vector_of(round, local);
}

std::int64_t NodeStaging::reduce_domain(const Round& round, const std::vector<std::int32_t>& domain, Stretch stretch,
                                        const Reducer& reducer, const std::byte* input) const {
  std::vector<const std::byte*> sources;
  sources.reserve(domain.size());
  for (const std::int32_t local : domain) sources.push_back(source_of(round, local, input));
  return reduce_stretch(stretch, round.element_bytes, vector_of(round, domain.front()), sources, reducer);
}

std::int64_t NodeStaging::reduce_domain(const Round& round, const Reducer& reducer, const std::byte* input) const {
  return reduce_domain(round, domain_of(own(), local_), stretch_in_domain(own(), local_, round.elements), reducer,
                       input);
}

std::int64_t NodeStaging::reduce_node(const Round& round, Stretch stretch, const Reducer& reducer,
                                      const std::byte* input) const {
  std::vector<const std::byte*> sources;
  if (has_domains()) {
    for (const std::vector<std::int32_t>& domain : own().domains) sources.push_back(vector_of(round, domain.front()));
  } else {
    for (std::int32_t local = 0; local < locals(); ++local) sources.push_back(source_of(round, local, input));
  }
  return reduce_stretch(stretch, round.element_bytes, vector_of(round, 0), sources, reducer);
}

std::int64_t NodeStaging::reduce_node(const Round& round, const Reducer& reducer, const std::byte* input) const {
  return reduce_node(round, own_stretch(round), reducer, input);
}

std::int64_t NodeStaging::reduce_alone(const Round& round, const Reducer& reducer) const {
  const Stretch all{0, round.elements};
  std::int64_t moved = 0;
  if (has_domains()) {
    for (const std::vector<std::int32_t>& domain : own().domains) {
      moved += reduce_domain(round, domain, all, reducer, nullptr);
    }
  }
  return moved + reduce_node(round, all, reducer, nullptr);
}

bool NodeStaging::is_small(const Round& round) const { return bytes_of(round) * locals() <= most_bytes_reduced_alone; }

SlicePart NodeStaging::part_of(const Round& round, std::int32_t leader) const {
  const std::int64_t parts = leaders(round);
  if (round.collective == Collective::allreduce) {
    const Stretch stretch = stretch_of(round.elements, parts, leader);
    std::byte* begin = vector_of(round, 0) + stretch.begin * round.element_bytes;
    return {begin, begin, stretch.end - stretch.begin, 0};
  }
  const std::int64_t blocks = shard_blocks(round.collective);
  const Stretch stretch = stretch_of(blocks * round.elements, parts, leader);
  const std::int64_t stride = blocks * bytes_of(round);
  const std::int64_t offset = stretch.begin * round.element_bytes;
  std::byte* output = round.memory + offset;
  const std::byte* input = output + node_ * stride;
  if (round.collective == Collective::alltoall) {
    input = output;
    output += nodes_ * stride;
  }
  return {input, output, stretch.end - stretch.begin, stride};
}

}  // namespace libcoll::node
