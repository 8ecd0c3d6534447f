// Better orders for routes that ascend in them: local search, guided by the prices of the max concurrent flow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/deadline.h"
#include "planner/route/destination_trees.h"
#include "planner/route/layer_orders.h"
#include "planner/topology/topology.h"

namespace libcoll::route {

/// Orders in which `pairs` have a larger concurrent flow on ascending paths than in `orders`, as far as the search
/// finds any. Links are moved within an order so that the pairs' distances shrink, by the dual prices of the flow that
/// multiplicative weights find in the present orders; a move is undone where the flow shrinks, but for some at the
/// beginning (simulated annealing). `forwards` by node: whether paths may pass through it. `effort`: links that the
/// search may look at, and then what is left of it. Links with place -1 keep it. Precondition: every pair has an
/// ascending path in one of the orders; that stays so.
LayerOrders search_orders(const topology::Topology& topology, LayerOrders orders, std::span<const PairDemand> pairs,
                          const std::vector<bool>& forwards, std::int64_t& effort, const Deadline& deadline);

}  // namespace libcoll::route
