#include "planner/topology/switched.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "planner/topology/generators.h"
#include "planner/topology/specification.h"

namespace libcoll::topology {
namespace {

/// Collects cables; hosts come first, as Topology wants it.
class Wiring {
 public:
  Wiring(std::int32_t hosts, std::int32_t switches) {
    nodes_.resize(static_cast<std::size_t>(hosts) + static_cast<std::size_t>(switches));
    for (std::size_t id = 0; id < nodes_.size(); ++id) {
      nodes_[id].name = std::to_string(id);
      nodes_[id].is_switch = id >= static_cast<std::size_t>(hosts);
    }
  }

  /// Both directions, `width` links side by side as one.
  void cable(NodeId a, NodeId b, std::int32_t width = 1) {
    const std::int64_t bandwidth = default_bandwidth_bytes_per_second * width;
    links_.push_back({a, b, bandwidth, default_latency_seconds});
    links_.push_back({b, a, bandwidth, default_latency_seconds});
  }

  Result<Topology> make() { return Topology::make("", std::move(nodes_), std::move(links_)); }

 private:
  std::vector<Node> nodes_;
  std::vector<Link> links_;
};

Result<std::vector<std::int32_t>> numbers_of(std::string_view arguments, char separator, std::size_t count,
                                             std::int32_t least) {
  Result<std::vector<std::int32_t>> numbers = parse_numbers(arguments, separator, least, max_nodes);
  if (numbers.ok() && numbers->size() != count) {
    return Error{"found " + std::to_string(numbers->size()) + " numbers, expected " + std::to_string(count)};
  }
  return numbers;
}

Status check_switched_size(std::int64_t nodes, std::int64_t links) {
  if (nodes > max_nodes) {
    return Error{"found more than " + std::to_string(max_nodes) + " hosts and switches, expected at most as many"};
  }
  if (links > max_links) return Error{"found more than " + std::to_string(max_links) + " links, expected fewer"};
  return {};
}

}  // namespace

Result<Topology> make_fat_tree(std::string_view arguments) {
  const auto numbers = numbers_of(arguments, ',', 2, 1);
  if (!numbers) return numbers.error();
  const std::int32_t arity = (*numbers)[0];
  const std::int32_t levels = (*numbers)[1];
  if (arity < 2) return Error{"found arity 1, expected at least 2"};
  std::int64_t hosts = 1;
  for (std::int32_t level = 0; level < levels && hosts <= max_nodes; ++level) hosts *= arity;
  const std::int64_t per_level = hosts / arity;
  if (const Status status = check_switched_size(hosts + levels * per_level, 2 * levels * hosts); !status)
    return status.error();
  Wiring wiring(static_cast<std::int32_t>(hosts), static_cast<std::int32_t>(levels * per_level));
  const auto switch_at = [&](std::int32_t level, std::int64_t place) {
    return static_cast<NodeId>(hosts + level * per_level + place);
  };
  for (NodeId host = 0; host < hosts; ++host) wiring.cable(host, switch_at(0, host / arity));
  // Switches of neighbouring levels are joined where their places differ in one digit at most, digit l above level l.
  std::int64_t stride = 1;
  for (std::int32_t level = 0; level + 1 < levels; ++level) {
    for (std::int64_t place = 0; place < per_level; ++place) {
      const std::int64_t digit = place / stride % arity;
      for (std::int64_t other = 0; other < arity; ++other) {
        wiring.cable(switch_at(level, place), switch_at(level + 1, place + (other - digit) * stride));
      }
    }
    stride *= arity;
  }
  return wiring.make();
}

Result<Topology> make_dgx2(std::string_view arguments) {
  constexpr std::int32_t hosts = 16;
  constexpr std::int32_t hosts_per_board = 8;
  constexpr std::int32_t most_planes = 6;
  const auto numbers = numbers_of(arguments, ',', 1, 1);
  if (!numbers) return numbers.error();
  const std::int32_t planes = numbers->front();
  if (planes > most_planes) {
    return Error{"found " + std::to_string(planes) + " planes, expected at most " + std::to_string(most_planes)};
  }
  Wiring wiring(hosts, 2 * planes);
  for (std::int32_t plane = 0; plane < planes; ++plane) {
    const NodeId first_board = hosts + 2 * plane;
    for (NodeId host = 0; host < hosts; ++host) wiring.cable(host, first_board + host / hosts_per_board);
    wiring.cable(first_board, first_board + 1, hosts_per_board);
  }
  return wiring.make();
}

Result<Topology> make_bigraph(std::string_view arguments) {
  const auto numbers = numbers_of(arguments, 'x', 2, 1);
  if (!numbers) return numbers.error();
  const std::int32_t hosts_per_switch = (*numbers)[0];
  const std::int32_t switches = (*numbers)[1];
  if (switches % 2 != 0) {
    return Error{"found " + std::to_string(switches) + " switches, expected an even number: as many upper as lower"};
  }
  const std::int32_t side = switches / 2;
  const std::int64_t hosts = std::int64_t{hosts_per_switch} * switches;
  if (const Status status = check_switched_size(hosts + switches, 2 * hosts + std::int64_t{2} * side * side); !status) {
    return status.error();
  }
  Wiring wiring(static_cast<std::int32_t>(hosts), switches);
  const auto first_switch = static_cast<NodeId>(hosts);
  for (NodeId host = 0; host < hosts; ++host) wiring.cable(host, first_switch + host / hosts_per_switch);
  const std::int32_t trunk = (hosts_per_switch + side - 1) / side;
  for (std::int32_t upper = 0; upper < side; ++upper) {
    for (std::int32_t lower = 0; lower < side; ++lower) {
      wiring.cable(first_switch + upper, first_switch + side + lower, trunk);
    }
  }
  return wiring.make();
}

}  // namespace libcoll::topology
