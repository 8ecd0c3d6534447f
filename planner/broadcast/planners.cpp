#include <array>

#include "planner/broadcast/bfb.h"
#include "planner/broadcast/forestcoll.h"
#include "planner/planner.h"

namespace libcoll {

std::span<const Planner> broadcast_planners() {
  static constexpr std::string_view needs = "hosts only (no switches)";
  static constexpr std::array<Planner, 6> planners = {{
      {"bfb", Collective::allgather, needs, plan_bfb_allgather,
       "breadth-first broadcast: fewest steps, links of each step balanced exactly"},
      {"bfb", Collective::reduce_scatter, needs, plan_bfb_reduce_scatter,
       "the reverse of the breadth-first-broadcast allgather on the transposed graph"},
      {"bfb", Collective::allreduce, needs, plan_bfb_allreduce,
       "breadth-first-broadcast reduce-scatter followed by allgather"},
      {"forestcoll", Collective::allgather, "", plan_forestcoll_allgather,
       "pipelined spanning trees of provably best bandwidth, through switches too"},
      {"forestcoll", Collective::reduce_scatter, "", plan_forestcoll_reduce_scatter,
       "the reverse of the forest of spanning trees on the transposed graph"},
      {"forestcoll", Collective::allreduce, "", plan_forestcoll_allreduce,
       "spanning trees in, then spanning trees out"},
  }};
  return planners;
}

}  // namespace libcoll
