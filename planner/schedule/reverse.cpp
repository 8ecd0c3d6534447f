#include "planner/schedule/reverse.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "planner/schedule/cost.h"

namespace libcoll::schedule {

using namespace topology;

namespace {

std::optional<Collective> mirror_of(Collective collective) {
  switch (collective) {
    case Collective::allgather:
      return Collective::reduce_scatter;
    case Collective::reduce_scatter:
      return Collective::allgather;
    case Collective::broadcast:
      return Collective::reduce;
    case Collective::reduce:
      return Collective::broadcast;
    case Collective::allreduce:
    case Collective::alltoall:
      break;
  }
  return std::nullopt;
}

Transfer mirrored(Transfer transfer, std::int32_t steps) {
  std::swap(transfer.from, transfer.to);
  transfer.step = steps + 1 - transfer.step;
  transfer.kind = transfer.kind == TransferKind::copy ? TransferKind::reduce : TransferKind::copy;
  return transfer;
}

/// The same wires: a name or the injection limit may differ without making a schedule wrong.
bool same_wiring(const Topology& a, const Topology& b) {
  return a.host_count() == b.host_count() && std::ranges::equal(a.nodes(), b.nodes()) &&
         std::ranges::equal(a.links(), b.links());
}

/// Appends `part` with its steps moved back, its chunks cut `scale` times finer and its routes renumbered.
void append(Schedule& whole, const Schedule& part, std::int32_t scale) {
  const auto first_route = static_cast<std::int32_t>(whole.routes.size());
  whole.routes.insert(whole.routes.end(), part.routes.begin(), part.routes.end());
  for (Transfer transfer : part.transfers) {
    transfer.step += whole.steps;
    transfer.chunk_begin *= scale;
    transfer.chunk_count *= scale;
    if (transfer.route != direct) transfer.route += first_route;
    whole.transfers.push_back(transfer);
  }
  whole.steps += part.steps;
}

std::string joined_name(const std::string& first, const std::string& second) {
  return first == second ? first : first + "+" + second;
}

}  // namespace

Result<Schedule> reverse(const Schedule& schedule) {
  const std::optional<Collective> mirror = mirror_of(schedule.collective);
  if (!mirror) {
    return Error{"only allgather, reduce_scatter, broadcast and reduce have a mirror image, not " +
                 std::string(to_string(schedule.collective))};
  }
  if (!schedule.wirings.empty()) return Error{"a schedule that rewires the fabric has no mirror image"};
  if (!schedule.routes.empty()) return Error{"a routed schedule cannot be reversed, only a link-based one"};
  Schedule result = schedule;
  result.collective = *mirror;
  result.topology = transpose(schedule.topology);
  result.topology.set_name(schedule.topology.name());
  for (Transfer& transfer : result.transfers) transfer = mirrored(transfer, schedule.steps);
  sort_transfers(result);
  return result;
}

Result<Schedule> concatenate(const Schedule& reduce_scatter, const Schedule& allgather) {
  if (reduce_scatter.collective != Collective::reduce_scatter || allgather.collective != Collective::allgather) {
    return Error{"an allreduce is a reduce_scatter followed by an allgather, not " +
                 std::string(to_string(reduce_scatter.collective)) + " followed by " +
                 std::string(to_string(allgather.collective))};
  }
  if (!reduce_scatter.wirings.empty() || !allgather.wirings.empty()) {
    return Error{"schedules that rewire the fabric cannot be put together"};
  }
  if (!same_wiring(reduce_scatter.topology, allgather.topology)) {
    return Error{"reduce_scatter on '" + reduce_scatter.topology.name() + "' and allgather on '" +
                 allgather.topology.name() + "' are not on the same topology"};
  }
  if (reduce_scatter.chunks_per_shard < 1 || allgather.chunks_per_shard < 1) {
    return Error{"a schedule has at least one chunk per shard"};
  }
  const std::int64_t chunks = std::lcm(std::int64_t{reduce_scatter.chunks_per_shard}, allgather.chunks_per_shard);
  if (chunks > std::numeric_limits<std::int32_t>::max()) {
    return Error{"the common multiple of " + std::to_string(reduce_scatter.chunks_per_shard) + " and " +
                 std::to_string(allgather.chunks_per_shard) + " chunks per shard is too large"};
  }
  Schedule result;
  result.collective = Collective::allreduce;
  result.algorithm = joined_name(reduce_scatter.algorithm, allgather.algorithm);
  result.topology = allgather.topology;
  result.chunks_per_shard = static_cast<std::int32_t>(chunks);
  append(result, reduce_scatter, result.chunks_per_shard / reduce_scatter.chunks_per_shard);
  append(result, allgather, result.chunks_per_shard / allgather.chunks_per_shard);
  sort_transfers(result);
  result.proof.bandwidth_time = reduce_scatter.proof.bandwidth_time + allgather.proof.bandwidth_time;
  result.proof.bandwidth_bound = reduce_scatter.proof.bandwidth_bound + allgather.proof.bandwidth_bound;
  // Both parts need not have the same busiest link, so this is at most the sum.
  result.proof.max_link_load = max_link_load(result);
  return result;
}

}  // namespace libcoll::schedule
