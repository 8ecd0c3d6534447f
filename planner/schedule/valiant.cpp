#include "planner/schedule/valiant.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/schedule/cost.h"

namespace libcoll::schedule {

using namespace topology;

namespace {

/// How whole blocks go from each node to each other one.
using PairTransfers = std::vector<std::vector<Transfer>>;

bool ends_are_the_blocks(const Transfer& transfer, std::int32_t nodes) {
  return transfer.from == transfer.shard / nodes && transfer.to == transfer.shard % nodes;
}

class Spreading {
 public:
  Spreading(const Schedule& uniform, PairTransfers pairs)
      : nodes_(uniform.topology.host_count()), pairs_(std::move(pairs)), schedule_(uniform) {
    schedule_.algorithm = "valiant";
    schedule_.chunks_per_shard = nodes_ * uniform.chunks_per_shard;
    schedule_.steps = 2;
    schedule_.transfers.clear();
  }

  Schedule spread() {
    for (NodeId source = 0; source < nodes_; ++source) {
      for (NodeId destination = 0; destination < nodes_; ++destination) {
        for (NodeId between = 0; source != destination && between < nodes_; ++between) {
          add(source, destination, between);
        }
      }
    }
    sort_transfers(schedule_);
    Proof& proof = schedule_.proof;
    proof.max_link_load = busiest_load(schedule_);
    proof.bandwidth_time = bandwidth_time(schedule_);
    proof.flow = std::min(1 / proof.max_link_load.to_double(), proof.flow_upper_bound);
    return std::move(schedule_);
  }

 private:
  /// The block's part that goes by way of that node; of its own ends, there is nothing to go by.
  void add(NodeId source, NodeId destination, NodeId between) {
    const ShardId block = source * nodes_ + destination;
    if (between == source || between == destination) return add_leg(block, between, source, destination, 1);
    add_leg(block, between, source, between, 1);
    add_leg(block, between, between, destination, 2);
  }

  void add_leg(ShardId block, NodeId part, NodeId from, NodeId to, std::int32_t step) {
    const std::int32_t chunks = schedule_.chunks_per_shard / nodes_;
    for (Transfer transfer : pairs_[at(from * nodes_ + to)]) {
      transfer.shard = block;
      transfer.chunk_begin += part * chunks;
      transfer.step = step;
      schedule_.transfers.push_back(transfer);
    }
  }

  const NodeId nodes_;
  const PairTransfers pairs_;
  Schedule schedule_;
};

}  // namespace

Result<Schedule> spread_over_nodes(const Schedule& uniform) {
  const std::int32_t nodes = uniform.topology.host_count();
  if (uniform.collective != Collective::alltoall || uniform.steps != 1 || !uniform.wirings.empty()) {
    return Error{"valiant: " + uniform.algorithm + " is no all-to-all in one step"};
  }
  if (std::int64_t{nodes} * uniform.chunks_per_shard > std::numeric_limits<std::int32_t>::max()) {
    return Error{"valiant: " + std::to_string(uniform.chunks_per_shard) + " chunks of each of " +
                 std::to_string(nodes) + " nodes are too many"};
  }
  PairTransfers pairs(at(nodes) * at(nodes));
  for (const Transfer& transfer : uniform.transfers) {
    if (!ends_are_the_blocks(transfer, nodes)) return Error{"valiant: hosts forward in " + uniform.algorithm};
    pairs[at(transfer.shard)].push_back(transfer);
  }
  return Spreading(uniform, std::move(pairs)).spread();
}

}  // namespace libcoll::schedule
