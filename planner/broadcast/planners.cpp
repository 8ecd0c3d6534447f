#include <array>

#include "planner/broadcast/bfb.h"
#include "planner/broadcast/bidirectional_ring.h"
#include "planner/broadcast/bruck.h"
#include "planner/broadcast/dimension_rings.h"
#include "planner/broadcast/double_binary_tree.h"
#include "planner/broadcast/expansion.h"
#include "planner/broadcast/forestcoll.h"
#include "planner/broadcast/hdrm.h"
#include "planner/broadcast/multitree.h"
#include "planner/broadcast/recursive_doubling.h"
#include "planner/broadcast/ring.h"
#include "planner/broadcast/ring_2d.h"
#include "planner/broadcast/rooted_trees.h"
#include "planner/broadcast/shifted_ring.h"
#include "planner/broadcast/swing.h"
#include "planner/planner.h"

namespace libcoll {
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
  static constexpr std::string_view needs = "hosts only (no switches)";
  static constexpr std::string_view names = "a topology named line:, degree:, power:, product:, bidirectional:";
  static constexpr std::string_view cycle = "a Hamiltonian cycle";
  static constexpr std::string_view dimensions = "a torus, mesh, ring or hypercube";
  static constexpr std::string_view bigraph = "a bigraph of powers of two";
  static constexpr std::string_view lockstep = "lockstep (a model: not for the runtime)";
  // Patterns go over links where there are some, and over routes elsewhere.
  static constexpr std::array on_routes = {TakenOption{PlannerOption::forwarding_table}};
  static constexpr std::array for_bfb = {TakenOption{PlannerOption::max_chunks, 0, most_chunks},
                                         TakenOption{PlannerOption::no_symmetry}};
  static constexpr std::array for_expansion = {TakenOption{PlannerOption::max_chunks, 0, most_chunks}};
  static constexpr std::array for_forestcoll = {TakenOption{PlannerOption::trees, -1, 1 << 20},
                                                TakenOption{PlannerOption::max_chunks, 0, most_chunks},
                                                TakenOption{PlannerOption::forwarding_table}};
  static constexpr std::array for_segments = {TakenOption{PlannerOption::steps, 0, most_steps},
                                              TakenOption{PlannerOption::forwarding_table}};
  static constexpr std::array planners = {
      Planner{"bfb", allgather, needs, plan_bfb_allgather,
              "breadth-first broadcast: fewest steps, links of each step balanced exactly", for_bfb},
      Planner{"bfb", reduce_scatter, needs, plan_bfb_reduce_scatter,
              "the reverse of the breadth-first-broadcast allgather on the transposed graph", for_bfb},
      Planner{"bfb", allreduce, needs, plan_bfb_allreduce,
              "breadth-first-broadcast reduce-scatter followed by allgather", for_bfb},
      Planner{"forestcoll", allgather, "", plan_forestcoll_allgather,
              "pipelined spanning trees of provably best bandwidth, through switches too", for_forestcoll},
      Planner{"forestcoll", reduce_scatter, "", plan_forestcoll_reduce_scatter,
              "the reverse of the forest of spanning trees on the transposed graph", for_forestcoll},
      Planner{"forestcoll", allreduce, "", plan_forestcoll_allreduce, "spanning trees in, then spanning trees out",
              for_forestcoll},
      Planner{"expansion", allgather, names, plan_expansion_allgather,
              "the base topology's schedule carried through line graph, degree expansion, Cartesian power",
              for_expansion},
      Planner{"expansion", reduce_scatter, names, plan_expansion_reduce_scatter,
              "the mirror image of the expanded allgather, by reverse symmetry or on the transposed graph",
              for_expansion},
      Planner{"expansion", allreduce, names, plan_expansion_allreduce,
              "expanded reduce-scatter followed by expanded allgather", for_expansion},
      Planner{"multitree", allgather, "", plan_as<plan_multitree, allgather>,
              "MultiTree: a tree per node, grown together over free links, also through switches", on_routes},
      Planner{"multitree", reduce_scatter, "", plan_as<plan_multitree, reduce_scatter>,
              "the trees of MultiTree on the transposed graph, reversed", on_routes},
      Planner{"multitree", allreduce, "", plan_as<plan_multitree, allreduce>,
              "MultiTree reduce-scatter followed by allgather", on_routes},
      Planner{"ring", allgather, "", plan_as<plan_ring, allgather>, "every shard once around one ring", on_routes},
      Planner{"ring", reduce_scatter, "", plan_as<plan_ring, reduce_scatter>, "ring: mirror image of its allgather",
              on_routes},
      Planner{"ring", allreduce, "", plan_as<plan_ring, allreduce>, "ring reduce-scatter followed by allgather",
              on_routes},
      Planner{"bidirectional-ring", allgather, "", plan_as<plan_bidirectional_ring, allgather>,
              "every shard both ways, half around one ring", on_routes},
      Planner{"bidirectional-ring", reduce_scatter, "", plan_as<plan_bidirectional_ring, reduce_scatter>,
              "bidirectional-ring: mirror image of its allgather", on_routes},
      Planner{"bidirectional-ring", allreduce, "", plan_as<plan_bidirectional_ring, allreduce>,
              "bidirectional-ring reduce-scatter followed by allgather", on_routes},
      Planner{"shifted-ring", allgather, cycle, plan_as<plan_shifted_ring, allgather>,
              "rings that share no link, each with its part of the data", on_routes},
      Planner{"shifted-ring", reduce_scatter, cycle, plan_as<plan_shifted_ring, reduce_scatter>,
              "shifted-ring: mirror image of its allgather", on_routes},
      Planner{"shifted-ring", allreduce, cycle, plan_as<plan_shifted_ring, allreduce>,
              "shifted-ring reduce-scatter followed by allgather", on_routes},
      Planner{"dimension-rings", allgather, dimensions, plan_as<plan_dimension_rings, allgather>,
              "Sack-Gropp: rings in every dimension in turn, all dimensions at once", on_routes},
      Planner{"dimension-rings", reduce_scatter, dimensions, plan_as<plan_dimension_rings, reduce_scatter>,
              "dimension-rings: mirror image of its allgather", on_routes},
      Planner{"dimension-rings", allreduce, dimensions, plan_as<plan_dimension_rings, allreduce>,
              "dimension-rings reduce-scatter followed by allgather", on_routes},
      Planner{"recursive-doubling", allgather, "", plan_as<plan_recursive_doubling, allgather>,
              "partners at distances 1, 2, 4, ...", on_routes},
      Planner{"recursive-halving", reduce_scatter, "", plan_as<plan_recursive_doubling, reduce_scatter>,
              "the mirror image of recursive doubling", on_routes},
      Planner{"halving-doubling", allgather, "", plan_as<plan_halving_doubling, allgather>,
              "partners at distances N/2, ..., 2, 1", on_routes},
      Planner{"halving-doubling", reduce_scatter, "", plan_as<plan_halving_doubling, reduce_scatter>,
              "halving-doubling: mirror image of its allgather", on_routes},
      Planner{"halving-doubling", allreduce, "", plan_as<plan_halving_doubling, allreduce>,
              "Rabenseifner: vector halving, then vector doubling", on_routes},
      Planner{"swing", allgather, "", plan_as<plan_swing, allgather>,
              "Swing: partners at distances 1, 1, 3, 5, ... to alternate sides", on_routes},
      Planner{"swing", reduce_scatter, "", plan_as<plan_swing, reduce_scatter>, "swing: mirror image of its allgather",
              on_routes},
      Planner{"swing", allreduce, "", plan_as<plan_swing, allreduce>, "swing reduce-scatter followed by allgather",
              on_routes},
      Planner{"swing-multiport", allgather, "", plan_as<plan_swing_multiport, allgather>,
              "a Swing for every dimension and side at once", on_routes},
      Planner{"swing-multiport", reduce_scatter, "", plan_as<plan_swing_multiport, reduce_scatter>,
              "swing-multiport: mirror image of its allgather", on_routes},
      Planner{"swing-multiport", allreduce, "", plan_as<plan_swing_multiport, allreduce>,
              "swing-multiport reduce-scatter followed by allgather", on_routes},
      Planner{"bruck", allgather, "", plan_as<plan_bruck, allgather>, "any number of hosts in log2 N steps", on_routes},
      Planner{"bruck", reduce_scatter, "", plan_as<plan_bruck, reduce_scatter>, "bruck: mirror image of its allgather",
              on_routes},
      Planner{"bruck", allreduce, "", plan_as<plan_bruck, allreduce>, "bruck reduce-scatter followed by allgather",
              on_routes},
      Planner{"hdrm", allgather, bigraph, plan_as<plan_hdrm, allgather>,
              "halving-doubling with ranks mapped to the bigraph's switches", on_routes},
      Planner{"hdrm", reduce_scatter, bigraph, plan_as<plan_hdrm, reduce_scatter>,
              "hdrm: mirror image of its allgather", on_routes},
      Planner{"hdrm", allreduce, bigraph, plan_as<plan_hdrm, allreduce>, "hdrm reduce-scatter followed by allgather",
              on_routes},
      Planner{"double-binary-tree", allreduce, "", plan_as<plan_double_binary_tree, allreduce>,
              "two trees with half of the data each, pipelined by shards", for_segments},
      Planner{"forestcoll", broadcast, "", plan_forestcoll_broadcast,
              "pipelined spanning trees out of --root, as many as its narrowest cut carries: the optimum",
              for_forestcoll},
      Planner{"forestcoll", reduce, "", plan_forestcoll_reduce,
              "the reverse of the root's spanning trees on the transposed graph", for_forestcoll},
      Planner{"double-binary-tree", broadcast, "", plan_as<plan_double_binary_tree, broadcast>,
              "two trees below --root with half of the data each, pipelined", for_segments},
      Planner{"double-binary-tree", reduce, "", plan_as<plan_double_binary_tree, reduce>,
              "double-binary-tree: mirror image of its broadcast", for_segments},
      Planner{"pipelined-chain", broadcast, "", plan_as<plan_pipelined_chain, broadcast>,
              "once along a ring that is cut open at --root, pipelined", on_routes},
      Planner{"pipelined-chain", reduce, "", plan_as<plan_pipelined_chain, reduce>,
              "pipelined-chain: mirror image of its broadcast", on_routes},
      Planner{"binomial-tree", broadcast, "", plan_as<plan_binomial_tree, broadcast>,
              "whoever has the data sends it on: log2 N steps of the whole vector", on_routes},
      Planner{"binomial-tree", reduce, "", plan_as<plan_binomial_tree, reduce>,
              "binomial-tree: mirror image of its broadcast", on_routes},
      Planner{"binary-tree", broadcast, "", plan_as<plan_binary_tree, broadcast>,
              "every host to its two children, level by level", on_routes},
      Planner{"binary-tree", reduce, "", plan_as<plan_binary_tree, reduce>,
              "binary-tree: mirror image of its broadcast", on_routes},
      Planner{"2d-ring", allreduce, lockstep, plan_as<plan_ring_2d, allreduce>,
              "ring allreduce along one of two dimensions, then along the other", on_routes, true},
      Planner{"recursive-doubling", allreduce, lockstep, plan_as<plan_recursive_doubling_exchange, allreduce>,
              "partners exchange whole vectors", on_routes, true},
  };
  return planners;
}

}  // namespace libcoll
