#include "planner/broadcast/forest/multitree.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "planner/base/deadline.h"
#include "planner/base/index.h"
#include "planner/topology/facts.h"

namespace libcoll::broadcast::forest {

using namespace classic;
using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

constexpr std::int64_t max_multiplier = 8;  // finer fractions of the unit bandwidth are rounded down

/// How many shards a link takes in a step: its capacity, all multiplied by one small number where that makes them
/// whole.
std::vector<std::int64_t> multiplicities(const Topology& topology) {
  std::int64_t common = 1;
  for (LinkId link = 0; link < topology.link_count() && common <= max_multiplier; ++link) {
    const std::int64_t denominator = topology.capacity(link).denominator();
    common = denominator > max_multiplier ? denominator : std::lcm(common, denominator);
  }
  const std::int64_t multiplier = common <= max_multiplier ? common : 1;
  std::vector<std::int64_t> result;
  result.reserve(static_cast<std::size_t>(topology.link_count()));
  for (LinkId link = 0; link < topology.link_count(); ++link) {
    result.push_back(topology.capacity(link).floor(multiplier).value_or(std::numeric_limits<std::int64_t>::max()));
  }
  return result;
}

enum class Turns : std::uint8_t { by_root, by_remaining_height };
enum class Parents : std::uint8_t { first_added, nearest };

struct GrowingTree {
  std::vector<bool> member;         ///< by host
  std::vector<NodeId> nodes;        ///< as they were added
  std::vector<std::int32_t> level;  ///< by host
  std::vector<NodeId> farthest;     ///< hosts by distance from the root, the farthest that is lacking last
  std::size_t first_open = 0;       ///< nodes before it have no neighbour outside
  // Of the step:
  std::size_t limit = 0;   ///< nodes from here on were added in this step
  std::size_t cursor = 0;  ///< nodes before it have no free way of `reach` links to anywhere new
  std::int32_t reach = 1;  ///< none has a shorter one
};

/// Algorithm 1, lines 1–14.
class Growth {
 public:
  Growth(const Topology& topology, Turns turns, Parents parents)
      : topology_(topology),
        turns_(turns),
        longest_(topology.node_count() == topology.host_count() ? 1 : topology.node_count()),
        usual_(std::min(longest_, graph_facts(topology).diameter)),
        least_reach_(parents == Parents::first_added ? longest_ : 1),
        capacity_(multiplicities(topology)),
        distances_(hop_distances(topology)),
        seen_(at(topology.node_count()), 0) {
    for (NodeId root = 0; root < topology.host_count(); ++root) trees_.push_back(sprout(root));
  }

  /// Nothing when the deadline comes first.
  std::optional<Pattern> run(const Deadline& deadline) {
    while (grow_one_step(deadline)) {
    }
    if (deadline.passed()) return std::nullopt;
    return std::move(pattern_);
  }

  [[nodiscard]] std::int32_t height() const {
    std::int32_t most = 0;
    for (const GrowingTree& tree : trees_)
      most = std::max(most, *std::max_element(tree.level.begin(), tree.level.end()));
    return most;
  }

 private:
  GrowingTree sprout(NodeId root) const {
    GrowingTree tree;
    tree.member.assign(at(topology_.host_count()), false);
    tree.level.assign(at(topology_.host_count()), 0);
    tree.member[at(root)] = true;
    tree.nodes.push_back(root);
    tree.farthest.resize(at(topology_.host_count()));
    std::iota(tree.farthest.begin(), tree.farthest.end(), 0);
    const std::vector<std::int32_t>& from_root = distances_[at(root)];
    std::stable_sort(tree.farthest.begin(), tree.farthest.end(),
                     [&](NodeId a, NodeId b) { return from_root[at(a)] < from_root[at(b)]; });
    return tree;
  }

  [[nodiscard]] bool is_complete(const GrowingTree& tree) const { return tree.nodes.size() == tree.member.size(); }

  /// Distance from the root of the farthest host that is lacking: trees have the same height at the same time.
  std::int32_t remaining_height(GrowingTree& tree) const {
    while (tree.member[at(tree.farthest.back())]) tree.farthest.pop_back();
    return distances_[at(tree.nodes.front())][at(tree.farthest.back())];
  }

  std::vector<std::size_t> order_of_turns() {
    std::vector<std::size_t> order;
    std::vector<std::int32_t> remaining(trees_.size(), 0);
    for (std::size_t i = 0; i < trees_.size(); ++i) {
      if (is_complete(trees_[i])) continue;
      order.push_back(i);
      if (turns_ == Turns::by_remaining_height) remaining[i] = remaining_height(trees_[i]);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return remaining[a] > remaining[b]; });
    return order;
  }

  /// False when all trees are complete, or it is too late.
  bool grow_one_step(const Deadline& deadline) {
    std::vector<std::size_t> order = order_of_turns();
    if (order.empty()) return false;
    ++pattern_.steps;
    free_ = capacity_;
    for (const std::size_t i : order) {
      GrowingTree& tree = trees_[i];
      while (tree.first_open < tree.nodes.size() && is_closed(tree, tree.nodes[tree.first_open])) ++tree.first_open;
      tree.cursor = tree.first_open;
      tree.reach = least_reach_;
      tree.limit = tree.nodes.size();
    }
    while (!order.empty()) {
      if (deadline.passed()) return false;
      // Links only become fewer within a step: a tree that finds nothing now is done with the step.
      const auto stuck = [&](std::size_t i) { return !add_node(trees_[i], static_cast<ShardId>(i)); };
      order.erase(std::remove_if(order.begin(), order.end(), stuck), order.end());
    }
    return true;
  }

  [[nodiscard]] bool is_closed(const GrowingTree& tree, NodeId node) const {
    const auto links = topology_.out_links(node);
    return std::all_of(links.begin(), links.end(), [&](LinkId link) {
      const NodeId next = topology_.link(link).to;
      return next < topology_.host_count() && tree.member[at(next)];
    });
  }

  /// Lines 8–14.
  bool add_node(GrowingTree& tree, ShardId shard) {
    while (!is_complete(tree)) {
      if (tree.cursor == tree.limit) {
        if (tree.reach == longest_) return false;
        tree.reach = tree.reach < usual_ ? tree.reach + 1 : longest_;
        tree.cursor = tree.first_open;
      }
      const NodeId parent = tree.nodes[tree.cursor];
      const std::vector<LinkId> path = path_to_new(tree, parent);
      if (!path.empty()) {
        attach(tree, shard, parent, path);
        return true;
      }
      ++tree.cursor;
    }
    return false;
  }

  void attach(GrowingTree& tree, ShardId shard, NodeId parent, const std::vector<LinkId>& path) {
    for (const LinkId link : path) --free_[at(link)];
    const NodeId child = topology_.link(path.back()).to;
    tree.member[at(child)] = true;
    tree.level[at(child)] = tree.level[at(parent)] + 1;
    tree.nodes.push_back(child);
    std::int32_t route = direct;
    if (path.size() > 1) {
      route = static_cast<std::int32_t>(pattern_.routes.size());
      pattern_.routes.push_back({parent, child, path, 0, 0});
    }
    pattern_.transfers.push_back({shard, 0, 1, parent, child, pattern_.steps, route, TransferKind::copy});
  }

  /// Free links from the parent, through switches, to the nearest host that the tree lacks, as many as it may reach
  /// over.
  std::vector<LinkId> path_to_new(const GrowingTree& tree, NodeId parent) {
    ++search_;
    struct Visit {
      NodeId node;
      LinkId link;
      std::size_t before;
      std::int32_t links;
    };
    std::vector<Visit> visits{{parent, -1, 0, 0}};
    for (std::size_t taken = 0; taken < visits.size() && visits[taken].links < tree.reach; ++taken) {
      for (const LinkId link : topology_.out_links(visits[taken].node)) {
        if (free_[at(link)] == 0) continue;
        const NodeId next = topology_.link(link).to;
        if (next >= topology_.host_count()) {
          if (seen_[at(next)] == search_) continue;
          seen_[at(next)] = search_;
          visits.push_back({next, link, taken, visits[taken].links + 1});
          continue;
        }
        if (tree.member[at(next)]) continue;
        std::vector<LinkId> path{link};
        for (std::size_t i = taken; i > 0; i = visits[i].before) path.push_back(visits[i].link);
        std::reverse(path.begin(), path.end());
        return path;
      }
    }
    return {};
  }

  const Topology& topology_;
  Turns turns_;
  std::int32_t longest_;      ///< links that a way through switches may have
  std::int32_t usual_;        ///< links it needs when all are free
  std::int32_t least_reach_;  ///< links allowed before ways of other parents are looked at
  std::vector<std::int64_t> capacity_;
  DistanceMatrix distances_;
  std::vector<std::int64_t> seen_;  ///< number of the last search that met the switch
  std::int64_t search_ = 0;
  std::vector<GrowingTree> trees_;
  std::vector<std::int64_t> free_;
  Pattern pattern_;
};

/// Whether all hosts are equally far from what is farthest from them, so that remaining heights say nothing new.
bool equal_heights(const Topology& topology) {
  const DistanceMatrix distances = hop_distances(topology);
  const auto height = [&](NodeId host) {
    return *std::max_element(distances[at(host)].begin(), distances[at(host)].begin() + topology.host_count());
  };
  for (NodeId host = 1; host < topology.host_count(); ++host) {
    if (height(host) != height(0)) return false;
  }
  return true;
}

/// A pattern's route set with every route once.
void share_routes(Pattern& pattern) {
  std::vector<std::int32_t> order(pattern.routes.size());
  std::iota(order.begin(), order.end(), 0);
  const auto links = [&](std::int32_t route) -> const std::vector<LinkId>& { return pattern.routes[at(route)].links; };
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return links(a) < links(b); });
  std::vector<std::int32_t> place(order.size());
  std::vector<Route> routes;
  for (const std::int32_t route : order) {
    if (routes.empty() || routes.back().links != links(route)) routes.push_back(pattern.routes[at(route)]);
    place[at(route)] = static_cast<std::int32_t>(routes.size()) - 1;
  }
  pattern.routes = std::move(routes);
  for (Transfer& transfer : pattern.transfers) {
    if (transfer.route != direct) transfer.route = place[at(transfer.route)];
  }
}

}  // namespace

Result<Pattern> multitree_pattern(const Topology& topology, const PlanOptions& options) {
  struct Variant {
    Turns turns;
    Parents parents;
    const char* method;
  };
  std::vector<Variant> variants{{Turns::by_root, Parents::first_added, "root order"}};
  const bool switches = topology.node_count() != topology.host_count();
  const bool uneven = !equal_heights(topology);
  if (uneven) variants.push_back({Turns::by_remaining_height, Parents::first_added, "remaining height"});
  if (switches) variants.push_back({Turns::by_root, Parents::nearest, "root order, nearest parent"});
  if (switches && uneven) {
    variants.push_back({Turns::by_remaining_height, Parents::nearest, "remaining height, nearest parent"});
  }
  const Deadline deadline(options.time_limit_seconds);
  Pattern best;
  std::int32_t height = 0;
  const char* method = nullptr;
  for (const Variant& variant : variants) {
    Growth growth(topology, variant.turns, variant.parents);
    std::optional<Pattern> pattern = growth.run(deadline);
    if (!pattern) break;
    if (method != nullptr && pattern->steps >= best.steps) continue;
    best = std::move(*pattern);
    height = growth.height();
    method = variant.method;
  }
  if (method == nullptr) {
    return Error{"the time was over before the trees were complete: allow more, or take another planner"};
  }
  share_routes(best);
  if (options.figures != nullptr) {
    options.figures->method = method;
    options.figures->more = {{"trees", std::int64_t{topology.host_count()}}, {"tree_height_max", std::int64_t{height}}};
  }
  return best;
}

Result<Schedule> plan_multitree(Collective collective, const Topology& topology, const PlanOptions& options) {
  PlanOptions wanted = options;
  // Both phases have their trees to make.
  if (collective == Collective::allreduce) wanted.time_limit_seconds /= 2;
  return plan_by_pattern(multitree_pattern, collective, "multitree", topology, wanted);
}

}  // namespace libcoll::broadcast::forest
