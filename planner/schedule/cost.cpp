#include "planner/schedule/cost.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "planner/base/index.h"

namespace libcoll::schedule {

using namespace topology;

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

/// The same by wiring: links have the bandwidth of the wiring in force, and their loads per capacity are kept apart.
class WiredLoads {
 public:
  explicit WiredLoads(const Schedule& schedule) : schedule_(schedule) {}

  void add(const Transfer& transfer) {
    const Wiring* wiring = wiring_in(schedule_, transfer.step);
    if (transfer.route == direct) {
      add(wiring, schedule_.topology.find_link(transfer.from, transfer.to), transfer.chunk_count);
      return;
    }
    for (const LinkId link : schedule_.routes[static_cast<std::size_t>(transfer.route)].links) {
      add(wiring, link, transfer.chunk_count);
    }
  }

  /// By link, all wirings together: shards per unit capacity. Links that are not live carry nothing.
  [[nodiscard]] std::map<LinkId, Rational> by_link() const {
    std::map<LinkId, Rational> loads;
    for (const auto& [key, chunks] : chunks_) {
      const auto& [wiring, link] = key;
      const auto live = std::lower_bound(wiring->links.begin(), wiring->links.end(), link,
                                         [](const LiveLink& a, LinkId id) { return a.link < id; });
      if (live == wiring->links.end() || live->link != link) continue;
      const Rational capacity(live->bandwidth_bytes_per_second, schedule_.topology.unit_bandwidth_bytes_per_second());
      loads[link] += Rational(chunks, schedule_.chunks_per_shard) / capacity;
    }
    return loads;
  }

  /// The largest load of a link; the loads start from zero again.
  Rational take_max() {
    Rational largest;
    for (const auto& [link, load] : by_link()) largest = std::max(largest, load);
    chunks_.clear();
    return largest;
  }

 private:
  void add(const Wiring* wiring, LinkId link, std::int32_t count) {
    if (wiring != nullptr) chunks_[{wiring, link}] += count;
  }

  const Schedule& schedule_;
  std::map<std::pair<const Wiring*, LinkId>, std::int64_t> chunks_;
};

template <class Loads>
std::vector<Rational> step_loads_by(const Schedule& schedule) {
  std::vector<Rational> result(static_cast<std::size_t>(schedule.steps));
  Loads loads(schedule);
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

template <class Loads>
Rational max_load_by(const Schedule& schedule) {
  Loads loads(schedule);
  for (const Transfer& transfer : schedule.transfers) loads.add(transfer);
  return loads.take_max();
}

/// Of the transfers that reduce, and of those that copy: the two phases of an allreduce.
Rational max_load_of(const Schedule& schedule, TransferKind kind) {
  LinkLoads loads(schedule);
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.kind == kind) loads.add(transfer);
  }
  return loads.take_max();
}

}  // namespace

std::vector<Rational> step_loads(const Schedule& schedule) {
  return schedule.wirings.empty() ? step_loads_by<LinkLoads>(schedule) : step_loads_by<WiredLoads>(schedule);
}

Rational max_link_load(const Schedule& schedule) {
  return schedule.wirings.empty() ? max_load_by<LinkLoads>(schedule) : max_load_by<WiredLoads>(schedule);
}

Rational injection_load(const Schedule& schedule) {
  const Topology& fabric = schedule.topology;
  if (fabric.injection_bytes_per_second() <= 0) return 0;
  std::vector<std::int64_t> sent(at(fabric.host_count()), 0);
  std::vector<std::int64_t> received(at(fabric.host_count()), 0);
  for (const Transfer& transfer : schedule.transfers) {
    sent[at(transfer.from)] += transfer.chunk_count;
    received[at(transfer.to)] += transfer.chunk_count;
  }
  const std::int64_t most =
      std::max(*std::max_element(sent.begin(), sent.end()), *std::max_element(received.begin(), received.end()));
  return Rational(most, schedule.chunks_per_shard) /
         Rational(fabric.injection_bytes_per_second(), fabric.unit_bandwidth_bytes_per_second());
}

Rational busiest_load(const Schedule& schedule) {
  const Rational load = max_link_load(schedule);
  return schedule.collective == Collective::alltoall ? std::max(load, injection_load(schedule)) : load;
}

Rational universal_bandwidth_bound(Collective collective, std::int32_t hosts) {
  if (is_rooted(collective)) return {hosts > 1 ? 1 : 0};
  const Rational one_way(hosts - 1, hosts);
  return collective == Collective::allreduce ? one_way + one_way : one_way;
}

Rational bandwidth_time(const Schedule& schedule) {
  const Rational unit(node_degree(schedule), shards_in_vector(schedule));
  const bool in_steps = !schedule.wirings.empty();
  if (!in_steps && schedule.pipelined && schedule.collective == Collective::allreduce) {
    return unit * (max_load_of(schedule, TransferKind::reduce) + max_load_of(schedule, TransferKind::copy));
  }
  if (!in_steps && (schedule.collective == Collective::alltoall || schedule.pipelined)) {
    return unit * busiest_load(schedule);
  }
  Rational total;
  for (const Rational& load : step_loads(schedule)) total += load;
  return unit * total;
}

}  // namespace libcoll::schedule
