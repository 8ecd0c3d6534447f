#include "planner/reconfigure/candidates.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "planner/base/index.h"

namespace libcoll::reconfigure {

using namespace topology;

namespace {

constexpr std::int32_t max_shifted = 16;      // rings and tori with renumbered nodes, each
constexpr std::size_t max_united_steps = 32;  // of collectives for which unions of steps are candidates

/// u becomes factor·u mod N.
Configuration renumbered(const Configuration& configuration, std::int32_t factor) {
  std::vector<Wire> wires = configuration.wires;
  const std::int64_t nodes = configuration.nodes;
  for (Wire& wire : wires) {
    wire.from = static_cast<NodeId>(wire.from * std::int64_t{factor} % nodes);
    wire.to = static_cast<NodeId>(wire.to * std::int64_t{factor} % nodes);
  }
  return make_configuration(configuration.name + " shifted by " + std::to_string(factor), configuration.nodes,
                            std::move(wires));
}

/// All ways to write `nodes` as a product of `count` factors ≥ 2, ascending.
std::vector<std::vector<std::int32_t>> factorizations(std::int32_t nodes, std::int32_t count, std::int32_t least = 2) {
  std::vector<std::vector<std::int32_t>> result;
  if (count == 1) {
    if (nodes >= least) result.push_back({nodes});
    return result;
  }
  for (std::int32_t factor = least; factor * factor <= nodes; ++factor) {
    if (nodes % factor != 0) continue;
    for (std::vector<std::int32_t>& rest : factorizations(nodes / factor, count - 1, factor)) {
      rest.insert(rest.begin(), factor);
      result.push_back(std::move(rest));
    }
  }
  return result;
}

Configuration torus(const std::vector<std::int32_t>& sizes, std::int32_t count) {
  const std::int32_t nodes = std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>());
  std::vector<Wire> wires;
  std::string name;
  std::int32_t stride = nodes;
  for (const std::int32_t size : sizes) {
    name += (name.empty() ? "torus:" : "x") + std::to_string(size);
    stride /= size;
    for (NodeId node = 0; node < nodes; ++node) {
      const std::int32_t digit = node / stride % size;
      for (const std::int32_t next : {(digit + 1) % size, (digit + size - 1) % size}) {
        wires.push_back({node, node + (next - digit) * stride, count});
      }
    }
  }
  return make_configuration(std::move(name), nodes, std::move(wires));
}

/// Takes what is not known yet.
class Collection {
 public:
  explicit Collection(std::int32_t degree) : degree_(degree) {}

  std::size_t add(Configuration configuration) {
    const auto [place, is_new] = index_.try_emplace(configuration.wires, candidates_.configurations.size());
    if (is_new) candidates_.configurations.push_back(std::move(configuration));
    return place->second;
  }
  /// Unless it has more ports than there are.
  void offer(Configuration configuration) {
    if (ports_used(configuration) <= degree_) add(std::move(configuration));
  }
  Candidates& candidates() { return candidates_; }

 private:
  std::int32_t degree_;
  Candidates candidates_;
  std::map<std::vector<Wire>, std::size_t> index_;
};

void add_rings(std::int32_t nodes, std::int32_t degree, Collection& collection) {
  std::int32_t taken = 0;
  for (std::int32_t by = 2; by <= nodes / 2 && taken < max_shifted; ++by) {
    if (std::gcd(by, nodes) != 1) continue;
    collection.offer(renumbered(ring_configuration(nodes, degree), by));
    ++taken;
  }
  // One way round, for algorithms that send one way only.
  for (std::int32_t by = 1; by < nodes; by *= 2) {
    collection.offer(shifted("one-way shift by " + std::to_string(by), nodes, {{by, degree}}));
  }
}

/// Circulant graphs with ±1 and ±s: twisted tori; with several powers of two as well.
void add_circulants(std::int32_t nodes, std::int32_t degree, Collection& collection) {
  const auto root = static_cast<std::int32_t>(std::lround(std::sqrt(static_cast<double>(nodes))));
  if (degree >= 4) {
    std::vector<std::int32_t> shifts{root - 1, root, root + 1};
    for (std::int32_t by = 2; by <= nodes / 2; by *= 2) shifts.push_back(by);
    for (const std::int32_t by : shifts) {
      const std::int32_t count = degree / 4;
      if (by < 2 || 2 * by > nodes) continue;
      collection.offer(
          shifted("circulant 1," + std::to_string(by), nodes, {{1, count}, {-1, count}, {by, count}, {-by, count}}));
    }
  }
  // A jump for each scale that the ports allow.
  std::vector<Shift> one_way;
  std::vector<Shift> both_ways;
  one_way.reserve(at(degree));
  both_ways.reserve(at(degree));
  const auto scales = static_cast<double>(degree);
  for (std::int32_t i = 0; i < degree; ++i) {
    one_way.push_back({static_cast<std::int32_t>(std::lround(std::pow(nodes, i / scales))), 1});
  }
  for (std::int32_t i = 0; i < degree / 2; ++i) {
    const auto by = static_cast<std::int32_t>(std::lround(std::pow(nodes, 2 * i / scales)));
    both_ways.push_back({by, 1});
    both_ways.push_back({-by, 1});
  }
  collection.offer(shifted("one-way circulant", nodes, one_way));
  if (!both_ways.empty()) collection.offer(shifted("circulant", nodes, both_ways));
}

void add_tori(std::int32_t nodes, std::int32_t degree, Collection& collection) {
  for (const std::int32_t dimensions : {2, 3}) {
    const std::vector<Configuration> tori = torus_configurations(nodes, degree, dimensions);
    for (const Configuration& configuration : tori) collection.offer(configuration);
    std::int32_t taken = 0;
    for (std::int32_t by = 3; by <= nodes / 2 && !tori.empty() && taken < max_shifted / 2; by += 2) {
      if (std::gcd(by, nodes) != 1) continue;
      collection.offer(renumbered(tori.front(), by));
      ++taken;
    }
  }
}

/// Direct wires for all demands of several steps; spare ports go to the steps that carry most.
void add_unions(const StagedCollective& collective, std::int32_t degree, Collection& collection) {
  const std::size_t steps = collective.steps.size();
  if (steps > max_united_steps) return;
  for (std::size_t first = 0; first < steps; ++first) {
    std::vector<Wire> wires;
    std::int32_t ports = 0;
    for (std::size_t last = first; last < steps; ++last) {
      ports += step_ports(collective.nodes, collective.steps[last]);
      if (ports > degree) break;
      for (const Demand& demand : collective.steps[last].demands) wires.push_back({demand.from, demand.to, 1});
      const std::string name = last == first ? "step " + std::to_string(first + 1)
                                             : "steps " + std::to_string(first + 1) + " to " + std::to_string(last + 1);
      if (last > first) {
        collection.offer(make_configuration(name, collective.nodes, wires));
        for (Wire& wire : wires) wire.count = degree / ports;
        collection.offer(make_configuration(name, collective.nodes, wires));
        for (Wire& wire : wires) wire.count = 1;
      }
      for (const std::int32_t rest : {degree - ports, 2}) {
        if (rest < 1 || rest > degree - ports) continue;
        std::vector<Wire> with_ring = ring_configuration(collective.nodes, rest).wires;
        with_ring.insert(with_ring.end(), wires.begin(), wires.end());
        collection.offer(make_configuration(name + " and a ring", collective.nodes, std::move(with_ring)));
      }
    }
  }
}

}  // namespace

Configuration ring_configuration(std::int32_t nodes, std::int32_t degree) {
  return shifted("ring", nodes, {{1, (degree + 1) / 2}, {-1, degree / 2}});
}

std::vector<Configuration> torus_configurations(std::int32_t nodes, std::int32_t degree, std::int32_t dimensions) {
  std::vector<Configuration> result;
  if (degree < 2 * dimensions) return result;
  auto sizes = factorizations(nodes, dimensions);
  std::sort(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.back() < b.back(); });
  for (const std::vector<std::int32_t>& torus_sizes : sizes) {
    result.push_back(torus(torus_sizes, degree / (2 * dimensions)));
  }
  return result;
}

Configuration kautz_configuration(std::int32_t nodes, std::int32_t degree) {
  std::vector<Wire> wires;
  for (std::int64_t node = 0; node < nodes; ++node) {
    for (std::int64_t a = 1; a <= degree; ++a) {
      const std::int64_t to = ((-degree * node - a) % nodes + nodes) % nodes;
      wires.push_back({static_cast<NodeId>(node), static_cast<NodeId>(to), 1});
    }
  }
  return make_configuration("generalized Kautz", nodes, std::move(wires));
}

std::int32_t step_ports(std::int32_t nodes, const StagedStep& step) {
  std::vector<std::int32_t> out(at(nodes), 0);
  std::vector<std::int32_t> in(at(nodes), 0);
  std::int32_t most = 0;
  for (const Demand& demand : step.demands) {
    most = std::max({most, ++out[at(demand.from)], ++in[at(demand.to)]});
  }
  return most;
}

Configuration matching_configuration(std::string name, std::int32_t nodes, std::int32_t degree,
                                     const StagedStep& step) {
  const std::int32_t ports = step_ports(nodes, step);
  std::vector<Wire> wires;
  for (const Demand& demand : step.demands) wires.push_back({demand.from, demand.to, degree / std::max(ports, 1)});
  return make_configuration(std::move(name), nodes, std::move(wires));
}

Result<Candidates> candidate_configurations(const StagedCollective& collective, std::int32_t degree) {
  if (degree < 1) return Error{"found degree " + std::to_string(degree) + ", expected at least one port per node"};
  Collection collection(degree);
  const std::int32_t nodes = collective.nodes;
  collection.candidates().fixed.push_back(collection.add(ring_configuration(nodes, degree)));
  for (const std::int32_t dimensions : {2, 3}) {
    const std::vector<Configuration> tori = torus_configurations(nodes, degree, dimensions);
    if (!tori.empty()) collection.candidates().fixed.push_back(collection.add(tori.front()));
  }
  collection.candidates().fixed.push_back(collection.add(kautz_configuration(nodes, degree)));
  for (std::size_t i = 0; i < collective.steps.size(); ++i) {
    const std::int32_t ports = step_ports(nodes, collective.steps[i]);
    if (ports > degree) {
      return Error{collective.algorithm + ": in step " + std::to_string(i + 1) + " a node has " +
                   std::to_string(ports) + " partners, expected at most one for each of its " + std::to_string(degree) +
                   " ports"};
    }
    collection.candidates().of_step.push_back(
        collection.add(matching_configuration("step " + std::to_string(i + 1), nodes, degree, collective.steps[i])));
  }
  add_rings(nodes, degree, collection);
  add_circulants(nodes, degree, collection);
  add_tori(nodes, degree, collection);
  add_unions(collective, degree, collection);
  return std::move(collection.candidates());
}

}  // namespace libcoll::reconfigure
