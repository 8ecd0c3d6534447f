#include "planner/topology/grid.h"

#include <cstddef>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "planner/topology/generators.h"
#include "planner/topology/specification.h"

namespace libcoll::topology {

std::int32_t Grid::stride(std::size_t dimension) const {
  return std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(dimension) + 1, sizes.end(), 1,
                         std::multiplies<>());
}

std::int32_t Grid::coordinate(NodeId node, std::size_t dimension) const {
  return node / stride(dimension) % sizes[dimension];
}

NodeId Grid::moved(NodeId node, std::size_t dimension, std::int32_t coordinate) const {
  const std::int32_t size = sizes[dimension];
  const std::int32_t goal = (coordinate % size + size) % size;
  return node + (goal - this->coordinate(node, dimension)) * stride(dimension);
}

std::vector<std::vector<NodeId>> Grid::lines(std::size_t dimension, bool descending) const {
  std::vector<std::vector<NodeId>> result;
  const std::int32_t nodes = std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>());
  for (NodeId node = 0; node < nodes; ++node) {
    if (coordinate(node, dimension) != 0) continue;
    std::vector<NodeId>& line = result.emplace_back();
    for (std::int32_t c = 0; c < sizes[dimension]; ++c) line.push_back(moved(node, dimension, descending ? -c : c));
  }
  return result;
}

Result<Grid> grid_of(const Topology& topology) {
  const Error unknown{
      "dimensions are known of topologies named torus:AxBx..., mesh:AxBx..., ring:N or hypercube:D, "
      "found '" +
      topology.name() + "'"};
  const std::optional<Specification> parts = split_specification(topology.name());
  if (!parts) return unknown;
  const std::string_view family = parts->family;
  const bool listed = family == "torus" || family == "mesh";
  if (!listed && family != "ring" && family != "hypercube") return unknown;
  const auto numbers = parse_numbers(parts->arguments, listed ? 'x' : ',', 1, max_nodes);
  if (!numbers) return unknown;
  Grid grid{{}, family != "mesh"};
  if (family == "hypercube") {
    grid.sizes.assign(static_cast<std::size_t>(numbers->front()), 2);
  } else {
    for (const std::int32_t size : *numbers) {
      if (size > 1) grid.sizes.push_back(size);
    }
  }
  std::int64_t nodes = 1;
  for (const std::int32_t size : grid.sizes) nodes = nodes > max_nodes ? nodes : nodes * size;
  if (nodes != topology.host_count() || topology.host_count() != topology.node_count()) {
    return Error{"'" + topology.name() + "' stands for " + std::to_string(nodes) + " hosts, found " +
                 std::to_string(topology.host_count()) + " and " +
                 std::to_string(topology.node_count() - topology.host_count()) + " switches"};
  }
  return grid;
}

}  // namespace libcoll::topology
