#include <array>

#include "planner/flow/mcf.h"
#include "planner/flow/single_path.h"
#include "planner/planner.h"

namespace libcoll {

std::span<const Planner> flow_planners() {
  static constexpr std::array<Planner, 4> planners = {{
      {"mcf-path", Collective::alltoall, "GLPK", plan_mcf_path,
       "max concurrent flow on routes: NICs forward, layers without deadlock"},
      {"mcf-link", Collective::alltoall, "GLPK, hosts only (no switches)", plan_mcf_link,
       "max concurrent flow on links: hosts store and forward"},
      {"sssp", Collective::alltoall, "GLPK (for the bound)", plan_sssp,
       "one shortest path per pair, balanced as a fabric manager would: a baseline"},
      {"dor", Collective::alltoall, "GLPK (for the bound), a whole torus, mesh, ring or hypercube", plan_dor,
       "one dimension-ordered path per pair: a baseline"},
  }};
  return planners;
}

}  // namespace libcoll
