#include "planner/broadcast/bfb_steps.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <utility>

#include "planner/broadcast/bfb.h"
#include "planner/index.h"

namespace libcoll {
namespace {

constexpr std::int32_t max_set_nodes = 1 << 13;  ///< two sets of all nodes for every node: 16 MiB at most

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
  [[nodiscard]] std::size_t words() const { return words_; }

 private:
  std::size_t words_;
  std::vector<Word> bits_;
};

/// One node's new sources of one step and, of these, the ones each link can serve.
class Arrivals {
 public:
  explicit Arrivals(std::size_t words) : fresh_(words), served_(at(max_balanced_links), std::vector<Word>(words)) {}

  /// near.of(w): the nodes fewer than t hops away from w; `known` those of the node itself.
  void set(std::span<const NodeId> in_neighbours, const NodeSets& near, std::span<const Word> known,
           std::span<const Word> reached) {
    links_ = in_neighbours.size();
    fresh_count_ = 0;
    for (std::size_t k = 0; k < fresh_.size(); ++k) {
      fresh_[k] = reached[k] & ~known[k];
      fresh_count_ += std::popcount(fresh_[k]);
    }
    largest_ = 0;
    if (fresh_count_ == 0) return;
    for (std::size_t i = 0; i < links_; ++i) {
      const std::span<const Word> from = near.of(in_neighbours[i]);
      std::int64_t count = 0;
      for (std::size_t k = 0; k < fresh_.size(); ++k) {
        served_[i][k] = fresh_[k] & from[k];
        count += std::popcount(served_[i][k]);
      }
      largest_ = std::max(largest_, count);
    }
  }

  [[nodiscard]] bool empty() const { return fresh_count_ == 0; }

  /// Whether the load is certainly enough; false when that takes a closer look.
  [[nodiscard]] bool fits(Rational load) {
    if (Rational(largest_) <= load) return true;
    if (Rational(fresh_count_, static_cast<std::int64_t>(links_)) > load) return false;
    collect_masks();
    return spread_evenly() <= load.to_double() + tolerance;
  }

  /// The exact load.
  [[nodiscard]] Rational load() {
    collect_masks();
    std::vector<std::uint32_t> masks;
    for (const std::uint32_t mask : different_) masks.insert(masks.end(), at(count_[mask]), mask);
    return balanced_load(masks, static_cast<std::int32_t>(links_));
  }

 private:
  /// Loads are fractions with denominators of at most max_balanced_links: two that differ do so by more than this.
  static constexpr double tolerance = 1e-6;

  /// count_[mask]: sources that the links of the mask can serve, and no others.
  void collect_masks() {
    for (const std::uint32_t mask : different_) count_[mask] = 0;
    different_.clear();
    for (std::size_t k = 0; k < fresh_.size(); ++k) {
      std::array<std::uint32_t, word_bits> masks{};
      for (std::size_t i = 0; i < links_; ++i) {
        for (Word rest = served_[i][k]; rest != 0; rest &= rest - 1) {
          masks[static_cast<std::size_t>(std::countr_zero(rest))] |= 1U << i;
        }
      }
      for (Word rest = fresh_[k]; rest != 0; rest &= rest - 1) {
        const std::uint32_t mask = masks[static_cast<std::size_t>(std::countr_zero(rest))];
        if (count_[mask]++ == 0) different_.push_back(mask);
      }
    }
  }

  /// The largest load of a split of every source over its links: masks in turn, those of fewest links first, each
  /// poured into its emptiest links; then each once more, given what the others have poured.
  [[nodiscard]] double spread_evenly() {
    constexpr int rounds = 4;
    std::sort(different_.begin(), different_.end(), [](std::uint32_t a, std::uint32_t b) {
      return std::pair(std::popcount(a), a) < std::pair(std::popcount(b), b);
    });
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
  std::int64_t fresh_count_ = 0;
  std::int64_t largest_ = 0;  ///< most sources one link can serve
  std::vector<Word> fresh_;
  std::vector<std::vector<Word>> served_;
  std::vector<std::int32_t> count_ = std::vector<std::int32_t>(std::size_t{1} << max_balanced_links, 0);
  std::vector<std::uint32_t> different_;  ///< masks with a count
  std::vector<std::array<double, max_balanced_links>> poured_;
};

/// reached(u) = u and all that its in-neighbours have in `near`; returns whether that is more than near(u) anywhere.
bool grow(const InNeighbours& graph, const NodeSets& near, NodeSets& reached) {
  bool grown = false;
  for (NodeId u = 0; u < graph.node_count(); ++u) {
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

std::vector<Rational> bfb_step_loads(const InNeighbours& graph, NodeId evaluated) {
  const std::int32_t node_count = graph.node_count();
  NodeSets near(node_count);
  NodeSets reached(node_count);
  for (NodeId u = 0; u < node_count; ++u) near.of(u)[at(u) / word_bits] |= Word{1} << (at(u) % word_bits);
  std::vector<Rational> loads;
  Arrivals arrivals(near.words());
  while (grow(graph, near, reached)) {
    Rational load(0);
    for (NodeId u = 0; u < evaluated; ++u) {
      arrivals.set(graph.of(u), near, near.of(u), reached.of(u));
      if (!arrivals.empty() && !arrivals.fits(load)) load = std::max(load, arrivals.load());
    }
    loads.push_back(load);
    std::swap(near, reached);
  }
  return all_reached(near, node_count) ? loads : std::vector<Rational>{};
}

Result<std::vector<Rational>> bfb_step_loads(const Topology& topology) {
  const bool hosts_only = topology.host_count() == topology.node_count();
  if (hosts_only && topology.host_count() <= max_set_nodes && one_bandwidth(topology)) {
    const InNeighbours graph(topology);
    if (graph.degree_max() <= max_balanced_links) {
      std::vector<Rational> loads = bfb_step_loads(graph, graph.node_count());
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

}  // namespace libcoll
