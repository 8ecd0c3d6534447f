// Topologies made of topologies (paper 000 §5 and appendix D): line graph, degree expansion, Cartesian products,
// both directions of a one-way graph.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::topology {

/// Each function takes hosts only and links of one bandwidth, which the result's links have too (an Error otherwise,
/// and where the result would be larger than generate() makes). Results have no name.

/// L(G) (Definition 12): node k is link k of G, and there is a link from u→v to v→w. N·d nodes of degree d.
Result<Topology> line_graph(const Topology& topology);

/// G*n (Definition 13): n copies of every node, copy i of v with the id i·N + v, and links u_i→v_j for all i, j where
/// G has u→v. n·N nodes of degree n·d. Precondition: copies >= 1.
Result<Topology> degree_expansion(const Topology& topology, std::int32_t copies);

/// G1 □ G2 □ … (Definition 3), numbered row-major, the last factor fastest. Precondition: not empty.
Result<Topology> cartesian_product(std::span<const Topology> factors);

/// G □ G □ … of n factors. Precondition: factors >= 1.
Result<Topology> cartesian_power(const Topology& topology, std::int32_t factors);

/// G ∪ Gᵀ (appendix A.6): every link becomes a cable. 2·d cables' ends per node become degree 2d. Error when G has
/// links both ways between two nodes, which would be doubled.
Result<Topology> both_directions(const Topology& topology);

/// A specification built of others, as its parts. Forms:
///   line:SPEC   degree:N,SPEC   power:N,SPEC   product:SPEC+SPEC+…   bidirectional:SPEC
/// A SPEC within may stand in brackets, and must where it holds a '+' of its own: product:ring:4+line:[product:…].
struct ExpansionParts {
  enum class Kind : std::uint8_t { none, line, degree, power, product, bidirectional };
  Kind kind = Kind::none;                  ///< none: not one of these forms, the parts below are empty
  std::int32_t number = 1;                 ///< N of degree and power
  std::vector<std::string_view> operands;  ///< views into the text given, brackets removed
};

/// Takes the outermost form apart. Error when it is one of the forms but malformed.
Result<ExpansionParts> split_expansion(std::string_view specification);

}  // namespace libcoll::topology
