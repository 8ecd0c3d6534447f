// Hamiltonian cycles: the rings of ring algorithms.
#pragma once

#include <optional>
#include <vector>

#include "planner/topology/topology.h"

namespace libcoll::broadcast::classic {

/// A directed cycle through all hosts over links that `used` (by LinkId, empty: none) does not name, starting at host
/// 0: Gray code or snake on tori, meshes and hypercubes, an offset on circulants, else a search (Warnsdorff's rule,
/// with a limit on its effort). Nothing when none was found, which proves nothing.
std::optional<std::vector<topology::NodeId>> hamiltonian_cycle(const topology::Topology& topology,
                                                               const std::vector<bool>& used = {});

/// Cycles that share no link: one after the other, with its opposite where those links are there and free, until no
/// more is found.
std::vector<std::vector<topology::NodeId>> disjoint_hamiltonian_cycles(const topology::Topology& topology);

/// The order of hosts in a ring: a Hamiltonian cycle where one was found, otherwise depth-first order, so that
/// neighbours in the ring are near each other.
std::vector<topology::NodeId> ring_order(const topology::Topology& topology);

}  // namespace libcoll::broadcast::classic
