#include "planner/broadcast/forest/edge_splitting.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "planner/base/index.h"
#include "planner/base/work_sharing.h"
#include "planner/broadcast/bound/flow_network.h"
#include "planner/broadcast/bound/forest_optimum.h"

namespace libcoll::broadcast::forest {

using namespace bound;
using namespace registry;
using namespace topology;

namespace {

/// Take `amount` from u→w and from w→t and give it to u→t; w is known from the context.
struct Split {
  NodeId u = 0;
  NodeId t = 0;
  std::int64_t amount = 0;
};

/// The links of one way after the other, without the detours that lead back to a node already visited.
std::vector<LinkId> joined(const Topology& topology, const std::vector<LinkId>& first,
                           const std::vector<LinkId>& second) {
  std::vector<LinkId> links = first;
  links.insert(links.end(), second.begin(), second.end());
  std::vector<LinkId> way;
  for (const LinkId link : links) {
    way.push_back(link);
    const NodeId reached = topology.link(link).to;
    const auto visit =
        std::find_if(way.begin(), way.end(), [&](LinkId id) { return topology.link(id).from == reached; });
    way.erase(visit, way.end());
  }
  return way;
}

/// The graph while switches vanish from it.
class SplittingGraph {
 public:
  SplittingGraph(const Topology& topology, std::span<const std::int64_t> capacity)
      : topology_(topology), out_(at(topology.node_count())), in_(at(topology.node_count())) {
    for (LinkId id = 0; id < topology.link_count(); ++id) {
      if (capacity[at(id)] == 0) continue;
      const Link& link = topology.link(id);
      out_[at(link.from)][link.to] = {link.from, link.to, capacity[at(id)], {{{id}, capacity[at(id)]}}};
      in_[at(link.to)].insert(link.from);
    }
  }

  [[nodiscard]] std::int64_t capacity(NodeId from, NodeId to) const {
    const auto found = out_[at(from)].find(to);
    return found == out_[at(from)].end() ? 0 : found->second.capacity;
  }
  [[nodiscard]] std::vector<NodeId> successors(NodeId node) const {
    std::vector<NodeId> nodes;
    for (const auto& [to, link] : out_[at(node)]) nodes.push_back(to);
    return nodes;
  }
  [[nodiscard]] std::vector<NodeId> predecessors(NodeId node) const {
    return {in_[at(node)].begin(), in_[at(node)].end()};
  }
  [[nodiscard]] std::vector<CapacityArc> arcs() const {
    std::vector<CapacityArc> arcs;
    for (const auto& links : out_) {
      for (const auto& [to, link] : links) arcs.push_back({link.from, link.to, link.capacity});
    }
    return arcs;
  }

  void split(NodeId w, const Split& split) {
    std::vector<LogicalPath> first = take(split.u, w, split.amount);
    std::vector<LogicalPath> second = take(w, split.t, split.amount);
    if (split.u == split.t) return;  // a way back to where it came from is of no use
    while (!first.empty()) {
      const std::int64_t amount = std::min(first.back().capacity, second.back().capacity);
      give(split.u, split.t, {joined(topology_, first.back().links, second.back().links), amount});
      for (std::vector<LogicalPath>* paths : {&first, &second}) {
        paths->back().capacity -= amount;
        if (paths->back().capacity == 0) paths->pop_back();
      }
    }
  }

  void isolate(NodeId w) {
    for (const NodeId t : successors(w)) take(w, t, capacity(w, t));
    for (const NodeId u : predecessors(w)) take(u, w, capacity(u, w));
  }

  [[nodiscard]] std::vector<LogicalLink> links() const {
    std::vector<LogicalLink> result;
    for (const auto& links : out_) {
      for (const auto& [to, link] : links) result.push_back(link);
    }
    return result;
  }

 private:
  std::vector<LogicalPath> take(NodeId from, NodeId to, std::int64_t amount) {
    const auto found = out_[at(from)].find(to);
    LogicalLink& link = found->second;
    std::vector<LogicalPath> taken;
    link.capacity -= amount;
    while (amount > 0) {
      LogicalPath& last = link.paths.back();
      const std::int64_t part = std::min(amount, last.capacity);
      taken.push_back({last.links, part});
      last.capacity -= part;
      amount -= part;
      if (last.capacity == 0) link.paths.pop_back();
    }
    if (link.capacity == 0) {
      out_[at(from)].erase(found);
      in_[at(to)].erase(from);
    }
    return taken;
  }

  void give(NodeId from, NodeId to, LogicalPath path) {
    LogicalLink& link = out_[at(from)].try_emplace(to, LogicalLink{from, to, 0, {}}).first->second;
    in_[at(to)].insert(from);
    link.capacity += path.capacity;
    const auto same = std::find_if(link.paths.begin(), link.paths.end(),
                                   [&](const LogicalPath& other) { return other.links == path.links; });
    if (same == link.paths.end()) {
      link.paths.push_back(std::move(path));
    } else {
      same->capacity += path.capacity;
    }
  }

  const Topology& topology_;
  std::vector<std::map<NodeId, LogicalLink>> out_;
  std::vector<std::set<NodeId>> in_;
};

/// Hosts joined by links between hosts, as the graph has them now: the boxes of a cluster once their own switches are
/// gone. The number of a host's cluster, by host.
std::vector<std::int32_t> clusters(const SplittingGraph& graph, std::int32_t hosts) {
  std::vector<std::int32_t> cluster(at(hosts), -1);
  std::int32_t count = 0;
  for (NodeId first = 0; first < hosts; ++first) {
    if (cluster[at(first)] >= 0) continue;
    std::vector<NodeId> queue{first};
    cluster[at(first)] = count;
    for (std::size_t taken = 0; taken < queue.size(); ++taken) {
      for (const auto& neighbours : {graph.successors(queue[taken]), graph.predecessors(queue[taken])}) {
        for (const NodeId next : neighbours) {
          if (next >= hosts || cluster[at(next)] >= 0) continue;
          cluster[at(next)] = count;
          queue.push_back(next);
        }
      }
    }
    ++count;
  }
  return cluster;
}

/// `count` of the candidates 0..size-1, spread out as the digits of a number system so that sums of few reach far:
/// 1, b, b², … first, then evenly.
std::vector<std::size_t> spread_out(std::size_t size, std::size_t count) {
  std::vector<bool> chosen(size, false);
  std::size_t left = count;
  const auto choose = [&](std::size_t position) {
    if (left == 0 || chosen[position]) return;
    chosen[position] = true;
    --left;
  };
  std::size_t base = 2;
  const auto reach = [&] {
    std::size_t power = 1;
    for (std::size_t digit = 0; digit < count && power <= size; ++digit) power *= base;
    return power;
  };
  while (reach() <= size) ++base;
  for (std::size_t power = 1; power <= size && left > 0; power *= base) choose(power - 1);
  for (std::size_t i = 0; i < count; ++i) choose(i * size / count);
  for (std::size_t position = 0; position < size; ++position) choose(position);
  std::vector<std::size_t> result;
  for (std::size_t position = 0; position < size; ++position) {
    if (chosen[position]) result.push_back(position);
  }
  return result;
}

/// A pairing of all of one switch's capacity.
class CapacityPattern {
 public:
  CapacityPattern(const SplittingGraph& graph, NodeId w, std::int32_t hosts) : graph_(graph) {
    const std::vector<std::int32_t> cluster = clusters(graph, hosts);
    std::set<NodeId> ports;
    for (const NodeId u : graph.predecessors(w)) ports.insert(u);
    for (const NodeId t : graph.successors(w)) ports.insert(t);
    for (const NodeId port : ports) {
      in_[port] = graph.capacity(port, w);
      out_[port] = graph.capacity(w, port);
      (port < hosts ? hosts_ : switches_).push_back(port);
    }
    const auto cluster_of = [&](NodeId host) { return cluster[at(host)]; };
    std::stable_sort(hosts_.begin(), hosts_.end(), [&](NodeId a, NodeId b) { return cluster_of(a) < cluster_of(b); });
    fill();
    const std::size_t rail = cluster_size(cluster);
    const auto elsewhere = [&](NodeId u, NodeId t) { return cluster_of(u) != cluster_of(t); };
    const auto anywhere = [](NodeId, NodeId) { return true; };
    if (rail > 0) circulate(hosts_, rail, elsewhere);
    circulate(hosts_, 1, elsewhere);
    circulate(hosts_, 1, anywhere);
    circulate(switches_, 1, anywhere);
    std::vector<NodeId> all = hosts_;
    all.insert(all.end(), switches_.begin(), switches_.end());
    circulate(all, 1, anywhere);
    for (const NodeId port : all) pair(port, port, std::min(in_[port], out_[port]));
  }

  [[nodiscard]] const std::vector<Split>& splits() const { return splits_; }

 private:
  void pair(NodeId u, NodeId t, std::int64_t amount) {
    if (amount == 0) return;
    in_[u] -= amount;
    out_[t] -= amount;
    splits_.push_back({u, t, amount});
    paired_.emplace(u, t);
  }

  /// Up and down: every host over all switches, so that each of them alone connects all hosts.
  void fill() {
    if (switches_.empty()) return;
    const std::size_t ways = switches_.size();
    const auto each = static_cast<std::int64_t>(ways);
    std::map<NodeId, std::pair<std::int64_t, std::int64_t>> share;
    for (const NodeId host : hosts_) share[host] = {(in_[host] + each - 1) / each, (out_[host] + each - 1) / each};
    for (std::size_t turn = 0; turn < ways; ++turn) {
      for (std::size_t i = 0; i < hosts_.size(); ++i) {
        const NodeId host = hosts_[i];
        const NodeId up = switches_[(i + turn) % ways];
        pair(host, up, std::min({share[host].first, in_[host], out_[up]}));
        pair(up, host, std::min({share[host].second, in_[up], out_[host]}));
      }
    }
    for (const NodeId host : hosts_) {
      for (const NodeId up : switches_) {
        pair(host, up, std::min(in_[host], out_[up]));
        pair(up, host, std::min(in_[up], out_[host]));
      }
    }
  }

  /// The number of ports in every cluster, where it is the same for at least two clusters; else 0.
  [[nodiscard]] std::size_t cluster_size(const std::vector<std::int32_t>& cluster) const {
    std::map<std::int32_t, std::size_t> sizes;
    for (const NodeId host : hosts_) ++sizes[cluster[at(host)]];
    if (sizes.size() < 2) return 0;
    const std::size_t size = sizes.begin()->second;
    const bool equal = std::all_of(sizes.begin(), sizes.end(), [&](const auto& entry) { return entry.second == size; });
    return equal ? size : 0;
  }

  /// Port i sends to port i + offset for offsets that are multiples of `stride`, as evenly as whole units allow.
  template <class Allowed>
  void circulate(const std::vector<NodeId>& ports, std::size_t stride, const Allowed& allowed) {
    if (ports.size() < 2) return;
    const std::size_t offsets = (ports.size() - 1) / stride;
    std::int64_t most = 0;
    for (const NodeId port : ports) most = std::max(most, in_[port]);
    if (most == 0) return;
    const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(most, static_cast<std::int64_t>(offsets)));
    const std::vector<std::size_t> chosen = least_served(ports, stride, offsets, wanted, allowed);
    const auto share = most / static_cast<std::int64_t>(chosen.size());
    const auto extra = static_cast<std::size_t>(most % static_cast<std::int64_t>(chosen.size()));
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      rotate(ports, (chosen[k] + 1) * stride, share + (k < extra ? 1 : 0), allowed);
    }
    // What unequal ports left over, for pairs that have nothing yet first.
    const auto is_new = [&](NodeId u, NodeId t) {
      return allowed(u, t) && graph_.capacity(u, t) == 0 && !paired_.contains({u, t});
    };
    for (std::size_t offset = 1; offset <= offsets; ++offset) rotate(ports, offset * stride, 1, is_new);
    for (std::size_t offset = 1; offset <= offsets; ++offset) {
      rotate(ports, offset * stride, FlowNetwork::infinite, allowed);
    }
  }

  /// `count` of the offsets, counted from 0: those whose pairs of ports have least between them already, so that
  /// switches side by side complete each other, and of these such as are spread out.
  template <class Allowed>
  std::vector<std::size_t> least_served(const std::vector<NodeId>& ports, std::size_t stride, std::size_t offsets,
                                        std::size_t count, const Allowed& allowed) const {
    std::map<std::int64_t, std::vector<std::size_t>> by_capacity;
    for (std::size_t offset = 0; offset < offsets; ++offset) {
      std::int64_t known = 0;
      for (std::size_t i = 0; i < ports.size(); ++i) {
        const NodeId u = ports[i];
        const NodeId t = ports[(i + (offset + 1) * stride) % ports.size()];
        if (u != t && allowed(u, t)) known += graph_.capacity(u, t);
      }
      by_capacity[known].push_back(offset);
    }
    std::vector<std::size_t> chosen;
    for (const auto& [known, equal] : by_capacity) {
      if (chosen.size() == count) break;
      for (const std::size_t i : spread_out(equal.size(), std::min(count - chosen.size(), equal.size()))) {
        chosen.push_back(equal[i]);
      }
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

  template <class Allowed>
  void rotate(const std::vector<NodeId>& ports, std::size_t offset, std::int64_t share, const Allowed& allowed) {
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const NodeId u = ports[i];
      const NodeId t = ports[(i + offset) % ports.size()];
      if (u != t && allowed(u, t)) pair(u, t, std::min({share, in_[u], out_[t]}));
    }
  }

  const SplittingGraph& graph_;
  std::vector<NodeId> hosts_;
  std::vector<NodeId> switches_;
  std::map<NodeId, std::int64_t> in_;   ///< capacity from a port that is not paired yet
  std::map<NodeId, std::int64_t> out_;  ///< to a port
  std::vector<Split> splits_;
  std::set<std::pair<NodeId, NodeId>> paired_;
};

/// Least cuts between two sides, one more host at a time on the far one. The near side has the source of the demands.
/// Copies answer at the same time.
class SlackOfCuts {
 public:
  SlackOfCuts(const Topology& topology, std::span<const CapacityArc> arcs, std::span<const std::int64_t> demand,
              const std::set<NodeId>& near, const std::set<NodeId>& far)
      : source_(topology.node_count()),
        sink_(source_ + 1),
        total_(std::accumulate(demand.begin(), demand.end(), std::int64_t{0})),
        network_(sink_ + 1) {
    for (const CapacityArc& arc : arcs) network_.add_arc(arc.from, arc.to, arc.capacity);
    for (NodeId node = 0; node < topology.node_count(); ++node) {
      const bool is_host = node < topology.host_count();
      if (is_host || near.contains(node)) {
        network_.add_arc(source_, node, near.contains(node) ? FlowNetwork::infinite : demand[at(node)]);
      }
      to_sink_.push_back(is_host || far.contains(node)
                             ? network_.add_arc(node, sink_, far.contains(node) ? FlowNetwork::infinite : 0)
                             : -1);
    }
  }

  [[nodiscard]] std::int32_t workers(const Effort& effort, std::size_t questions) const {
    return workers_for(network_.arc_count(), questions, effort);
  }

  /// How far the least cut with this host on the far side is above the sum of the demands; `enough` when it is at least
  /// that.
  std::int64_t beyond(NodeId host, std::int64_t enough) {
    const std::int32_t arc = to_sink_[at(host)];
    const std::int64_t usual = network_.capacity(arc);
    network_.set_capacity(arc, FlowNetwork::infinite);
    const std::int64_t slack = network_.run(source_, sink_, total_ + enough) - total_;
    network_.set_capacity(arc, usual);
    return slack;
  }

 private:
  std::int32_t source_;
  std::int32_t sink_;
  std::int64_t total_;
  FlowNetwork network_;
  std::vector<std::int32_t> to_sink_;  ///< by node: its arc
};

class Splitter {
 public:
  Splitter(const Topology& topology, std::span<const std::int64_t> capacity, std::span<const std::int64_t> demand,
           const Effort& effort)
      : topology_(topology), demand_(demand), effort_(effort), graph_(topology, capacity) {
    witnesses_.resize(demand.size());
    std::iota(witnesses_.begin(), witnesses_.end(), 0);
  }

  Result<std::vector<LogicalLink>> run() {
    if (!harmless(0, {})) return Error{"the capacities of " + topology_.name() + " do not carry the trees asked for"};
    std::set<NodeId> switches;
    for (NodeId w = topology_.host_count(); w < topology_.node_count(); ++w) switches.insert(w);
    while (!switches.empty()) {
      if (effort_.end.passed()) return Error{"the time was over before the switches were split off"};
      const NodeId w = next(switches);
      switches.erase(w);
      remove(w);
    }
    // Holds by Theorem 7 when every node's capacity in equals that out.
    if (!harmless(0, {})) {
      return Error{"the switches of " + topology_.name() +
                   " have more bandwidth in one direction than in the other, and cannot be split without loss"};
    }
    return graph_.links();
  }

 private:
  /// Lowest in the hierarchy first: with hosts around it, and of these the smallest.
  [[nodiscard]] NodeId next(const std::set<NodeId>& switches) const {
    const auto rank = [&](NodeId w) {
      const std::vector<NodeId> ports = graph_.successors(w);
      const bool has_hosts = !ports.empty() && ports.front() < topology_.host_count();
      return std::tuple(!has_hosts, ports.size(), w);
    };
    return *std::min_element(switches.begin(), switches.end(), [&](NodeId a, NodeId b) { return rank(a) < rank(b); });
  }

  void remove(NodeId w) {
    commit(w, CapacityPattern(graph_, w, topology_.host_count()).splits());
    for (const NodeId t : graph_.successors(w)) {
      std::vector<NodeId> sources = graph_.predecessors(w);
      std::stable_partition(sources.begin(), sources.end(), [&](NodeId u) { return u != t; });
      for (const NodeId u : sources) {
        if (graph_.capacity(w, t) == 0) break;
        if (const std::int64_t amount = splittable(w, u, t); amount > 0) graph_.split(w, {u, t, amount});
      }
    }
    graph_.isolate(w);
  }

  void commit(NodeId w, std::span<const Split> splits) {
    if (splits.empty()) return;
    if (harmless(w, splits)) {
      for (const Split& split : splits) graph_.split(w, split);
    } else if (splits.size() == 1) {
      const Split& wanted = splits.front();
      const std::int64_t amount = std::min(wanted.amount, splittable(w, wanted.u, wanted.t));
      if (amount > 0) graph_.split(w, {wanted.u, wanted.t, amount});
    } else {
      commit(w, splits.first(splits.size() / 2));
      commit(w, splits.subspan(splits.size() / 2));
    }
  }

  /// Whether every host can still take in all trees after the splits (Theorem 5), or nobody has the time to find out.
  /// Hosts that could not before come first.
  bool harmless(NodeId w, std::span<const Split> splits) {
    if (effort_.deadline.passed()) return true;
    std::map<std::pair<NodeId, NodeId>, std::int64_t> capacity;
    for (const CapacityArc& arc : graph_.arcs()) capacity[{arc.from, arc.to}] = arc.capacity;
    for (const Split& split : splits) {
      capacity[{split.u, w}] -= split.amount;
      capacity[{w, split.t}] -= split.amount;
      if (split.u != split.t) capacity[{split.u, split.t}] += split.amount;
    }
    std::vector<CapacityArc> arcs;
    arcs.reserve(capacity.size());
    for (const auto& [ends, amount] : capacity) arcs.push_back({ends.first, ends.second, amount});
    ForestNetwork network(topology_.node_count(), arcs, demand_);
    const auto unserved = unserved_hosts(network, witnesses_, 1, effort_);
    if (!unserved || unserved->empty()) return true;
    const auto host = witnesses_.begin() + static_cast<std::ptrdiff_t>(unserved->front().position);
    std::rotate(witnesses_.begin(), host, host + 1);
    return false;
  }

  /// Theorem 8: the most that (u,w),(w,t) can be split off by. Cuts with the demands' source, u and t on one side and w
  /// and some host on the other lose by it, and so do those with the source and w on one side and u, t and some host on
  /// the other. After the deadline as much as there is.
  std::int64_t splittable(NodeId w, NodeId u, NodeId t) {
    std::int64_t amount = std::min(graph_.capacity(u, w), graph_.capacity(w, t));
    if (effort_.deadline.passed()) return amount;
    const std::vector<CapacityArc> arcs = graph_.arcs();
    std::vector<NodeId> others = witnesses_;
    std::erase_if(others, [&](NodeId host) { return host == u || host == t; });
    amount = least_slack(SlackOfCuts(topology_, arcs, demand_, {u, t}, {w}), others, amount);
    if (amount == 0) return 0;
    // A host among u and t is the nearest of all hosts that may stand on the far side.
    const bool switches_only = u >= topology_.host_count() && t >= topology_.host_count();
    return least_slack(SlackOfCuts(topology_, arcs, demand_, {w}, {u, t}),
                       switches_only ? witnesses_ : std::vector<NodeId>{std::min(u, t)}, amount);
  }

  /// The least of what the cuts of these hosts leave, or `amount` where they all leave that much.
  std::int64_t least_slack(const SlackOfCuts& cuts, const std::vector<NodeId>& hosts, std::int64_t amount) const {
    std::atomic<std::int64_t> least{amount};
    const std::int32_t workers = cuts.workers(effort_, hosts.size());
    std::vector<SlackOfCuts> copies(at(workers), cuts);
    first_failures(workers, hosts.size(), 1, [&](std::int32_t worker, std::size_t position) {
      std::int64_t known = least;
      if (known == 0 || effort_.deadline.passed()) return known > 0;
      const std::int64_t slack = copies[at(worker)].beyond(hosts[position], known);
      while (slack < known && !least.compare_exchange_weak(known, slack)) {
      }
      return slack > 0;
    });
    return least;
  }

  const Topology& topology_;
  std::span<const std::int64_t> demand_;
  Effort effort_;
  SplittingGraph graph_;
  std::vector<NodeId> witnesses_;  ///< all hosts, those that failed a test last in front
};

}  // namespace

Result<std::vector<LogicalLink>> split_off_switches(const Topology& topology, std::span<const std::int64_t> capacity,
                                                    std::span<const std::int64_t> demand, const Effort& effort) {
  return Splitter(topology, capacity, demand, effort).run();
}

std::vector<LogicalLink> ways_between_hosts(const Topology& topology, std::span<const std::int64_t> capacity) {
  std::vector<LogicalLink> links;
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    std::vector<LogicalPath> way(at(topology.node_count()));  // empty: not reached
    std::vector<NodeId> queue{host};
    for (std::size_t taken = 0; taken < queue.size(); ++taken) {
      const NodeId from = queue[taken];
      const std::span<const LinkId> out = topology.out_links(from);
      for (std::size_t i = 0; i < out.size(); ++i) {
        // Hosts begin with different links, so that they do not all take the same switch.
        const LinkId link = out[(i + at(host)) % out.size()];
        const NodeId to = topology.link(link).to;
        if (to == host || !way[at(to)].links.empty()) continue;
        const std::int64_t width = std::max<std::int64_t>(capacity[at(link)], 1);
        way[at(to)] = way[at(from)];
        way[at(to)].links.push_back(link);
        way[at(to)].capacity = from == host ? width : std::min(way[at(from)].capacity, width);
        if (to >= topology.host_count()) {
          queue.push_back(to);
        } else {
          links.push_back({host, to, way[at(to)].capacity, {way[at(to)]}});
        }
      }
    }
  }
  return links;
}

}  // namespace libcoll::broadcast::forest
