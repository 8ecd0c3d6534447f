#include "libcoll/node/node_rounds.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "libcoll/node/call_blocks.h"
#include "libcoll/node/exchange_staging.h"
#include "libcoll/node/neighbour_gather.h"
#include "libcoll/node/shard_staging.h"

namespace libcoll::node {

using namespace execute;
using namespace schedule;

namespace {

RoundOutline outline_of(const NodeStaging& staging, bool reduces) {
  RoundOutline outline;
  outline.reduces = reduces;
  outline.has_domains = staging.has_domains();
  outline.locals = staging.locals();
  outline.local = staging.local();
  return outline;
}

/// The same collective over other data, of no length yet.
Call part_of(const Call& call, const std::byte* input, std::byte* output) {
  Call part;
  part.collective = call.collective;
  part.input = input;
  part.output = output;
  part.element_bytes = call.element_bytes;
  part.reducer = call.reducer;
  return part;
}

/// Does not read.
class StagedRounds : public NodeRounds {
 public:
  void show(Phases::Note&) override {}
  std::optional<std::int64_t> read_neighbours(std::span<const Phases::Note>, std::atomic<std::uint32_t>&) override {
    return 0;
  }
};

bool has_other_nodes(const RankLayout& layout) { return layout.nodes.size() > 1; }

/// A vector (allreduce), or blocks of one length.
class EqualRounds final : public NodeRounds {
 public:
  EqualRounds(const RankLayout& layout, const NodeStaging& staging, const NeighbourMemory* neighbours, Call call)
      : layout_(layout),
        staging_(staging),
        neighbours_(neighbours),
        call_(std::move(call)),
        reads_(neighbours != nullptr && call_.collective == Collective::alltoall && staging.locals() > 1 &&
               block_bytes(call_) >= NeighbourMemory::least_block_bytes),
        // Where all is read, nothing is staged.
        capacity_(reads_ && !has_other_nodes(layout) ? call_.elements
                                                     : staging.capacity(call_.collective, call_.element_bytes)) {}

  [[nodiscard]] std::int64_t count() const override { return (call_.elements + capacity_ - 1) / capacity_; }

  void begin(std::int64_t round, const RoundMemory& memory) override {
    const std::int64_t first = round * capacity_;
    round_ = {call_.collective, first, std::min(capacity_, call_.elements - first), call_.elements, call_.element_bytes,
              nullptr,          reads_};
    round_.memory = staging_.place(round_, memory);
  }

  [[nodiscard]] RoundOutline outline() const override {
    RoundOutline outline = outline_of(staging_, call_.collective == Collective::allreduce);
    if (has_other_nodes(layout_)) outline.leaders = staging_.leaders(round_);
    outline.leaders_move_own = outline.leaders == outline.locals;
    outline.reduces_alone = outline.leaders <= 1 && staging_.is_small(round_);
    outline.copies_own_sum = staging_.copies_own_sum(round_);
    outline.reads_neighbours = reads_ && round_.begin == 0;
    outline.is_last = round_.begin + round_.elements == call_.elements;
    return outline;
  }

  void show(Phases::Note& note) override {
    if (!reads_) return;
    const std::byte* input = call_.input;
    const auto ranks = static_cast<std::int32_t>(layout_.node_of_rank.size());
    if (spoils_input(call_, ranks)) {
      input_copy_.assign(input, input + shown_bytes(call_, ranks));
      input = input_copy_.data();
    }
    std::memcpy(note.data, &input, sizeof input);
  }

  std::optional<std::int64_t> read_neighbours(std::span<const Phases::Note> shown,
                                              std::atomic<std::uint32_t>& signs_of_life) override {
    const std::int64_t block = block_bytes(call_);
    std::int64_t moved = 0;
    for (std::int32_t step = 1; step < staging_.locals(); ++step) {
      // Not all from one at a time.
      const std::int32_t local = (staging_.local() + step) % staging_.locals();
      std::uint64_t from = 0;
      std::memcpy(&from, shown[static_cast<std::size_t>(local)].data, sizeof from);
      from += static_cast<std::uint64_t>(staging_.rank() * block);
      const std::int32_t rank = staging_.rank_of(local);
      std::byte* const to = call_.output + rank * block;
      if (!neighbours_->read(rank, from, to, block, signs_of_life)) return std::nullopt;
      moved += 2 * block;
    }
    return moved;
  }

  std::int64_t copy_in() const override { return staging_.copy_in(round_, call_.input); }
  std::int64_t reduce_domain() const override { return staging_.reduce_domain(round_, call_.reducer, call_.input); }
  std::int64_t reduce_node() const override { return staging_.reduce_node(round_, call_.reducer, call_.input); }
  std::int64_t reduce_alone() const override { return staging_.reduce_alone(round_, call_.reducer); }
  std::int64_t copy_own_sum() const override { return staging_.copy_own_sum(round_, call_.output); }

  [[nodiscard]] SliceMove move() const override {
    const SlicePart part = staging_.part_of(round_, staging_.local());
    SliceMove move{part_of(call_, part.input, part.output), {}, part.elements == 0};
    move.call.elements = part.elements;
    move.shape.elements = part.elements;
    move.shape.element_bytes = call_.element_bytes;
    move.shape.input_stride_bytes = part.stride_bytes;
    move.shape.output_stride_bytes = part.stride_bytes;
    move.shape.keeps_own = false;  // what stays on the node is read elsewhere
    return move;
  }

  std::int64_t copy_out() override { return staging_.copy_out(round_, call_.output, call_.input); }

 private:
  const RankLayout& layout_;
  const NodeStaging& staging_;
  const NeighbourMemory* const neighbours_;
  const Call call_;
  const bool reads_;             ///< blocks between ranks of the node where they lie
  const std::int64_t capacity_;  ///< of a round
  Round round_;
  std::vector<std::byte> input_copy_;  ///< of an input that the result is written over, for the readers
};

Shards shards_of(const RankLayout& layout, const Call& call) {
  Shards shards{call.collective, call.element_bytes, call.counts, {}};
  if (!call.counts.empty()) {
    shards.offsets = call.collective == Collective::allgather ? call.output_offsets : call.input_offsets;
    return shards;
  }
  for (std::size_t rank = 0; rank < layout.node_of_rank.size(); ++rank) {
    shards.counts.push_back(call.elements);
    shards.offsets.push_back(static_cast<std::int64_t>(rank) * call.elements * call.element_bytes);
  }
  return shards;
}

/// Shards of any length. A leader's part is here no stretch that it has reduced itself.
class ShardRounds final : public StagedRounds {
 public:
  ShardRounds(const RankLayout& layout, const NodeStaging& staging, std::int32_t rank, Call call)
      : layout_(layout),
        staging_(staging),
        call_(std::move(call)),
        described_(shards_of(layout, call_)),
        shards_(layout, rank, staging.bytes(), described_) {}

  [[nodiscard]] std::int64_t count() const override { return shards_.rounds(); }
  void begin(std::int64_t round, const RoundMemory& memory) override { shards_.begin_round(round, memory); }

  [[nodiscard]] RoundOutline outline() const override {
    const bool adds_up_own = shards_.adds_up_own();
    const bool shares_sums = !adds_up_own || staging_.has_domains();
    RoundOutline outline = outline_of(staging_, call_.collective == Collective::reduce_scatter && shares_sums);
    outline.adds_up_own = adds_up_own;
    if (has_other_nodes(layout_)) outline.leaders = shards_.leaders();
    outline.reduces_alone = outline.reduces && !adds_up_own && outline.leaders <= 1 && staging_.is_small(shards_.row());
    return outline;
  }

  std::int64_t copy_in() const override {
    if (shards_.adds_up_own()) return shards_.copy_in_for_others(call_.input, call_.output);
    const std::byte* const row = row_input();
    return row != nullptr ? staging_.copy_in(shards_.row(), row) : shards_.copy_in(call_.input);
  }
  std::int64_t reduce_domain() const override {
    if (shards_.adds_up_own()) return shards_.add_up_domain(call_.input, call_.reducer);
    return staging_.reduce_domain(shards_.row(), call_.reducer, row_input());
  }
  std::int64_t reduce_node() const override { return staging_.reduce_node(shards_.row(), call_.reducer, row_input()); }
  std::int64_t reduce_alone() const override { return staging_.reduce_alone(shards_.row(), call_.reducer); }

  [[nodiscard]] SliceMove move() const override {
    ShardPart part = shards_.part_of(staging_.local());
    return {part_of(call_, part.input, part.output), std::move(part.shape), part.empty};
  }

  std::int64_t copy_out() override {
    if (shards_.adds_up_own()) return shards_.add_up_own(call_.input, call_.output, call_.reducer);
    return shards_.copy_out(call_.output, call_.input);
  }

 private:
  [[nodiscard]] const std::byte* row_input() const { return shards_.row_in(call_.input); }

  const RankLayout& layout_;
  const NodeStaging& staging_;
  const Call call_;
  const Shards described_;
  ShardStaging shards_;
};

/// An all-to-all of blocks of any length: a round of lengths, then those of the blocks.
class ExchangeRounds final : public NodeRounds {
 public:
  ExchangeRounds(const RankLayout& layout, const NodeStaging& staging, const NeighbourMemory* neighbours,
                 std::int32_t rank, Call call)
      : layout_(layout),
        staging_(staging),
        neighbours_(neighbours),
        call_(std::move(call)),
        described_{call_.element_bytes, call_.counts, call_.input_offsets, call_.output_offsets},
        exchange_(layout, rank, staging.bytes(), described_,
                  neighbours_ == nullptr ? 0 : NeighbourMemory::least_block_bytes) {}

  [[nodiscard]] std::int64_t count() const override { return lengths_known_ ? 1 + exchange_.rounds() : 2; }

  void begin(std::int64_t round, const RoundMemory& memory) override {
    if (lengths_known_) {
      exchange_.begin_round(round - 1, memory);
      is_first_ = round == 1;
      is_last_ = round == exchange_.rounds();
    } else {
      exchange_.begin_lengths(memory.begin);
    }
  }

  [[nodiscard]] RoundOutline outline() const override {
    RoundOutline outline = outline_of(staging_, false);
    if (has_other_nodes(layout_)) outline.leaders = lengths_known_ ? exchange_.leaders() : 1;
    outline.reads_neighbours = lengths_known_ && is_first_ && exchange_.reads_neighbours();
    outline.is_last = is_last_;
    return outline;
  }

  void show(Phases::Note&) override {}  // the round of lengths does

  std::optional<std::int64_t> read_neighbours(std::span<const Phases::Note>,
                                              std::atomic<std::uint32_t>& signs_of_life) override {
    return exchange_.read_neighbours(call_.input, call_.output, *neighbours_, signs_of_life);
  }

  std::int64_t copy_in() const override {
    if (lengths_known_) return exchange_.copy_in(call_.input);
    exchange_.copy_lengths_in(call_.input);
    return 0;  // next to nothing
  }

  std::int64_t reduce_domain() const override { return 0; }
  std::int64_t reduce_node() const override { return 0; }
  std::int64_t reduce_alone() const override { return 0; }

  [[nodiscard]] SliceMove move() const override {
    ShardPart part = lengths_known_ ? exchange_.part_of(staging_.local()) : exchange_.lengths_part();
    SliceMove move{part_of(call_, part.input, part.output), std::move(part.shape), part.empty};
    move.call.element_bytes = move.shape.element_bytes;
    return move;
  }

  std::int64_t copy_out() override {
    if (lengths_known_) return exchange_.copy_out(call_.output);
    exchange_.read_lengths();
    lengths_known_ = true;
    return 0;
  }

 private:
  const RankLayout& layout_;
  const NodeStaging& staging_;
  const NeighbourMemory* const neighbours_;  ///< null: nothing is read
  const Call call_;
  const ExchangedBlocks described_;
  ExchangeStaging exchange_;
  bool lengths_known_ = false;
  // Among the rounds of the blocks.
  bool is_first_ = false;
  bool is_last_ = false;
};

}  // namespace

bool fits_in_rounds(const RankLayout& layout, std::int64_t bytes, Collective collective, bool equal_shards) {
  // The largest element of a predefined reduction is a complex number of two times 16 bytes.
  constexpr std::int64_t largest_element_bytes = 32;
  if (collective == Collective::alltoall && !equal_shards) {
    return ExchangeStaging::fits(layout, bytes, largest_element_bytes);
  }
  if (collective == Collective::reduce_scatter || !equal_shards) {
    return ShardStaging::fits(layout, bytes, largest_element_bytes);
  }
  return NodeStaging::serves(collective) &&
         NodeStaging(layout, 0, bytes).capacity(collective, largest_element_bytes) > 0;
}

std::unique_ptr<NodeRounds> make_node_rounds(const RankLayout& layout, const NodeStaging& staging,
                                             const NeighbourMemory* neighbours, std::int32_t rank, Call call) {
  if (neighbours != nullptr && NeighbourGather::serves(layout, call)) {
    return std::make_unique<NeighbourGather>(layout, *neighbours, rank, std::move(call));
  }
  if (call.collective == Collective::alltoall && !call.counts.empty()) {
    return std::make_unique<ExchangeRounds>(layout, staging, neighbours, rank, std::move(call));
  }
  if (!call.counts.empty() || call.collective == Collective::reduce_scatter) {
    return std::make_unique<ShardRounds>(layout, staging, rank, std::move(call));
  }
  return std::make_unique<EqualRounds>(layout, staging, neighbours, std::move(call));
}

}  // namespace libcoll::node
