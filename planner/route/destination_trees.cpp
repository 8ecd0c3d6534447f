#include "planner/route/destination_trees.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "planner/base/index.h"
#include "planner/base/infinity.h"
#include "planner/route/table_completion.h"

namespace libcoll::route {

using namespace schedule;
using namespace topology;

namespace {

constexpr std::int32_t most_price_rounds = 60;
constexpr std::int32_t overload_patience = 15;  // rounds without less overload
constexpr double steepness = 12;                // a full link costs e^12 times as much as an empty one
constexpr double least_hop_price = 0.02;        // of a full link's: what a hop costs at least
constexpr double dearer = 1.3;                  // a link that stays overloaded, from round to round

/// The links of a lane from the last to the first, as a search from a destination meets them.
struct Step {
  LinkId link;
  NodeId from;
  NodeId to;
};

std::vector<Step> steps_of(const Topology& topology, const std::vector<std::int32_t>& order) {
  std::vector<Step> steps;
  steps.reserve(at(topology.link_count()));
  for (LinkId link = 0; link < topology.link_count(); ++link) {
    steps.push_back({link, topology.link(link).from, topology.link(link).to});
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [&](const Step& a, const Step& b) { return order[at(a.link)] > order[at(b.link)]; });
  return steps;
}

/// A tree as far as chunks have made it.
struct Tree {
  std::vector<LinkId> next;        ///< by node: where chunks go on; no_entry: open
  std::vector<std::int32_t> uses;  ///< by node: chunks that do
};

/// Cheapest paths to one destination that ascend in a lane and agree with a tree.
class TreeSearch {
 public:
  explicit TreeSearch(const Topology& topology) : cost_(at(topology.node_count())), first_(cost_.size()) {}

  void run(const std::vector<Step>& steps, const Tree& tree, NodeId destination, const std::vector<bool>& forwards,
           std::span<const double> price) {
    steps_ = &steps;
    after_.resize(steps.size());
    std::fill(cost_.begin(), cost_.end(), infinity);
    cost_[at(destination)] = 0;
    first_[at(destination)] = none;
    // A link that comes earlier can only be crossed before, so one pass suffices.
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      const double onward = cost_[at(step.to)];
      if (onward == infinity || step.from == destination) continue;
      if (step.to != destination && !forwards[at(step.to)]) continue;
      const LinkId given = tree.next[at(step.from)];
      if (given != no_entry && given != step.link) continue;
      const double cost = onward + price[at(step.link)];
      if (cost >= cost_[at(step.from)]) continue;
      cost_[at(step.from)] = cost;
      after_[i] = first_[at(step.to)];
      first_[at(step.from)] = i;
    }
  }

  [[nodiscard]] double cost(NodeId node) const { return cost_[at(node)]; }

  [[nodiscard]] std::vector<LinkId> path(NodeId node) const {
    std::vector<LinkId> links;
    for (std::size_t i = first_[at(node)]; i != none; i = after_[i]) links.push_back((*steps_)[i].link);
    return links;
  }

 private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  const std::vector<Step>* steps_ = nullptr;
  std::vector<double> cost_;        ///< by node
  std::vector<std::size_t> first_;  ///< by node: the step by which its path begins
  std::vector<std::size_t> after_;  ///< by step: the one that follows on the path
};

class TreeRouting {
 public:
  TreeRouting(const Topology& topology, std::span<const PairDemand> pairs, const TreeLimits& limits,
              std::int64_t& effort, const Deadline& deadline)
      : topology_(topology),
        pairs_(pairs),
        limits_(limits),
        effort_(effort),
        deadline_(deadline),
        classes_(limits.lanes.size()),
        to_(at(topology.node_count())),
        idle_to_(to_.size()),
        counts_(pairs.size() * classes_, 0),
        load_(at(topology.link_count()), 0),
        history_(load_.size(), 1),
        price_(load_.size(), 0),
        searches_(classes_, TreeSearch(topology)) {
    for (const std::vector<std::int32_t>& order : limits.orders) steps_.push_back(steps_of(topology, order));
    const auto nodes = at(topology.node_count());
    trees_.resize(classes_ * nodes, {std::vector<LinkId>(nodes, no_entry), std::vector<std::int32_t>(nodes, 0)});
    for (LinkId link = 0; link < topology.link_count(); ++link) {
      room_.push_back(limits.load * topology.capacity(link).to_double() * (1 + rounding));
      measure(link);
    }
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      (pairs[i].size > 0 ? to_ : idle_to_)[at(pairs[i].destination)].push_back(i);
    }
  }

  std::optional<TreeRoutes> run() {
    if (!insert_all(to_) || !settle() || !insert_all(idle_to_)) return std::nullopt;
    return routes();
  }

 private:
  bool insert_all(const std::vector<std::vector<std::size_t>>& to) {
    for (NodeId destination = 0; destination < topology_.node_count(); ++destination) {
      std::vector<Waiting> waiting;
      for (const std::size_t pair : to[at(destination)]) waiting.push_back({pair, pairs_[pair].chunks});
      if (!insert(destination, waiting) || spent()) return false;
    }
    return true;
  }

  /// Rounds until no link is overloaded; false where that does not come about.
  bool settle() {
    double least = infinity;
    for (std::int32_t round = 0, waited = 0; round < most_price_rounds && waited < overload_patience;
         ++round, ++waited) {
      const double excess = overload();
      if (excess == 0) return true;
      if (excess < least) {
        least = excess;
        waited = 0;
      }
      if (!relieve(round) || spent()) return false;
    }
    return overload() == 0;
  }

  struct Waiting {
    std::size_t pair;
    std::int32_t chunks;
  };
  static constexpr double rounding = 1e-9;  // of sums of sizes

  [[nodiscard]] Tree& tree(std::size_t number, NodeId destination) {
    return trees_[number * at(topology_.node_count()) + at(destination)];
  }
  [[nodiscard]] std::int32_t& count(std::size_t pair, std::size_t number) { return counts_[pair * classes_ + number]; }

  void measure(LinkId link) {
    const double full = load_[at(link)] / room_[at(link)];
    price_[at(link)] = history_[at(link)] * (std::exp(steepness * std::min(full - 1, 2.0)) + least_hop_price);
  }

  /// Links of the tree from a node on.
  template <class Visit>
  void walk(const Tree& tree, NodeId node, NodeId destination, const Visit& visit) const {
    while (node != destination) {
      const LinkId link = tree.next[at(node)];
      visit(link, node);
      node = topology_.link(link).to;
    }
  }

  void add(std::size_t pair, std::size_t number, const std::vector<LinkId>& links) {
    Tree& into = tree(number, pairs_[pair].destination);
    for (const LinkId link : links) {
      const NodeId from = topology_.link(link).from;
      into.next[at(from)] = link;
      ++into.uses[at(from)];
      load_[at(link)] += pairs_[pair].size;
      measure(link);
    }
    ++count(pair, number);
  }

  void remove(std::size_t pair, std::size_t number, std::int32_t chunks) {
    Tree& from = tree(number, pairs_[pair].destination);
    std::vector<NodeId> open;
    walk(from, pairs_[pair].source, pairs_[pair].destination, [&](LinkId link, NodeId node) {
      load_[at(link)] -= pairs_[pair].size * chunks;
      measure(link);
      from.uses[at(node)] -= chunks;
      if (from.uses[at(node)] == 0) open.push_back(node);
    });
    for (const NodeId node : open) from.next[at(node)] = no_entry;
    count(pair, number) -= chunks;
  }

  [[nodiscard]] bool spent() const { return effort_ <= 0 || deadline_.passed(); }

  void search(std::size_t number, NodeId destination) {
    effort_ -= topology_.link_count();
    searches_[number].run(steps_[at(limits_.lanes[number])], tree(number, destination), destination, limits_.forwards,
                          price_);
  }

  /// Whether all hosts can join the tree that the last search was for.
  [[nodiscard]] bool whole(std::size_t number) const {
    for (NodeId host = 0; host < topology_.host_count(); ++host) {
      if (searches_[number].cost(host) == infinity) return false;
    }
    return true;
  }

  /// Ways for chunks to a destination; false where one finds none.
  bool insert(NodeId destination, const std::vector<Waiting>& waiting) {
    for (std::size_t number = 0; number < classes_; ++number) search(number, destination);
    for (const Waiting& each : waiting) {
      for (std::int32_t chunk = 0; chunk < each.chunks; ++chunk) {
        if (!insert(each.pair)) return false;
      }
    }
    return true;
  }

  bool insert(std::size_t pair) {
    const NodeId destination = pairs_[pair].destination;
    std::vector<std::size_t> order(classes_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto cost = [&](std::size_t number) { return searches_[number].cost(pairs_[pair].source); };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return cost(a) < cost(b); });
    for (const std::size_t number : order) {
      if (cost(number) == infinity) break;
      const std::vector<LinkId> links = searches_[number].path(pairs_[pair].source);
      add(pair, number, links);
      search(number, destination);
      if (whole(number)) return true;
      remove(pair, number, 1);
      search(number, destination);
    }
    return false;
  }

  /// What links carry beyond their room, in rooms.
  [[nodiscard]] double overload() const {
    double sum = 0;
    for (std::size_t link = 0; link < load_.size(); ++link) sum += std::max(0.0, load_[link] / room_[link] - 1);
    return sum;
  }

  /// Takes what crosses overloaded links off and lets it choose again, destination by destination.
  bool relieve(std::int32_t round) {
    for (LinkId link = 0; link < topology_.link_count(); ++link) {
      if (load_[at(link)] <= room_[at(link)]) continue;
      history_[at(link)] *= dearer;
      measure(link);
    }
    const NodeId nodes = topology_.node_count();
    for (NodeId i = 0; i < nodes; ++i) {
      const NodeId destination = (i + round) % nodes;
      std::vector<Waiting> waiting;
      for (std::size_t number = 0; number < classes_; ++number) take_off(destination, number, waiting);
      if (!waiting.empty() && !insert(destination, waiting)) return false;
      if (spent()) return false;
    }
    return true;
  }

  void take_off(NodeId destination, std::size_t number, std::vector<Waiting>& waiting) {
    const Tree& of = tree(number, destination);
    for (const std::size_t pair : to_[at(destination)]) {
      const std::int32_t chunks = count(pair, number);
      if (chunks == 0) continue;
      bool full = false;
      walk(of, pairs_[pair].source, destination,
           [&](LinkId link, NodeId) { full = full || load_[at(link)] > room_[at(link)]; });
      if (!full) continue;
      remove(pair, number, chunks);
      waiting.push_back({pair, chunks});
    }
  }

  TreeRoutes routes() {
    TreeRoutes result;
    for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
      const std::size_t first = result.routes.size();
      for (std::size_t number = 0; number < classes_; ++number) {
        if (count(pair, number) == 0) continue;
        Route route{pairs_[pair].source,
                    pairs_[pair].destination,
                    {},
                    limits_.lanes[number],
                    static_cast<std::int32_t>(number) + 1};
        walk(tree(number, route.destination), route.source, route.destination,
             [&](LinkId link, NodeId) { route.links.push_back(link); });
        const auto same =
            std::find_if(result.routes.begin() + static_cast<std::ptrdiff_t>(first), result.routes.end(),
                         [&](const Route& other) { return other.layer == route.layer && other.links == route.links; });
        if (same != result.routes.end()) {
          result.chunks[static_cast<std::size_t>(same - result.routes.begin())] += count(pair, number);
          continue;
        }
        result.routes.push_back(std::move(route));
        result.chunks.push_back(count(pair, number));
      }
    }
    return result;
  }

  const Topology& topology_;
  std::span<const PairDemand> pairs_;
  const TreeLimits& limits_;
  std::int64_t& effort_;
  const Deadline& deadline_;
  std::size_t classes_;
  std::vector<std::vector<std::size_t>> to_;  ///< by destination: its pairs
  /// The same of pairs without load: they follow the trees of the others.
  std::vector<std::vector<std::size_t>> idle_to_;
  std::vector<std::int32_t> counts_;                   ///< by pair and class: chunks
  std::vector<double> load_, room_, history_, price_;  // by link
  std::vector<Tree> trees_;                            ///< by class and destination
  std::vector<std::vector<Step>> steps_;               ///< by lane
  std::vector<TreeSearch> searches_;                   ///< by class, for one destination at a time
};

}  // namespace

std::optional<TreeRoutes> route_in_trees(const Topology& topology, std::span<const PairDemand> pairs,
                                         const TreeLimits& limits, std::int64_t& effort, const Deadline& deadline) {
  return TreeRouting(topology, pairs, limits, effort, deadline).run();
}

}  // namespace libcoll::route
