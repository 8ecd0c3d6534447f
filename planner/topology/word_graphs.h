// Digraphs whose nodes are words, a link dropping the first letter and appending one: Kautz, de Bruijn and kin.
#pragma once

#include <cstdint>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::topology {

/// Imase and Itoh's arcs x → −d·x − a mod N for a = 1..d (paper 000 Definition 16), self-links dropped.
Result<Topology> generalized_kautz(std::int64_t n, std::int64_t d);

/// The Kautz graph K(d,k): d^k + d^(k−1) nodes, d-regular, diameter k. Numbered as the generalized Kautz graph of
/// that size, with which it is isomorphic (paper 000 Definition 16); Moore-optimal.
Result<Topology> kautz(std::int32_t d, std::int32_t k);

/// What becomes of the d self-links a…a → a…a of the de Bruijn graph.
enum class ConstantWords : std::uint8_t {
  dropped,
  in_a_cycle,  ///< a…a → b…b with b = a+1 mod d: d-regular without self-links
};

/// The de Bruijn graph B(d,k): d^k nodes, x → d·x + a mod d^k for a = 0..d−1, diameter k. With in_a_cycle, a modified
/// de Bruijn graph in the sense of paper 000 Table 9: regular, and no slower.
Result<Topology> de_bruijn(std::int32_t d, std::int32_t k, ConstantWords constant_words);

}  // namespace libcoll::topology
