#include "planner/topology/family.h"

#include <string>

#include "planner/topology/generators.h"
#include "planner/topology/specification.h"

namespace libcoll::topology {

Status check_size(std::int64_t nodes, std::int64_t links) {
  if (nodes < 2 || nodes > max_nodes) {
    const std::string limit = std::to_string(max_nodes);
    return Error{"found " + (nodes < 2 ? "a single node" : "more than " + limit + " nodes") + ", expected from 2 to " +
                 limit};
  }
  if (links > max_links) {
    return Error{"found " + std::to_string(links) + " links, expected at most " + std::to_string(max_links)};
  }
  return {};
}

Result<Numbers> exactly(std::size_t count, std::string_view arguments, std::int32_t least) {
  Result<Numbers> numbers = parse_numbers(arguments, ',', least, max_nodes);
  if (numbers.ok() && numbers->size() != count) {
    return Error{"found " + std::to_string(numbers->size()) + " numbers, expected " + std::to_string(count)};
  }
  return numbers;
}

Result<Topology> from_links(std::int32_t node_count, std::vector<Link> links) {
  std::vector<Node> nodes(static_cast<std::size_t>(node_count));
  for (std::int32_t id = 0; id < node_count; ++id) nodes[static_cast<std::size_t>(id)].name = std::to_string(id);
  return Topology::make("", std::move(nodes), std::move(links));
}

Result<Topology> from_cables(std::int32_t node_count, const Cables& cables) {
  std::vector<Link> links;
  links.reserve(2 * cables.size());
  for (const auto& [a, b] : cables) {
    links.push_back({a, b});
    links.push_back({b, a});
  }
  return from_links(node_count, std::move(links));
}

}  // namespace libcoll::topology
