// Max concurrent flow of all-to-all as a fluid plan: paths with weights, the rate they reach, the bound above it.
#pragma once

#include <vector>

#include "planner/flow/certificate.h"
#include "planner/flow/link_classes.h"
#include "planner/flow/path_decomposition.h"
#include "planner/result.h"
#include "planner/topology/topology.h"

namespace libcoll {

/// `pairs` holds the pairs of classes.sources; the other sources' paths are their images under classes.images.
struct ConcurrentFlow {
  LinkClasses classes;
  std::vector<PairPaths> pairs;
  double flow = 0;  ///< F that these paths reach: 1 / their largest link load at unit demands
  FlowCertificate certificate;
};

/// The master LP (6)–(9) with one source where the topology's translations allow it, paths by decomposition, and the
/// certificate from the duals; solved again another way should the gap stay above 10⁻⁶. Error when a host cannot
/// reach another, for fewer than two hosts, or when the solver gives up.
Result<ConcurrentFlow> max_concurrent_flow(const Topology& topology);

}  // namespace libcoll
