// Dimension-ordered routing on tori, meshes and hypercubes.
#pragma once

#include <vector>

#include "planner/base/result.h"
#include "planner/schedule/schedule.h"

namespace libcoll::route {

/// One route per ordered pair, by source and then destination: the first dimension is corrected first, the shorter way
/// around; where both ways of an even ring are equally long, the parity of the source's coordinate in that dimension
/// chooses, so that both share the load. Needs a topology whose name is a torus, mesh, ring or hypercube specification
/// and whose links are exactly those (none removed); the error says what is missing. Layers are assigned (LASH),
/// classes are not.
Result<std::vector<schedule::Route>> dor_routes(const topology::Topology& topology);

}  // namespace libcoll::route
