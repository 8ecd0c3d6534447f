#include "planner/reconfigure/symmetry.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>

#include "planner/base/index.h"

namespace libcoll::reconfigure {

using namespace topology;

namespace {

using Permutation = std::vector<NodeId>;

/// Looks up the images of wires and demands.
class Checker {
 public:
  Checker(const Configuration& configuration, std::span<const Demand> demands)
      : wires_(configuration.wires), demands_(demands) {}

  [[nodiscard]] bool holds(const Permutation& permutation) const {
    return std::ranges::all_of(demands_, [&](const Demand& d) { return image(permutation, d).has_value(); }) &&
           std::ranges::all_of(wires_, [&](const Wire& w) { return image(permutation, w).has_value(); });
  }
  /// The index of the image.
  [[nodiscard]] std::optional<std::size_t> image(const Permutation& permutation, const Wire& wire) const {
    return find(wires_, Wire{permutation[at(wire.from)], permutation[at(wire.to)], wire.count});
  }
  [[nodiscard]] std::optional<std::size_t> image(const Permutation& permutation, const Demand& demand) const {
    return find(demands_, Demand{permutation[at(demand.from)], permutation[at(demand.to)], demand.units});
  }

 private:
  template <class Item>
  static std::optional<std::size_t> find(std::span<const Item> items, const Item& item) {
    const auto place = std::lower_bound(items.begin(), items.end(), item);
    if (place == items.end() || *place != item) return std::nullopt;
    return static_cast<std::size_t>(place - items.begin());
  }

  std::span<const Wire> wires_;
  std::span<const Demand> demands_;
};

Permutation permutation_of(std::int32_t nodes, const std::function<NodeId(NodeId)>& image) {
  Permutation permutation(at(nodes));
  for (NodeId node = 0; node < nodes; ++node) permutation[at(node)] = image(node);
  return permutation;
}

std::vector<std::int32_t> proper_divisors(std::int32_t number) {
  std::vector<std::int32_t> divisors;
  for (std::int32_t divisor = 1; divisor <= number / 2; ++divisor) {
    if (number % divisor == 0) divisors.push_back(divisor);
  }
  return divisors;
}

/// The least addition to the digit of that stride and size that holds makes up for all others.
void add_digit_shift(std::int32_t nodes, std::int32_t stride, std::int32_t size, const Checker& checker,
                     std::vector<Permutation>& found) {
  for (const std::int32_t by : proper_divisors(size)) {
    Permutation shift = permutation_of(nodes, [=](NodeId node) {
      const std::int32_t digit = node / stride % size;
      return node + ((digit + by) % size - digit) * stride;
    });
    if (!checker.holds(shift)) continue;
    found.push_back(std::move(shift));
    return;
  }
}

std::vector<Permutation> generators_of(std::int32_t nodes, const Checker& checker) {
  std::vector<Permutation> found;
  for (std::int32_t stride = 1; stride < nodes; ++stride) {
    if (nodes % stride != 0) continue;
    for (std::int32_t size = nodes / stride; size > 1; --size) {
      if (nodes % (stride * size) == 0) add_digit_shift(nodes, stride, size, checker, found);
    }
  }
  if (std::has_single_bit(static_cast<std::uint32_t>(nodes))) {
    for (std::int32_t mask = 1; mask < nodes; mask *= 2) {
      Permutation flip = permutation_of(nodes, [=](NodeId node) { return node ^ mask; });
      if (checker.holds(flip)) found.push_back(std::move(flip));
    }
  }
  for (const std::int32_t sum : {nodes, nodes + 1, 2 * nodes - 1}) {
    Permutation reflection = permutation_of(nodes, [=](NodeId node) { return (sum - node) % nodes; });
    if (!checker.holds(reflection)) continue;
    found.push_back(std::move(reflection));
    break;
  }
  return found;
}

/// Sets that are joined one pair at a time.
class Orbits {
 public:
  explicit Orbits(std::size_t items) : parent_(items) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }

  void join(std::size_t a, std::size_t b) { parent_[root(a)] = root(b); }

  /// Numbers the sets in the order of their first items; `sizes` gets how many each has.
  std::vector<std::size_t> numbered(std::vector<std::size_t>& sizes) {
    std::vector<std::size_t> number(parent_.size(), parent_.size());
    std::vector<std::size_t> result;
    for (std::size_t item = 0; item < parent_.size(); ++item) {
      std::size_t& known = number[root(item)];
      if (known == parent_.size()) {
        known = sizes.size();
        sizes.push_back(0);
      }
      ++sizes[known];
      result.push_back(known);
    }
    return result;
  }

 private:
  std::size_t root(std::size_t item) {
    while (parent_[item] != item) item = parent_[item] = parent_[parent_[item]];
    return item;
  }

  std::vector<std::size_t> parent_;
};

}  // namespace

StepSymmetry step_symmetry(const Configuration& configuration, std::span<const Demand> demands, bool search) {
  const Checker checker(configuration, demands);
  StepSymmetry symmetry;
  if (search) symmetry.generators = generators_of(configuration.nodes, checker);
  Orbits wires(configuration.wires.size());
  Orbits pairs(demands.size());
  for (const Permutation& generator : symmetry.generators) {
    for (std::size_t i = 0; i < configuration.wires.size(); ++i) {
      wires.join(i, *checker.image(generator, configuration.wires[i]));
    }
    for (std::size_t i = 0; i < demands.size(); ++i) pairs.join(i, *checker.image(generator, demands[i]));
  }
  symmetry.wire_orbit = wires.numbered(symmetry.wires_in);
  symmetry.demand_orbit = pairs.numbered(symmetry.demands_in);
  return symmetry;
}

}  // namespace libcoll::reconfigure
