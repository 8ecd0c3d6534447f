#include "planner/topology/automorphisms.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "planner/base/index.h"
#include "planner/topology/specification.h"

namespace libcoll::topology {
namespace {

Automorphism identity(std::int32_t count) {
  Automorphism result(at(count));
  std::iota(result.begin(), result.end(), 0);
  return result;
}

/// first, then second.
Automorphism composed(const Automorphism& first, const Automorphism& second) {
  Automorphism result(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) result[i] = second[at(first[i])];
  return result;
}

Automorphism inverse(const Automorphism& permutation) {
  Automorphism result(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) result[at(permutation[i])] = static_cast<NodeId>(i);
  return result;
}

bool is_identity(const Automorphism& permutation) {
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    if (at(permutation[i]) != i) return false;
  }
  return true;
}

// --- by formula -----------------------------------------------------------------------------------------------------

/// Adds 1 to the digit of the given stride and size.
Automorphism digit_shift(std::int32_t count, std::int32_t stride, std::int32_t size) {
  Automorphism result(at(count));
  for (NodeId node = 0; node < count; ++node) {
    const std::int32_t digit = node / stride % size;
    result[at(node)] = node + ((digit + 1) % size - digit) * stride;
  }
  return result;
}

std::vector<Automorphism> digit_shifts(const std::vector<std::int32_t>& sizes, std::int32_t count) {
  std::int64_t product = 1;
  for (const std::int32_t size : sizes) product = std::min<std::int64_t>(product * size, std::int64_t{count} + 1);
  if (product != count) return {};
  std::vector<Automorphism> shifts;
  std::int32_t stride = 1;
  for (const std::int32_t size : sizes) {
    if (size > 1) shifts.push_back(digit_shift(count, stride, size));
    stride *= size;
  }
  return shifts;
}

std::vector<Automorphism> kautz_candidates(const std::vector<std::int32_t>& numbers, std::int32_t count) {
  if (numbers.size() != 2 || numbers[0] != count) return {};
  const std::int32_t parts = std::gcd(count, numbers[1] + 1);
  Automorphism shift;
  Automorphism mirror;
  for (NodeId node = 0; node < count; ++node) {
    shift.push_back((node + count / parts) % count);
    mirror.push_back(count - 1 - node);
  }
  // Where the shift alone takes every node everywhere, the mirror would only add stabilisers.
  if (parts == count) return {shift};
  return {shift, mirror};
}

std::vector<Automorphism> family_candidates(const Topology& topology) {
  const std::int32_t count = topology.node_count();
  const std::optional<Specification> parts = split_specification(topology.name());
  if (!parts) return {};
  const std::string_view family = parts->family;
  const bool grid = family == "torus" || family == "mesh";
  const auto numbers = parse_numbers(parts->arguments, grid ? 'x' : ',', 1, std::numeric_limits<std::int32_t>::max());
  if (!numbers.ok()) return {};
  if (family == "genkautz") return kautz_candidates(*numbers, count);
  if (grid) return digit_shifts({numbers->rbegin(), numbers->rend()}, count);
  constexpr std::int32_t most_dimensions = 30;
  if (family == "hypercube") {
    return digit_shifts(std::vector<std::int32_t>(at(std::min(numbers->front(), most_dimensions)), 2), count);
  }
  if (family == "complete_bipartite") return digit_shifts({numbers->front(), 2}, count);
  return digit_shifts({numbers->front()}, count);
}

// --- by search ------------------------------------------------------------------------------------------------------

std::uint64_t mixed(std::uint64_t key) {
  key += 0x9e3779b97f4a7c15U;
  key = (key ^ (key >> 30U)) * 0xbf58476d1ce4e5b9U;
  key = (key ^ (key >> 27U)) * 0x94d049bb133111ebU;
  return key ^ (key >> 31U);
}

/// A colouring: nodes of one colour are a cell, and the colour is the number of nodes in the cells before it.
struct Colouring {
  std::vector<std::int32_t> colour;
  std::int32_t cells = 0;
};

/// What refinement saw, round by round: equal for nodes that an automorphism exchanges.
using Trace = std::vector<std::uint64_t>;

class AutomorphismSearch {
 public:
  AutomorphismSearch(const Topology& topology, double seconds)
      : topology_(topology),
        count_(topology.node_count()),
        deadline_(std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds)),
        keyed_(at(count_)) {
    std::map<std::int64_t, std::uint64_t> known;
    for (const Link& link : topology.links()) {
      bandwidth_.push_back(known.try_emplace(link.bandwidth_bytes_per_second, known.size()).first->second);
    }
  }

  AutomorphismGroup run(std::vector<Automorphism> known) {
    single_out();
    AutomorphismGroup group{std::move(known), 1, true};
    for (std::size_t level = base_.size(); level-- > 0;) {
      const std::int64_t orbit = extend_orbit(level, group);
      const bool fits = group.order <= std::numeric_limits<std::int64_t>::max() / orbit;
      group.order = fits ? group.order * orbit : std::numeric_limits<std::int64_t>::max();
    }
    group.complete = !late_;
    return group;
  }

 private:
  bool late() {
    late_ = late_ || std::chrono::steady_clock::now() >= deadline_;
    return late_;
  }

  /// Colours by (colour, colours of neighbours) until nothing splits. With `expected`, false as soon as a round differs
  /// from it; with `trace`, the rounds are recorded there.
  bool refine(Colouring& colouring, const Trace* expected, Trace* trace) {
    for (std::size_t round = 0;; ++round) {
      const std::uint64_t seen = split_cells(colouring);
      if (trace != nullptr) trace->push_back(seen);
      if (expected != nullptr && (round >= expected->size() || (*expected)[round] != seen)) return false;
      std::int32_t cells = 0;
      for (std::size_t i = 0; i < keyed_.size(); ++i) cells += i == 0 || differs(i) ? 1 : 0;
      std::int32_t start = 0;
      for (std::size_t i = 0; i < keyed_.size(); ++i) {
        if (i > 0 && differs(i)) start = static_cast<std::int32_t>(i);
        colouring.colour[at(keyed_[i].node)] = start;
      }
      const bool stable = cells == colouring.cells;
      colouring.cells = cells;
      if (stable || cells == count_) return expected == nullptr || round + 1 == expected->size();
    }
  }

  [[nodiscard]] bool differs(std::size_t i) const {
    return keyed_[i].colour != keyed_[i - 1].colour || keyed_[i].key != keyed_[i - 1].key;
  }

  /// Sorts the nodes by colour and neighbourhood; returns a digest of what it saw.
  std::uint64_t split_cells(const Colouring& colouring) {
    for (NodeId node = 0; node < count_; ++node) {
      std::uint64_t key = 0;
      for (const LinkId link : topology_.out_links(node))
        key += neighbour_key(colouring, topology_.link(link).to, link, 0);
      for (const LinkId link : topology_.in_links(node)) {
        key += neighbour_key(colouring, topology_.link(link).from, link, 1);
      }
      keyed_[at(node)] = {colouring.colour[at(node)], key, node};
    }
    std::sort(keyed_.begin(), keyed_.end(), [](const Keyed& a, const Keyed& b) {
      return std::tie(a.colour, a.key, a.node) < std::tie(b.colour, b.key, b.node);
    });
    std::uint64_t digest = 0;
    for (const Keyed& keyed : keyed_) digest = mixed(digest ^ keyed.key) + static_cast<std::uint64_t>(keyed.colour);
    return digest;
  }

  [[nodiscard]] std::uint64_t neighbour_key(const Colouring& colouring, NodeId neighbour, LinkId link,
                                            std::uint64_t direction) const {
    const auto colour = static_cast<std::uint64_t>(colouring.colour[at(neighbour)]);
    return mixed((colour << 24U) ^ (bandwidth_[at(link)] << 1U) ^ direction);
  }

  static void individualise(Colouring& colouring, NodeId node) {
    const std::int32_t colour = colouring.colour[at(node)];
    for (std::int32_t& other : colouring.colour) other += other == colour ? 1 : 0;
    colouring.colour[at(node)] = colour;
    ++colouring.cells;
  }

  /// The reference: singles out a node of a smallest cell until all cells are single.
  void single_out() {
    Colouring colouring{std::vector<std::int32_t>(at(count_), 0), 1};
    for (NodeId node = topology_.host_count(); node < count_; ++node) {
      colouring.colour[at(node)] = topology_.host_count();
      colouring.cells = topology_.host_count() > 0 ? 2 : 1;
    }
    Trace trace;
    refine(colouring, nullptr, &trace);
    levels_.push_back(colouring);
    while (colouring.cells < count_) {
      const NodeId node = choose(colouring);
      base_.push_back(node);
      individualise(colouring, node);
      refine(colouring, nullptr, &traces_.emplace_back());
      levels_.push_back(colouring);
    }
  }

  [[nodiscard]] NodeId choose(const Colouring& colouring) const {
    std::vector<std::int32_t> size(at(count_), 0);
    for (const std::int32_t colour : colouring.colour) ++size[at(colour)];
    NodeId best = -1;
    for (NodeId node = 0; node < count_; ++node) {
      const std::int32_t here = size[at(colouring.colour[at(node)])];
      if (here > 1 && (best < 0 || here < size[at(colouring.colour[at(best)])])) best = node;
    }
    return best;
  }

  /// Finds what takes the level's base node elsewhere and leaves the earlier ones; returns the size of its orbit.
  std::int64_t extend_orbit(std::size_t level, AutomorphismGroup& group) {
    const Colouring& colouring = levels_[level];
    const NodeId node = base_[level];
    std::vector<bool> refused(at(count_), false);
    std::vector<std::int32_t> orbit = orbits(group.generators, level);
    for (NodeId other = 0; other < count_ && !late(); ++other) {
      if (colouring.colour[at(other)] != colouring.colour[at(node)]) continue;
      if (orbit[at(other)] == orbit[at(node)] || refused[at(orbit[at(other)])]) continue;
      Automorphism found;
      if (try_image(level, colouring, other, found)) {
        group.generators.push_back(std::move(found));
        orbit = orbits(group.generators, level);
        // Classes merge and are named by their least member, so what was refused has to be marked anew.
        std::vector<bool> again(at(count_), false);
        for (NodeId i = 0; i < count_; ++i) {
          if (refused[at(i)]) again[at(orbit[at(i)])] = true;
        }
        refused = std::move(again);
      } else {
        refused[at(orbit[at(other)])] = true;
      }
    }
    return std::count(orbit.begin(), orbit.end(), orbit[at(node)]);
  }

  /// By node the least node of its orbit under those generators that leave the base nodes before `level` in place.
  [[nodiscard]] std::vector<std::int32_t> orbits(const std::vector<Automorphism>& generators, std::size_t level) const {
    std::vector<std::int32_t> least = identity(count_);
    const auto find = [&least](std::int32_t node) {
      while (least[at(node)] != node) node = least[at(node)] = least[at(least[at(node)])];
      return node;
    };
    for (const Automorphism& generator : generators) {
      const bool fixes = std::all_of(base_.begin(), base_.begin() + static_cast<std::ptrdiff_t>(level),
                                     [&](NodeId node) { return generator[at(node)] == node; });
      if (!fixes) continue;
      for (NodeId node = 0; node < count_; ++node) {
        const std::int32_t a = find(node);
        const std::int32_t b = find(generator[at(node)]);
        least[at(std::max(a, b))] = std::min(a, b);
      }
    }
    for (NodeId node = 0; node < count_; ++node) least[at(node)] = find(node);
    return least;
  }

  /// An automorphism that takes the base node of `level` to `image`, and `colouring`'s cells as the reference's.
  bool try_image(std::size_t level, Colouring colouring, NodeId image, Automorphism& found) {
    individualise(colouring, image);
    if (late() || !refine(colouring, &traces_[level], nullptr)) return false;
    if (level + 1 == base_.size()) return matches(colouring, found);
    const std::int32_t wanted = levels_[level + 1].colour[at(base_[level + 1])];
    for (NodeId next = 0; next < count_; ++next) {
      if (colouring.colour[at(next)] == wanted && try_image(level + 1, colouring, next, found)) return true;
      if (late_) return false;
    }
    return false;
  }

  bool matches(const Colouring& colouring, Automorphism& found) const {
    std::vector<NodeId> of_colour(at(count_));
    for (NodeId node = 0; node < count_; ++node) of_colour[at(colouring.colour[at(node)])] = node;
    found.resize(at(count_));
    for (NodeId node = 0; node < count_; ++node) found[at(node)] = of_colour[at(levels_.back().colour[at(node)])];
    return is_automorphism(topology_, found);
  }

  struct Keyed {
    std::int32_t colour = 0;
    std::uint64_t key = 0;
    NodeId node = 0;
  };

  const Topology& topology_;
  std::int32_t count_;
  std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double>> deadline_;
  bool late_ = false;
  std::vector<std::uint64_t> bandwidth_;  ///< by link, numbered
  std::vector<Colouring> levels_;         ///< of the reference: before the first base node, after it, …
  std::vector<Trace> traces_;             ///< of the refinement after each base node
  std::vector<NodeId> base_;
  std::vector<Keyed> keyed_;
};

}  // namespace

std::vector<Automorphism> family_automorphisms(const Topology& topology) {
  std::vector<Automorphism> result;
  for (Automorphism& candidate : family_candidates(topology)) {
    if (is_automorphism(topology, candidate) && !is_identity(candidate)) result.push_back(std::move(candidate));
  }
  return result;
}

AutomorphismGroup find_automorphisms(const Topology& topology, double seconds) {
  return AutomorphismSearch(topology, seconds).run(family_automorphisms(topology));
}

std::vector<Automorphism> transversal(const Topology& topology, std::span<const Automorphism> generators, NodeId root) {
  std::vector<Automorphism> result(at(topology.host_count()));
  result[at(root)] = identity(topology.node_count());
  std::vector<NodeId> queue{root};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (const Automorphism& generator : generators) {
      const NodeId next = generator[at(queue[head])];
      if (!result[at(next)].empty()) continue;
      result[at(next)] = composed(result[at(queue[head])], generator);
      queue.push_back(next);
    }
  }
  return result;
}

std::optional<std::vector<Automorphism>> semiregular_group(const Topology& topology,
                                                           std::span<const Automorphism> generators) {
  // Where only the identity leaves host 0 in place, an element is known by where it takes host 0.
  std::vector<Automorphism> by_image = transversal(topology, generators, 0);
  std::vector<Automorphism> elements;
  for (const Automorphism& element : by_image) {
    if (element.empty()) continue;
    for (const Automorphism& generator : generators) {
      if (composed(element, generator) != by_image[at(generator[at(element[0])])]) return std::nullopt;
    }
  }
  for (Automorphism& element : by_image) {
    if (!element.empty()) elements.push_back(std::move(element));
  }
  for (std::size_t i = 1; i < elements.size(); ++i) {
    for (NodeId host = 0; host < topology.host_count(); ++host) {
      if (elements[i][at(host)] == host) return std::nullopt;
    }
  }
  return elements;
}

std::vector<Automorphism> stabiliser(std::span<const Automorphism> generators,
                                     std::span<const Automorphism> transversal, NodeId root) {
  std::set<Automorphism> found;
  for (const Automorphism& element : transversal) {
    if (element.empty()) continue;
    for (const Automorphism& generator : generators) {
      const Automorphism moved = composed(element, generator);
      Automorphism product = composed(moved, inverse(transversal[at(moved[at(root)])]));
      if (!is_identity(product)) found.insert(std::move(product));
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace libcoll::topology
