// The work of one call's rounds on one rank of a node, whatever its collective and the lengths of its shards are.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "libcoll/execute/call.h"
#include "libcoll/execute/task_graph.h"
#include "libcoll/node/neighbour_memory.h"
#include "libcoll/node/phases.h"
#include "libcoll/node/rank_layout.h"
#include "libcoll/node/stages.h"
#include "libcoll/node/staging.h"

namespace libcoll::node {

/// What a leader moves between nodes in a round, as one rank per node would.
struct SliceMove {
  execute::Call call;
  execute::Shape shape;
  bool empty = true;  ///< nothing to move; equal for this leader on all nodes
};

/// A reduction is done in an order that depends on the layout alone: domain by domain, then node, then as the
/// slices' plan says.
class NodeRounds {
 public:
  virtual ~NodeRounds() = default;

  /// The same on all ranks. At least one more than were run as long as that is not known.
  [[nodiscard]] virtual std::int64_t count() const = 0;
  /// Everything below is about the round that was begun last, in this memory.
  virtual void begin(std::int64_t round, const RoundMemory& memory) = 0;
  [[nodiscard]] virtual RoundOutline outline() const = 0;
  // The work of the stages. Each returns the bytes of memory that it reads and writes.
  virtual std::int64_t copy_in() const = 0;
  virtual std::int64_t reduce_domain() const = 0;
  virtual std::int64_t reduce_node() const = 0;
  virtual std::int64_t reduce_alone() const = 0;
  virtual std::int64_t copy_own_sum() const { return 0; }
  /// Precondition: this rank is one of outline().leaders.
  [[nodiscard]] virtual SliceMove move() const = 0;
  /// Tells the node's other ranks where they find their blocks; before the first round.
  virtual void show(Phases::Note& note) = 0;
  /// Reads the blocks of the node's other ranks where they lie. `shown`: by local rank, in this round. Nothing: they
  /// cannot be read.
  virtual std::optional<std::int64_t> read_neighbours(std::span<const Phases::Note> shown,
                                                      std::atomic<std::uint32_t>& signs_of_life) = 0;
  virtual std::int64_t copy_out() = 0;
};

/// Whether such a call can be run in rounds of `bytes` of shared memory; the same on every rank. `equal_shards`: no
/// rank's part of the data is longer than another's.
bool fits_in_rounds(const RankLayout& layout, std::int64_t bytes, schedule::Collective collective, bool equal_shards);

/// Precondition: fits_in_rounds(). The layout, the staging, which is that of `rank`, and the neighbours, null where
/// their memory cannot be read, must outlive the rounds.
std::unique_ptr<NodeRounds> make_node_rounds(const RankLayout& layout, const NodeStaging& staging,
                                             const NeighbourMemory* neighbours, std::int32_t rank, execute::Call call);

}  // namespace libcoll::node
