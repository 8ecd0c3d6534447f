#include "planner/topology/twisted_torus.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>

namespace libcoll::topology {
namespace {

Status check_sizes(const Numbers& sizes) {
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  const bool two_sizes = std::all_of(sizes.begin(), sizes.end(), [&, low = *least, high = *most](std::int32_t size) {
    return size == low || size == high;
  });
  if (*least >= 2 && std::int64_t{*most} == std::int64_t{2} * *least && two_sizes) return {};
  return Error{"found sizes from " + std::to_string(*least) + " to " + std::to_string(*most) +
               ", expected k and 2k only, each at least once, k at least 2"};
}

}  // namespace

Result<Topology> twisted_torus(const Numbers& sizes) {
  if (const Status status = check_sizes(sizes); !status) return status.error();
  const std::int32_t half = *std::min_element(sizes.begin(), sizes.end());
  std::int64_t node_count = 1;
  for (const std::int32_t size : sizes) {
    node_count *= size;
    if (const Status status = check_size(node_count, 0); !status) return status.error();
  }
  const auto number = [&](const Numbers& at) {
    NodeId id = 0;
    auto coordinate = at.begin();
    for (const std::int32_t size : sizes) id = id * size + *coordinate++;
    return id;
  };
  std::set<std::pair<NodeId, NodeId>> cables;
  for (NodeId node = 0; node < node_count; ++node) {
    Numbers at(sizes.size());
    NodeId rest = node;
    for (std::size_t i = sizes.size(); i-- > 0;) {
      at[i] = rest % sizes[i];
      rest /= sizes[i];
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      Numbers next = at;
      next[i] = (at[i] + 1) % sizes[i];
      if (next[i] == 0 && sizes[i] == half) {
        for (std::size_t j = 0; j < sizes.size(); ++j) {
          if (sizes[j] != half) next[j] = (at[j] + half) % sizes[j];
        }
      }
      cables.insert(std::minmax(node, number(next)));
    }
  }
  return from_cables(static_cast<std::int32_t>(node_count), Cables(cables.begin(), cables.end()));
}

}  // namespace libcoll::topology
