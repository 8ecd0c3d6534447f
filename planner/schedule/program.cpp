#include "planner/schedule/program.h"

#include <cstddef>
#include <unordered_map>

#include "planner/schedule/single_path_routes.h"

namespace libcoll::schedule {

using namespace topology;

namespace {

bool share_chunks(const Operation& a, const Operation& b) {
  return a.chunk_begin < b.chunk_begin + b.chunk_count && b.chunk_begin < a.chunk_begin + a.chunk_count;
}

Operation operation_of(const Schedule& schedule, const Transfer& transfer, NodeId node) {
  Operation operation;
  if (transfer.from == node) {
    operation.kind = OperationKind::send;
    operation.is_summand = transfer.kind == TransferKind::reduce;
  } else {
    operation.kind = transfer.kind == TransferKind::reduce ? OperationKind::receive_reduce : OperationKind::receive;
  }
  operation.shard = transfer.shard;
  operation.chunk_begin = transfer.chunk_begin;
  operation.chunk_count = transfer.chunk_count;
  operation.peer = transfer.from == node ? transfer.to : transfer.from;
  operation.step = transfer.step;
  operation.route = transfer.route;
  if (transfer.route != direct) {
    operation.route_class = schedule.routes[static_cast<std::size_t>(transfer.route)].route_class;
  }
  return operation;
}

bool must_wait(const Operation& later, const Operation& receive) {
  if (!share_chunks(later, receive)) return false;
  if (later.kind == OperationKind::send) return receive.step < later.step;
  return later.kind == OperationKind::receive_reduce && receive.kind == OperationKind::receive_reduce;
}

/// Appends operations and finds what each waits for among the receives of its shard.
class Lowering {
 public:
  explicit Lowering(std::vector<Operation>& operations) : operations_(operations) {}

  void add(Operation operation) {
    std::vector<std::int32_t>& receives = receives_[operation.shard];
    for (const std::int32_t index : receives) {
      if (must_wait(operation, operations_[static_cast<std::size_t>(index)])) operation.after.push_back(index);
    }
    if (operation.kind != OperationKind::send) receives.push_back(static_cast<std::int32_t>(operations_.size()));
    operations_.push_back(std::move(operation));
  }

 private:
  std::vector<Operation>& operations_;
  std::unordered_map<ShardId, std::vector<std::int32_t>> receives_;
};

void add_lone_routes(const Schedule& schedule, Program& program) {
  const std::vector<std::int32_t> routes = single_path_routes(schedule);
  if (routes.empty()) return;
  const auto from_to = [&](NodeId from, NodeId to) {
    const std::size_t pair =
        static_cast<std::size_t>(from) * static_cast<std::size_t>(program.nodes) + static_cast<std::size_t>(to);
    const std::int32_t route = routes[pair];
    return LoneRoute{route, route == direct ? 0 : schedule.routes[static_cast<std::size_t>(route)].route_class};
  };
  for (NodeId peer = 0; peer < program.nodes; ++peer) {
    program.lone_sends.push_back(from_to(program.node, peer));
    program.lone_receives.push_back(from_to(peer, program.node));
  }
}

}  // namespace

Program lower(const Schedule& schedule, NodeId node) {
  Program program;
  program.collective = schedule.collective;
  program.node = node;
  program.nodes = schedule.topology.host_count();
  program.chunks_per_shard = schedule.chunks_per_shard;
  program.steps = schedule.steps;
  Lowering lowering(program.operations);
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.from == node || transfer.to == node) lowering.add(operation_of(schedule, transfer, node));
  }
  add_lone_routes(schedule, program);
  return program;
}

}  // namespace libcoll::schedule
