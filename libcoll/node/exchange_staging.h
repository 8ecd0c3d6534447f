// All-to-all of nodes with several ranks whose blocks are of any length, staged in memory that the ranks of a node
// share. Every rank knows only what it sends and receives itself; a first round tells all nodes how much each of them
// has for each other, and from it all of them conclude how many more rounds there will be, and what each one moves.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "libcoll/execute/task_graph.h"
#include "libcoll/node/neighbour_memory.h"
#include "libcoll/node/rank_layout.h"
#include "libcoll/node/shard_staging.h"

namespace libcoll::node {

/// One rank's part of a call.
struct ExchangedBlocks {
  std::int64_t element_bytes = 1;
  std::vector<std::int64_t> counts;  ///< elements, by source's rank · N + destination's; this rank's row and column
  std::vector<std::int64_t> input_offsets;   ///< bytes, by the destination's rank
  std::vector<std::int64_t> output_offsets;  ///< bytes, by the source's rank
};

/// One rank's view. What a node has for another one is a stream: the blocks of its first local rank for each of the
/// other's, then those of its second, and so on. A round takes the same share of every stream. Memory has a place for
/// the round's part of each stream that leaves the node, or stays, then for each one that comes in.
class ExchangeStaging {
 public:
  /// `bytes` of shared memory are there for a round. Blocks between ranks of a node are read where they lie if they
  /// have `least_bytes_read` on average; 0: never. Equal on all ranks. The arguments must outlive this.
  ExchangeStaging(const RankLayout& layout, std::int32_t rank, std::int64_t bytes, const ExchangedBlocks& blocks,
                  std::int64_t least_bytes_read = 0);

  /// Whether any round can be run at all.
  [[nodiscard]] static bool fits(const RankLayout& layout, std::int64_t bytes, std::int64_t element_bytes);

  // The round of lengths: all of the node say theirs, the first leader moves their sums, all read what came.
  void begin_lengths(std::byte* memory) { memory_ = memory; }
  void copy_lengths_in(const std::byte* input) const;
  /// Precondition: all of the node have said theirs.
  [[nodiscard]] ShardPart lengths_part() const;
  void read_lengths();

  // The others, precondition of all: read_lengths().
  [[nodiscard]] std::int64_t rounds() const { return rounds_; }
  void begin_round(std::int64_t round, const RoundMemory& memory);
  /// Whether this node's ranks read each other's blocks, in the first of the rounds.
  [[nodiscard]] bool reads_neighbours() const { return reads(node_); }
  /// Those, and copies the block that this rank has for itself. As NodeRounds has it.
  std::optional<std::int64_t> read_neighbours(const std::byte* input, std::byte* output,
                                              const NeighbourMemory& neighbours,
                                              std::atomic<std::uint32_t>& signs_of_life) const;
  /// Returns what NodeStaging's does, as copy_out().
  std::int64_t copy_in(const std::byte* input) const;
  /// How many leaders share the round.
  [[nodiscard]] std::int32_t leaders() const;
  [[nodiscard]] ShardPart part_of(std::int32_t leader) const;
  std::int64_t copy_out(std::byte* output) const;

 private:
  [[nodiscard]] std::size_t ranks() const { return layout_.node_of_rank.size(); }
  [[nodiscard]] std::size_t nodes() const { return layout_.nodes.size(); }
  [[nodiscard]] const std::vector<std::int32_t>& locals() const { return layout_.nodes[node_].ranks; }
  [[nodiscard]] std::size_t node_of(std::size_t rank) const {
    return static_cast<std::size_t>(layout_.node_of_rank[rank]);
  }
  /// In the round of lengths: what the local rank sends to every rank, what it receives from every rank, then the
  /// addresses of its blocks for ranks of the node.
  [[nodiscard]] std::int64_t* said_by(std::size_t local) const;
  [[nodiscard]] bool reads(std::size_t node) const { return !reads_.empty() && reads_[node] != 0; }
  void choose_readers();
  /// What this node has for every other one, then the same of every node.
  [[nodiscard]] std::int64_t* sums() const;
  void sum_own(std::int64_t* sums) const;
  void place_blocks();
  void count_rounds();
  [[nodiscard]] std::int64_t stream(std::size_t from, std::size_t to) const { return streams_[from * nodes() + to]; }
  /// The part of a stream that the round takes.
  [[nodiscard]] Stretch window(std::size_t from, std::size_t to) const;
  /// Calls visit(place in memory, offset in the block, bytes) if the round takes any of the block between this rank and
  /// the other.
  template <class Visit>
  void for_part(std::size_t from, std::size_t to, std::int64_t place, std::int64_t begin, std::int64_t length,
                Visit visit) const;

  const RankLayout& layout_;
  const ExchangedBlocks& blocks_;
  std::size_t rank_;
  std::size_t node_;
  std::int64_t bytes_;
  std::int64_t least_bytes_read_;
  std::vector<char> reads_;                   ///< by node: its ranks read what they have for each other
  std::vector<std::uint64_t> addresses_;      ///< by local rank: of its block for this rank, …
  std::vector<std::int64_t> addressed_;       ///< … whose elements are those that both know of
  std::vector<std::int64_t> streams_;         ///< elements from node to node that are staged
  std::vector<std::int64_t> sent_begin_;      ///< by destination's rank: where its block begins in the stream …
  std::vector<std::int64_t> received_begin_;  ///< … and by source's
  std::int64_t rounds_ = 0;
  // Of the round at hand.
  std::byte* memory_ = nullptr;
  std::int64_t round_ = 0;
  std::vector<std::int64_t> outgoing_;  ///< by node: elements before what is for it …
  std::vector<std::int64_t> incoming_;  ///< … and what is from it
};

}  // namespace libcoll::node
