// Birkhoff–von Neumann: a demand matrix as a weighted sum of matchings (paper 002 §2, §3.3).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/reconfigure/staged_collective.h"

namespace libcoll::reconfigure {

/// A matching of the decomposition: every node sends to at most one node and receives from at most one.
struct MatchingTerm {
  std::int64_t coefficient = 0;  ///< the longest that a pair needs
  std::vector<Demand> demands;   ///< by ascending ends; units ≤ coefficient
};

/// The matrix (row-major, `nodes` squared, entries ≥ 0; what a node has for itself is left out) as matchings, those of
/// largest coefficients first. Rows and columns are filled up to a common sum, which the coefficients add up to: the
/// largest row or column sum, the least time of any such decomposition. At most (N−1)² + 1 terms; perfect matchings
/// among large entries come first, so that there are few.
std::vector<MatchingTerm> birkhoff_von_neumann(std::span<const std::int64_t> matrix, std::int32_t nodes);

}  // namespace libcoll::reconfigure
