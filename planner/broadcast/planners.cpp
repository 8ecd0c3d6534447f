#include <array>

#include "planner/broadcast/bfb.h"
#include "planner/broadcast/expansion.h"
#include "planner/planner.h"

namespace libcoll {

std::span<const Planner> broadcast_planners() {
  static constexpr std::string_view needs = "hosts only (no switches)";
  static constexpr std::string_view names = "a topology named line:, degree:, power:, product:, bidirectional:";
  static constexpr std::array<Planner, 6> planners = {{
      {"bfb", Collective::allgather, needs, plan_bfb_allgather,
       "breadth-first broadcast: fewest steps, links of each step balanced exactly"},
      {"bfb", Collective::reduce_scatter, needs, plan_bfb_reduce_scatter,
       "the reverse of the breadth-first-broadcast allgather on the transposed graph"},
      {"bfb", Collective::allreduce, needs, plan_bfb_allreduce,
       "breadth-first-broadcast reduce-scatter followed by allgather"},
      {"expansion", Collective::allgather, names, plan_expansion_allgather,
       "the base topology's schedule carried through line graph, degree expansion, Cartesian power"},
      {"expansion", Collective::reduce_scatter, names, plan_expansion_reduce_scatter,
       "the mirror image of the expanded allgather, by reverse symmetry or on the transposed graph"},
      {"expansion", Collective::allreduce, names, plan_expansion_allreduce,
       "expanded reduce-scatter followed by expanded allgather"},
  }};
  return planners;
}

}  // namespace libcoll
