#include "planner/topology/xpander.h"

#include <cstddef>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "planner/topology/facts.h"
#include "planner/topology/family.h"

namespace libcoll::topology {
namespace {

constexpr int attempts = 100;

/// Fisher and Yates by hand: std::shuffle may differ between standard libraries.
std::vector<std::int32_t> random_permutation(std::int32_t size, std::mt19937& random) {
  std::vector<std::int32_t> permutation(static_cast<std::size_t>(size));
  std::iota(permutation.begin(), permutation.end(), 0);
  for (std::size_t i = permutation.size(); i > 1; --i) std::swap(permutation[i - 1], permutation[random() % i]);
  return permutation;
}

Cables random_lift(std::int32_t degree, std::int32_t lift, std::mt19937& random) {
  Cables cables;
  for (NodeId a = 0; a <= degree; ++a) {
    for (NodeId b = a + 1; b <= degree; ++b) {
      const std::vector<std::int32_t> match = random_permutation(lift, random);
      for (std::int32_t i = 0; i < lift; ++i) {
        cables.emplace_back(a * lift + i, b * lift + match[static_cast<std::size_t>(i)]);
      }
    }
  }
  return cables;
}

}  // namespace

Result<Topology> xpander(std::int32_t degree, std::int32_t lift, std::uint32_t seed) {
  const std::int64_t nodes = (std::int64_t{degree} + 1) * lift;
  if (const Status status = check_size(nodes, nodes * degree); !status) return status.error();
  std::mt19937 random(seed);
  for (int attempt = 0; attempt < attempts; ++attempt) {
    Result<Topology> topology = from_cables(static_cast<std::int32_t>(nodes), random_lift(degree, lift, random));
    if (!topology.ok() || check_connected(*topology).ok()) return topology;
  }
  return Error{"found no connected lift in " + std::to_string(attempts) + " attempts, expected another seed"};
}

}  // namespace libcoll::topology
