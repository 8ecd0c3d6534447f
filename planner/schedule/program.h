// One rank's part of a schedule, lowered: what it sends and receives, in order, and what waits for what.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "planner/schedule/schedule.h"

namespace libcoll::schedule {

enum class OperationKind : std::uint8_t { send, receive, receive_reduce };

/// One end of a transfer. Both ends list the transfers between them in the same (canonical) order, so the
/// k-th send u→v matches the k-th receive at v from u.
struct Operation {
  OperationKind kind = OperationKind::send;
  ShardId shard = 0;
  std::int32_t chunk_begin = 0;
  std::int32_t chunk_count = 0;
  topology::NodeId peer = 0;
  std::int32_t step = 1;
  std::int32_t route = direct;
  std::int32_t route_class = 0;  ///< of that route; 0 for a direct transfer
  /// Indices (into Program::operations, ascending) of earlier operations of this rank that must have finished
  /// on the chunks they share with this one. send: every receive or receive_reduce of an earlier step that
  /// touches one of its chunks. receive_reduce: the earlier receive_reduces on its chunks, which fixes the order of
  /// reduction. receive: none (a chunk that is overwritten was sent before, by causality).
  std::vector<std::int32_t> after;
  bool is_summand = false;  ///< of a send: its receiver reduces it
  friend bool operator==(const Operation&, const Operation&) = default;
};

/// A route, and its class.
struct LoneRoute {
  std::int32_t route = direct;
  std::int32_t route_class = 0;
  friend bool operator==(const LoneRoute&, const LoneRoute&) = default;
};

/// Operations of one node in canonical order (ascending step).
struct Program {
  Collective collective = Collective::allgather;
  topology::NodeId node = 0;
  std::int32_t nodes = 0;  ///< N: hosts of the topology
  std::int32_t chunks_per_shard = 1;
  std::int32_t steps = 0;
  std::vector<Operation> operations;
  /// By peer, of those that its operations take: for what is too short for several (single_path_routes). Empty: none
  /// has two.
  std::vector<LoneRoute> lone_sends;
  std::vector<LoneRoute> lone_receives;
  friend bool operator==(const Program&, const Program&) = default;
};

/// How many route classes its messages use at most, 0 included.
inline std::int32_t route_classes(const Program& program) {
  std::int32_t highest = 0;
  for (const Operation& operation : program.operations) highest = std::max(highest, operation.route_class);
  return highest + 1;
}

/// Precondition: verify(schedule) found nothing and the transfers are in canonical order.
Program lower(const Schedule& schedule, topology::NodeId node);

}  // namespace libcoll::schedule
