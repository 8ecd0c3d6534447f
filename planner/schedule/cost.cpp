#include "planner/schedule/cost.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "planner/topology/facts.h"

namespace libcoll {
namespace {

/// Chunks that cross each link, and which links were crossed at all.
class LinkLoads {
 public:
  explicit LinkLoads(const Schedule& schedule)
      : schedule_(schedule), chunks_(static_cast<std::size_t>(schedule.topology.link_count())) {}

  void add(const Transfer& transfer) {
    if (transfer.route == direct) {
      add(schedule_.topology.find_link(transfer.from, transfer.to), transfer.chunk_count);
      return;
    }
    for (const LinkId link : schedule_.routes[static_cast<std::size_t>(transfer.route)].links) {
      add(link, transfer.chunk_count);
    }
  }

  /// The largest load in shards per unit capacity; the loads start from zero again.
  Rational take_max() {
    Rational largest;
    for (const LinkId link : crossed_) {
      std::int64_t& chunks = chunks_[static_cast<std::size_t>(link)];
      largest = std::max(largest, Rational(chunks, schedule_.chunks_per_shard) / schedule_.topology.capacity(link));
      chunks = 0;
    }
    crossed_.clear();
    return largest;
  }

 private:
  void add(LinkId link, std::int32_t count) {
    std::int64_t& chunks = chunks_[static_cast<std::size_t>(link)];
    if (chunks == 0) crossed_.push_back(link);
    chunks += count;
  }

  const Schedule& schedule_;
  std::vector<std::int64_t> chunks_;
  std::vector<LinkId> crossed_;
};

std::vector<std::size_t> order_by_step(const Schedule& schedule) {
  std::vector<std::size_t> order(schedule.transfers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&schedule](std::size_t a, std::size_t b) {
    return schedule.transfers[a].step < schedule.transfers[b].step;
  });
  return order;
}

}  // namespace

std::vector<Rational> step_loads(const Schedule& schedule) {
  std::vector<Rational> result(static_cast<std::size_t>(schedule.steps));
  LinkLoads loads(schedule);
  std::int32_t step = 0;
  const auto close_step = [&] {
    if (step > 0) result[static_cast<std::size_t>(step) - 1] = loads.take_max();
  };
  for (const std::size_t index : order_by_step(schedule)) {
    const Transfer& transfer = schedule.transfers[index];
    if (transfer.step != step) {
      close_step();
      step = transfer.step;
    }
    loads.add(transfer);
  }
  close_step();
  return result;
}

Rational max_link_load(const Schedule& schedule) {
  LinkLoads loads(schedule);
  for (const Transfer& transfer : schedule.transfers) loads.add(transfer);
  return loads.take_max();
}

Rational bandwidth_time(const Schedule& schedule) {
  const Rational unit(degree(schedule.topology), std::max(schedule.topology.host_count(), 1));
  if (schedule.collective == Collective::alltoall || schedule.pipelined) return unit * max_link_load(schedule);
  Rational total;
  for (const Rational load : step_loads(schedule)) total += load;
  return unit * total;
}

}  // namespace libcoll
