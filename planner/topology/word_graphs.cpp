#include "planner/topology/word_graphs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "planner/topology/family.h"
#include "planner/topology/generators.h"

namespace libcoll::topology {
namespace {

/// base^exponent, or something above max_nodes when it is that large. Precondition: base, exponent >= 1.
std::int64_t bounded_power(std::int64_t base, std::int32_t exponent) {
  std::int64_t power = 1;
  for (std::int32_t i = 0; i < exponent && power <= max_nodes && base > 1; ++i) power *= base;
  return power;
}

}  // namespace

Result<Topology> generalized_kautz(std::int64_t n, std::int64_t d) {
  // a and a + N give the same arc: beyond a = N nothing new comes.
  const std::int64_t arcs = std::min(n, d);
  if (const Status status = check_size(n, n * arcs); !status) return status.error();
  std::vector<Link> links;
  for (std::int64_t x = 0; x < n; ++x) {
    for (std::int64_t a = 1; a <= arcs; ++a) {
      const std::int64_t y = (n - (d * x + a) % n) % n;
      if (x != y) links.push_back({static_cast<NodeId>(x), static_cast<NodeId>(y)});
    }
  }
  return from_links(static_cast<std::int32_t>(n), std::move(links));
}

Result<Topology> kautz(std::int32_t d, std::int32_t k) {
  const std::int64_t shorter = bounded_power(d, k - 1);
  return generalized_kautz(shorter * (std::int64_t{d} + 1), d);
}

Result<Topology> de_bruijn(std::int32_t d, std::int32_t k, ConstantWords constant_words) {
  const std::int64_t n = bounded_power(d, k);
  if (const Status status = check_size(n, n * d); !status) return status.error();
  // The word a…a as a number is a·(d^k − 1)/(d − 1).
  const std::int64_t ones = (n - 1) / (d - 1);
  std::vector<Link> links;
  for (std::int64_t x = 0; x < n; ++x) {
    for (std::int64_t a = 0; a < d; ++a) {
      std::int64_t y = (x * d + a) % n;
      if (x == y) {
        if (constant_words == ConstantWords::dropped) continue;
        y = (a + 1) % d * ones;
      }
      links.push_back({static_cast<NodeId>(x), static_cast<NodeId>(y)});
    }
  }
  return from_links(static_cast<std::int32_t>(n), std::move(links));
}

}  // namespace libcoll::topology
