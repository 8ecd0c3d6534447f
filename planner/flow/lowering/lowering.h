// What the all-to-all planners share: from a fluid plan over paths to a schedule with its proof and figures.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "planner/base/deadline.h"
#include "planner/base/result.h"
#include "planner/flow/lowering/chunking.h"
#include "planner/flow/lowering/concurrent_flow.h"
#include "planner/flow/problem/injection.h"
#include "planner/registry/planner.h"
#include "planner/route/layer_orders.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::flow::lowering {

/// Layers where none are asked for (paper 003 §5.5).
inline constexpr std::int32_t usual_layers = 4;

/// A gap to the bound that is noise of the LP solver.
inline constexpr double solver_gap = 1e-6;

/// Paths with weights for every pair, as a planner found them.
struct FluidPlan {
  problem::InjectionNetwork network;
  ConcurrentFlow flow;  ///< on network.topology
  std::string method;   ///< of the solver, for PlanFigures
  double loss_routes = 0;
  ChunkPaths chunk_paths = ChunkPaths::given;  ///< where whole chunks may go for less load
  route::LayerOrders
      orders;  ///< of the fabric's links, where every path ascends in one of them; empty: layers come afterwards
};

/// The fabric with its injection links, after checking what every method needs: hosts that reach each other, two at
/// least, and a demand that fits them. The error starts with the algorithm's name.
Result<problem::InjectionNetwork> checked_network(const topology::Topology& fabric,
                                                  const registry::PlanOptions& options,
                                                  problem::ForwardedBy forwarded_by, const char* algorithm);

/// Whether routes can have several links: by NICs that forward, or switches.
Status check_forwarding(const topology::Topology& fabric);

/// By symmetry where demand and network keep the topology's translations, otherwise every host and link by itself.
problem::LinkClasses flow_classes(const problem::InjectionNetwork& network, const registry::PlanOptions& options);

/// The best certificate at hand for a network on which some plan reaches `load`: that of the prices (if any), and where
/// they do not prove the plan optimal, the master LP takes seconds only and the deadline leaves them, that of the
/// optimum.
problem::FlowCertificate tightest_bound(const topology::Topology& topology, const problem::LinkClasses& classes,
                                        std::span<const double> prices, std::span<const double> demand, double load,
                                        const Deadline& deadline = Deadline(0));

/// Puts together what a method found on `topology`: flow = 1/(largest load of the pairs), certified.
ConcurrentFlow certified_flow(const topology::Topology& topology, problem::LinkClasses classes,
                              std::vector<paths::PairPaths> pairs, std::span<const double> prices,
                              std::span<const double> demand, const Deadline& deadline = Deadline(0));

/// At most `most` paths for each pair (0: any number): the heaviest stay, and the LP (21)–(24) over those shares out
/// anew where it is small enough. Returns the part of F this loses.
double limit_routes(const topology::Topology& topology, ConcurrentFlow& flow, std::int32_t most,
                    const registry::PlanOptions& options, const Deadline& deadline);

/// A routed schedule, all at step 1: whole chunks by round_to_chunks, routes within options.max_routes, in layers by
/// options.layer_method, in classes by source. By default more than four layers become four, by reroute_into_layers,
/// where that costs at most 2 % of F ("loss_layers" and "rerouted"), and no more than options.gap allows: six or
/// eight are tried before any number; baselines keep their routes, and "layers_note" says why there are more. With
/// options.class_loss or options.max_classes routes take other ways where classes by destination are fewer then
/// (route_in_fewer_classes), and have such classes: "classes" says how many, and "loss_classes" what that cost of F.
/// The proof holds F and bound of the fabric; max_link_load counts what hosts inject as a link where that is the
/// bottleneck. With a demand, F and its bound are for that demand, while the loads of the proof are those of full
/// blocks (what verify() can recompute), without a bound; the real one is "demand_load". Without options.schedule there
/// are no routes and transfers, and the proof's loads are those of the fluid plan. Fills options.figures. Error for a
/// layer method that is none.
Result<schedule::Schedule> lower_to_routes(const topology::Topology& fabric, FluidPlan plan,
                                           const registry::PlanOptions& options, const char* algorithm,
                                           const Deadline& deadline);

/// The same on links: the hops of a path are direct transfers, the last at the last step, steps = longest path.
Result<schedule::Schedule> lower_to_links(const topology::Topology& fabric, FluidPlan plan,
                                          const registry::PlanOptions& options, const char* algorithm,
                                          const Deadline& deadline);

/// Says in options.figures that a baseline's routes, which are what it is, need more than four layers, if they do.
void note_many_layers(std::int32_t layers, const registry::PlanOptions& options);

/// `value` as a multiple of 10⁻⁹ that is not below it.
Rational rounded_up(double value);

}  // namespace libcoll::flow::lowering
