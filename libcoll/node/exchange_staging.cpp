#include "libcoll/node/exchange_staging.h"

#include <algorithm>

namespace libcoll::node {
namespace {

constexpr auto word_bytes = static_cast<std::int64_t>(sizeof(std::int64_t));
constexpr std::int64_t words_per_pair = 3;  ///< of the lengths that ranks say

/// Elements of a round at most, beside the one for every stream that rounding may add.
std::int64_t pair_capacity(const RankLayout& layout, std::int64_t bytes, std::int64_t element_bytes) {
  return bytes / element_bytes - 2 * static_cast<std::int64_t>(layout.nodes.size());
}

}  // namespace

ExchangeStaging::ExchangeStaging(const RankLayout& layout, std::int32_t rank, std::int64_t bytes,
                                 const ExchangedBlocks& blocks, std::int64_t least_bytes_read)
    : layout_(layout),
      blocks_(blocks),
      rank_(static_cast<std::size_t>(rank)),
      node_(static_cast<std::size_t>(layout.node_of_rank[rank_])),
      bytes_(bytes),
      least_bytes_read_(least_bytes_read) {}

bool ExchangeStaging::fits(const RankLayout& layout, std::int64_t bytes, std::int64_t element_bytes) {
  const auto ranks = static_cast<std::int64_t>(layout.node_of_rank.size());
  const auto nodes = static_cast<std::int64_t>(layout.nodes.size());
  const std::int64_t lengths = layout.most_ranks * words_per_pair * ranks + nodes + nodes * nodes;
  return lengths * word_bytes <= bytes && pair_capacity(layout, bytes, element_bytes) > 0;
}

// ---- lengths --------------------------------------------------------------------------------------------------------

std::int64_t* ExchangeStaging::said_by(std::size_t local) const {
  return reinterpret_cast<std::int64_t*>(memory_) + local * words_per_pair * ranks();
}

std::int64_t* ExchangeStaging::sums() const { return said_by(locals().size()); }

void ExchangeStaging::copy_lengths_in(const std::byte* input) const {
  std::int64_t* said = said_by(static_cast<std::size_t>(layout_.local_of_rank[rank_]));
  for (const std::int32_t rank : locals()) {
    // As numbers: the input of a rank that sends nothing may be null.
    const std::int64_t offset = blocks_.input_offsets[static_cast<std::size_t>(rank)];
    said[2 * ranks() + static_cast<std::size_t>(rank)] = reinterpret_cast<std::intptr_t>(input) + offset;
  }
  for (std::size_t other = 0; other < ranks(); ++other) {
    said[other] = blocks_.counts[rank_ * ranks() + other];
    said[ranks() + other] = blocks_.counts[other * ranks() + rank_];
  }
}

void ExchangeStaging::sum_own(std::int64_t* sums) const {
  std::fill(sums, sums + nodes(), 0);
  for (std::size_t local = 0; local < locals().size(); ++local) {
    const std::int64_t* sent = said_by(local);
    for (std::size_t rank = 0; rank < ranks(); ++rank) sums[node_of(rank)] += sent[rank];
  }
}

/// The same words go to every node: an allgather by the plan that the blocks will take.
ShardPart ExchangeStaging::lengths_part() const {
  sum_own(sums());
  ShardPart part;
  part.input = reinterpret_cast<const std::byte*>(sums());
  part.output = reinterpret_cast<std::byte*>(sums() + nodes());
  part.shape.elements = static_cast<std::int64_t>(nodes());
  part.shape.element_bytes = word_bytes;
  part.shape.input_stride_bytes = 0;
  part.shape.output_stride_bytes = part.shape.elements * word_bytes;
  part.empty = false;
  return part;
}

void ExchangeStaging::read_lengths() {
  const std::int64_t* moved = sums() + nodes();
  streams_.assign(moved, moved + nodes() * nodes());
  sum_own(streams_.data() + node_ * nodes());  // with no other node, nobody has
  place_blocks();
  choose_readers();
  count_rounds();
}

void ExchangeStaging::choose_readers() {
  if (least_bytes_read_ == 0) return;
  for (std::size_t node = 0; node < nodes(); ++node) {
    const auto pairs = static_cast<std::int64_t>(layout_.nodes[node].ranks.size() * layout_.nodes[node].ranks.size());
    std::int64_t& staged = streams_[node * nodes() + node];
    reads_.push_back(pairs > 1 && staged * blocks_.element_bytes >= pairs * least_bytes_read_ ? 1 : 0);
    if (reads(node)) staged = 0;
  }
  if (!reads_neighbours()) return;
  for (std::size_t local = 0; local < locals().size(); ++local) {
    const std::int64_t* said = said_by(local);
    addresses_.push_back(static_cast<std::uint64_t>(said[2 * ranks() + rank_]));
    const auto rank = static_cast<std::size_t>(locals()[local]);
    addressed_.push_back(std::min(said[rank_], blocks_.counts[rank * ranks() + rank_]));
  }
}

void ExchangeStaging::place_blocks() {
  sent_begin_.assign(ranks(), 0);
  received_begin_.assign(ranks(), 0);
  const auto own_local = static_cast<std::size_t>(layout_.local_of_rank[rank_]);
  for (std::size_t other = 0; other < nodes(); ++other) {
    const std::vector<std::int32_t>& theirs = layout_.nodes[other].ranks;
    std::int64_t sent = 0;
    for (std::size_t local = 0; local <= own_local; ++local) {
      for (const std::int32_t rank : theirs) {
        if (local == own_local) sent_begin_[static_cast<std::size_t>(rank)] = sent;
        sent += said_by(local)[rank];
      }
    }
    std::int64_t received = 0;
    for (const std::int32_t rank : theirs) {
      for (std::size_t local = 0; local < locals().size(); ++local) {
        if (local == own_local) received_begin_[static_cast<std::size_t>(rank)] = received;
        received += said_by(local)[ranks() + static_cast<std::size_t>(rank)];
      }
    }
  }
}

void ExchangeStaging::count_rounds() {
  const std::int64_t most = pair_capacity(layout_, bytes_, blocks_.element_bytes);
  rounds_ = 0;
  for (std::size_t node = 0; node < nodes(); ++node) {
    std::int64_t all = stream(node, node);
    for (std::size_t other = 0; other < nodes(); ++other) {
      if (other != node) all += stream(node, other) + stream(other, node);
    }
    rounds_ = std::max({rounds_, (all + most - 1) / most, std::int64_t{reads(node)}});
  }
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

Stretch ExchangeStaging::window(std::size_t from, std::size_t to) const {
  return share_of(stream(from, to), rounds_, round_);
}

void ExchangeStaging::begin_round(std::int64_t round, const RoundMemory& memory) {
  round_ = round;
  outgoing_.clear();
  incoming_.clear();
  std::int64_t end = 0;
  for (std::size_t other = 0; other < nodes(); ++other) {
    outgoing_.push_back(end);
    end += window(node_, other).length();
  }
  for (std::size_t other = 0; other < nodes(); ++other) {
    // What stays on the node is read from where it was written.
    incoming_.push_back(other == node_ ? outgoing_[node_] : end);
    if (other != node_) end += window(other, node_).length();
  }
  memory_ = memory.begin;
  if (nodes() > 1) return;
  memory_ += offset_in_turn(memory.turn, end * blocks_.element_bytes, std::min(bytes_, bytes_in_turn));
}

std::optional<std::int64_t> ExchangeStaging::read_neighbours(const std::byte* input, std::byte* output,
                                                             const NeighbourMemory& neighbours,
                                                             std::atomic<std::uint32_t>& signs_of_life) const {
  const auto own = static_cast<std::size_t>(layout_.local_of_rank[rank_]);
  std::int64_t moved = 0;
  for (std::size_t step = 0; step < locals().size(); ++step) {
    // Not all from one at a time.
    const std::size_t local = (own + step) % locals().size();
    const std::int32_t rank = locals()[local];
    const std::int64_t bytes = addressed_[local] * blocks_.element_bytes;
    if (bytes == 0) continue;
    std::byte* const to = output + blocks_.output_offsets[static_cast<std::size_t>(rank)];
    if (local == own) {
      moved += copy_bytes(to, input + blocks_.input_offsets[rank_], bytes);
      continue;
    }
    if (!neighbours.read(rank, addresses_[local], to, bytes, signs_of_life)) return std::nullopt;
    moved += 2 * bytes;
  }
  return moved;
}

template <class Visit>
void ExchangeStaging::for_part(std::size_t from, std::size_t to, std::int64_t place, std::int64_t begin,
                               std::int64_t length, Visit visit) const {
  const Stretch taken = window(from, to);
  const std::int64_t first = std::max(taken.begin, begin);
  const std::int64_t last = std::min(taken.end, begin + length);
  if (first >= last) return;
  const std::int64_t element = blocks_.element_bytes;
  visit(memory_ + (place + first - taken.begin) * element, (first - begin) * element, (last - first) * element);
}

std::int64_t ExchangeStaging::copy_in(const std::byte* input) const {
  std::int64_t moved = 0;
  for (std::size_t rank = 0; rank < ranks(); ++rank) {
    const std::size_t to = node_of(rank);
    for_part(node_, to, outgoing_[to], sent_begin_[rank], blocks_.counts[rank_ * ranks() + rank],
             [&](std::byte* place, std::int64_t offset, std::int64_t bytes) {
               moved += copy_bytes(place, input + blocks_.input_offsets[rank] + offset, bytes);
             });
  }
  return moved;
}

std::int64_t ExchangeStaging::copy_out(std::byte* output) const {
  std::int64_t moved = 0;
  for (std::size_t rank = 0; rank < ranks(); ++rank) {
    const std::size_t from = node_of(rank);
    for_part(from, node_, incoming_[from], received_begin_[rank], blocks_.counts[rank * ranks() + rank_],
             [&](const std::byte* place, std::int64_t offset, std::int64_t bytes) {
               moved += copy_bytes(output + blocks_.output_offsets[rank] + offset, place, bytes);
             });
  }
  return moved;
}

std::int32_t ExchangeStaging::leaders() const {
  std::int64_t longest = 0;
  for (std::size_t from = 0; from < nodes(); ++from) {
    for (std::size_t to = 0; to < nodes(); ++to) {
      if (from != to) longest = std::max(longest, window(from, to).length());
    }
  }
  return leaders_for(longest * blocks_.element_bytes, layout_.leaders);
}

ShardPart ExchangeStaging::part_of(std::int32_t leader) const {
  const std::int64_t element = blocks_.element_bytes;
  const std::int32_t parts = leaders();
  ShardPart part;
  part.input = memory_;
  part.output = memory_;
  part.shape.element_bytes = element;
  for (std::size_t from = 0; from < nodes(); ++from) {
    for (std::size_t to = 0; to < nodes(); ++to) {
      const std::int64_t elements = from == to ? 0 : window(from, to).length();
      const Stretch stretch = stretch_of(elements, parts, leader);
      part.shape.counts.push_back(stretch.length());
      part.empty = part.empty && stretch.length() == 0;
      if (from == node_) part.shape.input_offsets.push_back((outgoing_[to] + stretch.begin) * element);
      if (to == node_) part.shape.output_offsets.push_back((incoming_[from] + stretch.begin) * element);
    }
  }
  return part;
}

}  // namespace libcoll::node
