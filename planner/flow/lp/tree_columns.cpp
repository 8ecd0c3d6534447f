#include "planner/flow/lp/tree_columns.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "planner/base/index.h"
#include "planner/lp/glpk_solver.h"

namespace libcoll::flow_lp {

using namespace flow::problem;
using namespace lp;
using namespace topology;

namespace {

constexpr std::int32_t most_pricing_rounds = 400;
constexpr double worth_adding = 1e-9;  // relative gain of a column
constexpr double unused = 1e-12;       // weight of a column

/// A flow of one source as the master sees it.
struct Column {
  std::size_t source = 0;
  std::vector<std::int32_t> tree;  ///< by node, the link into it; empty: the equal split
  std::vector<double> loads;       ///< by class, with the source's weight
};

struct ShortestTree {
  std::vector<double> distance;
  std::vector<std::int32_t> tree;
  std::vector<NodeId> order;
};

ShortestTree shortest_tree(const FlowProblem& problem, NodeId source, const std::vector<double>& prices) {
  ShortestTree result{std::vector<double>(at(problem.nodes), std::numeric_limits<double>::infinity()),
                      std::vector<std::int32_t>(at(problem.nodes), -1),
                      {}};
  std::vector<bool> settled(at(problem.nodes), false);
  using Entry = std::pair<double, NodeId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  result.distance[at(source)] = 0;
  queue.emplace(0, source);
  while (!queue.empty()) {
    const NodeId node = queue.top().second;
    queue.pop();
    if (settled[at(node)]) continue;
    settled[at(node)] = true;
    result.order.push_back(node);
    for (std::int32_t k = problem.out_begin[at(node)]; k < problem.out_begin[at(node) + 1]; ++k) {
      const std::int32_t link = problem.out_link[at(k)];
      const NodeId to = problem.to[at(link)];
      const double length = result.distance[at(node)] + prices[at(problem.link_class[at(link)])];
      if (length >= result.distance[at(to)]) continue;
      result.distance[at(to)] = length;
      result.tree[at(to)] = link;
      queue.emplace(length, to);
    }
  }
  return result;
}

/// What a tree carries, in an order of nodes in which every link goes forward.
std::vector<double> tree_flow(const FlowProblem& problem, const std::vector<std::int32_t>& tree,
                              const std::vector<NodeId>& order) {
  std::vector<double> flow(problem.links(), 0);
  std::vector<double> wanted(at(problem.nodes), 0);
  for (std::size_t i = order.size(); i-- > 1;) {
    const NodeId node = order[i];
    wanted[at(node)] += node < problem.hosts ? 1 : 0;
    flow[at(tree[at(node)])] = wanted[at(node)];
    wanted[at(problem.from[at(tree[at(node)])])] += wanted[at(node)];
  }
  return flow;
}

/// An order of the tree's nodes in which parents come first.
std::vector<NodeId> tree_order(const FlowProblem& problem, const std::vector<std::int32_t>& tree, NodeId root) {
  std::vector<std::vector<NodeId>> children(at(problem.nodes));
  for (NodeId node = 0; node < problem.nodes; ++node) {
    if (tree[at(node)] >= 0) children[at(problem.from[at(tree[at(node)])])].push_back(node);
  }
  std::vector<NodeId> order{root};
  for (std::size_t head = 0; head < order.size(); ++head) {
    const std::vector<NodeId>& next = children[at(order[head])];
    order.insert(order.end(), next.begin(), next.end());
  }
  return order;
}

/// Every node takes equal parts from all its in-neighbours one hop nearer to the source.
std::vector<double> equal_split(const FlowProblem& problem, NodeId source) {
  const ShortestTree hops = shortest_tree(problem, source, std::vector<double>(problem.classes(), 1));
  std::vector<double> flow(problem.links(), 0);
  std::vector<double> wanted(at(problem.nodes), 0);
  for (std::size_t i = hops.order.size(); i-- > 1;) {
    const NodeId node = hops.order[i];
    wanted[at(node)] += node < problem.hosts ? 1 : 0;
    std::vector<std::int32_t> nearer;
    for (std::int32_t link = problem.in_begin[at(node)]; link < problem.in_begin[at(node) + 1]; ++link) {
      if (hops.distance[at(problem.from[at(link)])] < hops.distance[at(node)]) nearer.push_back(link);
    }
    for (const std::int32_t link : nearer) {
      flow[at(link)] = wanted[at(node)] / static_cast<double>(nearer.size());
      wanted[at(problem.from[at(link)])] += flow[at(link)];
    }
  }
  return flow;
}

class Master {
 public:
  Master(const FlowProblem& problem, const FlowLimits& limits) : problem_(problem), limits_(limits) {}

  FlowSolution solve() {
    for (std::size_t source = 0; source < problem_.sources.size(); ++source) {
      add(source, {}, equal_split(problem_, problem_.sources[source]));
    }
    weights_.assign(columns_.size(), 1);
    FlowSolution best;
    std::vector<double> equal(problem_.classes(), 1);
    std::vector<double> paid(problem_.sources.size(), std::numeric_limits<double>::infinity());
    price_columns(equal, paid, best);
    best.load = load();
    for (std::int32_t round = 0; round < most_pricing_rounds && best.gap() > limits_.gap && !limits_.late(); ++round) {
      std::vector<double> prices;
      if (!solve_master(prices, paid)) break;
      best.load = std::min(best.load, load());
      if (!price_columns(prices, paid, best)) break;
    }
    fill_in(best);
    return best;
  }

 private:
  void add(std::size_t source, std::vector<std::int32_t> tree, const std::vector<double>& flow) {
    Column column{source, std::move(tree), std::vector<double>(problem_.classes(), 0)};
    for (std::size_t link = 0; link < flow.size(); ++link) {
      column.loads[at(problem_.link_class[link])] += problem_.weight[source] * flow[link];
    }
    columns_.push_back(std::move(column));
  }

  /// The largest load of the columns with their weights.
  [[nodiscard]] double load() const {
    std::vector<double> loads(problem_.classes(), 0);
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      for (std::size_t k = 0; k < loads.size(); ++k) loads[k] += weights_[i] * columns_[i].loads[k];
    }
    return largest_load(problem_, loads);
  }

  /// Shortest trees by the prices: the bound, and new columns where they beat what the master pays for a source.
  bool price_columns(const std::vector<double>& prices, const std::vector<double>& paid, FlowSolution& best) {
    double capacity = 0;
    for (std::size_t i = 0; i < prices.size(); ++i) capacity += prices[i] * problem_.capacity[i];
    double distances = 0;
    bool added = false;
    for (std::size_t source = 0; source < problem_.sources.size(); ++source) {
      ShortestTree tree = shortest_tree(problem_, problem_.sources[source], prices);
      double sum = 0;
      for (NodeId host = 0; host < problem_.hosts; ++host) sum += tree.distance[at(host)];
      sum *= problem_.weight[source];
      distances += sum;
      if (sum >= paid[source] * (1 - worth_adding)) continue;
      const std::vector<double> flow = tree_flow(problem_, tree.tree, tree.order);
      add(source, std::move(tree.tree), flow);
      added = true;
    }
    if (capacity > 0 && distances / capacity > best.bound) {
      best.bound = distances / capacity;
      best.prices = prices;
    }
    return added;
  }

  /// Least U such that convex combinations of each source's columns load no class beyond U.
  bool solve_master(std::vector<double>& prices, std::vector<double>& paid) {
    LinearProgram program;
    const std::int32_t largest = program.add_column({0, no_bound, 1});
    std::vector<LpRow> classes(problem_.classes());
    std::vector<LpRow> sources(problem_.sources.size(), LpRow{1, 1, {}});
    const double scale = load();
    for (const Column& column : columns_) {
      const std::int32_t weight = program.add_column({});
      sources[column.source].entries.push_back({weight, 1});
      for (std::size_t i = 0; i < classes.size(); ++i) {
        if (column.loads[i] > 0) {
          classes[i].entries.push_back({weight, column.loads[i] / (scale * problem_.capacity[i])});
        }
      }
    }
    for (LpRow& row : classes) {
      row.upper = 0;
      row.entries.push_back({largest, -1});
      program.add_row(std::move(row));
    }
    for (LpRow& row : sources) program.add_row(std::move(row));
    const Result<LpSolution> solution = solve_with_glpk(program, LpMethod::simplex);
    if (!solution || solution->status != LpStatus::optimal) return false;
    weights_.assign(solution->primal.begin() + 1, solution->primal.end());
    for (double& weight : weights_) weight = std::max(0.0, weight);
    prices.clear();
    for (std::size_t i = 0; i < problem_.classes(); ++i) {
      prices.push_back(std::max(0.0, -solution->row_duals[i]) / problem_.capacity[i]);
    }
    for (std::size_t i = 0; i < paid.size(); ++i) paid[i] = scale * solution->row_duals[problem_.classes() + i];
    return true;
  }

  void fill_in(FlowSolution& best) const {
    best.flow.assign(problem_.sources.size(), std::vector<double>(problem_.links(), 0));
    std::vector<double> totals(problem_.sources.size(), 0);
    for (std::size_t i = 0; i < weights_.size(); ++i) totals[columns_[i].source] += weights_[i];
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i] <= unused) continue;
      const Column& column = columns_[i];
      const NodeId root = problem_.sources[column.source];
      const std::vector<double> flow = column.tree.empty()
                                           ? equal_split(problem_, root)
                                           : tree_flow(problem_, column.tree, tree_order(problem_, column.tree, root));
      const double share = weights_[i] / totals[column.source];
      for (std::size_t link = 0; link < flow.size(); ++link) best.flow[column.source][link] += share * flow[link];
    }
  }

  const FlowProblem& problem_;
  const FlowLimits& limits_;
  std::vector<Column> columns_;
  std::vector<double> weights_;  ///< of the columns the master has seen
};

}  // namespace

FlowSolution solve_by_tree_columns(const FlowProblem& problem, const FlowLimits& limits) {
  return Master(problem, limits).solve();
}

}  // namespace libcoll::flow_lp
