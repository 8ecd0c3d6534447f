#include <array>

#include "planner/flow/mcf.h"
#include "planner/planner.h"

namespace libcoll {

std::span<const Planner> flow_planners() {
  static constexpr std::array<Planner, 2> planners = {{
      {"mcf-path", Collective::alltoall, "GLPK", plan_mcf_path,
       "max concurrent flow on routes: NICs forward, layers without deadlock"},
      {"mcf-link", Collective::alltoall, "GLPK, hosts only (no switches)", plan_mcf_link,
       "max concurrent flow on links: hosts store and forward"},
  }};
  return planners;
}

}  // namespace libcoll
