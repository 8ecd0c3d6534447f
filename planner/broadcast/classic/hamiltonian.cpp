#include "planner/broadcast/classic/hamiltonian.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "planner/base/index.h"
#include "planner/topology/generators.h"
#include "planner/topology/grid.h"
#include "planner/topology/specification.h"

namespace libcoll::broadcast::classic {

using namespace topology;

namespace {

constexpr std::int64_t search_effort = 200'000;  // extensions of a path before the search gives up

bool is_free(const std::vector<bool>& used, LinkId link) { return used.empty() || !used[at(link)]; }

bool is_cycle(const Topology& topology, const std::vector<NodeId>& order, const std::vector<bool>& used) {
  if (order.size() != at(topology.host_count()) || order.size() < 2) return false;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const LinkId link = topology.find_link(order[i], order[(i + 1) % order.size()]);
    if (link < 0 || !is_free(used, link)) return false;
  }
  return true;
}

/// Reflected mixed-radix Gray code over all dimensions but the last: a path on which neighbours differ by one step.
std::vector<NodeId> gray_path(const Grid& grid) {
  std::vector<NodeId> path{0};
  for (std::size_t dimension = 0; dimension + 1 < grid.sizes.size(); ++dimension) {
    std::vector<NodeId> longer;
    for (std::size_t i = 0; i < path.size(); ++i) {
      for (std::int32_t c = 0; c < grid.sizes[dimension]; ++c) {
        longer.push_back(grid.moved(path[i], dimension, i % 2 == 0 ? c : -1 - c));
      }
    }
    path = std::move(longer);
  }
  return path;
}

/// A comb: the path's rows are walked to and fro in columns 1 and up, and column 0 leads back. With an odd number of
/// rows the last row has to wrap around.
std::vector<NodeId> comb(const std::vector<NodeId>& rows, std::int32_t columns,
                         NodeId (*cell)(const Grid&, NodeId, std::int32_t), const Grid& grid) {
  std::vector<NodeId> order;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::int32_t c = 1; c < columns; ++c) {
      order.push_back(cell(grid, rows[row], row % 2 == 0 ? c : columns - c));
    }
  }
  for (std::size_t row = rows.size(); row > 0; --row) order.push_back(cell(grid, rows[row - 1], 0));
  return order;
}

std::vector<NodeId> grid_cycle(const Grid& grid) {
  const std::size_t last = grid.sizes.size() - 1;
  const std::int32_t columns = grid.sizes[last];
  if (grid.sizes.size() == 1) return grid.lines(0, false).front();
  const std::vector<NodeId> path = gray_path(grid);
  if (path.size() % 2 == 0 || grid.wraps) {
    return comb(
        path, columns, [](const Grid& g, NodeId row, std::int32_t c) { return g.moved(row, g.sizes.size() - 1, c); },
        grid);
  }
  // A mesh with an odd number of rows: the other way round, rows along the last dimension and columns along the path.
  std::vector<NodeId> order;
  for (std::int32_t c = 0; c < columns; ++c) {
    for (std::size_t i = 1; i < path.size(); ++i) {
      order.push_back(grid.moved(path[c % 2 == 0 ? i : path.size() - i], last, c));
    }
  }
  for (std::int32_t c = columns; c > 0; --c) order.push_back(grid.moved(path.front(), last, c - 1));
  return order;
}

/// x, x+a, x+2a, …: a cycle through all nodes when a and N are coprime.
std::vector<std::vector<NodeId>> circulant_cycles(const Topology& topology) {
  std::vector<std::vector<NodeId>> cycles;
  const auto parts = split_specification(topology.name());
  if (!parts || parts->family != "circulant") return cycles;
  const auto numbers = parse_numbers(parts->arguments, ',', 1, max_nodes);
  const std::int32_t n = topology.host_count();
  if (!numbers || numbers->front() != n) return cycles;
  for (std::size_t i = 1; i < numbers->size(); ++i) {
    const std::int32_t offset = (*numbers)[i];
    if (std::gcd(offset, n) != 1) continue;
    std::vector<NodeId>& cycle = cycles.emplace_back();
    for (std::int32_t k = 0; k < n; ++k) {
      cycle.push_back(static_cast<NodeId>(std::int64_t{k} * offset % n));
    }
  }
  return cycles;
}

/// Backtracking; a path goes on to the neighbour that has fewest ways out (Warnsdorff 1823).
class CycleSearch {
 public:
  CycleSearch(const Topology& topology, const std::vector<bool>& used)
      : topology_(topology), used_(used), on_path_(at(topology.node_count()), false) {}

  std::optional<std::vector<NodeId>> run() {
    std::vector<std::vector<NodeId>> choices;  // still to try, best last, of every node on the path
    extend(0, choices);
    while (!choices.empty()) {
      if (choices.back().empty()) {
        on_path_[at(path_.back())] = false;
        path_.pop_back();
        choices.pop_back();
        continue;
      }
      if (++effort_ > search_effort) return std::nullopt;
      const NodeId next = choices.back().back();
      choices.back().pop_back();
      extend(next, choices);
      if (is_cycle(topology_, path_, used_)) return path_;
    }
    return std::nullopt;
  }

 private:
  void extend(NodeId node, std::vector<std::vector<NodeId>>& choices) {
    path_.push_back(node);
    on_path_[at(node)] = true;
    std::vector<std::pair<std::int32_t, NodeId>> ranked;
    for_each_way_out(node, [&](NodeId next) {
      std::int32_t ways = 0;
      for_each_way_out(next, [&ways](NodeId) { ++ways; });
      ranked.emplace_back(-ways, -next);
    });
    std::sort(ranked.begin(), ranked.end());
    std::vector<NodeId>& mine = choices.emplace_back();
    for (const auto& [ways, next] : ranked) mine.push_back(-next);
  }

  template <class Visit>
  void for_each_way_out(NodeId node, Visit visit) const {
    for (const LinkId link : topology_.out_links(node)) {
      const NodeId next = topology_.link(link).to;
      if (next < topology_.host_count() && !on_path_[at(next)] && is_free(used_, link)) visit(next);
    }
  }

  const Topology& topology_;
  const std::vector<bool>& used_;
  std::vector<bool> on_path_;
  std::vector<NodeId> path_;
  std::int64_t effort_ = 0;
};

bool hosts_have_links(const Topology& topology) {
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    const auto links = topology.out_links(host);
    const auto to_host = [&](LinkId link) { return topology.link(link).to < topology.host_count(); };
    if (std::none_of(links.begin(), links.end(), to_host)) return false;
  }
  return true;
}

void mark(const Topology& topology, const std::vector<NodeId>& cycle, std::vector<bool>& used) {
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    used[at(topology.find_link(cycle[i], cycle[(i + 1) % cycle.size()]))] = true;
  }
}

}  // namespace

std::optional<std::vector<NodeId>> hamiltonian_cycle(const Topology& topology, const std::vector<bool>& used) {
  if (topology.host_count() < 2) return std::nullopt;
  std::vector<std::vector<NodeId>> known = circulant_cycles(topology);
  if (const Result<Grid> grid = grid_of(topology); grid.ok()) known.push_back(grid_cycle(*grid));
  for (std::vector<NodeId>& cycle : known) {
    if (!is_cycle(topology, cycle, used)) continue;
    std::rotate(cycle.begin(), std::find(cycle.begin(), cycle.end(), 0), cycle.end());
    return cycle;
  }
  if (!hosts_have_links(topology)) return std::nullopt;
  return CycleSearch(topology, used).run();
}

std::vector<std::vector<NodeId>> disjoint_hamiltonian_cycles(const Topology& topology) {
  std::vector<std::vector<NodeId>> cycles;
  std::vector<bool> used(static_cast<std::size_t>(topology.link_count()), false);
  while (auto cycle = hamiltonian_cycle(topology, used)) {
    mark(topology, *cycle, used);
    std::vector<NodeId> opposite(cycle->rbegin(), cycle->rend());
    cycles.push_back(std::move(*cycle));
    if (!is_cycle(topology, opposite, used)) continue;
    mark(topology, opposite, used);
    cycles.push_back(std::move(opposite));
  }
  return cycles;
}

std::vector<NodeId> ring_order(const Topology& topology) {
  if (auto cycle = hamiltonian_cycle(topology)) return std::move(*cycle);
  std::vector<NodeId> order;
  std::vector<bool> seen(at(topology.node_count()), false);
  std::vector<NodeId> stack{0};
  while (!stack.empty()) {
    const NodeId node = stack.back();
    stack.pop_back();
    if (seen[at(node)]) continue;
    seen[at(node)] = true;
    if (node < topology.host_count()) order.push_back(node);
    const std::size_t below = stack.size();
    for (const LinkId link : topology.out_links(node)) stack.push_back(topology.link(link).to);
    std::reverse(stack.begin() + static_cast<std::ptrdiff_t>(below), stack.end());  // the first link is followed first
  }
  return order;
}

}  // namespace libcoll::broadcast::classic
