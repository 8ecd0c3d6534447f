// A program instantiated for one message size: messages, local copies and reductions with their dependencies.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/schedule/program.h"

namespace libcoll::execute {

/// How a call's data lies in memory. Messages are cut from the lengths, so both ends of a message must know the same
/// ones; where the data lies is every rank's own affair.
struct Shape {
  /// allreduce: elements of the whole vector. Others: elements of one shard (block), when all are equally long.
  std::int64_t elements = 0;
  std::int64_t element_bytes = 1;        ///< what is never cut
  std::int64_t input_stride_bytes = 0;   ///< reduce-scatter, alltoall: from one block to the next in the input
  std::int64_t output_stride_bytes = 0;  ///< allgather, alltoall: the same in the output
  /// Elements of every shard where they are not equally long (never in an allreduce); otherwise empty. By the owner's
  /// rank; alltoall: by source's rank · N + destination's rank, right for all blocks that this rank sends, receives or
  /// forwards.
  std::vector<std::int64_t> counts;
  /// With counts, bytes by rank in place of the strides.
  std::vector<std::int64_t> input_offsets;
  std::vector<std::int64_t> output_offsets;
  bool keeps_own = true;  ///< alltoall: a rank's block for itself comes to lie in the output
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// Every shard of the same length, in buffers without gaps (allreduce: one vector).
inline Shape equal_shards(std::int64_t elements, std::int64_t element_bytes) {
  const std::int64_t stride = elements * element_bytes;
  return {elements, element_bytes, stride, stride, {}, {}, {}};
}

/// What may be tuned; equal on all ranks, since messages are cut by it.
struct Tuning {
  std::int64_t segment_bytes = 128 * 1024;  ///< longer transfers are cut, so that hops overlap
  std::int64_t coalesce_max = 8 * 1024;     ///< shorter pieces to one peer in one step share a message
  std::int64_t in_flight = 8;               ///< messages in flight per peer
  friend bool operator==(const Tuning&, const Tuning&) = default;
};

enum class Space : std::uint8_t { input, output, scratch };

/// Contiguous bytes in one of the call's buffers.
struct Span {
  Space space = Space::input;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

struct Copy {
  Span from;
  Span to;
};

/// [first, last) in one of the task graph's arrays.
struct IndexRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// A message to or from a node through a route class, the `index`-th between the two nodes. A sender makes `copies`
/// (packing) before it posts `data`, a receiver (unpacking) after `data` has arrived.
struct Message {
  topology::NodeId peer = 0;
  std::uint32_t index = 0;
  std::int32_t route_class = 0;
  Span data;
  IndexRange copies;
  std::int32_t step = 0;                  ///< of the plan
  std::int32_t route = schedule::direct;  ///< index into the plan's routes
  /// Of one part that the receiver reduces as a whole: on both ends. A receive's successors are then reductions alone,
  /// whose right operands lie in `data` one after the other.
  bool is_summand = false;
};

/// destination = left op right, element by element.
struct Reduction {
  Span destination;
  Span left;
  Span right;
  std::int64_t elements = 0;
};

/// Task ids: sends first, then receives, then reductions. A task may start when `waits[task]` tasks that list
/// it as a successor have finished; receives wait for nothing.
struct TaskGraph {
  std::vector<Message> sends;  ///< in canonical order: earlier steps first
  std::vector<Message> receives;
  std::vector<Reduction> reductions;
  std::vector<Copy> copies;
  std::vector<Copy> initial_copies;  ///< what a rank keeps of its own input
  std::vector<std::uint32_t> waits;
  std::vector<std::uint32_t> successors;        ///< concatenated lists …
  std::vector<std::uint32_t> successors_begin;  ///< … of task t: [begin[t], begin[t+1])
  std::int64_t scratch_bytes = 0;
  std::int64_t largest_message_bytes = 0;  ///< sent or received
  std::int32_t nodes = 0;

  [[nodiscard]] std::uint32_t first_receive() const { return static_cast<std::uint32_t>(sends.size()); }
  [[nodiscard]] std::uint32_t first_reduction() const {
    return static_cast<std::uint32_t>(sends.size() + receives.size());
  }
  /// Place of a message's peer and route class in tables over both.
  [[nodiscard]] std::size_t lane(const Message& message) const {
    return static_cast<std::size_t>(message.route_class) * static_cast<std::size_t>(nodes) +
           static_cast<std::size_t>(message.peer);
  }
  [[nodiscard]] std::uint32_t task_count() const { return static_cast<std::uint32_t>(waits.size()); }
};

/// No bundle is longer, where pieces shorter than `coalesce_max` share messages.
std::int64_t largest_bundle_bytes(std::int64_t coalesce_max);

/// `rank_of_node[v]` is the place of node v's shard in the user's buffers (identity when nodes are ranks).
/// Messages between two nodes come out equal on both of them, in number, order and length.
TaskGraph make_task_graph(const schedule::Program& program, const std::vector<std::int32_t>& rank_of_node,
                          const Shape& shape, const Tuning& tuning);

}  // namespace libcoll::execute
