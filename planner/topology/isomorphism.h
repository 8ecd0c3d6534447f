// Whether two topologies are the same but for the numbering of their nodes.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/topology/facts.h"
#include "planner/topology/topology.h"

namespace libcoll::topology {

/// f with f(u)→f(v) a link of b, of equal bandwidth, wherever u→v is one of a; none when there is none or when colour
/// refinement with backtracking had to be given up after `budget` refinements. What is returned was checked link by
/// link, so that giving up costs an isomorphism, never correctness.
std::optional<Automorphism> find_isomorphism(const Topology& a, const Topology& b, std::int64_t budget = 200);

/// An isomorphism from the topology to its transpose: the topology is reverse-symmetric (paper 000 Definition 6).
/// The identity when all links come in pairs; otherwise as find_isomorphism.
std::optional<Automorphism> reverse_symmetry(const Topology& topology);

}  // namespace libcoll::topology
