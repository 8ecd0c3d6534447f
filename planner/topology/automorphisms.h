// Symmetries of a graph: by formula for known families, by search for any other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/topology/facts.h"
#include "planner/topology/topology.h"

namespace libcoll::topology {

/// A group of automorphisms by its generators. Every generator was checked link by link.
struct AutomorphismGroup {
  std::vector<Automorphism> generators;  ///< empty: the identity alone
  std::int64_t order = 1;                ///< saturates at 2⁶³−1; a lower bound when not complete
  bool complete = false;                 ///< the whole automorphism group
};

/// The symmetries that the name of the topology promises, those that hold: translations of torus, ring, hypercube,
/// circulant, complete and balanced complete bipartite graphs; x → x + N/gcd(N, d+1) and x → −1−x of the generalized
/// Kautz graph (x → −d·x − a maps x + m to its image − d·m, and m = −d·m mod N when N divides (d+1)·m). A wrong guess
/// costs nothing but its check.
std::vector<Automorphism> family_automorphisms(const Topology& topology);

/// The automorphism group by individualisation and refinement (McKay, Piperno 2014): colours of nodes are refined by
/// those of their neighbours, both ways, with bandwidths; where that leaves choices, one node is singled out after the
/// other, and whatever other choice refines to the same colours gives a candidate. Orbits of generators found earlier
/// cut the search. Switches map to switches. After `seconds` it returns the group found so far.
AutomorphismGroup find_automorphisms(const Topology& topology, double seconds);

/// All elements of the generated group when none but the identity leaves any host in place, the identity first;
/// nothing otherwise. Takes N·order memory.
std::optional<std::vector<Automorphism>> semiregular_group(const Topology& topology,
                                                           std::span<const Automorphism> generators);

/// For every host of `root`'s orbit one automorphism that takes root there, by host id; empty for the other hosts.
std::vector<Automorphism> transversal(const Topology& topology, std::span<const Automorphism> generators, NodeId root);

/// Generators of the stabiliser of `root` in the generated group (Schreier's lemma), given its transversal.
std::vector<Automorphism> stabiliser(std::span<const Automorphism> generators,
                                     std::span<const Automorphism> transversal, NodeId root);

}  // namespace libcoll::topology
