#include "planner/topology/generators.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/topology/expansion.h"
#include "planner/topology/facts.h"
#include "planner/topology/family.h"
#include "planner/topology/named_graphs.h"
#include "planner/topology/random_regular.h"
#include "planner/topology/specification.h"
#include "planner/topology/switched.h"
#include "planner/topology/twisted_torus.h"
#include "planner/topology/word_graphs.h"
#include "planner/topology/xpander.h"

namespace libcoll::topology {
namespace {

enum class Ends : std::uint8_t { joined, open };

/// The neighbours of coordinate c in one dimension. In a dimension of 2 both directions around the ring
/// are the same cable, so only one of them is a link.
Numbers neighbours(std::int32_t c, std::int32_t size, Ends ends) {
  Numbers result;
  const bool wraps = ends == Ends::joined && size > 2;
  if (c + 1 < size || wraps) result.push_back((c + 1) % size);
  if (c > 0 || wraps) result.push_back((c + size - 1) % size);
  return result;
}

/// Cartesian product of rings (torus) or paths (mesh), numbered row-major.
Result<Topology> grid(const Numbers& sizes, Ends ends) {
  std::int64_t node_count = 1;
  for (const std::int32_t size : sizes) {
    node_count *= size;
    if (node_count > max_nodes) break;
  }
  if (const Status status = check_size(node_count, 0); !status) return status.error();
  std::vector<Link> links;
  for (NodeId node = 0; node < node_count; ++node) {
    std::int32_t stride = static_cast<std::int32_t>(node_count);
    for (const std::int32_t size : sizes) {
      stride /= size;
      const std::int32_t c = node / stride % size;
      for (const std::int32_t next : neighbours(c, size, ends)) links.push_back({node, node + (next - c) * stride});
    }
  }
  return from_links(static_cast<std::int32_t>(node_count), std::move(links));
}

Result<Topology> make_torus(std::string_view arguments) {
  const Result<Numbers> sizes = parse_numbers(arguments, 'x', 1, max_nodes);
  return sizes.ok() ? grid(*sizes, Ends::joined) : sizes.error();
}

Result<Topology> make_mesh(std::string_view arguments) {
  const Result<Numbers> sizes = parse_numbers(arguments, 'x', 1, max_nodes);
  return sizes.ok() ? grid(*sizes, Ends::open) : sizes.error();
}

Result<Topology> make_ring(std::string_view arguments) {
  const Result<Numbers> size = exactly(1, arguments, 2);
  return size.ok() ? grid(*size, Ends::joined) : size.error();
}

Result<Topology> make_uniring(std::string_view arguments) {
  const Result<Numbers> size = exactly(1, arguments, 2);
  if (!size.ok()) return size.error();
  const std::int32_t n = size->front();
  std::vector<Link> links;
  links.reserve(static_cast<std::size_t>(n));
  for (NodeId node = 0; node < n; ++node) links.push_back({node, (node + 1) % n});
  return from_links(n, std::move(links));
}

Result<Topology> make_hypercube(std::string_view arguments) {
  constexpr std::int32_t most = 16;
  static_assert(1 << most == max_nodes);
  const Result<Numbers> dimensions = parse_numbers(arguments, ',', 1, most);
  if (!dimensions.ok()) return dimensions.error();
  if (dimensions->size() != 1) return Error{"found " + std::to_string(dimensions->size()) + " numbers, expected 1"};
  return grid(Numbers(static_cast<std::size_t>(dimensions->front()), 2), Ends::joined);
}

/// The twisted N-cube (Esfahanian, Ni, Sagan 1991): in one cycle of four of the hypercube, here 0-1-3-2, two parallel
/// cables change partners: 0-1 and 2-3 become 0-3 and 1-2. The diameter falls from D to D-1.
Result<Topology> make_twisted_hypercube(std::string_view arguments) {
  constexpr std::int32_t most = 16;
  const Result<Numbers> dimensions = parse_numbers(arguments, ',', 3, most);
  if (!dimensions.ok()) return dimensions.error();
  if (dimensions->size() != 1) return Error{"found " + std::to_string(dimensions->size()) + " numbers, expected 1"};
  const std::int32_t node_count = 1 << dimensions->front();
  std::vector<Link> links;
  for (NodeId node = 0; node < node_count; ++node) {
    for (std::int32_t stride = node_count / 2; stride > 0; stride /= 2) {
      const bool twisted = node < 4 && stride == 1;
      links.push_back({node, twisted ? 3 - node : node ^ stride});
    }
  }
  return from_links(node_count, std::move(links));
}

Result<Topology> make_complete(std::string_view arguments) {
  const Result<Numbers> size = exactly(1, arguments, 2);
  if (!size.ok()) return size.error();
  const std::int32_t n = size->front();
  if (const Status status = check_size(n, std::int64_t{n} * (n - 1)); !status) return status.error();
  std::vector<Link> links;
  for (NodeId from = 0; from < n; ++from) {
    for (NodeId to = 0; to < n; ++to) {
      if (from != to) links.push_back({from, to});
    }
  }
  return from_links(n, std::move(links));
}

Result<Topology> make_complete_bipartite(std::string_view arguments) {
  const Result<Numbers> sides = exactly(2, arguments, 1);
  if (!sides.ok()) return sides.error();
  const std::int32_t left = (*sides)[0];
  const std::int32_t right = (*sides)[1];
  if (const Status status = check_size(left + right, std::int64_t{2} * left * right); !status) return status.error();
  std::vector<Link> links;
  for (NodeId a = 0; a < left; ++a) {
    for (NodeId b = left; b < left + right; ++b) {
      links.push_back({a, b});
      links.push_back({b, a});
    }
  }
  return from_links(left + right, std::move(links));
}

Result<Topology> make_genkautz(std::string_view arguments) {
  const Result<Numbers> numbers = exactly(2, arguments, 1);
  if (!numbers) return numbers.error();
  const std::int32_t nodes = (*numbers)[0];
  const std::int32_t degree = (*numbers)[1];
  // a and a + N give the same arc, and one of N in a row is the self-link.
  if (degree >= nodes && nodes > 1) {
    return Error{"found degree " + std::to_string(degree) +
                 ", expected from 1 to N-1, one less than the number of nodes"};
  }
  return generalized_kautz(nodes, degree);
}

Result<Topology> make_kautz(std::string_view arguments) {
  const Result<Numbers> numbers = exactly(2, arguments, 1);
  return numbers.ok() ? kautz((*numbers)[0], (*numbers)[1]) : numbers.error();
}

Result<Topology> make_debruijn(std::string_view arguments) {
  const Result<Numbers> numbers = exactly(2, arguments, 2);
  return numbers.ok() ? de_bruijn((*numbers)[0], (*numbers)[1], ConstantWords::dropped) : numbers.error();
}

Result<Topology> make_modified_debruijn(std::string_view arguments) {
  const Result<Numbers> numbers = exactly(2, arguments, 2);
  return numbers.ok() ? de_bruijn((*numbers)[0], (*numbers)[1], ConstantWords::in_a_cycle) : numbers.error();
}

/// Refuses offsets that would wire a cable twice: o and N − o are the same cable seen from its two ends.
Status check_offsets(const Numbers& numbers) {
  const std::int32_t n = numbers.front();
  if (numbers.size() < 2) return Error{"found no offset, expected at least one after the number of nodes"};
  std::set<std::int32_t> cables;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    const std::int32_t offset = numbers[i];
    const std::string found = "found offset " + std::to_string(offset);
    if (offset >= n) return Error{found + ", expected offsets below the number of nodes, " + std::to_string(n)};
    if (!cables.insert(std::min(offset, n - offset)).second) {
      return Error{found + " on cables that are already there, expected offsets that differ modulo " +
                   std::to_string(n) + " in both directions"};
    }
  }
  return {};
}

Result<Topology> make_circulant(std::string_view arguments) {
  const Result<Numbers> numbers = parse_numbers(arguments, ',', 1, max_nodes);
  if (!numbers.ok()) return numbers.error();
  if (const Status status = check_offsets(*numbers); !status) return status.error();
  const std::int32_t n = numbers->front();
  const auto links_at_most = static_cast<std::int64_t>(2 * (numbers->size() - 1)) * n;
  if (const Status status = check_size(n, links_at_most); !status) return status.error();
  std::vector<Link> links;
  for (NodeId node = 0; node < n; ++node) {
    for (std::size_t i = 1; i < numbers->size(); ++i) {
      const std::int32_t offset = (*numbers)[i];
      links.push_back({node, (node + offset) % n});
      if (2 * offset != n) links.push_back({node, (node + n - offset) % n});
    }
  }
  return from_links(n, std::move(links));
}

/// The degree-4 circulant of least diameter (paper 000 Theorem 22): offsets m and m+1 with the least m for which
/// m·(m+1)·2 + 1 >= N, that is m = ⌈(−1 + √(2N−1))/2⌉.
Result<Topology> make_optimal_circulant(std::string_view arguments) {
  const Result<Numbers> size = exactly(1, arguments, 5);
  if (!size.ok()) return size.error();
  const std::int64_t n = size->front();
  std::int64_t m = 1;
  // Of 6 nodes the offsets 2 and 3 = N/2 would have only three links; 1 and 2 reach as far.
  while (2 * m * (m + 1) + 1 < n && n != 6) ++m;
  return make_circulant(std::to_string(n) + "," + std::to_string(m) + "," + std::to_string(m + 1));
}

Result<Topology> make_directed_circulant(std::string_view arguments) {
  const Result<Numbers> numbers = parse_numbers(arguments, ',', 1, max_nodes);
  if (!numbers.ok()) return numbers.error();
  const std::int32_t n = numbers->front();
  if (numbers->size() < 2) return Error{"found no offset, expected at least one after the number of nodes"};
  const std::set<std::int32_t> offsets(std::next(numbers->begin()), numbers->end());
  if (offsets.size() + 1 != numbers->size() || *offsets.rbegin() >= n) {
    return Error{"found an offset twice or beyond the nodes, expected different offsets below " + std::to_string(n)};
  }
  if (const Status status = check_size(n, std::int64_t{n} * std::ssize(offsets)); !status) return status.error();
  std::vector<Link> links;
  for (NodeId node = 0; node < n; ++node) {
    for (const std::int32_t offset : offsets) links.push_back({node, (node + offset) % n});
  }
  return from_links(n, std::move(links));
}

Result<Topology> make_twisted_torus(std::string_view arguments) {
  const Result<Numbers> sizes = parse_numbers(arguments, 'x', 1, max_nodes);
  return sizes.ok() ? twisted_torus(*sizes) : sizes.error();
}

Result<Topology> make_hamming(std::string_view arguments) {
  const Result<Numbers> numbers = exactly(2, arguments, 1);
  if (!numbers.ok()) return numbers.error();
  const Result<Topology> complete = make_complete(std::to_string((*numbers)[1]));
  return complete.ok() ? cartesian_power(*complete, (*numbers)[0]) : complete.error();
}

Result<Topology> make_complete_multipartite(std::string_view arguments) {
  const Result<Numbers> parts = parse_numbers(arguments, ',', 1, max_nodes);
  if (!parts.ok()) return parts.error();
  std::vector<std::size_t> part_of;
  for (std::size_t part = 0; part < parts->size(); ++part) {
    part_of.insert(part_of.end(), static_cast<std::size_t>((*parts)[part]), part);
    if (part_of.size() > max_nodes) break;
  }
  const std::int64_t nodes = std::ssize(part_of);
  std::int64_t links_at_most = nodes * nodes;
  for (const std::int64_t part : *parts) links_at_most -= part * part;
  if (const Status status = check_size(nodes, links_at_most); !status) return status.error();
  Cables cables;
  for (std::size_t a = 0; a < part_of.size(); ++a) {
    for (std::size_t b = a + 1; b < part_of.size(); ++b) {
      if (part_of[a] != part_of[b]) cables.emplace_back(static_cast<NodeId>(a), static_cast<NodeId>(b));
    }
  }
  return from_cables(static_cast<std::int32_t>(nodes), cables);
}

Result<Topology> make_xpander(std::string_view arguments) {
  const Result<Numbers> numbers = parse_numbers(arguments, ',', 0, std::numeric_limits<std::int32_t>::max());
  if (!numbers.ok()) return numbers.error();
  if (numbers->size() != 3) return Error{"found " + std::to_string(numbers->size()) + " numbers, expected 3"};
  const auto [degree, lift, seed] = std::tuple((*numbers)[0], (*numbers)[1], (*numbers)[2]);
  if (degree < 2 || lift < 1) return Error{"found D below 2 or K below 1, expected at least 2 and 1"};
  return xpander(degree, lift, static_cast<std::uint32_t>(seed));
}

/// The topologies an expansion is made of. Precondition: `form` and a colon stand before the arguments in its table
/// entry.
struct Operands {
  std::int32_t number = 1;
  std::vector<Topology> topologies;
};

Result<Operands> operands(std::string_view form, std::string_view arguments) {
  const std::string specification = std::string(form) + ":" + std::string(arguments);
  const Result<ExpansionParts> parts = split_expansion(specification);
  if (!parts.ok()) return parts.error();
  Operands result{parts->number, {}};
  for (const std::string_view operand : parts->operands) {
    Result<Topology> topology = generate(operand);
    if (!topology.ok()) return topology.error();
    result.topologies.push_back(std::move(topology).value());
  }
  return result;
}

Result<Topology> make_line(std::string_view arguments) {
  const Result<Operands> base = operands("line", arguments);
  return base.ok() ? line_graph(base->topologies[0]) : base.error();
}

Result<Topology> make_degree(std::string_view arguments) {
  const Result<Operands> base = operands("degree", arguments);
  return base.ok() ? degree_expansion(base->topologies[0], base->number) : base.error();
}

Result<Topology> make_power(std::string_view arguments) {
  const Result<Operands> base = operands("power", arguments);
  return base.ok() ? cartesian_power(base->topologies[0], base->number) : base.error();
}

Result<Topology> make_product(std::string_view arguments) {
  const Result<Operands> factors = operands("product", arguments);
  return factors.ok() ? cartesian_product(factors->topologies) : factors.error();
}

Result<Topology> make_bidirectional(std::string_view arguments) {
  const Result<Operands> base = operands("bidirectional", arguments);
  return base.ok() ? both_directions(base->topologies[0]) : base.error();
}

Result<Topology> make_random_regular(std::string_view arguments) {
  const Result<Numbers> numbers = parse_numbers(arguments, ',', 0, std::numeric_limits<std::int32_t>::max());
  if (!numbers.ok()) return numbers.error();
  if (numbers->size() != 3) return Error{"found " + std::to_string(numbers->size()) + " numbers, expected 3"};
  const std::int32_t n = (*numbers)[0];
  const std::int32_t d = (*numbers)[1];
  if (d < 1 || d >= n) {
    return Error{"found degree " + std::to_string(d) + ", expected from 1 to N-1, one less than the number of nodes"};
  }
  const std::int64_t link_count = std::int64_t{n} * d;
  if (const Status status = check_size(n, link_count); !status) return status.error();
  if (link_count % 2 != 0) return Error{"found an odd number of cable ends, expected N or D to be even"};
  if (d == 1 && n > 2) return Error{"found degree 1, expected at least 2 to connect more than two nodes"};
  const auto edges = random_regular_edges(n, d, static_cast<std::uint64_t>((*numbers)[2]));
  if (!edges) return Error{"found no connected graph in many attempts, expected another seed"};
  std::vector<Link> links;
  links.reserve(2 * edges->size());
  for (const auto& [a, b] : *edges) {
    links.push_back({a, b});
    links.push_back({b, a});
  }
  std::sort(links.begin(), links.end(),
            [](const Link& a, const Link& b) { return std::pair(a.from, a.to) < std::pair(b.from, b.to); });
  return from_links(n, std::move(links));
}

constexpr std::array<Generator, 29> families = {{
    {"torus", "torus:AxBx...", "torus:3x3x3", "rings in every dimension; a dimension of 2 is one cable", make_torus},
    {"mesh", "mesh:AxBx...", "mesh:4x4", "a torus without its wrap-around cables", make_mesh},
    {"ring", "ring:N", "ring:8", "N nodes in a two-way ring", make_ring},
    {"uniring", "uniring:N", "uniring:8", "N nodes in a one-way ring", make_uniring},
    {"hypercube", "hypercube:D", "hypercube:3", "2^D nodes, a cable wherever ids differ in one bit", make_hypercube},
    {"twisted_hypercube", "twisted_hypercube:D", "twisted_hypercube:3",
     "a hypercube with 0-1 and 2-3 rewired as 0-3 and 1-2: diameter D-1", make_twisted_hypercube},
    {"complete", "complete:N", "complete:5", "a cable between every two nodes", make_complete},
    {"complete_bipartite", "complete_bipartite:A,B", "complete_bipartite:4,4",
     "a cable between each of A and each of B nodes", make_complete_bipartite},
    {"genkautz", "genkautz:N,D", "genkautz:27,4",
     "generalized Kautz: one-way x to -D*x-a mod N for a = 1..D, self-links dropped", make_genkautz},
    {"circulant", "circulant:N,A,B,...", "circulant:12,2,3", "cables from each node x to x+A, x+B, ... mod N",
     make_circulant},
    {"random_regular", "random_regular:N,D,SEED", "random_regular:16,4,1",
     "D cables at each of N nodes, drawn at random; a seed always gives the same", make_random_regular},
    {"fat_tree", "fat_tree:K,L", "fat_tree:8,2", "K^L hosts under L levels of K-ary switches", make_fat_tree},
    {"dgx2", "dgx2:P", "dgx2:6", "16 hosts on two boards, joined by P planes of two switches", make_dgx2},
    {"bigraph", "bigraph:HxS", "bigraph:4x8", "S switches, upper ones joined to lower ones, H hosts on each",
     make_bigraph},
    {"kautz", "kautz:D,K", "kautz:2,3", "one-way Kautz graph of degree D and diameter K: D^K + D^(K-1) nodes",
     make_kautz},
    {"debruijn", "debruijn:D,K", "debruijn:2,4", "one-way x to D*x+a mod D^K for a = 0..D-1, self-links dropped",
     make_debruijn},
    {"modified_debruijn", "modified_debruijn:D,K", "modified_debruijn:2,4",
     "de Bruijn with its D self-links as one cycle through their nodes", make_modified_debruijn},
    {"directed_circulant", "directed_circulant:N,A,B,...", "directed_circulant:6,1,2,3,4",
     "one-way links from each node x to x+A, x+B, ... mod N", make_directed_circulant},
    {"optimal_circulant", "optimal_circulant:N", "optimal_circulant:12",
     "the circulant of degree 4 with the least diameter", make_optimal_circulant},
    {"twisted_torus", "twisted_torus:AxBx...", "twisted_torus:4x4x8",
     "sizes k and 2k: wrapping round a short dimension moves k on in the long ones (TPU v4)", make_twisted_torus},
    {"hamming", "hamming:N,Q", "hamming:2,3", "words of N letters from Q, a cable wherever one letter differs",
     make_hamming},
    {"complete_multipartite", "complete_multipartite:A,B,...", "complete_multipartite:2,2,2",
     "parts of A, B, ... nodes, a cable between every two nodes of different parts", make_complete_multipartite},
    {"xpander", "xpander:D,K,SEED", "xpander:4,5,1", "a random K-lift of the complete graph: (D+1)*K nodes of degree D",
     make_xpander},
    {"graph", "graph:NAME", "graph:petersen",
     "petersen, heawood, tutte8, tutte12, octahedron, paley9, k55-i, heawood3, line-petersen, line-heawood, pg23, "
     "ag24, "
     "o4, line-tutte8, doubled-o4, gq33, line-tutte12, gh33, diamond, moore8, moore16",
     named_graph},
    {"line", "line:SPEC", "line:kautz:2,2", "line graph: a node for every link, a link for every two in a row",
     make_line},
    {"degree", "degree:N,SPEC", "degree:2,uniring:4",
     "degree expansion: N copies of every node, all copies linked alike", make_degree},
    {"power", "power:N,SPEC", "power:2,graph:petersen", "Cartesian power of N equal factors", make_power},
    {"product", "product:SPEC+SPEC+...", "product:ring:4+complete:3",
     "Cartesian product, last factor fastest; a SPEC that holds a '+' stands in [brackets]", make_product},
    {"bidirectional", "bidirectional:SPEC", "bidirectional:uniring:5", "every one-way link becomes a cable",
     make_bidirectional},
}};

std::string known_forms() {
  return std::accumulate(std::next(families.begin()), families.end(), std::string(families.front().form),
                         [](std::string list, const Generator& generator) {
                           return std::move(list) + ", " + std::string(generator.form);
                         });
}

const Generator* find_generator(std::string_view specification) {
  const std::optional<Specification> parts = split_specification(specification);
  if (!parts) return nullptr;
  const auto* const found =
      std::find_if(families.begin(), families.end(), [&](const Generator& g) { return g.name == parts->family; });
  return found == families.end() ? nullptr : found;
}

}  // namespace

std::span<const Generator> generators() { return families; }

Result<Topology> generate(std::string_view specification) {
  const std::string name(specification);
  const Generator* generator = find_generator(specification);
  if (generator == nullptr) return Error{"found topology '" + name + "', expected one of " + known_forms()};
  const std::string usage =
      " (" + std::string(generator->form) + ", for example " + std::string(generator->example) + ")";
  Result<Topology> topology = generator->make(split_specification(specification)->arguments);
  if (!topology.ok()) return Error{name + ": " + topology.error().message + usage};
  if (const Status status = check_connected(*topology); !status) return Error{name + ": " + status.error().message};
  topology->set_name(name);
  return topology;
}

}  // namespace libcoll::topology
