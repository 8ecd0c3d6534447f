// Single graphs of the literature by name: the distance-regular graphs of paper 000 Table 8 and some bases.
#pragma once

#include <span>
#include <string_view>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::topology {

struct NamedGraph {
  std::string_view name;
  Result<Topology> (*make)();
};

/// petersen, heawood, tutte8, tutte12, octahedron, paley9, k55-i, heawood3, line-petersen, line-heawood, pg23, ag24,
/// o4, line-tutte8, doubled-o4, gq33, line-tutte12, gh33, diamond (as far as is known: moore8), moore8, moore16.
std::span<const NamedGraph> named_graphs();

/// The graph of that name. The error lists the names there are.
Result<Topology> named_graph(std::string_view name);

}  // namespace libcoll::topology
