#include "planner/broadcast/bfb/finder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <numeric>
#include <span>
#include <string_view>

#include "planner/base/index.h"
#include "planner/broadcast/bfb/bfb_steps.h"
#include "planner/topology/facts.h"
#include "planner/topology/generators.h"

namespace libcoll::broadcast::bfb {

using namespace topology;

namespace {

std::string joined(std::initializer_list<std::int64_t> numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

/// In brackets where the specification would otherwise fall apart at its '+'.
std::string operand(const std::string& specification) {
  return specification.find('+') == std::string::npos ? specification : "[" + specification + "]";
}

/// A base graph on which BFB is known to be bandwidth-optimal.
FoundTopology optimal_base(std::string specification, std::int32_t nodes, std::int32_t degree, std::int64_t steps) {
  return {std::move(specification), {nodes, degree, steps, Rational(nodes - 1, nodes)}, true, true};
}

/// One whose T_B is what BFB's loads come to.
FoundTopology measured_base(std::string specification, std::int32_t nodes, std::int32_t degree,
                            std::span<const Rational> loads) {
  Rational time(0);
  for (const Rational& load : loads) time += load;
  time *= Rational(degree, nodes);
  const bool optimal = time == Rational(nodes - 1, nodes);
  return {std::move(specification), {nodes, degree, std::ssize(loads), time}, true, optimal};
}

struct NamedBase {
  std::string_view specification;
  std::int32_t nodes;
  std::int32_t degree;
  std::int32_t steps;
  Direction direction;
};

/// Paper 000 Table 8 (distance-regular, so bandwidth-optimal by §F.3) and others of its kind; the last two are optimal
/// by construction (named_graphs.cpp). The tests hold all of them against BFB.
constexpr std::array<NamedBase, 20> named_bases = {{
    {"graph:petersen", 10, 3, 2, Direction::cables_only},
    {"graph:heawood", 14, 3, 3, Direction::cables_only},
    {"graph:tutte8", 30, 3, 4, Direction::cables_only},
    {"graph:tutte12", 126, 3, 6, Direction::cables_only},
    {"graph:octahedron", 6, 4, 2, Direction::cables_only},
    {"graph:paley9", 9, 4, 2, Direction::cables_only},
    {"graph:k55-i", 10, 4, 3, Direction::cables_only},
    {"graph:heawood3", 14, 4, 3, Direction::cables_only},
    {"graph:line-petersen", 15, 4, 3, Direction::cables_only},
    {"graph:line-heawood", 21, 4, 3, Direction::cables_only},
    {"graph:pg23", 26, 4, 3, Direction::cables_only},
    {"graph:ag24", 32, 4, 4, Direction::cables_only},
    {"graph:o4", 35, 4, 3, Direction::cables_only},
    {"graph:line-tutte8", 45, 4, 4, Direction::cables_only},
    {"graph:doubled-o4", 70, 4, 7, Direction::cables_only},
    {"graph:gq33", 80, 4, 4, Direction::cables_only},
    {"graph:line-tutte12", 189, 4, 6, Direction::cables_only},
    {"graph:gh33", 728, 4, 6, Direction::cables_only},
    {"graph:moore8", 8, 2, 3, Direction::any},
    {"graph:moore16", 16, 2, 4, Direction::any},
}};

/// Hops from 0 to every node of a circulant graph. Precondition: it is connected.
std::vector<std::int32_t> circulant_hops(std::int32_t nodes, const std::vector<std::int32_t>& links) {
  std::vector<std::int32_t> hops(at(nodes), -1);
  std::vector<std::int32_t> queue = {0};
  hops[0] = 0;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const std::int32_t here = hops[at(queue[head])];
    for (const std::int32_t link : links) {
      const std::int32_t next = queue[head] + link < nodes ? queue[head] + link : queue[head] + link - nodes;
      if (hops[at(next)] >= 0) continue;
      hops[at(next)] = here + 1;
      queue.push_back(next);
    }
  }
  return hops;
}

using Words = std::vector<std::uint64_t>;

/// into |= set moved up by `by` (mod nodes).
void unite_rotated(const Words& set, std::int32_t nodes, std::int32_t by, Words& into) {
  constexpr std::int32_t bits = 64;
  const auto shift_up = [&](std::int32_t places) {
    const std::size_t words = at(places / bits);
    const auto rest = static_cast<unsigned>(places % bits);
    for (std::size_t k = words; k < into.size(); ++k) {
      std::uint64_t word = set[k - words] << rest;
      if (rest != 0 && k > words) word |= set[k - words - 1] >> (bits - rest);
      into[k] |= word;
    }
  };
  const auto shift_down = [&](std::int32_t places) {
    const std::size_t words = at(places / bits);
    const auto rest = static_cast<unsigned>(places % bits);
    for (std::size_t k = 0; k + words < into.size(); ++k) {
      std::uint64_t word = set[k + words] >> rest;
      if (rest != 0 && k + words + 1 < set.size()) word |= set[k + words + 1] << (bits - rest);
      into[k] |= word;
    }
  };
  shift_up(by);
  shift_down(nodes - by);
  if (nodes % bits != 0) into.back() &= (std::uint64_t{1} << static_cast<unsigned>(nodes % bits)) - 1;
}

/// The most hops from node 0 in a circulant graph, by sets of all nodes at once; more than `limit` when that is so, or
/// when not all are reached.
std::int32_t circulant_diameter(std::int32_t nodes, const std::vector<std::int32_t>& links, std::int32_t limit) {
  Words reached((at(nodes) + 63) / 64, 0);
  reached[0] = 1;
  for (std::int32_t hops = 0;; ++hops) {
    std::int64_t count = 0;
    for (const std::uint64_t word : reached) count += std::popcount(word);
    if (count == nodes || hops > limit) return hops;
    Words next = reached;
    for (const std::int32_t link : links) unite_rotated(reached, nodes, link, next);
    if (next == reached) return limit + 1;
    reached = std::move(next);
  }
}

/// BFB's loads of a circulant graph: those of node 0, all nodes being alike.
std::vector<Rational> circulant_loads(const std::vector<std::int32_t>& hops, const std::vector<std::int32_t>& links) {
  const auto nodes = static_cast<std::int32_t>(hops.size());
  const std::int32_t diameter = *std::max_element(hops.begin(), hops.end());
  std::vector<std::vector<std::uint32_t>> masks(at(diameter) + 1);
  for (std::int32_t x = 1; x < nodes; ++x) {
    std::uint32_t mask = 0;
    for (std::size_t i = 0; i < links.size(); ++i) {
      const std::int32_t before = x >= links[i] ? x - links[i] : x - links[i] + nodes;
      if (hops[at(before)] + 1 == hops[at(x)]) mask |= 1U << i;
    }
    masks[at(hops[at(x)])].push_back(mask);
  }
  std::vector<Rational> loads;
  loads.reserve(masks.size());
  for (std::size_t t = 1; t < masks.size(); ++t) {
    loads.push_back(balanced_load(masks[t], static_cast<std::int32_t>(links.size())));
  }
  return loads;
}

using Offsets = std::vector<std::int32_t>;

/// Sets of `count` offsets to try: 1, r, r², … rounded for some ratios r, then 1, 1+s, 1+2s, …
std::vector<Offsets> offset_sets(std::int32_t nodes, std::int32_t count) {
  constexpr std::int32_t ratios = 40;
  constexpr std::int32_t strides = 20;
  std::vector<Offsets> sets;
  const double largest = std::pow(nodes / 2.0, 1.0 / (count - 1));
  for (std::int32_t trial = 1; trial <= ratios; ++trial) {
    const double ratio = 1.2 + (largest - 1.2) * trial / ratios;
    Offsets offsets;
    offsets.reserve(static_cast<std::size_t>(count));
    for (std::int32_t i = 0; i < count; ++i)
      offsets.push_back(static_cast<std::int32_t>(std::lround(std::pow(ratio, i))));
    sets.push_back(std::move(offsets));
  }
  for (std::int32_t stride = 1; stride <= strides; ++stride) {
    Offsets offsets;
    offsets.reserve(static_cast<std::size_t>(count));
    for (std::int32_t i = 0; i < count; ++i) offsets.push_back(1 + i * stride);
    sets.push_back(std::move(offsets));
  }
  // A cable is needed for each, and no two may be the same.
  std::erase_if(sets, [nodes](const Offsets& offsets) {
    return 2 * offsets.back() >= nodes ||
           std::adjacent_find(offsets.begin(), offsets.end(), std::greater_equal<>()) != offsets.end();
  });
  return sets;
}

std::vector<std::int32_t> both_ways(std::int32_t nodes, const Offsets& offsets) {
  std::vector<std::int32_t> links = offsets;
  for (const std::int32_t offset : offsets) links.push_back(nodes - offset);
  return links;
}

/// Circulants of even degree from 6 on, for which no formula for the least diameter is known (§F.4): the best of those
/// tried.
std::optional<FoundTopology> searched_circulant(std::int32_t nodes, std::int32_t degree) {
  Offsets best;
  std::int32_t limit = nodes;
  for (const Offsets& offsets : offset_sets(nodes, degree / 2)) {
    const std::int32_t diameter = circulant_diameter(nodes, both_ways(nodes, offsets), limit);
    if (diameter > limit) continue;
    limit = diameter - 1;
    best = offsets;
  }
  if (best.empty()) return std::nullopt;
  const std::vector<std::int32_t> best_hops = circulant_hops(nodes, both_ways(nodes, best));
  std::string specification = "circulant:" + std::to_string(nodes);
  for (const std::int32_t offset : best) specification += "," + std::to_string(offset);
  return measured_base(std::move(specification), nodes, degree, circulant_loads(best_hops, both_ways(nodes, best)));
}

/// Definition 16. x → N−1−x and x → x + N/gcd(N, d+1) are automorphisms (automorphisms.h), so that the first nodes tell
/// all loads: half of those below N/gcd(N, d+1). Self-links, and with them
/// irregularity, come unless d+1 divides N.
FoundTopology generalized_kautz_base(std::int32_t nodes, std::int32_t degree) {
  const InNeighbours graph = InNeighbours::generalized_kautz(nodes, degree);
  const std::int32_t period = nodes / std::gcd(nodes, degree + 1);
  FoundTopology found =
      measured_base("genkautz:" + joined({nodes, degree}), nodes, degree, bfb_step_loads(graph, (period + 1) / 2));
  found.regular = nodes % (degree + 1) == 0;
  return found;
}

/// Keeps what nothing else beats, T_L ascending.
void prune(std::vector<FoundTopology>& found) {
  std::stable_sort(found.begin(), found.end(), [](const FoundTopology& a, const FoundTopology& b) {
    return a.cost.steps != b.cost.steps ? a.cost.steps < b.cost.steps : a.cost.bandwidth_time < b.cost.bandwidth_time;
  });
  std::vector<FoundTopology> kept;
  for (FoundTopology& candidate : found) {
    if (kept.empty() || candidate.cost.bandwidth_time < kept.back().cost.bandwidth_time) {
      kept.push_back(std::move(candidate));
    }
  }
  found = std::move(kept);
}

/// Hops from one node to all others in the best of all graphs: d^i nodes i hops away.
std::int64_t least_hops(std::int64_t nodes, std::int64_t degree) {
  std::int64_t left = nodes - 1;
  std::int64_t sum = 0;
  std::int64_t layer = degree;
  for (std::int64_t hop = 1; left > 0; ++hop) {
    const std::int64_t here = std::min(left, layer);
    sum += hop * here;
    left -= here;
    layer = std::min(layer * degree, nodes);
  }
  return sum;
}

}  // namespace

bool TopologyFinder::in_time() {
  const bool late = deadline_.passed();
  left_out_ += late ? 1 : 0;
  return !late;
}

std::vector<FoundTopology> TopologyFinder::bases(std::int32_t nodes, std::int32_t degree) {
  std::vector<FoundTopology> found;
  const std::string n = std::to_string(nodes);
  const bool one_way = direction_ == Direction::any;
  if (degree >= nodes) return found;
  if (nodes == degree + 1) return {optimal_base("complete:" + n, nodes, degree, 1)};
  if (nodes == 2 * degree) {
    found.push_back(optimal_base("complete_bipartite:" + joined({degree, degree}), nodes, degree, 2));
  }
  if (degree == 1 && one_way) found.push_back(optimal_base("uniring:" + n, nodes, degree, nodes - 1));
  if (nodes == degree + 2 && degree > 1 && one_way) {
    std::string specification = "directed_circulant:" + n;
    for (std::int32_t offset = 1; offset <= degree; ++offset) specification += "," + std::to_string(offset);
    found.push_back(optimal_base(specification, nodes, degree, 2));
  }
  if (degree == 2) found.push_back(optimal_base("ring:" + n, nodes, degree, nodes / 2));
  if (degree == 4) {
    const auto steps = static_cast<std::int64_t>(std::ceil((std::sqrt(2.0 * nodes - 1) - 1) / 2 - 1e-9));
    found.push_back(optimal_base("optimal_circulant:" + n, nodes, degree, steps));
  }
  if (degree % 2 == 0 && degree >= 6 && in_time()) {
    if (auto circulant = searched_circulant(nodes, degree)) found.push_back(std::move(*circulant));
  }
  for (const NamedBase& base : named_bases) {
    if (base.nodes != nodes || base.degree != degree || (base.direction == Direction::any && !one_way)) continue;
    found.push_back(optimal_base(std::string(base.specification), nodes, degree, base.steps));
  }
  return found;
}

void TopologyFinder::add_lines(std::vector<FoundTopology>& found, std::int32_t nodes, std::int32_t degree) {
  if (direction_ == Direction::cables_only || degree < 2 || nodes % degree != 0) return;
  for (const FoundTopology& base : regular(nodes / degree, degree)) {
    found.push_back({"line:" + operand(base.specification), line_cost(base.cost), true, false});
  }
}

void TopologyFinder::add_degree_expansions(std::vector<FoundTopology>& found, std::int32_t nodes, std::int32_t degree) {
  for (std::int32_t copies = 2; copies <= degree; ++copies) {
    if (degree % copies != 0 || nodes % copies != 0) continue;
    for (const FoundTopology& base : regular(nodes / copies, degree / copies)) {
      found.push_back({"degree:" + std::to_string(copies) + "," + operand(base.specification),
                       degree_cost(base.cost, copies), true, false});
    }
  }
}

void TopologyFinder::add_powers(std::vector<FoundTopology>& found, std::int32_t nodes, std::int32_t degree) {
  for (std::int32_t factors = 2; factors <= degree; ++factors) {
    const auto root = static_cast<std::int32_t>(std::lround(std::pow(nodes, 1.0 / factors)));
    std::int64_t power = 1;
    for (std::int32_t i = 0; i < factors && power <= nodes; ++i) power *= root;
    if (degree % factors != 0 || root < 2 || power != nodes) continue;
    for (const FoundTopology& base : regular(root, degree / factors)) {
      found.push_back({"power:" + std::to_string(factors) + "," + operand(base.specification),
                       power_cost(base.cost, factors), true, false});
    }
  }
}

const std::optional<FoundTopology>& TopologyFinder::optimal(std::int32_t nodes, std::int32_t degree) {
  const Key key(nodes, degree);
  if (const auto known = optimal_.find(key); known != optimal_.end()) return known->second;
  std::optional<FoundTopology> best;
  const auto consider = [&best](FoundTopology candidate) {
    if (candidate.bfb_optimal && (!best || candidate.cost.steps < best->cost.steps)) best = std::move(candidate);
  };
  for (FoundTopology& base : bases(nodes, degree)) consider(std::move(base));
  for (std::int32_t left = 2; left * 2 <= nodes; ++left) {
    if (nodes % left != 0) continue;
    for (std::int32_t share = 1; share < degree; ++share) {
      const std::optional<FoundTopology> a = optimal(left, share);
      if (!a) continue;
      const std::optional<FoundTopology>& b = optimal(nodes / left, degree - share);
      if (!b || (best && a->cost.steps + b->cost.steps >= best->cost.steps)) continue;
      consider(optimal_base("product:" + operand(a->specification) + "+" + operand(b->specification), nodes, degree,
                            a->cost.steps + b->cost.steps));
    }
  }
  return optimal_.emplace(key, std::move(best)).first->second;
}

const std::vector<FoundTopology>& TopologyFinder::regular(std::int32_t nodes, std::int32_t degree) {
  const Key key(nodes, degree);
  if (const auto known = regular_.find(key); known != regular_.end()) return known->second;
  std::vector<FoundTopology> found;
  if (nodes > degree) {
    if (const std::optional<FoundTopology>& best = optimal(nodes, degree)) found.push_back(*best);
    const bool kautz = direction_ == Direction::any && degree > 1 && nodes > degree + 1 && nodes % (degree + 1) == 0;
    if (kautz && in_time()) found.push_back(generalized_kautz_base(nodes, degree));
    add_lines(found, nodes, degree);
    add_degree_expansions(found, nodes, degree);
    add_powers(found, nodes, degree);
    prune(found);
  }
  return regular_.emplace(key, std::move(found)).first->second;
}

std::vector<FoundTopology> TopologyFinder::frontier(std::int32_t nodes, std::int32_t degree) {
  std::vector<FoundTopology> found = regular(nodes, degree);
  const bool irregular_kautz =
      direction_ == Direction::any && degree > 1 && nodes > degree + 1 && nodes % (degree + 1) != 0;
  if (irregular_kautz && in_time()) {
    found.push_back(generalized_kautz_base(nodes, degree));
    prune(found);
  }
  return found;
}

ExpansionCost moore_bound(std::int32_t nodes, std::int32_t degree) {
  std::int64_t steps = 0;
  std::int64_t layer = 1;
  for (std::int64_t reached = 1; reached < nodes; ++steps) {
    layer *= degree;
    reached += layer;
  }
  return {nodes, degree, steps, Rational(nodes - 1, nodes)};
}

Rational alltoall_time_bound(const Topology& topology) {
  std::int64_t hops = 0;
  for (const std::vector<std::int32_t>& row : hop_distances(topology)) {
    hops = std::accumulate(row.begin(), row.end(), hops);
  }
  // A shard of M/N crosses Σ dist links in all, of which E carry B/d each.
  return Rational(hops, topology.host_count()) * Rational(degree(topology), topology.link_count());
}

Rational alltoall_moore_bound(std::int32_t nodes, std::int32_t degree) {
  return nodes > 1 ? Rational(least_hops(nodes, degree), nodes) : Rational();
}

double allreduce_seconds(const ExpansionCost& cost, double size_bytes, double alpha_seconds,
                         double link_bytes_per_second) {
  const double node_bytes_per_second = static_cast<double>(cost.degree) * link_bytes_per_second;
  return 2 * (static_cast<double>(cost.steps) * alpha_seconds +
              cost.bandwidth_time.to_double() * size_bytes / node_bytes_per_second);
}

}  // namespace libcoll::broadcast::bfb
