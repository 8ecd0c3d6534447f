#include "planner/broadcast/planners.h"

#include <array>

#include "planner/broadcast/bfb/bfb.h"
#include "planner/broadcast/bfb/expansion.h"
#include "planner/broadcast/classic/bidirectional_ring.h"
#include "planner/broadcast/classic/bruck.h"
#include "planner/broadcast/classic/dimension_rings.h"
#include "planner/broadcast/classic/double_binary_tree.h"
#include "planner/broadcast/classic/hdrm.h"
#include "planner/broadcast/classic/recursive_doubling.h"
#include "planner/broadcast/classic/ring.h"
#include "planner/broadcast/classic/ring_2d.h"
#include "planner/broadcast/classic/rooted_trees.h"
#include "planner/broadcast/classic/shifted_ring.h"
#include "planner/broadcast/classic/swing.h"
#include "planner/broadcast/forest/blink.h"
#include "planner/broadcast/forest/forestcoll.h"
#include "planner/broadcast/forest/multitree.h"

namespace libcoll::broadcast {

using namespace bfb;
using namespace classic;
using namespace forest;
using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

template <Result<Schedule> (*plan)(Collective, const Topology&, const PlanOptions&), Collective collective>
Result<Schedule> plan_as(const Topology& topology, const PlanOptions& options) {
  return plan(collective, topology, options);
}

constexpr auto allgather = Collective::allgather;
constexpr auto reduce_scatter = Collective::reduce_scatter;
constexpr auto allreduce = Collective::allreduce;
constexpr auto broadcast = Collective::broadcast;
constexpr auto reduce = Collective::reduce;

}  // namespace

std::span<const Planner> broadcast_planners() {
  static constexpr Needs nothing{};
  static constexpr Needs hosts_only{Need::hosts_only};
  static constexpr Needs expanded{Need::expanded_topology};
  static constexpr Needs cycle{Need::hamiltonian_cycle};
  static constexpr Needs grid{Need::grid};
  static constexpr Needs bigraph{Need::bigraph};
  static constexpr Needs lockstep{Need::lockstep};
  // Patterns go over links where there are some, and over routes elsewhere.
  static constexpr std::array on_routes = {TakenOption{PlannerOption::forwarding_table}};
  static constexpr std::array for_bfb = {TakenOption{PlannerOption::max_chunks, 0, most_chunks},
                                         TakenOption{PlannerOption::no_symmetry}};
  static constexpr std::array for_expansion = {TakenOption{PlannerOption::max_chunks, 0, most_chunks}};
  static constexpr std::array for_forestcoll = {TakenOption{PlannerOption::trees, -1, 1 << 20},
                                                TakenOption{PlannerOption::max_chunks, 0, most_chunks},
                                                TakenOption{PlannerOption::forwarding_table}};
  static constexpr std::array for_blink = {TakenOption{PlannerOption::max_chunks, 0, most_chunks},
                                           TakenOption{PlannerOption::forwarding_table}};
  static constexpr std::array for_segments = {TakenOption{PlannerOption::steps, 0, most_steps},
                                              TakenOption{PlannerOption::forwarding_table}};
  static constexpr std::array planners = {
      Planner{"bfb", allgather, hosts_only, plan_bfb_allgather,
              "breadth-first broadcast: fewest steps, links of each step balanced exactly", for_bfb},
      Planner{"bfb", reduce_scatter, hosts_only, plan_bfb_reduce_scatter,
              "the reverse of the breadth-first-broadcast allgather on the transposed graph", for_bfb},
      Planner{"bfb", allreduce, hosts_only, plan_bfb_allreduce,
              "breadth-first-broadcast reduce-scatter followed by allgather", for_bfb},
      Planner{"forestcoll", allgather, nothing, plan_forestcoll_allgather,
              "pipelined spanning trees of provably best bandwidth, through switches too", for_forestcoll},
      Planner{"forestcoll", reduce_scatter, nothing, plan_forestcoll_reduce_scatter,
              "the reverse of the forest of spanning trees on the transposed graph", for_forestcoll},
      Planner{"forestcoll", allreduce, nothing, plan_forestcoll_allreduce, "spanning trees in, then spanning trees out",
              for_forestcoll},
      Planner{"blink", allgather, nothing, plan_blink_allgather,
              "Blink: every host's shard by the spanning trees that are best for it alone, for calls with one root",
              for_blink},
      Planner{"blink", reduce_scatter, nothing, plan_blink_reduce_scatter,
              "Blink: the reverse of each root's spanning trees on the transposed graph", for_blink},
      Planner{"expansion", allgather, expanded, plan_expansion_allgather,
              "the base topology's schedule carried through line graph, degree expansion, Cartesian power",
              for_expansion},
      Planner{"expansion", reduce_scatter, expanded, plan_expansion_reduce_scatter,
              "the mirror image of the expanded allgather, by reverse symmetry or on the transposed graph",
              for_expansion},
      Planner{"expansion", allreduce, expanded, plan_expansion_allreduce,
              "expanded reduce-scatter followed by expanded allgather", for_expansion},
      Planner{"multitree", allgather, nothing, plan_as<plan_multitree, allgather>,
              "MultiTree: a tree per node, grown together over free links, also through switches", on_routes},
      Planner{"multitree", reduce_scatter, nothing, plan_as<plan_multitree, reduce_scatter>,
              "the trees of MultiTree on the transposed graph, reversed", on_routes},
      Planner{"multitree", allreduce, nothing, plan_as<plan_multitree, allreduce>,
              "MultiTree reduce-scatter followed by allgather", on_routes},
      Planner{"ring", allgather, nothing, plan_as<plan_ring, allgather>, "every shard once around one ring", on_routes},
      Planner{"ring", reduce_scatter, nothing, plan_as<plan_ring, reduce_scatter>,
              "ring: mirror image of its allgather", on_routes},
      Planner{
          "ring", allreduce, {}, plan_as<plan_ring, allreduce>, "ring reduce-scatter followed by allgather", on_routes},
      Planner{"bidirectional-ring", allgather, nothing, plan_as<plan_bidirectional_ring, allgather>,
              "every shard both ways, half around one ring", on_routes},
      Planner{"bidirectional-ring", reduce_scatter, nothing, plan_as<plan_bidirectional_ring, reduce_scatter>,
              "bidirectional-ring: mirror image of its allgather", on_routes},
      Planner{"bidirectional-ring", allreduce, nothing, plan_as<plan_bidirectional_ring, allreduce>,
              "bidirectional-ring reduce-scatter followed by allgather", on_routes},
      Planner{"shifted-ring", allgather, cycle, plan_as<plan_shifted_ring, allgather>,
              "rings that share no link, each with its part of the data", on_routes},
      Planner{"shifted-ring", reduce_scatter, cycle, plan_as<plan_shifted_ring, reduce_scatter>,
              "shifted-ring: mirror image of its allgather", on_routes},
      Planner{"shifted-ring", allreduce, cycle, plan_as<plan_shifted_ring, allreduce>,
              "shifted-ring reduce-scatter followed by allgather", on_routes},
      Planner{"dimension-rings", allgather, grid, plan_as<plan_dimension_rings, allgather>,
              "Sack-Gropp: rings in every dimension in turn, all dimensions at once", on_routes},
      Planner{"dimension-rings", reduce_scatter, grid, plan_as<plan_dimension_rings, reduce_scatter>,
              "dimension-rings: mirror image of its allgather", on_routes},
      Planner{"dimension-rings", allreduce, grid, plan_as<plan_dimension_rings, allreduce>,
              "dimension-rings reduce-scatter followed by allgather", on_routes},
      Planner{"recursive-doubling", allgather, nothing, plan_as<plan_recursive_doubling, allgather>,
              "partners at distances 1, 2, 4, ...", on_routes},
      Planner{"recursive-halving", reduce_scatter, nothing, plan_as<plan_recursive_doubling, reduce_scatter>,
              "the mirror image of recursive doubling", on_routes},
      Planner{"halving-doubling", allgather, nothing, plan_as<plan_halving_doubling, allgather>,
              "partners at distances N/2, ..., 2, 1", on_routes},
      Planner{"halving-doubling", reduce_scatter, nothing, plan_as<plan_halving_doubling, reduce_scatter>,
              "halving-doubling: mirror image of its allgather", on_routes},
      Planner{"halving-doubling", allreduce, nothing, plan_as<plan_halving_doubling, allreduce>,
              "Rabenseifner: vector halving, then vector doubling", on_routes},
      Planner{"swing", allgather, nothing, plan_as<plan_swing, allgather>,
              "Swing: partners at distances 1, 1, 3, 5, ... to alternate sides", on_routes},
      Planner{"swing", reduce_scatter, nothing, plan_as<plan_swing, reduce_scatter>,
              "swing: mirror image of its allgather", on_routes},
      Planner{"swing", allreduce, nothing, plan_as<plan_swing, allreduce>, "swing reduce-scatter followed by allgather",
              on_routes},
      Planner{"swing-multiport", allgather, nothing, plan_as<plan_swing_multiport, allgather>,
              "a Swing for every dimension and side at once", on_routes},
      Planner{"swing-multiport", reduce_scatter, nothing, plan_as<plan_swing_multiport, reduce_scatter>,
              "swing-multiport: mirror image of its allgather", on_routes},
      Planner{"swing-multiport", allreduce, nothing, plan_as<plan_swing_multiport, allreduce>,
              "swing-multiport reduce-scatter followed by allgather", on_routes},
      Planner{"bruck", allgather, nothing, plan_as<plan_bruck, allgather>, "any number of hosts in log2 N steps",
              on_routes},
      Planner{"bruck", reduce_scatter, nothing, plan_as<plan_bruck, reduce_scatter>,
              "bruck: mirror image of its allgather", on_routes},
      Planner{"bruck", allreduce, nothing, plan_as<plan_bruck, allreduce>, "bruck reduce-scatter followed by allgather",
              on_routes},
      Planner{"hdrm", allgather, bigraph, plan_as<plan_hdrm, allgather>,
              "halving-doubling with ranks mapped to the bigraph's switches", on_routes},
      Planner{"hdrm", reduce_scatter, bigraph, plan_as<plan_hdrm, reduce_scatter>,
              "hdrm: mirror image of its allgather", on_routes},
      Planner{"hdrm", allreduce, bigraph, plan_as<plan_hdrm, allreduce>, "hdrm reduce-scatter followed by allgather",
              on_routes},
      Planner{"double-binary-tree", allreduce, nothing, plan_as<plan_double_binary_tree, allreduce>,
              "two trees with half of the data each, pipelined by shards", for_segments},
      Planner{"forestcoll", broadcast, nothing, plan_forestcoll_broadcast,
              "pipelined spanning trees out of --root, as many as its narrowest cut carries: the optimum",
              for_forestcoll},
      Planner{"forestcoll", reduce, nothing, plan_forestcoll_reduce,
              "the reverse of the root's spanning trees on the transposed graph", for_forestcoll},
      Planner{"double-binary-tree", broadcast, nothing, plan_as<plan_double_binary_tree, broadcast>,
              "two trees below --root with half of the data each, pipelined", for_segments},
      Planner{"double-binary-tree", reduce, nothing, plan_as<plan_double_binary_tree, reduce>,
              "double-binary-tree: mirror image of its broadcast", for_segments},
      Planner{"pipelined-chain", broadcast, nothing, plan_as<plan_pipelined_chain, broadcast>,
              "once along a ring that is cut open at --root, pipelined", on_routes},
      Planner{"pipelined-chain", reduce, nothing, plan_as<plan_pipelined_chain, reduce>,
              "pipelined-chain: mirror image of its broadcast", on_routes},
      Planner{"binomial-tree", broadcast, nothing, plan_as<plan_binomial_tree, broadcast>,
              "whoever has the data sends it on: log2 N steps of the whole vector", on_routes},
      Planner{"binomial-tree", reduce, nothing, plan_as<plan_binomial_tree, reduce>,
              "binomial-tree: mirror image of its broadcast", on_routes},
      Planner{"binary-tree", broadcast, nothing, plan_as<plan_binary_tree, broadcast>,
              "every host to its two children, level by level", on_routes},
      Planner{"binary-tree", reduce, nothing, plan_as<plan_binary_tree, reduce>,
              "binary-tree: mirror image of its broadcast", on_routes},
      Planner{"2d-ring", allreduce, lockstep, plan_as<plan_ring_2d, allreduce>,
              "ring allreduce along one of two dimensions, then along the other", on_routes},
      Planner{"recursive-doubling", allreduce, lockstep, plan_as<plan_recursive_doubling_exchange, allreduce>,
              "partners exchange whole vectors", on_routes},
  };
  return planners;
}

}  // namespace libcoll::broadcast
