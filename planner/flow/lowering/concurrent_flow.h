// Max concurrent flow of all-to-all as a fluid plan: paths with weights, the rate they reach, the bound above it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/base/result.h"
#include "planner/flow/paths/path_decomposition.h"
#include "planner/flow/problem/certificate.h"
#include "planner/flow/problem/link_classes.h"
#include "planner/topology/topology.h"

namespace libcoll::flow::lowering {

/// How a max concurrent flow is to be found.
struct FlowOptions {
  double gap = 0;                 ///< F_upper_bound / F − 1 that is enough; 0: see max_concurrent_flow
  double time_limit_seconds = 0;  ///< then the best so far; 0: none
  std::int32_t threads = 1;
  bool paths = true;     ///< false: the rate and its certificate only
  bool symmetry = true;  ///< look for automorphisms and use them
  /// Split few pairs over several paths, where that costs no more than a moment: each path of a pair takes a route
  /// class.
  bool few_paths = false;
};

/// `pairs` holds the pairs of classes.sources; the other sources' paths are their images under classes.images.
struct ConcurrentFlow {
  problem::LinkClasses classes;
  std::vector<paths::PairPaths> pairs;
  double flow = 0;  ///< F that these paths reach, rounded down: 1 / their largest link load at unit demands
  problem::FlowCertificate certificate;
  std::string method;  ///< "trees", "simplex", "interior-point", "bushes", "bushes, pdhg" or "bushes, pdhg, bushes"
  std::int64_t symmetry_order = 1;  ///< automorphisms made use of
};

/// The max concurrent flow of all-to-all, certified, by the method that is fastest for its size and symmetry:
/// - Automorphisms leave one source for every orbit of hosts, one price for every orbit of links: by the family's
///   translations where they are transitive, otherwise by search. Few prices: exactly, by columns of trees.
/// - Small instances: exactly, by the master LP (6)–(9), once more another way should the gap stay above 10⁻⁶.
/// - Others, and those of many columns where a gap will do: bushes to 1.5 %, then PDHG to the gap that was asked for
///   (0.1 % by default), then bushes again where PDHG does not get there. Their paths carry whole
///   units as far as the gap allows, so that few pairs take several.
/// The paths are those of a decomposition. Where the group leaves no host in place but by the identity they stay
/// paths of one source per orbit; otherwise they are written out for every host. Without options.paths, `pairs` and
/// classes.images are empty. Error when a host cannot reach another, for fewer than two hosts, or when the LP solver
/// gives up.
Result<ConcurrentFlow> max_concurrent_flow(const topology::Topology& topology, const FlowOptions& options = {});

/// The pairs from one of the sources, of a flow that may know them as images of others'; by source and destination.
std::vector<paths::PairPaths> pairs_from(const topology::Topology& topology,
                                         const std::vector<topology::NodeId>& sources, const ConcurrentFlow& flow);

}  // namespace libcoll::flow::lowering
