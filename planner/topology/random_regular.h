// Connected random regular graphs that a seed determines on every machine.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "planner/topology/topology.h"

namespace libcoll::topology {

/// The cables (a < b, sorted) of a connected simple graph in which each of `nodes` nodes has `degree` cables: the
/// pairing model (Bollobás 1980) with loops and doubled cables mended by random switches, drawn again until connected;
/// above half of all cables as the complement of such a graph. Near uniform, not exactly. Equal arguments give equal
/// graphs, whatever the standard library. Nothing when no attempt of many is connected. Preconditions: nodes·degree
/// is even, 0 < degree < nodes, and degree > 1 or nodes = 2.
std::optional<std::vector<std::pair<NodeId, NodeId>>> random_regular_edges(std::int32_t nodes, std::int32_t degree,
                                                                           std::uint64_t seed);

}  // namespace libcoll::topology
