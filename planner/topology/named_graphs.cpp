#include "planner/topology/named_graphs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/topology/family.h"

namespace libcoll::topology {
namespace {

/// A point–line geometry: for every line the points on it.
struct Geometry {
  std::int32_t points = 0;
  std::vector<std::vector<std::int32_t>> lines;
};

struct Graph {
  std::int32_t nodes = 0;
  Cables cables;
};

Result<Topology> finished(const Graph& graph) { return from_cables(graph.nodes, graph.cables); }

/// Points first, then lines; a cable wherever a point lies on a line.
Graph incidence(const Geometry& geometry) {
  Graph graph{geometry.points + static_cast<std::int32_t>(geometry.lines.size()), {}};
  for (std::size_t line = 0; line < geometry.lines.size(); ++line) {
    for (const std::int32_t point : geometry.lines[line]) {
      graph.cables.emplace_back(point, geometry.points + static_cast<NodeId>(line));
    }
  }
  return graph;
}

/// The undirected line graph: a node for every cable, a cable for every two that share an end.
Graph cable_graph(const Graph& base) {
  Graph graph{static_cast<std::int32_t>(base.cables.size()), {}};
  for (NodeId a = 0; a < graph.nodes; ++a) {
    for (NodeId b = a + 1; b < graph.nodes; ++b) {
      const auto& [p, q] = base.cables[static_cast<std::size_t>(a)];
      const auto& [r, s] = base.cables[static_cast<std::size_t>(b)];
      if (p == r || p == s || q == r || q == s) graph.cables.emplace_back(a, b);
    }
  }
  return graph;
}

/// Lines {i + s : s in the set} mod n: of a perfect difference set they make a projective plane (Singer 1938).
Geometry cyclic_plane(std::int32_t n, const std::vector<std::int32_t>& difference_set) {
  Geometry plane{n, {}};
  for (std::int32_t i = 0; i < n; ++i) {
    std::vector<std::int32_t>& line = plane.lines.emplace_back();
    for (const std::int32_t s : difference_set) line.push_back((i + s) % n);
  }
  return plane;
}

Geometry fano_plane() { return cyclic_plane(7, {0, 1, 3}); }

/// Subsets of {0..size-1} with the given number of members, as bits.
std::vector<std::uint32_t> subsets(int size, int members) {
  std::vector<std::uint32_t> result;
  for (std::uint32_t set = 0; set < 1U << size; ++set) {
    if (std::popcount(set) == members) result.push_back(set);
  }
  return result;
}

/// The odd graph O_k: (k−1)-subsets of 2k−1 things, a cable between disjoint ones. O_3 is the Petersen graph.
Graph odd_graph(int k) {
  const std::vector<std::uint32_t> sets = subsets(2 * k - 1, k - 1);
  Graph graph{static_cast<std::int32_t>(sets.size()), {}};
  for (std::size_t a = 0; a < sets.size(); ++a) {
    for (std::size_t b = a + 1; b < sets.size(); ++b) {
      if ((sets[a] & sets[b]) == 0) graph.cables.emplace_back(static_cast<NodeId>(a), static_cast<NodeId>(b));
    }
  }
  return graph;
}

/// (k−1)- and k-subsets of 2k−1 things, a cable for inclusion.
Graph doubled_odd_graph(int k) {
  const std::vector<std::uint32_t> small = subsets(2 * k - 1, k - 1);
  const std::vector<std::uint32_t> large = subsets(2 * k - 1, k);
  Graph graph{static_cast<std::int32_t>(small.size() + large.size()), {}};
  for (std::size_t a = 0; a < small.size(); ++a) {
    for (std::size_t b = 0; b < large.size(); ++b) {
      if ((small[a] & ~large[b]) == 0) {
        graph.cables.emplace_back(static_cast<NodeId>(a), static_cast<NodeId>(small.size() + b));
      }
    }
  }
  return graph;
}

/// Coordinates over the field of q elements, q a prime.
using Vector = std::vector<int>;

/// The points of the projective space of that many coordinates: first coordinate that is not 0 is 1; sorted.
std::vector<Vector> projective_points(std::size_t coordinates, int q) {
  std::vector<Vector> points;
  Vector point(coordinates, 0);
  for (;;) {
    std::size_t i = coordinates;
    while (i > 0 && point[i - 1] == q - 1) point[--i] = 0;
    if (i == 0) return points;
    ++point[i - 1];
    const auto first = std::find_if(point.begin(), point.end(), [](int c) { return c != 0; });
    if (*first == 1) points.push_back(point);
  }
}

Vector normalized(Vector point, int q) {
  const auto first = std::find_if(point.begin(), point.end(), [](int c) { return c != 0; });
  int inverse = 1;
  while (inverse * *first % q != 1) ++inverse;
  for (int& c : point) c = c * inverse % q;
  return point;
}

/// The q+1 points on the line through two points.
std::vector<Vector> line_through(const Vector& a, const Vector& b, int q) {
  std::vector<Vector> line = {b};
  for (int factor = 0; factor < q; ++factor) {
    Vector sum = a;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = (sum[i] + factor * b[i]) % q;
    line.push_back(normalized(std::move(sum), q));
  }
  return line;
}

/// All points given, and as lines those that join two of them as the relation wants and lie wholly within.
template <class Joined>
Geometry polar_geometry(const std::vector<Vector>& points, int q, const Joined& joined) {
  std::set<std::vector<std::int32_t>> lines;
  for (std::size_t a = 0; a < points.size(); ++a) {
    for (std::size_t b = a + 1; b < points.size(); ++b) {
      if (!joined(points[a], points[b])) continue;
      std::vector<std::int32_t> line;
      for (const Vector& point : line_through(points[a], points[b], q)) {
        const auto found = std::lower_bound(points.begin(), points.end(), point);
        if (found == points.end() || *found != point) break;
        line.push_back(static_cast<std::int32_t>(found - points.begin()));
      }
      std::sort(line.begin(), line.end());
      if (line.size() == static_cast<std::size_t>(q) + 1) lines.insert(line);
    }
  }
  return {static_cast<std::int32_t>(points.size()), {lines.begin(), lines.end()}};
}

/// Plücker coordinate p_ij of the line through two points, from 0 to q−1.
int pluecker(const Vector& a, const Vector& b, std::size_t i, std::size_t j, int q) {
  return ((a[i] * b[j] - a[j] * b[i]) % q + q) % q;
}

/// The generalized quadrangle W(q) of order (q,q): points of PG(3,q), lines that a symplectic form makes isotropic.
/// W(2) is GQ(2,2), whose incidence graph is Tutte's 8-cage.
Geometry symplectic_quadrangle(int q) {
  return polar_geometry(projective_points(4, q), q, [q](const Vector& a, const Vector& b) {
    return (pluecker(a, b, 0, 1, q) + pluecker(a, b, 2, 3, q)) % q == 0;
  });
}

/// The split Cayley hexagon H(q) of order (q,q): points of the quadric x0·x4 + x1·x5 + x2·x6 = x3² in PG(6,q) and the
/// lines on it whose Plücker coordinates satisfy Tits' (1959) six equations. H(2) gives Tutte's 12-cage.
Geometry split_cayley_hexagon(int q) {
  std::vector<Vector> quadric;
  for (Vector& x : projective_points(7, q)) {
    if ((x[0] * x[4] + x[1] * x[5] + x[2] * x[6] - x[3] * x[3]) % q == 0) quadric.push_back(std::move(x));
  }
  return polar_geometry(quadric, q, [q](const Vector& a, const Vector& b) {
    const auto p = [&](std::size_t i, std::size_t j) { return pluecker(a, b, i, j, q); };
    return p(1, 2) == p(3, 4) && p(5, 4) == p(3, 2) && p(2, 0) == p(3, 5) && p(6, 5) == p(3, 0) && p(0, 1) == p(3, 6) &&
           p(4, 6) == p(3, 1);
  });
}

/// Product in the field of four elements 0, 1, w, w+1 written 0..3.
std::int32_t times4(std::int32_t a, std::int32_t b) {
  std::int32_t product = ((b & 1) != 0 ? a : 0) ^ ((b & 2) != 0 ? a << 1 : 0);
  if ((product & 4) != 0) product ^= 7;  // w² = w + 1
  return product;
}

/// The affine plane of order 4 without its vertical lines: y = m·x + c.
Geometry affine_plane4_minus_class() {
  Geometry plane{16, {}};
  for (std::int32_t m = 0; m < 4; ++m) {
    for (std::int32_t c = 0; c < 4; ++c) {
      std::vector<std::int32_t>& line = plane.lines.emplace_back();
      for (std::int32_t x = 0; x < 4; ++x) line.push_back(4 * x + (times4(m, x) ^ c));
    }
  }
  return plane;
}

/// Every point with the lines it is not on. Of the Fano plane: the distance-3 graph of the Heawood graph.
Geometry complement(const Geometry& geometry) {
  Geometry result{geometry.points, {}};
  for (const std::vector<std::int32_t>& line : geometry.lines) {
    std::vector<std::int32_t>& others = result.lines.emplace_back();
    for (std::int32_t point = 0; point < geometry.points; ++point) {
      if (std::find(line.begin(), line.end(), point) == line.end()) others.push_back(point);
    }
  }
  return result;
}

/// K_n,n without a perfect matching.
Geometry crown(std::int32_t n) {
  Geometry points_as_lines{n, {}};
  for (std::int32_t i = 0; i < n; ++i) points_as_lines.lines.push_back({i});
  return complement(points_as_lines);
}

Graph octahedron() {
  Graph graph{6, {}};
  for (NodeId a = 0; a < 6; ++a) {
    for (NodeId b = a + 1; b < 6; ++b) {
      if (a / 2 != b / 2) graph.cables.emplace_back(a, b);
    }
  }
  return graph;
}

/// x and y joined where they differ by a square of the field of nine elements, which is where exactly one of their
/// two coordinates over the field of three differs, in a suitable basis: H(2,3).
Graph paley9() {
  Graph graph{9, {}};
  for (NodeId a = 0; a < 9; ++a) {
    for (NodeId b = a + 1; b < 9; ++b) {
      if ((a / 3 == b / 3) != (a % 3 == b % 3)) graph.cables.emplace_back(a, b);
    }
  }
  return graph;
}

/// Two links out of every node: x to first[x] and to second[x].
template <std::size_t size>
Result<Topology> two_maps(const std::array<NodeId, size>& first, const std::array<NodeId, size>& second) {
  std::vector<Link> links;
  for (std::size_t x = 0; x < size; ++x) {
    links.push_back({static_cast<NodeId>(x), first[x]});
    links.push_back({static_cast<NodeId>(x), second[x]});
  }
  return from_links(static_cast<std::int32_t>(size), std::move(links));
}

/// Found by search: 8 nodes of degree 2, Moore- and bandwidth-optimal, as paper 000 says of its diamond (Table 9), of
/// which no drawing is left.
Result<Topology> moore8() { return two_maps<8>({6, 2, 5, 7, 1, 0, 3, 4}, {7, 0, 6, 1, 5, 3, 4, 2}); }

constexpr std::array<NamedGraph, 21> table = {{
    {"petersen", [] { return finished(odd_graph(3)); }},
    {"heawood", [] { return finished(incidence(fano_plane())); }},
    {"tutte8", [] { return finished(incidence(symplectic_quadrangle(2))); }},
    {"tutte12", [] { return finished(incidence(split_cayley_hexagon(2))); }},
    {"octahedron", [] { return finished(octahedron()); }},
    {"paley9", [] { return finished(paley9()); }},
    {"k55-i", [] { return finished(incidence(crown(5))); }},
    {"heawood3", [] { return finished(incidence(complement(fano_plane()))); }},
    {"line-petersen", [] { return finished(cable_graph(odd_graph(3))); }},
    {"line-heawood", [] { return finished(cable_graph(incidence(fano_plane()))); }},
    {"pg23",
     [] {
       return finished(incidence(cyclic_plane(13, {0, 1, 3, 9})));
     }},
    {"ag24", [] { return finished(incidence(affine_plane4_minus_class())); }},
    {"o4", [] { return finished(odd_graph(4)); }},
    {"line-tutte8", [] { return finished(cable_graph(incidence(symplectic_quadrangle(2)))); }},
    {"doubled-o4", [] { return finished(doubled_odd_graph(4)); }},
    {"gq33", [] { return finished(incidence(symplectic_quadrangle(3))); }},
    {"line-tutte12", [] { return finished(cable_graph(incidence(split_cayley_hexagon(2)))); }},
    {"gh33", [] { return finished(incidence(split_cayley_hexagon(3))); }},
    {"diamond", moore8},
    {"moore8", moore8},
    // Found likewise; one step fewer than the bandwidth-optimal modified de Bruijn graph of that size and degree.
    {"moore16",
     [] {
       return two_maps<16>({3, 7, 4, 11, 5, 15, 12, 14, 6, 13, 0, 8, 2, 10, 9, 1},
                           {15, 10, 9, 13, 14, 3, 4, 5, 0, 11, 6, 12, 1, 7, 8, 2});
     }},
}};

}  // namespace

std::span<const NamedGraph> named_graphs() { return table; }

Result<Topology> named_graph(std::string_view name) {
  std::string known;
  for (const NamedGraph& graph : table) {
    if (graph.name == name) return graph.make();
    known += (known.empty() ? "" : ", ") + std::string(graph.name);
  }
  return Error{"found graph '" + std::string(name) + "', expected one of " + known};
}

}  // namespace libcoll::topology
