#include "planner/broadcast/forest/tree_packing.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>

#include "planner/base/index.h"
#include "planner/base/work_sharing.h"
#include "planner/broadcast/bound/max_flow.h"
#include "planner/broadcast/forest/cut_pool.h"
#include "planner/broadcast/forest/tree_shortening.h"

namespace libcoll::broadcast::forest {

using namespace bound;
using namespace registry;
using namespace topology;

namespace {

__extension__ using Wide = __int128;

/// What a packing in progress has left.
struct State {
  std::vector<CapacityArc> arcs;  ///< capacities not used yet
  std::vector<std::int64_t> demand;
};

class Packer {
 public:
  Packer(const Effort& effort, std::span<const CapacityArc> arcs, std::span<const std::int64_t> demand)
      : effort_(effort),
        whole_(arcs.begin(), arcs.end()),
        out_(demand.size()),
        in_(demand.size()),
        pool_(hosts(demand)),
        network_(hosts(demand), arcs, demand),
        witnesses_(demand.size()),
        in_tree_(demand.size(), false) {
    now_.arcs = whole_;
    now_.demand.assign(demand.begin(), demand.end());
    for (std::size_t arc = 0; arc < whole_.size(); ++arc) {
      out_[at(whole_[arc].from)].push_back(static_cast<std::int32_t>(arc));
      in_[at(whole_[arc].to)].push_back(static_cast<std::int32_t>(arc));
    }
    std::iota(witnesses_.begin(), witnesses_.end(), 0);
  }

  Result<Packing> run() {
    if (!late() && !remember_tight_cuts()) return Error{"the capacities do not carry the trees asked for"};
    std::size_t patience = 1;
    while (wanted() > 0) {
      if (late()) {
        const std::int64_t missing = wanted();
        if (Status status = grow_regardless(); !status) return status.error();
        return Packing{std::move(trees_), missing};
      }
      if (grow_batch()) {
        patience = 1;
        continue;
      }
      // Trees that cannot go wrong, more of them the longer batches fail.
      for (std::size_t tree = 0; tree < patience && wanted() > 0 && !late(); ++tree) {
        if (!grow_safely(next_root())) return Error{"no arc can be added to an out-tree that must be completed"};
      }
      patience *= 2;
    }
    shorten_trees(whole_, trees_, effort_.deadline);
    return Packing{std::move(trees_), 0};
  }

 private:
  [[nodiscard]] bool late() const { return effort_.deadline.passed(); }
  static std::int32_t hosts(std::span<const std::int64_t> demand) { return static_cast<std::int32_t>(demand.size()); }
  [[nodiscard]] std::int64_t wanted() const {
    return std::accumulate(now_.demand.begin(), now_.demand.end(), std::int64_t{0});
  }
  [[nodiscard]] NodeId next_root() const {
    const auto root = std::find_if(now_.demand.begin(), now_.demand.end(), [](std::int64_t left) { return left > 0; });
    return static_cast<NodeId>(root - now_.demand.begin());
  }
  CapacityArc& arc(std::int32_t id) { return now_.arcs[at(id)]; }

  /// Whether a has a larger share of its capacity left than b. Balanced use keeps every cut as open as it can be.
  [[nodiscard]] bool better(std::int32_t a, std::int32_t b) const {
    const Wide left_a = Wide{now_.arcs[at(a)].capacity} * whole_[at(b)].capacity;
    const Wide left_b = Wide{now_.arcs[at(b)].capacity} * whole_[at(a)].capacity;
    if (left_a != left_b) return left_a > left_b;
    if (whole_[at(a)].capacity != whole_[at(b)].capacity) {
      return whole_[at(a)].capacity > whole_[at(b)].capacity;
    }
    return a < b;
  }

  /// False when the trees do not exist. In a hurry it remembers what it comes to.
  bool remember_tight_cuts() {
    const std::int32_t workers = workers_for(network_.arc_count(), witnesses_.size(), effort_);
    std::vector<ForestNetwork> networks(at(workers), network_);
    std::vector<std::vector<bool>> cuts(witnesses_.size());
    const auto failures = first_failures(workers, cuts.size(), 1, [&](std::int32_t worker, std::size_t host) {
      if (late()) return true;
      ForestNetwork& network = networks[at(worker)];
      if (!network.serves(static_cast<NodeId>(host), true)) return false;
      cuts[host] = network.sink_side();
      return true;
    });
    if (!failures.empty()) return false;
    for (const std::vector<bool>& cut : cuts) {
      if (!cut.empty()) pool_.insert(cut, now_.arcs, now_.demand);
    }
    return true;
  }

  /// --- Batches of trees, tested afterwards. ---

  /// Grows trees for as many roots as it can and keeps those after which the rest is proved possible. False when that
  /// is none; when it is late, it keeps none and leaves it at that.
  bool grow_batch() {
    const State before = now_;
    for (std::size_t attempt = 0;; ++attempt) {
      std::vector<OutTree> batch = grow_all();
      if (wanted() == 0) {
        keep(batch);
        return true;
      }
      now_ = before;
      if (batch.empty()) return false;
      // The first trees of the batch, fewer as time goes on.
      const std::size_t size =
          std::max<std::size_t>((batch.size() - batch.size() / 4) >> std::min<std::size_t>(attempt / 2, 63), 1);
      batch.resize(size);
      for (const OutTree& tree : batch) use(tree);
      const auto worn_out = violated_cuts();
      if (!worn_out) {
        now_ = before;
        return true;
      }
      if (worn_out->empty()) {
        keep(batch);
        return true;
      }
      now_ = before;
      bool learnt = false;
      for (const std::vector<bool>& cut : *worn_out) learnt = pool_.insert(cut, now_.arcs, now_.demand) || learnt;
      if (size == 1 && !learnt) return false;
    }
  }

  void use(const OutTree& tree) {
    for (const TreeEdge& edge : tree.edges) arc(edge.arc).capacity -= tree.count;
    now_.demand[at(tree.root)] -= tree.count;
  }

  void keep(const std::vector<OutTree>& batch) { trees_.insert(trees_.end(), batch.begin(), batch.end()); }

  std::vector<OutTree> grow_all() {
    pool_.recount(now_.arcs, now_.demand);
    std::vector<OutTree> batch;
    for (NodeId root = 0; root < hosts(now_.demand); ++root) {
      while (now_.demand[at(root)] > 0) {
        if (late()) return batch;
        std::optional<OutTree> tree;
        for (std::int64_t count = now_.demand[at(root)]; count > 0 && !tree; count /= 2) tree = grow(root, count);
        if (!tree) return batch;
        use(*tree);
        batch.push_back(std::move(*tree));
      }
    }
    return batch;
  }

  /// Breadth first, every host over the best arc from the level before it that the known cuts allow.
  std::optional<OutTree> grow(NodeId root, std::int64_t count) {
    const std::vector<std::int64_t> mark = pool_.mark();
    pool_.begin(root, count);
    std::fill(in_tree_.begin(), in_tree_.end(), false);
    in_tree_[at(root)] = true;
    OutTree tree{root, count, {}};
    std::vector<NodeId> level{root};
    std::vector<std::int32_t> best(in_tree_.size(), -1);
    for (std::int32_t depth = 1; !level.empty(); ++depth) {
      std::vector<NodeId> found;
      for (const NodeId from : level) {
        for (const std::int32_t id : out_[at(from)]) {
          const NodeId to = arc(id).to;
          if (in_tree_[at(to)] || arc(id).capacity < count || !pool_.allows(from, to)) continue;
          if (best[at(to)] < 0) {
            found.push_back(to);
          } else if (!better(id, best[at(to)])) {
            continue;
          }
          best[at(to)] = id;
        }
      }
      std::sort(found.begin(), found.end(), [&](NodeId a, NodeId b) { return better(best[at(a)], best[at(b)]); });
      std::vector<NodeId> next;
      for (const NodeId to : found) {
        const std::int32_t id = still_allowed(best[at(to)], level, count);
        best[at(to)] = -1;
        if (id < 0) continue;
        tree.edges.push_back({id, depth});
        pool_.add(arc(id).from, to);
        next.push_back(to);
      }
      for (const NodeId to : next) in_tree_[at(to)] = true;
      level = std::move(next);
    }
    if (tree.edges.size() + 1 == in_tree_.size()) return tree;
    pool_.restore(mark);
    return std::nullopt;
  }

  /// The arc, or where the trees' growth has closed a cut to it the next best one to its head; -1 when there is none.
  std::int32_t still_allowed(std::int32_t wanted_arc, const std::vector<NodeId>& level, std::int64_t count) {
    const NodeId to = arc(wanted_arc).to;
    if (pool_.allows(arc(wanted_arc).from, to)) return wanted_arc;
    std::int32_t best = -1;
    for (const std::int32_t id : in_[at(to)]) {
      if (arc(id).capacity < count || !in_tree_[at(arc(id).from)] || !pool_.allows(arc(id).from, to)) continue;
      if (std::find(level.begin(), level.end(), arc(id).from) == level.end()) continue;
      if (best < 0 || better(id, best)) best = id;
    }
    return best;
  }

  void tell_network() {
    for (std::size_t id = 0; id < now_.arcs.size(); ++id) network_.set_capacity(id, now_.arcs[id].capacity);
    for (std::size_t host = 0; host < now_.demand.size(); ++host) {
      network_.set_demand(static_cast<NodeId>(host), now_.demand[host]);
    }
  }

  /// Cuts that what is left violates; none when the rest can be packed; nothing when it is late.
  std::optional<std::vector<std::vector<bool>>> violated_cuts() {
    constexpr std::size_t enough = 8;
    tell_network();
    auto unserved = unserved_hosts(network_, witnesses_, enough, effort_);
    if (!unserved) return std::nullopt;
    std::vector<std::vector<bool>> cuts;
    for (UnservedHost& host : *unserved) {
      cuts.push_back(std::move(host.sink_side));
      const auto witness = witnesses_.begin() + static_cast<std::ptrdiff_t>(host.position);
      std::rotate(witnesses_.begin(), witness, witness + 1);
    }
    return cuts;
  }

  /// --- One tree, every edge tested before it is added (Theorems 11 and 12). ---

  struct Growth {
    OutTree tree;
    std::vector<NodeId> members;
    std::vector<std::int32_t> depth;  ///< by host
    std::vector<std::int32_t> candidates;
    std::size_t next_member = 0;
  };

  /// False when that cannot be done, which Theorem 11 excludes. A tree that is not complete in time is given up.
  bool grow_safely(NodeId root) {
    const State before = now_;
    Growth growth{{root, now_.demand[at(root)], {}}, {root}, std::vector<std::int32_t>(in_tree_.size(), 0), {}, 0};
    std::fill(in_tree_.begin(), in_tree_.end(), false);
    in_tree_[at(root)] = true;
    pool_.recount(now_.arcs, now_.demand);
    now_.demand[at(root)] = 0;
    pool_.begin(root, growth.tree.count);
    tell_network();
    while (growth.members.size() < in_tree_.size()) {
      if (late()) {
        now_ = before;
        return true;
      }
      if (!add_edge(growth)) return false;
    }
    trees_.push_back(std::move(growth.tree));
    return true;
  }

  void append_candidates(Growth& growth) {
    const NodeId from = growth.members[growth.next_member++];
    std::vector<std::int32_t> arcs = out_[at(from)];
    std::sort(arcs.begin(), arcs.end(), [this](std::int32_t a, std::int32_t b) { return better(a, b); });
    growth.candidates.insert(growth.candidates.end(), arcs.begin(), arcs.end());
  }

  /// The first arc, in breadth-first order, that all copies of the tree can take; else the arc that most can.
  bool add_edge(Growth& growth) {
    struct {
      std::int32_t arc = -1;
      std::int64_t count = 0;
    } best;
    std::vector<std::int32_t> later;  // candidates seen that may serve again
    std::size_t seen = 0;
    while (best.count < growth.tree.count) {
      if (seen == growth.candidates.size()) {
        if (growth.next_member == growth.members.size()) break;
        append_candidates(growth);
        continue;
      }
      const std::int32_t id = growth.candidates[seen++];
      if (in_tree_[at(arc(id).to)] || arc(id).capacity == 0) continue;
      const std::int64_t count = addable(id, growth);
      if (count == 0) continue;
      later.push_back(id);
      if (count > best.count) best = {id, count};
    }
    if (best.arc < 0) return false;
    later.insert(later.end(), growth.candidates.begin() + static_cast<std::ptrdiff_t>(seen), growth.candidates.end());
    growth.candidates = std::move(later);
    if (best.count < growth.tree.count) shrink(growth, best.count);
    attach(growth, best.arc);
    return true;
  }

  /// μ of Theorem 12 for the growing trees, from the cuts known if they say enough, else from one max-flow.
  std::int64_t addable(std::int32_t id, const Growth& growth) {
    const auto [from, to, capacity] = arc(id);
    const std::int64_t bound = std::min({growth.tree.count, capacity, pool_.room(from, to)});
    if (bound <= 0) return 0;
    const std::int64_t total = network_.total_demand();
    const std::int64_t count = network_.flow_with(from, to, total + bound) - total;
    if (count < bound && pool_.insert(network_.sink_side(), now_.arcs, now_.demand)) {
      for (const NodeId member : growth.members) pool_.touch(member);
    }
    return count;
  }

  void set_capacity(std::int32_t id, std::int64_t capacity) {
    arc(id).capacity = capacity;
    network_.set_capacity(at(id), capacity);
  }

  void attach(Growth& growth, std::int32_t id) {
    const auto [from, to, capacity] = arc(id);
    set_capacity(id, capacity - growth.tree.count);
    pool_.add(from, to);
    in_tree_[at(to)] = true;
    growth.depth[at(to)] = growth.depth[at(from)] + 1;
    growth.members.push_back(to);
    growth.tree.edges.push_back({id, growth.depth[at(to)]});
  }

  /// `count` copies go on; the others give back what they have and start again later.
  void shrink(Growth& growth, std::int64_t count) {
    const std::int64_t returned = growth.tree.count - count;
    std::vector<CapacityArc> used;
    used.reserve(growth.tree.edges.size());
    for (const TreeEdge& edge : growth.tree.edges) {
      used.push_back(arc(edge.arc));
      set_capacity(edge.arc, arc(edge.arc).capacity + returned);
    }
    pool_.shrink(growth.tree.root, count, used);
    now_.demand[at(growth.tree.root)] += returned;
    network_.set_demand(growth.tree.root, now_.demand[at(growth.tree.root)]);
    growth.tree.count = count;
    // Arcs that the larger number of copies could not take may serve the smaller one.
    growth.candidates.clear();
    growth.next_member = 0;
  }

  /// --- When there is no time left. ---

  /// Roots take turns, each with a part of its trees, so that loads spread. Error when some host cannot be reached, or
  /// at the end of the time.
  Status grow_regardless() {
    constexpr std::int64_t parts = 4;
    std::vector<std::int64_t> part;
    part.reserve(now_.demand.size());
    for (const std::int64_t trees : now_.demand) part.push_back((trees + parts - 1) / parts);
    while (wanted() > 0) {
      for (NodeId root = 0; root < hosts(now_.demand); ++root) {
        if (now_.demand[at(root)] == 0) continue;
        if (effort_.end.passed()) return Error{"the time was over before all trees were made"};
        const OutTree tree = shortest_tree(root, std::min(part[at(root)], now_.demand[at(root)]));
        if (tree.edges.size() + 1 != in_tree_.size()) return Error{"some host cannot be reached"};
        use(tree);
        trees_.push_back(tree);
      }
    }
    return {};
  }

  /// Breadth first over arcs that have a capacity at all, every host over the best arc from the level before it.
  OutTree shortest_tree(NodeId root, std::int64_t count) {
    std::fill(in_tree_.begin(), in_tree_.end(), false);
    in_tree_[at(root)] = true;
    OutTree tree{root, count, {}};
    std::vector<NodeId> level{root};
    for (std::int32_t depth = 1; !level.empty() && tree.edges.size() + 1 < in_tree_.size(); ++depth) {
      std::vector<std::int32_t> best(in_tree_.size(), -1);
      for (const NodeId from : level) {
        for (const std::int32_t id : out_[at(from)]) {
          const NodeId to = arc(id).to;
          if (in_tree_[at(to)] || whole_[at(id)].capacity == 0) continue;
          if (best[at(to)] < 0 || better(id, best[at(to)])) best[at(to)] = id;
        }
      }
      level.clear();
      for (const std::int32_t id : best) {
        if (id < 0) continue;
        tree.edges.push_back({id, depth});
        in_tree_[at(arc(id).to)] = true;
        level.push_back(arc(id).to);
      }
    }
    return tree;
  }

  Effort effort_;
  std::vector<CapacityArc> whole_;
  State now_;
  std::vector<std::vector<std::int32_t>> out_;
  std::vector<std::vector<std::int32_t>> in_;
  CutPool pool_;
  ForestNetwork network_;
  std::vector<NodeId> witnesses_;  ///< all hosts, those that failed a test last in front
  std::vector<bool> in_tree_;
  std::vector<OutTree> trees_;
};

// --- Packing under translations. ---

/// Hops from host 0 over links that carry a tree.
std::vector<std::int32_t> hops_from_first(const Topology& topology, std::span<const std::int64_t> capacity) {
  std::vector<std::int32_t> hops(at(topology.host_count()), -1);
  std::vector<NodeId> queue{0};
  hops[0] = 0;
  for (std::size_t taken = 0; taken < queue.size(); ++taken) {
    for (const LinkId id : topology.out_links(queue[taken])) {
      const NodeId to = topology.link(id).to;
      if (capacity[at(id)] == 0 || hops[at(to)] >= 0) continue;
      hops[at(to)] = hops[at(queue[taken])] + 1;
      queue.push_back(to);
    }
  }
  return hops;
}

/// The orbit of every link, as the place of its member among the links out of host 0.
std::vector<std::int32_t> orbits(const Topology& topology, std::span<const Automorphism> images) {
  std::vector<std::int32_t> orbit(at(topology.link_count()), -1);
  const std::span<const LinkId> links = topology.out_links(0);
  for (std::size_t place = 0; place < links.size(); ++place) {
    for (const Automorphism& image : images) {
      const Link& link = topology.link(links[place]);
      orbit[at(topology.find_link(image[at(link.from)], image[at(link.to)]))] = static_cast<std::int32_t>(place);
    }
  }
  return orbit;
}

/// How many of a host's trees come in over a link.
struct Share {
  LinkId link = 0;
  std::int64_t trees = 0;
};

/// For every host but 0 the links of shortest paths from 0 over which its trees come in, so that each orbit carries at
/// most its capacity; nothing when that is not possible.
std::optional<std::vector<std::vector<Share>>> balanced_shares(const Topology& topology,
                                                               std::span<const std::int64_t> capacity,
                                                               std::int64_t trees,
                                                               const std::vector<std::int32_t>& hops,
                                                               std::span<const Automorphism> images) {
  const std::vector<std::int32_t> orbit = orbits(topology, images);
  const std::int32_t hosts = topology.host_count();
  const std::span<const LinkId> generators = topology.out_links(0);
  const auto orbit_count = static_cast<std::int32_t>(generators.size());
  const std::int32_t sink = hosts + orbit_count;
  MaxFlow network(sink + 1);
  std::vector<std::vector<std::pair<LinkId, std::int32_t>>> arcs(at(hosts));
  for (NodeId host = 1; host < hosts; ++host) {
    network.add_arc(0, host, trees);
    for (const LinkId id : topology.in_links(host)) {
      const NodeId from = topology.link(id).from;
      if (capacity[at(id)] == 0 || hops[at(from)] + 1 != hops[at(host)]) continue;
      arcs[at(host)].emplace_back(id, network.add_arc(host, hosts + orbit[at(id)], trees));
    }
  }
  for (std::int32_t place = 0; place < orbit_count; ++place) {
    network.add_arc(hosts + place, sink, capacity[at(generators[at(place)])]);
  }
  if (network.run(0, sink) != trees * (hosts - 1)) return std::nullopt;
  std::vector<std::vector<Share>> shares(at(hosts));
  for (NodeId host = 1; host < hosts; ++host) {
    for (const auto& [link, arc] : arcs[at(host)]) {
      if (const std::int64_t flow = network.flow(arc); flow > 0) shares[at(host)].push_back({link, flow});
    }
  }
  return shares;
}

/// Any choice of one link of a shortest path into every host is a tree: tree i takes each host's i-th.
std::vector<OutTree> trees_of(const std::vector<std::vector<Share>>& shares, const std::vector<std::int32_t>& hops,
                              std::int64_t trees) {
  std::vector<NodeId> order(shares.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return hops[at(a)] < hops[at(b)]; });
  std::vector<std::size_t> turn(shares.size(), 0);
  std::vector<std::int64_t> used(shares.size(), 0);  // of the share whose turn it is
  std::vector<OutTree> result;
  for (std::int64_t made = 0; made < trees;) {
    OutTree tree{0, trees - made, {}};
    for (const NodeId host : order) {
      if (host == 0) continue;
      const Share& share = shares[at(host)][turn[at(host)]];
      tree.count = std::min(tree.count, share.trees - used[at(host)]);
      tree.edges.push_back({share.link, hops[at(host)]});
    }
    for (const NodeId host : order) {
      if (host == 0) continue;
      used[at(host)] += tree.count;
      if (used[at(host)] < shares[at(host)][turn[at(host)]].trees) continue;
      used[at(host)] = 0;
      ++turn[at(host)];
    }
    made += tree.count;
    result.push_back(std::move(tree));
  }
  return result;
}

}  // namespace

Result<Packing> pack_out_trees(std::span<const CapacityArc> arcs, std::span<const std::int64_t> demand,
                               const Effort& effort) {
  return Packer(effort, arcs, demand).run();
}

std::vector<OutTree> pack_by_translation(const Topology& topology, std::span<const std::int64_t> capacity,
                                         std::int64_t trees, std::span<const Automorphism> images) {
  if (images.empty()) return {};
  const std::vector<std::int32_t> hops = hops_from_first(topology, capacity);
  if (std::find(hops.begin(), hops.end(), -1) != hops.end()) return {};
  const auto shares = balanced_shares(topology, capacity, trees, hops, images);
  if (!shares) return {};
  const std::vector<OutTree> first = trees_of(*shares, hops, trees);
  std::vector<OutTree> result;
  for (const Automorphism& image : images) {
    for (const OutTree& tree : first) {
      OutTree& copy = result.emplace_back(OutTree{image[0], tree.count, {}});
      for (const TreeEdge& edge : tree.edges) {
        const Link& link = topology.link(edge.arc);
        copy.edges.push_back({topology.find_link(image[at(link.from)], image[at(link.to)]), edge.depth});
      }
    }
  }
  return result;
}

}  // namespace libcoll::broadcast::forest
