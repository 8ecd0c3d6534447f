#include "planner/broadcast/classic/pattern.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "planner/base/index.h"
#include "planner/broadcast/bound/forest_optimum.h"
#include "planner/route/lash.h"
#include "planner/route/route_classes.h"
#include "planner/schedule/cost.h"
#include "planner/topology/facts.h"

namespace libcoll::broadcast::classic {

using namespace bound;
using namespace registry;
using namespace route;
using namespace schedule;
using namespace topology;

namespace {

constexpr double weight_of_unit = 1 << 16;  // what a chunk adds to a link of capacity 1; integers make ties exact

/// Appends `part` `steps` later, its chunks cut `scale` times finer and moved up by `chunks`.
void append(Pattern& whole, const Pattern& part, std::int32_t scale, std::int32_t chunks, std::int32_t steps) {
  const auto first_route = static_cast<std::int32_t>(whole.routes.size());
  whole.routes.insert(whole.routes.end(), part.routes.begin(), part.routes.end());
  for (Transfer transfer : part.transfers) {
    transfer.chunk_begin = transfer.chunk_begin * scale + chunks;
    transfer.chunk_count *= scale;
    transfer.step += steps;
    if (transfer.route != direct) transfer.route += first_route;
    whole.transfers.push_back(transfer);
  }
  whole.steps = std::max(whole.steps, steps + part.steps);
}

/// Finds shortest routes that keep clear of what the same step has laid already.
class Router {
 public:
  explicit Router(const Topology& topology)
      : topology_(topology), step_load_(at(topology.link_count()), 0), total_load_(at(topology.link_count()), 0) {
    for (const Link& link : topology.links()) {
      const double share = static_cast<double>(topology.unit_bandwidth_bytes_per_second()) /
                           static_cast<double>(link.bandwidth_bytes_per_second);
      weight_.push_back(std::max<std::int64_t>(1, std::llround(weight_of_unit * share)));
    }
  }

  void start_step() { std::fill(step_load_.begin(), step_load_.end(), 0); }

  void lay(const std::vector<LinkId>& links, std::int64_t chunks) {
    for (const LinkId link : links) {
      step_load_[at(link)] += chunks * weight_[at(link)];
      total_load_[at(link)] += chunks * weight_[at(link)];
    }
  }

  /// Fewest links; of those least Σ of step loads, then of total loads, then the links of lowest ids.
  [[nodiscard]] std::vector<LinkId> route(NodeId from, NodeId to) const {
    std::vector<std::int32_t> hops(at(topology_.node_count()), -1);
    std::vector<std::pair<std::int64_t, std::int64_t>> cost(at(topology_.node_count()));
    std::vector<LinkId> next(at(topology_.node_count()), -1);
    std::vector<NodeId> order{to};
    hops[at(to)] = 0;
    for (std::size_t taken = 0; taken < order.size() && hops[at(order[taken])] != hops[at(from)]; ++taken) {
      const NodeId node = order[taken];
      for (const LinkId link : topology_.in_links(node)) {
        const NodeId tail = topology_.link(link).from;
        if (hops[at(tail)] < 0) {
          hops[at(tail)] = hops[at(node)] + 1;
          order.push_back(tail);
        } else if (hops[at(tail)] != hops[at(node)] + 1) {
          continue;
        }
        const std::pair candidate(cost[at(node)].first + step_load_[at(link)],
                                  cost[at(node)].second + total_load_[at(link)]);
        const LinkId known = next[at(tail)];
        if (known < 0 || candidate < cost[at(tail)] || (candidate == cost[at(tail)] && link < known)) {
          cost[at(tail)] = candidate;
          next[at(tail)] = link;
        }
      }
    }
    std::vector<LinkId> links;
    for (NodeId node = from; node != to; node = topology_.link(links.back()).to) links.push_back(next[at(node)]);
    return links;
  }

 private:
  const Topology& topology_;
  std::vector<std::int64_t> weight_;  ///< of one chunk
  std::vector<std::int64_t> step_load_;
  std::vector<std::int64_t> total_load_;
};

/// Gives every transfer without a link its pair's route. Expects transfers sorted by step, from and to.
void add_routes(Schedule& schedule) {
  Router router(schedule.topology);
  std::map<std::pair<NodeId, NodeId>, std::int32_t> known;
  std::vector<Transfer>& transfers = schedule.transfers;
  std::int32_t step = 0;
  for (std::size_t first = 0; first < transfers.size();) {
    const Transfer& head = transfers[first];
    if (head.step != step) {
      step = head.step;
      router.start_step();
    }
    std::size_t last = first;
    std::int64_t chunks = 0;
    while (last < transfers.size() && transfers[last].step == step && transfers[last].from == head.from &&
           transfers[last].to == head.to && transfers[last].route == head.route) {
      chunks += transfers[last++].chunk_count;
    }
    std::int32_t route = head.route;
    const LinkId link = route == direct ? schedule.topology.find_link(head.from, head.to) : -1;
    if (route == direct && link < 0) {
      const auto [found, is_new] =
          known.try_emplace({head.from, head.to}, static_cast<std::int32_t>(schedule.routes.size()));
      if (is_new) schedule.routes.push_back({head.from, head.to, router.route(head.from, head.to), 0, 0});
      route = found->second;
      for (std::size_t i = first; i < last; ++i) transfers[i].route = route;
    }
    if (route == direct) {
      router.lay({link}, chunks);
    } else {
      router.lay(schedule.routes[at(route)].links, chunks);
    }
    first = last;
  }
}

Result<Rational> bound_of(const Topology& topology, Collective collective, NodeId root) {
  if (collective == Collective::broadcast) return broadcast_bandwidth_bound(topology, root);
  if (collective == Collective::reduce) return broadcast_bandwidth_bound(transpose(topology), root);
  Rational bound;
  if (collective != Collective::reduce_scatter) bound += allgather_bandwidth_bound(topology);
  if (collective != Collective::allgather) bound += allgather_bandwidth_bound(transpose(topology));
  return bound;
}

}  // namespace

Pattern reversed(Pattern allgather) {
  for (Transfer& transfer : allgather.transfers) {
    std::swap(transfer.from, transfer.to);
    transfer.step = allgather.steps + 1 - transfer.step;
    transfer.kind = TransferKind::reduce;
  }
  for (Route& route : allgather.routes) {
    std::swap(route.source, route.destination);
    std::reverse(route.links.begin(), route.links.end());
  }
  return allgather;
}

Pattern in_turn(const Pattern& first, const Pattern& second) {
  Pattern whole;
  whole.chunks_per_shard = std::lcm(first.chunks_per_shard, second.chunks_per_shard);
  append(whole, first, whole.chunks_per_shard / first.chunks_per_shard, 0, 0);
  append(whole, second, whole.chunks_per_shard / second.chunks_per_shard, 0, first.steps);
  return whole;
}

Pattern side_by_side(const std::vector<Pattern>& parts) {
  std::int32_t share = 1;
  for (const Pattern& part : parts) share = std::lcm(share, part.chunks_per_shard);
  Pattern whole;
  whole.chunks_per_shard = share * static_cast<std::int32_t>(parts.size());
  std::int32_t chunks = 0;
  for (const Pattern& part : parts) {
    append(whole, part, share / part.chunks_per_shard, chunks, 0);
    chunks += share;
  }
  return whole;
}

Gathering::Gathering(std::int32_t hosts) : held_(at(hosts)), holds_(at(hosts), std::vector<bool>(at(hosts), false)) {
  for (NodeId host = 0; host < hosts; ++host) {
    held_[at(host)].push_back(host);
    holds_[at(host)][at(host)] = true;
  }
}

Status Gathering::exchange(const std::vector<NodeId>& partner) {
  ++pattern_.steps;
  const std::vector<std::vector<ShardId>> before = held_;
  for (NodeId from = 0; from < static_cast<NodeId>(before.size()); ++from) {
    const NodeId to = partner[at(from)];
    if (to == from) continue;
    for (const ShardId shard : before[at(from)]) {
      if (holds_[at(to)][at(shard)]) {
        return Error{"shard " + std::to_string(shard) + " would reach node " + std::to_string(to) + " twice"};
      }
      take(to, shard);
      pattern_.transfers.push_back({shard, 0, 1, from, to, pattern_.steps, direct, TransferKind::copy});
    }
  }
  return {};
}

void Gathering::supply(const std::vector<std::pair<NodeId, NodeId>>& pairs) {
  ++pattern_.steps;
  const std::vector<std::vector<ShardId>> before = held_;
  for (const auto& [from, to] : pairs) {
    for (const ShardId shard : before[at(from)]) {
      if (holds_[at(to)][at(shard)]) continue;
      take(to, shard);
      pattern_.transfers.push_back({shard, 0, 1, from, to, pattern_.steps, direct, TransferKind::copy});
    }
  }
}

void Gathering::around(const std::vector<std::vector<NodeId>>& rings, std::int32_t begin) {
  const std::vector<std::vector<ShardId>> before = held_;
  for (const std::vector<NodeId>& ring : rings) {
    const std::size_t size = ring.size();
    for (std::size_t t = 1; t < size; ++t) {
      const std::int32_t step = begin + static_cast<std::int32_t>(t) - 1;
      pattern_.steps = std::max(pattern_.steps, step);
      for (std::size_t i = 0; i < size; ++i) {
        const NodeId to = ring[(i + 1) % size];
        for (const ShardId shard : before[at(ring[(i + size + 1 - t) % size])]) {
          pattern_.transfers.push_back({shard, 0, 1, ring[i], to, step, direct, TransferKind::copy});
          take(to, shard);
        }
      }
    }
  }
}

void Gathering::take(NodeId host, ShardId shard) {
  held_[at(host)].push_back(shard);
  holds_[at(host)][at(shard)] = true;
}

Result<Pattern> Gathering::finish() {
  for (NodeId host = 0; host < static_cast<NodeId>(held_.size()); ++host) {
    if (held_[at(host)].size() != held_.size()) {
      return Error{"node " + std::to_string(host) + " would end with " + std::to_string(held_[at(host)].size()) +
                   " of " + std::to_string(held_.size()) + " shards"};
    }
  }
  return std::move(pattern_);
}

Schedule on_links_and_routes(const Topology& topology, Collective collective, std::string_view algorithm,
                             Pattern pattern, NodeId root) {
  Schedule schedule;
  schedule.collective = collective;
  schedule.root = root;
  schedule.algorithm = algorithm;
  schedule.topology = topology;
  schedule.chunks_per_shard = pattern.chunks_per_shard;
  schedule.steps = pattern.steps;
  schedule.routes = std::move(pattern.routes);
  schedule.transfers = std::move(pattern.transfers);
  sort_transfers(schedule);
  add_routes(schedule);
  sort_transfers(schedule);
  schedule.proof.max_link_load = busiest_load(schedule);
  schedule.proof.bandwidth_time = bandwidth_time(schedule);
  return schedule;
}

Result<Schedule> lay_out(const Topology& topology, Collective collective, std::string_view algorithm, Pattern pattern,
                         const PlanOptions& options) {
  if (const Status status = check_connected(topology); !status) {
    return Error{std::string(algorithm) + " on " + topology.name() + ": " + status.error().message};
  }
  const NodeId root = is_rooted(collective) ? options.root : 0;
  const Result<Rational> bound = bound_of(topology, collective, root);
  if (!bound) return Error{std::string(algorithm) + " on " + topology.name() + ": " + bound.error().message};
  Schedule schedule = on_links_and_routes(topology, collective, algorithm, std::move(pattern), root);
  schedule.proof.bandwidth_bound = *bound;
  if (options.schedule) {
    assign_layers(topology, schedule.routes);
    assign_route_classes(topology, schedule.routes);
  } else {
    schedule.routes.clear();
    schedule.transfers.clear();
  }
  return schedule;
}

Result<Schedule> plan_by_pattern(AllgatherPattern allgather, Collective collective, std::string_view algorithm,
                                 const Topology& topology, const PlanOptions& options) {
  if (collective == Collective::alltoall || is_rooted(collective)) {
    return Error{std::string(algorithm) + " does not plan " + std::string(to_string(collective))};
  }
  if (const Status status = check_connected(topology); !status) {
    return Error{std::string(algorithm) + " on " + topology.name() + ": " + status.error().message};
  }
  Pattern whole;
  if (collective != Collective::allgather) {
    Result<Pattern> mirrored = allgather(transpose(topology), options);
    if (!mirrored) return Error{std::string(algorithm) + " on " + topology.name() + ": " + mirrored.error().message};
    whole = reversed(std::move(mirrored).value());
  }
  if (collective != Collective::reduce_scatter) {
    Result<Pattern> pattern = allgather(topology, options);
    if (!pattern) return Error{std::string(algorithm) + " on " + topology.name() + ": " + pattern.error().message};
    whole = collective == Collective::allgather ? std::move(pattern).value() : in_turn(whole, *pattern);
  }
  return lay_out(topology, collective, algorithm, std::move(whole), options);
}

}  // namespace libcoll::broadcast::classic
