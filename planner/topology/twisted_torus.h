// Twisted tori (Cámara et al. 2010; the form of TPU v4, paper 000 §6.2).
#pragma once

#include "planner/base/result.h"
#include "planner/topology/family.h"
#include "planner/topology/topology.h"

namespace libcoll::topology {

/// A torus whose sizes are k and 2k (at least one of either): the wrap-around cable of a short dimension also moves k
/// on in every long one. k x 2k, k x k x 2k and k x 2k x 2k are the twisted forms of TPU v4. Numbered row-major.
/// Error for other sizes and for k = 1.
Result<Topology> twisted_torus(const Numbers& sizes);

}  // namespace libcoll::topology
