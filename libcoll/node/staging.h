// Collectives of nodes with several ranks, staged in memory that the ranks of a node share: what every rank copies in
// and out, what it reduces, and which part of the node's data a leader moves between nodes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "libcoll/execute/execution.h"
#include "libcoll/node/rank_layout.h"
#include "planner/schedule/schedule.h"

namespace libcoll::node {

/// Of what a rank has in shared memory: a cache line.
inline constexpr std::int64_t alignment_bytes = 64;

/// Returns the bytes that are read and written, as all that works in this memory does.
inline std::int64_t copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes <= 0) return 0;
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
  return 2 * bytes;
}

/// Memory that rounds share, which are over before it is another one's turn.
struct RoundMemory {
  std::byte* begin = nullptr;
  std::uint32_t turn = 0;  ///< counts the rounds here; equal on all ranks of the node
};

/// Rounds within a node go through so much of a half turn by turn. Two halves are more than a core's own cache has: a
/// write takes half the time or less where the caches of those who read there before have lost it.
inline constexpr std::int64_t bytes_in_turn = 1024 * 1024;

/// The same for a room that one of `ranks` writes to, and all read.
constexpr std::int64_t row_bytes_in_turn(std::int64_t ranks) {
  return ranks > 2 ? bytes_in_turn / (ranks - 1) : bytes_in_turn;
}

/// Where a round that needs so many bytes begins in its room.
std::int64_t offset_in_turn(std::uint32_t turn, std::int64_t bytes, std::int64_t room_bytes);

/// What one rank adds up in about the time in which another one is woken.
inline constexpr std::int64_t most_bytes_reduced_alone = 8192;

/// A stretch of the sum: the first vector op each of the others, from left to right. The first may lie where the sum
/// does. Returns as copy_bytes() does; a sum that is added up block by block in the cache is written once.
std::int64_t reduce_stretch(Stretch stretch, std::int64_t element_bytes, std::byte* sum,
                            std::span<const std::byte* const> vectors, const execute::Reducer& reducer);

/// As much of a call as fits into the shared memory at once. Equal on all ranks, but for the memory.
struct Round {
  schedule::Collective collective = schedule::Collective::allreduce;
  std::int64_t begin = 0;           ///< first element: of the vector in an allreduce, otherwise of every block
  std::int64_t elements = 0;        ///< as many
  std::int64_t block_elements = 0;  ///< allgather, alltoall: a whole block, from one to the next in the user's buffers
  std::int64_t element_bytes = 1;
  std::byte* memory = nullptr;         ///< the node's
  bool leaves_neighbours_out = false;  ///< alltoall: blocks between ranks of a node go another way
};

/// What one leader moves, as one rank per node would: an allreduce of `elements` elements, or shards of `elements`
/// elements. Input and output may be the same.
struct SlicePart {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::int64_t elements = 0;
  std::int64_t stride_bytes = 0;  ///< from one shard to the next
};

/// One rank's view. What copies and reduces returns the bytes that it reads and writes. Every node is laid out as if it
/// had as many ranks as the fullest: then all shards are equally long, and what the absent ranks would have is moved
/// and not looked at.
///   allreduce: a vector per local rank; the sum of the node, then of all, comes to lie in the first one.
///   allgather: a block per node and local rank.
///   alltoall:  what goes out, then what comes in: per other node, source and destination a block.
class NodeStaging {
 public:
  /// `bytes` of shared memory are there for a round. `layout` must outlive this.
  NodeStaging(const RankLayout& layout, std::int32_t rank, std::int64_t bytes);

  [[nodiscard]] static bool serves(schedule::Collective collective);
  /// Most elements of a round; 0 when not a single one fits.
  [[nodiscard]] std::int64_t capacity(schedule::Collective collective, std::int64_t element_bytes) const;
  /// As the constructor has it.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  /// The bytes of that vector that rounds go through turn by turn; 0: with other nodes they do not.
  [[nodiscard]] std::int64_t vector_bytes_in_turn() const {
    return nodes_ > 1 ? 0 : std::min(vector_bytes_, row_bytes_in_turn(most_ranks_));
  }
  /// Where the round works. What leaders move stays in one place, which the fabric's adapter may know.
  [[nodiscard]] std::byte* place(const Round& round, const RoundMemory& memory) const;
  /// Where the local rank's vector lies in a round's memory, and how long it may be: memory that this rank writes
  /// first.
  [[nodiscard]] std::int64_t vector_bytes() const { return vector_bytes_; }
  /// How many leaders share the round: fewer than there are when their parts would be tiny.
  [[nodiscard]] std::int32_t leaders(const Round& round) const;

  /// Of a long vector, and of blocks of an all-to-all, all but what only this rank reads, or others read in place.
  std::int64_t copy_in(const Round& round, const std::byte* input) const;
  // Allreduce. `input`: this rank's, as copy_in() had it; null: all of it is in the memory.
  /// When the node has several domains: this rank's stretch of the sum over its own domain's vectors.
  std::int64_t reduce_domain(const Round& round, const execute::Reducer& reducer, const std::byte* input) const;
  /// This rank's stretch of the sum over the domains' vectors, or over all when there is one domain. A rank's stretch
  /// is a leader's part when all ranks of the node are leaders of the round.
  std::int64_t reduce_node(const Round& round, const execute::Reducer& reducer, const std::byte* input) const;
  /// Both for all of the vector, with the same bits.
  std::int64_t reduce_alone(const Round& round, const execute::Reducer& reducer) const;
  /// Whether a rank copies out its own stretch of the sum by itself: it lies in its cache until others read it.
  [[nodiscard]] bool copies_own_sum(const Round& round) const;
  std::int64_t copy_own_sum(const Round& round, std::byte* output) const;
  /// Whether waiting for the others would cost more.
  [[nodiscard]] bool is_small(const Round& round) const;
  [[nodiscard]] SlicePart part_of(const Round& round, std::int32_t leader) const;
  /// `input` as copy_in() had it, where blocks were left there.
  std::int64_t copy_out(const Round& round, std::byte* output, const std::byte* input) const;

  [[nodiscard]] std::int32_t rank() const { return rank_of(local_); }
  [[nodiscard]] std::int32_t rank_of(std::int32_t local) const { return own().ranks[static_cast<std::size_t>(local)]; }
  [[nodiscard]] std::int32_t locals() const { return static_cast<std::int32_t>(own().ranks.size()); }
  [[nodiscard]] std::int32_t local() const { return local_; }
  [[nodiscard]] bool has_domains() const { return adds_up_by_domain(own()); }

 private:
  [[nodiscard]] const NodeRanks& own() const { return layout_.nodes[static_cast<std::size_t>(node_)]; }
  /// Blocks of a node's shard.
  [[nodiscard]] std::int64_t shard_blocks(schedule::Collective collective) const;
  [[nodiscard]] std::byte* vector_of(const Round& round, std::int32_t local) const;
  /// Of the sum over the node.
  [[nodiscard]] Stretch own_stretch(const Round& round) const;
  std::int64_t copy_sum(const Round& round, std::byte* output, Stretch stretch) const;
  /// alltoall: the block of local rank `source` for local rank `destination`, for or from the node.
  [[nodiscard]] std::byte* outgoing(const Round& round, topology::NodeId node, std::int64_t source,
                                    std::int64_t destination) const;
  [[nodiscard]] std::byte* incoming(const Round& round, topology::NodeId node, std::int64_t source,
                                    std::int64_t destination) const;
  /// Whether a rank leaves in its own vector what only it reads: of shorter ones it lies in the cache then.
  [[nodiscard]] bool leaves_own(const Round& round) const;
  /// Where a local rank's vector is, before anything was added to it.
  [[nodiscard]] const std::byte* source_of(const Round& round, std::int32_t local, const std::byte* input) const;
  std::int64_t reduce_domain(const Round& round, const std::vector<std::int32_t>& domain, Stretch stretch,
                             const execute::Reducer& reducer, const std::byte* input) const;
  std::int64_t reduce_node(const Round& round, Stretch stretch, const execute::Reducer& reducer,
                           const std::byte* input) const;
  std::int64_t copy_vector_in(const Round& round, const std::byte* vector) const;
  std::int64_t copy_blocks_in(const Round& round, const std::byte* input) const;

  const RankLayout& layout_;
  topology::NodeId node_;
  std::int32_t local_;
  std::int64_t nodes_;
  std::int64_t most_ranks_;
  std::int64_t bytes_;
  std::int64_t vector_bytes_;
};

}  // namespace libcoll::node
