#include "planner/topology/expansion.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "planner/topology/family.h"
#include "planner/topology/generators.h"
#include "planner/topology/specification.h"

namespace libcoll::topology {
namespace {

/// What an expansion takes, and how large its result would be.
Status check(const Topology& topology, std::int64_t nodes, std::int64_t links) {
  if (topology.host_count() != topology.node_count()) return Error{"found switches, expected hosts only"};
  const auto differs = [&](const Link& link) {
    return link.bandwidth_bytes_per_second != topology.unit_bandwidth_bytes_per_second();
  };
  if (std::any_of(topology.links().begin(), topology.links().end(), differs)) {
    return Error{"found links of different bandwidths, expected one bandwidth"};
  }
  return check_size(nodes, links);
}

/// The topology of the links given, each with the bandwidth and latency of the base.
Result<Topology> like(const Topology& base, std::int64_t nodes, std::vector<Link> links) {
  if (base.link_count() > 0) {
    for (Link& link : links) {
      link.bandwidth_bytes_per_second = base.link(0).bandwidth_bytes_per_second;
      link.latency_seconds = base.link(0).latency_seconds;
    }
  }
  return from_links(static_cast<std::int32_t>(nodes), std::move(links));
}

std::int64_t line_links(const Topology& topology) {
  std::int64_t links = 0;
  for (const Link& link : topology.links()) links += std::ssize(topology.out_links(link.to));
  return links;
}

/// "[x]" → "x" when the first bracket closes at the end.
std::string_view without_brackets(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return text;
  int depth = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (depth == 0) return text;
  }
  return text.substr(1, text.size() - 2);
}

/// Splits at every '+' outside brackets; nothing when brackets do not match.
std::optional<std::vector<std::string_view>> split_terms(std::string_view text) {
  std::vector<std::string_view> terms;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (depth < 0) return std::nullopt;
    if (text[i] != '+' || depth > 0) continue;
    terms.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  if (depth != 0) return std::nullopt;
  terms.push_back(text.substr(begin));
  return terms;
}

ExpansionParts::Kind kind_of(std::string_view family) {
  using Kind = ExpansionParts::Kind;
  if (family == "line") return Kind::line;
  if (family == "degree") return Kind::degree;
  if (family == "power") return Kind::power;
  if (family == "product") return Kind::product;
  if (family == "bidirectional") return Kind::bidirectional;
  return Kind::none;
}

}  // namespace

Result<Topology> line_graph(const Topology& topology) {
  if (Status status = check(topology, topology.link_count(), line_links(topology)); !status) return status.error();
  std::vector<Link> links;
  for (LinkId first = 0; first < topology.link_count(); ++first) {
    for (const LinkId second : topology.out_links(topology.link(first).to)) links.push_back({first, second});
  }
  return like(topology, topology.link_count(), std::move(links));
}

Result<Topology> degree_expansion(const Topology& topology, std::int32_t copies) {
  const std::int64_t nodes = std::int64_t{copies} * topology.node_count();
  if (Status status = check(topology, nodes, std::int64_t{copies} * copies * topology.link_count()); !status) {
    return status.error();
  }
  std::vector<Link> links;
  for (std::int32_t i = 0; i < copies; ++i) {
    for (const Link& link : topology.links()) {
      for (std::int32_t j = 0; j < copies; ++j) {
        links.push_back({i * topology.node_count() + link.from, j * topology.node_count() + link.to});
      }
    }
  }
  return like(topology, nodes, std::move(links));
}

Result<Topology> cartesian_product(std::span<const Topology> factors) {
  std::int64_t nodes = 1;
  std::int64_t links_per_node = 0;
  for (const Topology& factor : factors) {
    nodes *= factor.node_count();
    links_per_node += factor.link_count() / std::max(factor.node_count(), 1) + 1;
    if (nodes > max_nodes) break;
  }
  for (const Topology& factor : factors) {
    if (Status status = check(factor, nodes, nodes * (links_per_node - std::ssize(factors))); !status) {
      return status.error();
    }
    if (factor.unit_bandwidth_bytes_per_second() != factors[0].unit_bandwidth_bytes_per_second()) {
      return Error{"found factors with different bandwidths, expected one bandwidth"};
    }
  }
  std::vector<Link> links;
  for (NodeId node = 0; node < nodes; ++node) {
    std::int32_t stride = static_cast<std::int32_t>(nodes);
    for (const Topology& factor : factors) {
      stride /= factor.node_count();
      const NodeId at = node / stride % factor.node_count();
      for (const LinkId id : factor.out_links(at)) links.push_back({node, node + (factor.link(id).to - at) * stride});
    }
  }
  return like(factors[0], nodes, std::move(links));
}

Result<Topology> cartesian_power(const Topology& topology, std::int32_t factors) {
  // Two nodes per factor at least, so that no more than 16 factors fit.
  const std::int32_t count = std::min(factors, 32);
  return cartesian_product(std::vector<Topology>(static_cast<std::size_t>(count), topology));
}

Result<Topology> both_directions(const Topology& topology) {
  if (Status status = check(topology, topology.node_count(), std::int64_t{2} * topology.link_count()); !status) {
    return status.error();
  }
  std::vector<Link> links(topology.links().begin(), topology.links().end());
  for (const Link& link : topology.links()) {
    if (topology.find_link(link.to, link.from) >= 0) {
      return Error{"found links both ways between nodes " + topology.node(link.from).name + " and " +
                   topology.node(link.to).name + ", expected links one way only"};
    }
    links.push_back({link.to, link.from});
  }
  return like(topology, topology.node_count(), std::move(links));
}

Result<ExpansionParts> split_expansion(std::string_view specification) {
  using Kind = ExpansionParts::Kind;
  ExpansionParts result;
  const std::optional<Specification> parts = split_specification(specification);
  if (!parts || kind_of(parts->family) == Kind::none) return result;
  result.kind = kind_of(parts->family);
  std::string_view rest = parts->arguments;
  if (result.kind == Kind::degree || result.kind == Kind::power) {
    const std::size_t comma = rest.find(',');
    if (comma == std::string_view::npos) return Error{"found no comma, expected a number, a comma and a topology"};
    const Result<Numbers> number = parse_numbers(rest.substr(0, comma), ',', 1, max_nodes);
    if (!number) return number.error();
    result.number = number->front();
    rest.remove_prefix(comma + 1);
  }
  const auto terms = split_terms(rest);
  if (!terms) return Error{"found brackets that do not match, expected as many ']' as '['"};
  if (result.kind != Kind::product && terms->size() > 1) {
    return Error{"found '+' outside brackets, expected one topology"};
  }
  for (const std::string_view term : *terms) result.operands.push_back(without_brackets(term));
  return result;
}

}  // namespace libcoll::topology
