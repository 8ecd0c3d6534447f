// Max concurrent flow on routes that cannot deadlock by construction (the open question of paper 003 §5.5).
#pragma once

#include <span>
#include <vector>

#include "planner/base/deadline.h"
#include "planner/base/result.h"
#include "planner/flow/paths/path_decomposition.h"
#include "planner/route/layer_orders.h"
#include "planner/topology/topology.h"

namespace libcoll::flow::lowering {

/// Paths of every pair of hosts, each ascending in the order of some layer.
struct LayeredFlow {
  std::vector<paths::PairPaths> pairs;
  double load = 0;   ///< largest load per unit capacity
  double bound = 0;  ///< no paths that ascend in these orders load less
};

/// Multiplicative weights: in each phase every source sends its demands along the shortest ascending paths, over all
/// layers, by lengths that grow with what crossed a link so far; the mean of all phases is the flow, and where its
/// paths are few enough the LP (21)–(24) shares out anew. Ends at a gap of 0.5 %, after enough phases, or at the
/// deadline, but not before the first. `orders` are of the topology's links; each pair of hosts has an ascending path
/// (as layer_orders makes them). `demand` as in PlanOptions.
LayeredFlow layered_flow(const topology::Topology& topology, const route::LayerOrders& orders,
                         std::span<const double> demand, const Deadline& deadline);

}  // namespace libcoll::flow::lowering
