#include "planner/topology/isomorphism.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/base/index.h"

namespace libcoll::topology {
namespace {

using Colors = std::vector<std::int32_t>;

/// Colours of the nodes of both topologies, with one palette.
struct Coloring {
  Colors a;
  Colors b;
  std::int32_t count = 1;
};

/// A node's own colour, then its links' (direction, bandwidth, colour at the other end), sorted.
using Signature = std::vector<std::tuple<std::int32_t, std::int64_t, std::int32_t>>;

Signature signature(const Topology& topology, const Colors& colors, NodeId node) {
  Signature result;
  result.reserve(topology.out_links(node).size() + topology.in_links(node).size() + 1);
  for (const LinkId id : topology.out_links(node)) {
    const Link& link = topology.link(id);
    result.emplace_back(1, link.bandwidth_bytes_per_second, colors[at(link.to)]);
  }
  for (const LinkId id : topology.in_links(node)) {
    const Link& link = topology.link(id);
    result.emplace_back(2, link.bandwidth_bytes_per_second, colors[at(link.from)]);
  }
  result.emplace_back(0, topology.node(node).is_switch ? 1 : 0, colors[at(node)]);
  std::sort(result.begin(), result.end());
  return result;
}

/// Whether both sides have equally many nodes of every colour.
bool balanced(const Coloring& coloring) {
  std::vector<std::int32_t> surplus(at(coloring.count), 0);
  for (const std::int32_t color : coloring.a) ++surplus[at(color)];
  for (const std::int32_t color : coloring.b) --surplus[at(color)];
  return std::all_of(surplus.begin(), surplus.end(), [](std::int32_t s) { return s == 0; });
}

class IsomorphismSearch {
 public:
  IsomorphismSearch(const Topology& a, const Topology& b, std::int64_t budget) : a_(a), b_(b), budget_(budget) {}

  std::optional<Automorphism> run(Coloring coloring) {
    if (budget_ <= 0 || !refine(coloring)) return std::nullopt;
    const std::int32_t branch = branch_color(coloring);
    if (branch < 0) return matched(coloring);
    const auto chosen = std::find(coloring.a.begin(), coloring.a.end(), branch);
    const auto position = static_cast<std::size_t>(chosen - coloring.a.begin());
    for (std::size_t image = 0; image < coloring.b.size(); ++image) {
      if (coloring.b[image] != branch) continue;
      Coloring next = coloring;
      next.a[position] = coloring.count;
      next.b[image] = coloring.count;
      ++next.count;
      if (auto found = run(std::move(next))) return found;
    }
    return std::nullopt;
  }

 private:
  /// Splits colours by their neighbours' until nothing changes; false when the sides come to differ.
  bool refine(Coloring& coloring) {
    for (;;) {
      --budget_;
      std::map<Signature, std::int32_t> palette;
      const auto recolored = [&](const Topology& topology, const Colors& colors) {
        Colors result;
        result.reserve(colors.size());
        for (NodeId node = 0; node < topology.node_count(); ++node) {
          const auto fresh = static_cast<std::int32_t>(palette.size());
          result.push_back(palette.try_emplace(signature(topology, colors, node), fresh).first->second);
        }
        return result;
      };
      Coloring next{recolored(a_, coloring.a), recolored(b_, coloring.b), 0};
      next.count = static_cast<std::int32_t>(palette.size());
      if (!balanced(next)) return false;
      const bool stable = next.count == coloring.count;
      coloring = std::move(next);
      if (stable) return true;
    }
  }

  /// The colour of fewest nodes that has more than one, -1 when all colours tell nodes apart.
  static std::int32_t branch_color(const Coloring& coloring) {
    std::vector<std::int32_t> size(at(coloring.count), 0);
    for (const std::int32_t color : coloring.a) ++size[at(color)];
    std::int32_t best = -1;
    for (std::int32_t color = 0; color < coloring.count; ++color) {
      if (size[at(color)] > 1 && (best < 0 || size[at(color)] < size[at(best)])) best = color;
    }
    return best;
  }

  [[nodiscard]] std::optional<Automorphism> matched(const Coloring& coloring) const {
    std::vector<NodeId> of_color(at(coloring.count));
    for (NodeId node = 0; node < b_.node_count(); ++node) of_color[at(coloring.b[at(node)])] = node;
    Automorphism map;
    map.reserve(coloring.a.size());
    for (const std::int32_t color : coloring.a) map.push_back(of_color[at(color)]);
    for (const Link& link : a_.links()) {
      const LinkId image = b_.find_link(map[at(link.from)], map[at(link.to)]);
      if (image < 0 || b_.link(image).bandwidth_bytes_per_second != link.bandwidth_bytes_per_second) {
        return std::nullopt;
      }
    }
    return map;
  }

  const Topology& a_;
  const Topology& b_;
  std::int64_t budget_;
};

bool paired(const Topology& topology) {
  return std::all_of(topology.links().begin(), topology.links().end(), [&](const Link& link) {
    const LinkId back = topology.find_link(link.to, link.from);
    return back >= 0 && topology.link(back).bandwidth_bytes_per_second == link.bandwidth_bytes_per_second;
  });
}

}  // namespace

std::optional<Automorphism> find_isomorphism(const Topology& a, const Topology& b, std::int64_t budget) {
  if (a.node_count() != b.node_count() || a.link_count() != b.link_count()) return std::nullopt;
  const Colors one_color(at(a.node_count()), 0);
  return IsomorphismSearch(a, b, budget).run({one_color, one_color, 1});
}

std::optional<Automorphism> reverse_symmetry(const Topology& topology) {
  if (paired(topology)) {
    Automorphism identity(at(topology.node_count()));
    std::iota(identity.begin(), identity.end(), 0);
    return identity;
  }
  return find_isomorphism(topology, transpose(topology));
}

}  // namespace libcoll::topology
