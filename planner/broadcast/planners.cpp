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
  static constexpr std::array planners = {
      Planner{"bfb", allgather, needs, plan_bfb_allgather,
              "breadth-first broadcast: fewest steps, links of each step balanced exactly"},
      Planner{"bfb", reduce_scatter, needs, plan_bfb_reduce_scatter,
              "the reverse of the breadth-first-broadcast allgather on the transposed graph"},
      Planner{"bfb", allreduce, needs, plan_bfb_allreduce,
              "breadth-first-broadcast reduce-scatter followed by allgather"},
      Planner{"forestcoll", allgather, "", plan_forestcoll_allgather,
              "pipelined spanning trees of provably best bandwidth, through switches too"},
      Planner{"forestcoll", reduce_scatter, "", plan_forestcoll_reduce_scatter,
              "the reverse of the forest of spanning trees on the transposed graph"},
      Planner{"forestcoll", allreduce, "", plan_forestcoll_allreduce, "spanning trees in, then spanning trees out"},
      Planner{"expansion", allgather, names, plan_expansion_allgather,
              "the base topology's schedule carried through line graph, degree expansion, Cartesian power"},
      Planner{"expansion", reduce_scatter, names, plan_expansion_reduce_scatter,
              "the mirror image of the expanded allgather, by reverse symmetry or on the transposed graph"},
      Planner{"expansion", allreduce, names, plan_expansion_allreduce,
              "expanded reduce-scatter followed by expanded allgather"},
      Planner{"multitree", allgather, "", plan_as<plan_multitree, allgather>,
              "MultiTree: a tree per node, grown together over free links, also through switches"},
      Planner{"multitree", reduce_scatter, "", plan_as<plan_multitree, reduce_scatter>,
              "the trees of MultiTree on the transposed graph, reversed"},
      Planner{"multitree", allreduce, "", plan_as<plan_multitree, allreduce>,
              "MultiTree reduce-scatter followed by allgather"},
      Planner{"ring", allgather, "", plan_as<plan_ring, allgather>, "every shard once around one ring"},
      Planner{"ring", reduce_scatter, "", plan_as<plan_ring, reduce_scatter>, "ring: mirror image of its allgather"},
      Planner{"ring", allreduce, "", plan_as<plan_ring, allreduce>, "ring reduce-scatter followed by allgather"},
      Planner{"bidirectional-ring", allgather, "", plan_as<plan_bidirectional_ring, allgather>,
              "every shard both ways, half around one ring"},
      Planner{"bidirectional-ring", reduce_scatter, "", plan_as<plan_bidirectional_ring, reduce_scatter>,
              "bidirectional-ring: mirror image of its allgather"},
      Planner{"bidirectional-ring", allreduce, "", plan_as<plan_bidirectional_ring, allreduce>,
              "bidirectional-ring reduce-scatter followed by allgather"},
      Planner{"shifted-ring", allgather, cycle, plan_as<plan_shifted_ring, allgather>,
              "rings that share no link, each with its part of the data"},
      Planner{"shifted-ring", reduce_scatter, cycle, plan_as<plan_shifted_ring, reduce_scatter>,
              "shifted-ring: mirror image of its allgather"},
      Planner{"shifted-ring", allreduce, cycle, plan_as<plan_shifted_ring, allreduce>,
              "shifted-ring reduce-scatter followed by allgather"},
      Planner{"dimension-rings", allgather, dimensions, plan_as<plan_dimension_rings, allgather>,
              "Sack-Gropp: rings in every dimension in turn, all dimensions at once"},
      Planner{"dimension-rings", reduce_scatter, dimensions, plan_as<plan_dimension_rings, reduce_scatter>,
              "dimension-rings: mirror image of its allgather"},
      Planner{"dimension-rings", allreduce, dimensions, plan_as<plan_dimension_rings, allreduce>,
              "dimension-rings reduce-scatter followed by allgather"},
      Planner{"recursive-doubling", allgather, "", plan_as<plan_recursive_doubling, allgather>,
              "partners at distances 1, 2, 4, ..."},
      Planner{"recursive-halving", reduce_scatter, "", plan_as<plan_recursive_doubling, reduce_scatter>,
              "the mirror image of recursive doubling"},
      Planner{"halving-doubling", allgather, "", plan_as<plan_halving_doubling, allgather>,
              "partners at distances N/2, ..., 2, 1"},
      Planner{"halving-doubling", reduce_scatter, "", plan_as<plan_halving_doubling, reduce_scatter>,
              "halving-doubling: mirror image of its allgather"},
      Planner{"halving-doubling", allreduce, "", plan_as<plan_halving_doubling, allreduce>,
              "Rabenseifner: vector halving, then vector doubling"},
      Planner{"swing", allgather, "", plan_as<plan_swing, allgather>,
              "Swing: partners at distances 1, 1, 3, 5, ... to alternate sides"},
      Planner{"swing", reduce_scatter, "", plan_as<plan_swing, reduce_scatter>, "swing: mirror image of its allgather"},
      Planner{"swing", allreduce, "", plan_as<plan_swing, allreduce>, "swing reduce-scatter followed by allgather"},
      Planner{"swing-multiport", allgather, "", plan_as<plan_swing_multiport, allgather>,
              "a Swing for every dimension and side at once"},
      Planner{"swing-multiport", reduce_scatter, "", plan_as<plan_swing_multiport, reduce_scatter>,
              "swing-multiport: mirror image of its allgather"},
      Planner{"swing-multiport", allreduce, "", plan_as<plan_swing_multiport, allreduce>,
              "swing-multiport reduce-scatter followed by allgather"},
      Planner{"bruck", allgather, "", plan_as<plan_bruck, allgather>, "any number of hosts in log2 N steps"},
      Planner{"bruck", reduce_scatter, "", plan_as<plan_bruck, reduce_scatter>, "bruck: mirror image of its allgather"},
      Planner{"bruck", allreduce, "", plan_as<plan_bruck, allreduce>, "bruck reduce-scatter followed by allgather"},
      Planner{"hdrm", allgather, bigraph, plan_as<plan_hdrm, allgather>,
              "halving-doubling with ranks mapped to the bigraph's switches"},
      Planner{"hdrm", reduce_scatter, bigraph, plan_as<plan_hdrm, reduce_scatter>,
              "hdrm: mirror image of its allgather"},
      Planner{"hdrm", allreduce, bigraph, plan_as<plan_hdrm, allreduce>, "hdrm reduce-scatter followed by allgather"},
      Planner{"double-binary-tree", allreduce, "", plan_as<plan_double_binary_tree, allreduce>,
              "two trees with half of the data each, pipelined by shards"},
      Planner{"forestcoll", broadcast, "", plan_forestcoll_broadcast,
              "pipelined spanning trees out of --root, as many as its narrowest cut carries: the optimum"},
      Planner{"forestcoll", reduce, "", plan_forestcoll_reduce,
              "the reverse of the root's spanning trees on the transposed graph"},
      Planner{"double-binary-tree", broadcast, "", plan_as<plan_double_binary_tree, broadcast>,
              "two trees below --root with half of the data each, pipelined"},
      Planner{"double-binary-tree", reduce, "", plan_as<plan_double_binary_tree, reduce>,
              "double-binary-tree: mirror image of its broadcast"},
      Planner{"pipelined-chain", broadcast, "", plan_as<plan_pipelined_chain, broadcast>,
              "once along a ring that is cut open at --root, pipelined"},
      Planner{"pipelined-chain", reduce, "", plan_as<plan_pipelined_chain, reduce>,
              "pipelined-chain: mirror image of its broadcast"},
      Planner{"binomial-tree", broadcast, "", plan_as<plan_binomial_tree, broadcast>,
              "whoever has the data sends it on: log2 N steps of the whole vector"},
      Planner{"binomial-tree", reduce, "", plan_as<plan_binomial_tree, reduce>,
              "binomial-tree: mirror image of its broadcast"},
      Planner{"binary-tree", broadcast, "", plan_as<plan_binary_tree, broadcast>,
              "every host to its two children, level by level"},
      Planner{"binary-tree", reduce, "", plan_as<plan_binary_tree, reduce>,
              "binary-tree: mirror image of its broadcast"},
      Planner{"2d-ring", allreduce, lockstep, plan_as<plan_ring_2d, allreduce>,
              "ring allreduce along one of two dimensions, then along the other", true},
      Planner{"recursive-doubling", allreduce, lockstep, plan_as<plan_recursive_doubling_exchange, allreduce>,
              "partners exchange whole vectors", true},
  };
  return planners;
}

}  // namespace libcoll
