#include "planner/broadcast/bfb/bfb_steps.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <utility>

#include "planner/base/index.h"
#include "planner/base/run_on_threads.h"
#include "planner/broadcast/bfb/bfb.h"
#include "planner/topology/automorphisms.h"

namespace libcoll::broadcast::bfb {

using namespace topology;

namespace {

constexpr std::int32_t least_nodes_for_threads = 512;  ///< a step of fewer takes less than starting threads
constexpr std::int32_t max_set_nodes = 1 << 13;        ///< two sets of all nodes for every node: 16 MiB at most

using Word = std::uint64_t;
constexpr std::size_t word_bits = 64;

/// For every node a set of nodes, as bits.
class NodeSets {
 public:
  explicit NodeSets(std::int32_t node_count)
      : words_((at(node_count) + word_bits - 1) / word_bits), bits_(words_ * at(node_count), 0) {}
  [[nodiscard]] std::span<Word> of(NodeId node) { return std::span(bits_).subspan(words_ * at(node), words_); }
  [[nodiscard]] std::span<const Word> of(NodeId node) const {
    return std::span(bits_).subspan(words_ * at(node), words_);
  }

 private:
  std::size_t words_;
  std::vector<Word> bits_;
};

/// One node's new sources of one step, by the set of links that can serve them.
class Arrivals {
 public:
  void start_step() { enough_.clear(); }

  /// near.of(w): the nodes fewer than t hops away from w; `known` those of the node itself.
  void set(std::span<const NodeId> in_neighbours, const NodeSets& near, std::span<const Word> known,
           std::span<const Word> reached) {
    clear(in_neighbours.size());
    std::array<std::span<const Word>, max_balanced_links> from;
    for (std::size_t i = 0; i < links_; ++i) from[i] = near.of(in_neighbours[i]);
    for (std::size_t k = 0; k < reached.size(); ++k) {
      const Word fresh = reached[k] & ~known[k];
      if (fresh == 0) continue;
      std::array<Word, max_balanced_links> serves;
      for (std::size_t i = 0; i < links_; ++i) serves[i] = from[i][k];
      for (Word rest = fresh; rest != 0; rest &= rest - 1) {
        const int bit = std::countr_zero(rest);
        std::uint32_t mask = 0;
        for (std::size_t i = 0; i < links_; ++i) mask |= static_cast<std::uint32_t>(serves[i] >> bit & 1U) << i;
        count(mask);
      }
    }
  }

  /// The same from the hops that every node has to each in-neighbour, for the nodes `step` hops away.
  void set(std::span<const NodeId> in_neighbours, const std::vector<std::vector<std::int32_t>>& to_neighbour,
           std::span<const NodeId> fresh, std::int32_t step) {
    clear(in_neighbours.size());
    for (const NodeId source : fresh) {
      std::uint32_t mask = 0;
      for (std::size_t i = 0; i < links_; ++i) {
        if (to_neighbour[i][at(source)] < step) mask |= 1U << i;
      }
      count(mask);
    }
  }

  [[nodiscard]] bool empty() const { return different_.empty(); }

  /// Whether the load is certainly enough; false when that takes a closer look. Loads must not shrink within a step.
  [[nodiscard]] bool fits(const Rational& load) {
    std::array<std::int64_t, max_balanced_links> served{};
    std::int64_t fresh = 0;
    for (const std::uint32_t mask : different_) {
      fresh += count_[mask];
      for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        served[static_cast<std::size_t>(std::countr_zero(rest))] += count_[mask];
      }
    }
    if (Rational(*std::max_element(served.begin(), served.end())) <= load) return true;
    if (Rational(fresh, static_cast<std::int64_t>(links_)) > load) return false;
    // Neighbouring nodes often have the same to do.
    std::sort(different_.begin(), different_.end(), [](std::uint32_t a, std::uint32_t b) {
      return std::pair(std::popcount(a), a) < std::pair(std::popcount(b), b);
    });
    if (std::any_of(enough_.begin(), enough_.end(), [this](const auto& known) { return is_like(known); })) return true;
    return spread_evenly() <= load.to_double() + tolerance && remember();
  }

  /// The exact load.
  [[nodiscard]] Rational load() {
    std::vector<std::uint32_t> masks;
    for (const std::uint32_t mask : different_) masks.insert(masks.end(), at(count_[mask]), mask);
    return balanced_load(masks, static_cast<std::int32_t>(links_));
  }

 private:
  /// Loads are fractions with denominators of at most max_balanced_links: two that differ do so by more than this.
  static constexpr double tolerance = 1e-6;
  static constexpr std::size_t max_remembered = 16;
  using Counts = std::vector<std::pair<std::uint32_t, std::int32_t>>;

  void clear(std::size_t links) {
    links_ = links;
    for (const std::uint32_t mask : different_) count_[mask] = 0;
    different_.clear();
  }

  void count(std::uint32_t mask) {
    if (count_[mask]++ == 0) different_.push_back(mask);
  }

  [[nodiscard]] bool is_like(const Counts& known) const {
    return known.size() == different_.size() &&
           std::equal(known.begin(), known.end(), different_.begin(), [this](const auto& entry, std::uint32_t mask) {
             return entry.first == mask && entry.second == count_[mask];
           });
  }

  bool remember() {
    if (enough_.size() < max_remembered) {
      Counts& counts = enough_.emplace_back();
      for (const std::uint32_t mask : different_) counts.emplace_back(mask, count_[mask]);
    }
    return true;
  }

  /// The largest load of a split of every source over its links: masks in turn (sorted, fewest links first), each
  /// poured into its emptiest links; then each once more, given what the others have poured.
  [[nodiscard]] double spread_evenly() {
    constexpr int rounds = 4;
    std::array<double, max_balanced_links> filled{};
    poured_.assign(different_.size(), {});
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < different_.size(); ++i) {
        for (std::size_t link = 0; link < links_; ++link) filled[link] -= poured_[i][link];
        pour(different_[i], filled, poured_[i]);
      }
    }
    return *std::max_element(filled.begin(), filled.begin() + static_cast<std::ptrdiff_t>(links_));
  }

  /// Raises the lowest links of the mask to a common level.
  void pour(std::uint32_t mask, std::array<double, max_balanced_links>& filled,
            std::array<double, max_balanced_links>& poured) const {
    std::array<std::size_t, max_balanced_links> order{};
    std::size_t links = 0;
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      order[links++] = static_cast<std::size_t>(std::countr_zero(rest));
    }
    std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(links),
              [&filled](std::size_t a, std::size_t b) { return filled[a] < filled[b]; });
    double sum = count_[mask];
    std::size_t raised = 0;
    double level = 0;
    while (raised < links && (raised == 0 || filled[order[raised]] < level)) {
      sum += filled[order[raised++]];
      level = sum / static_cast<double>(raised);
    }
    poured.fill(0);
    for (std::size_t i = 0; i < raised; ++i) {
      poured[order[i]] = level - filled[order[i]];
      filled[order[i]] = level;
    }
  }

  std::size_t links_ = 0;
  /// count_[mask]: sources that the links of the mask can serve, and no others.
  std::vector<std::int32_t> count_ = std::vector<std::int32_t>(std::size_t{1} << max_balanced_links, 0);
  std::vector<std::uint32_t> different_;  ///< masks with a count
  std::vector<std::array<double, max_balanced_links>> poured_;
  std::vector<Counts> enough_;  ///< of this step, that the load was enough for
};

/// Every `stride`-th node from `first` on: reached(u) = u and all that its in-neighbours have in `near`; returns
/// whether that is more than near(u) anywhere.
bool grow(const InNeighbours& graph, const NodeSets& near, NodeId first, std::int32_t stride, NodeSets& reached) {
  bool grown = false;
  for (NodeId u = first; u < graph.node_count(); u += stride) {
    const std::span<Word> set = reached.of(u);
    const std::span<const Word> own = near.of(u);
    std::copy(own.begin(), own.end(), set.begin());
    for (const NodeId w : graph.of(u)) {
      const std::span<const Word> from = near.of(w);
      for (std::size_t k = 0; k < set.size(); ++k) set[k] |= from[k];
    }
    grown = grown || !std::equal(set.begin(), set.end(), own.begin());
  }
  return grown;
}

bool all_reached(const NodeSets& sets, std::int32_t node_count) {
  for (NodeId u = 0; u < node_count; ++u) {
    std::int64_t members = 0;
    for (const Word word : sets.of(u)) members += std::popcount(word);
    if (members != node_count) return false;
  }
  return true;
}

/// Hops from every node to one, breadth first; the nodes by distance where asked for. Empty when some node cannot reach
/// it.
std::vector<std::int32_t> hops_to(const InNeighbours& graph, NodeId node,
                                  std::vector<std::vector<NodeId>>* by_distance) {
  std::vector<std::int32_t> hops(at(graph.node_count()), -1);
  std::vector<NodeId> order{node};
  hops[at(node)] = 0;
  for (std::size_t taken = 0; taken < order.size(); ++taken) {
    for (const NodeId from : graph.of(order[taken])) {
      if (hops[at(from)] >= 0) continue;
      hops[at(from)] = hops[at(order[taken])] + 1;
      order.push_back(from);
    }
  }
  if (order.size() != hops.size()) return {};
  if (by_distance != nullptr) {
    by_distance->resize(at(hops[at(order.back())]) + 1);
    for (const NodeId from : order) (*by_distance)[at(hops[at(from)])].push_back(from);
  }
  return hops;
}

/// One node of each orbit of the symmetries that the topology's name promises and its links keep; none when there are
/// so many that looking at all nodes at once is quicker.
std::vector<NodeId> orbit_representatives(const Topology& topology) {
  constexpr std::int64_t least_images = 8;
  const std::vector<Automorphism> generators = family_automorphisms(topology);
  if (generators.empty()) return {};
  std::vector<bool> seen(at(topology.host_count()), false);
  std::vector<NodeId> representatives;
  for (NodeId first = 0; first < topology.host_count(); ++first) {
    if (seen[at(first)]) continue;
    representatives.push_back(first);
    if (std::ssize(representatives) * least_images > topology.host_count()) return {};
    seen[at(first)] = true;
    std::vector<NodeId> orbit{first};
    for (std::size_t taken = 0; taken < orbit.size(); ++taken) {
      for (const Automorphism& generator : generators) {
        const NodeId image = generator[at(orbit[taken])];
        if (seen[at(image)]) continue;
        seen[at(image)] = true;
        orbit.push_back(image);
      }
    }
  }
  return representatives;
}

bool one_bandwidth(const Topology& topology) {
  return std::all_of(topology.links().begin(), topology.links().end(), [&](const Link& link) {
    return link.bandwidth_bytes_per_second == topology.unit_bandwidth_bytes_per_second();
  });
}

}  // namespace

InNeighbours::InNeighbours(const Topology& topology) {
  begin_.push_back(0);
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    for (const LinkId id : topology.in_links(node)) nodes_.push_back(topology.link(id).from);
    begin_.push_back(static_cast<std::int32_t>(nodes_.size()));
  }
}

InNeighbours InNeighbours::generalized_kautz(std::int32_t n, std::int32_t d) {
  InNeighbours graph;
  std::vector<std::vector<NodeId>> from(at(n));
  for (std::int64_t x = 0; x < n; ++x) {
    for (std::int64_t a = 1; a <= d; ++a) {
      const std::int64_t y = (n - (d * x + a) % n) % n;
      if (x != y) from[static_cast<std::size_t>(y)].push_back(static_cast<NodeId>(x));
    }
  }
  graph.begin_.push_back(0);
  for (const std::vector<NodeId>& nodes : from) {
    graph.nodes_.insert(graph.nodes_.end(), nodes.begin(), nodes.end());
    graph.begin_.push_back(static_cast<std::int32_t>(graph.nodes_.size()));
  }
  return graph;
}

std::int32_t InNeighbours::degree_max() const {
  std::int32_t largest = 0;
  for (std::size_t i = 1; i < begin_.size(); ++i) largest = std::max(largest, begin_[i] - begin_[i - 1]);
  return largest;
}

Rational balanced_load(std::span<const std::uint32_t> masks, std::int32_t links) {
  // within[S]: how many sources only links of S can serve.
  std::vector<std::int32_t> within(std::size_t{1} << links, 0);
  for (const std::uint32_t mask : masks) ++within[mask];
  for (std::size_t bit = 1; bit < within.size(); bit <<= 1U) {
    for (std::size_t block = bit; block < within.size(); block += 2 * bit) {
      for (std::size_t set = block; set < block + bit; ++set) within[set] += within[set - bit];
    }
  }
  std::array<std::int32_t, max_balanced_links + 1> most{};
  for (std::size_t set = 1; set < within.size(); ++set) {
    std::int32_t& largest = most[static_cast<std::size_t>(std::popcount(set))];
    largest = std::max(largest, within[set]);
  }
  Rational load(0);
  for (std::int32_t size = 1; size <= links; ++size) load = std::max(load, Rational(most[at(size)], size));
  return load;
}

std::vector<Rational> bfb_step_loads(const InNeighbours& graph, NodeId evaluated, std::int32_t threads) {
  const std::int32_t node_count = graph.node_count();
  NodeSets near(node_count);
  NodeSets reached(node_count);
  for (NodeId u = 0; u < node_count; ++u) near.of(u)[at(u) / word_bits] |= Word{1} << (at(u) % word_bits);
  if (node_count < least_nodes_for_threads) threads = 1;
  std::vector<Rational> loads;
  std::vector<Arrivals> arrivals(at(threads));
  std::vector<char> grown(at(threads));
  std::vector<Rational> largest(at(threads));
  for (;;) {
    run_on_threads(
        threads, [&](std::int32_t worker) { grown[at(worker)] = grow(graph, near, worker, threads, reached) ? 1 : 0; });
    if (std::count(grown.begin(), grown.end(), 1) == 0) break;
    run_on_threads(threads, [&](std::int32_t worker) {
      Arrivals& mine = arrivals[at(worker)];
      Rational load(0);
      mine.start_step();
      for (NodeId u = worker; u < evaluated; u += threads) {
        mine.set(graph.of(u), near, near.of(u), reached.of(u));
        if (!mine.empty() && !mine.fits(load)) load = std::max(load, mine.load());
      }
      largest[at(worker)] = load;
    });
    loads.push_back(*std::max_element(largest.begin(), largest.end()));
    std::swap(near, reached);
  }
  return all_reached(near, node_count) ? loads : std::vector<Rational>{};
}

std::vector<Rational> bfb_step_loads(const InNeighbours& graph, std::span<const NodeId> representatives) {
  std::vector<Rational> loads;
  Arrivals arrivals;
  for (const NodeId node : representatives) {
    std::vector<std::vector<NodeId>> by_distance;
    if (hops_to(graph, node, &by_distance).empty()) return {};
    std::vector<std::vector<std::int32_t>> to_neighbour;
    for (const NodeId w : graph.of(node)) to_neighbour.push_back(hops_to(graph, w, nullptr));
    loads.resize(std::max(loads.size(), by_distance.size() - 1), Rational(0));
    for (std::size_t t = 1; t < by_distance.size(); ++t) {
      arrivals.start_step();
      arrivals.set(graph.of(node), to_neighbour, by_distance[t], static_cast<std::int32_t>(t));
      if (!arrivals.fits(loads[t - 1])) loads[t - 1] = std::max(loads[t - 1], arrivals.load());
    }
  }
  return loads;
}

Result<std::vector<Rational>> bfb_step_loads(const Topology& topology, bool symmetry, std::int64_t* images,
                                             std::int32_t threads) {
  if (images != nullptr) *images = 1;
  const bool hosts_only = topology.host_count() == topology.node_count();
  if (hosts_only && one_bandwidth(topology)) {
    const InNeighbours graph(topology);
    if (graph.degree_max() <= max_balanced_links) {
      const std::vector<NodeId> representatives = symmetry ? orbit_representatives(topology) : std::vector<NodeId>{};
      std::vector<Rational> loads;
      if (!representatives.empty()) {
        loads = bfb_step_loads(graph, representatives);
        if (images != nullptr) *images = topology.host_count() / std::ssize(representatives);
      } else if (topology.host_count() <= max_set_nodes) {
        loads = bfb_step_loads(graph, graph.node_count(), threads);
      }
      if (!loads.empty()) return loads;
    }
  }
  const auto all = bfb_loads(topology);
  if (!all) return all.error();
  std::vector<Rational> loads;
  loads.reserve(all->size());
  for (const std::vector<Rational>& step : *all) loads.push_back(*std::max_element(step.begin(), step.end()));
  return loads;
}

}  // namespace libcoll::broadcast::bfb
