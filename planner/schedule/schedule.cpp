#include "planner/schedule/schedule.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>

#include "planner/topology/facts.h"

namespace libcoll::schedule {

using namespace topology;

std::string_view to_string(Collective collective) {
  switch (collective) {
    case Collective::allgather:
      return "allgather";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::allreduce:
      return "allreduce";
    case Collective::alltoall:
      return "alltoall";
    case Collective::broadcast:
      return "broadcast";
    case Collective::reduce:
      return "reduce";
  }
  return "unknown";
}

Result<Collective> parse_collective(std::string_view text) {
  if (text == "reduce-scatter") return Collective::reduce_scatter;
  for (const Collective collective : {Collective::allgather, Collective::reduce_scatter, Collective::allreduce,
                                      Collective::alltoall, Collective::broadcast, Collective::reduce}) {
    if (text == to_string(collective)) return collective;
  }
  return Error{"unknown collective '" + std::string(text) +
               "', expected allgather, reduce_scatter, allreduce, alltoall, broadcast or reduce"};
}

bool is_gathering(Collective collective) {
  return collective == Collective::allgather || collective == Collective::reduce_scatter ||
         collective == Collective::allreduce;
}

bool is_rooted(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce;
}

const Wiring* wiring_in(const Schedule& schedule, std::int32_t step) {
  const auto after = std::find_if(schedule.wirings.begin(), schedule.wirings.end(),
                                  [step](const Wiring& wiring) { return wiring.step > step; });
  return after == schedule.wirings.begin() ? nullptr : &*std::prev(after);
}

std::int64_t node_degree(const Schedule& schedule) {
  if (schedule.wirings.empty()) return degree(schedule.topology);
  std::int64_t largest = 0;
  for (const Wiring& wiring : schedule.wirings) {
    std::vector<std::int64_t> out(static_cast<std::size_t>(schedule.topology.node_count()), 0);
    std::vector<std::int64_t> in(out.size(), 0);
    for (const LiveLink& live : wiring.links) {
      const Link& link = schedule.topology.link(live.link);
      largest = std::max(largest, out[static_cast<std::size_t>(link.from)] += live.bandwidth_bytes_per_second);
      largest = std::max(largest, in[static_cast<std::size_t>(link.to)] += live.bandwidth_bytes_per_second);
    }
  }
  const std::int64_t unit = schedule.topology.unit_bandwidth_bytes_per_second();
  return (largest + unit - 1) / unit;
}

std::int64_t shards_in_vector(const Schedule& schedule) {
  return is_rooted(schedule.collective) ? 1 : std::max(schedule.topology.host_count(), 1);
}

std::vector<std::size_t> order_by_step(const Schedule& schedule) {
  std::vector<std::size_t> order(schedule.transfers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&schedule](std::size_t a, std::size_t b) {
    return schedule.transfers[a].step < schedule.transfers[b].step;
  });
  return order;
}

void sort_transfers(Schedule& schedule) {
  const auto key = [](const Transfer& t) {
    return std::tie(t.step, t.from, t.to, t.route, t.shard, t.chunk_begin, t.chunk_count, t.kind);
  };
  std::sort(schedule.transfers.begin(), schedule.transfers.end(),
            [&key](const Transfer& a, const Transfer& b) { return key(a) < key(b); });
}

std::int32_t layer_count(std::span<const Route> routes) {
  std::int32_t count = 0;
  for (const Route& route : routes) count = std::max(count, route.layer + 1);
  return count;
}

}  // namespace libcoll::schedule
