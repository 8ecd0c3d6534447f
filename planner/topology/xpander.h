// Xpander (Valadarsky et al. 2016; paper 000 [82]): random lifts of complete graphs.
#pragma once

#include <cstdint>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::topology {

/// A random `lift`-lift of the complete graph of degree+1 nodes: (degree+1)·lift nodes, every cable of the complete
/// graph replaced by a random perfect matching between the copies of its ends. The same seed gives the same graph on
/// every machine. Error when no lift in many attempts is connected.
Result<Topology> xpander(std::int32_t degree, std::int32_t lift, std::uint32_t seed);

}  // namespace libcoll::topology
