#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "planner/broadcast/bruck.h"
#include "planner/flow/demand.h"
#include "planner/flow/ewsp.h"
#include "planner/flow/fptas.h"
#include "planner/flow/ilp.h"
#include "planner/flow/link_mcf.h"
#include "planner/flow/mcf.h"
#include "planner/flow/mcf_decomposed.h"
#include "planner/flow/p_mcf.h"
#include "planner/flow/single_path.h"
#include "planner/flow/ts_mcf.h"
#include "planner/planner.h"

namespace libcoll {
namespace {

constexpr std::array<std::string_view, 12> for_demands = {"mcf-decomposed", "mcf-path", "mcf-link",     "mcf-extp",
                                                          "mcf-child",      "mcf",      "p-mcf",        "fptas",
                                                          "ts-mcf",         "ewsp",     "ilp-disjoint", "ilp-shortest"};

}  // namespace

bool takes_demand(std::string_view algorithm) {
  return std::find(for_demands.begin(), for_demands.end(), algorithm) != for_demands.end();
}

std::string demand_planners() {
  std::string names;
  for (const std::string_view name : for_demands) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

std::span<const Planner> flow_planners() {
  static constexpr std::array<Planner, 15> planners = {{
      {"mcf-path", Collective::alltoall, "GLPK", plan_mcf_path,
       "max concurrent flow on routes: NICs forward, layers without deadlock"},
      {"mcf-link", Collective::alltoall, "GLPK, hosts only (no switches)", plan_mcf_link,
       "max concurrent flow on links: hosts store and forward"},
      {"sssp", Collective::alltoall, "GLPK (for the bound)", plan_sssp,
       "one shortest path per pair, balanced as a fabric manager would: a baseline"},
      {"dor", Collective::alltoall, "GLPK (for the bound), a whole torus, mesh, ring or hypercube", plan_dor,
       "one dimension-ordered path per pair: a baseline"},
      {"ts-mcf", Collective::alltoall, "GLPK, hosts only (no switches)", plan_ts_mcf,
       "time-stepped flow on links: hosts store and forward in --steps rounds"},
      {"p-mcf", Collective::alltoall, "GLPK", plan_p_mcf, "max concurrent flow on chosen paths: --paths"},
      {"mcf-extp", Collective::alltoall, "GLPK", plan_mcf_extp, "widest paths extracted from the flow of every pair"},
      {"mcf-decomposed", Collective::alltoall, "GLPK", plan_mcf_decomposed,
       "the master LP by source, its flow decomposed into paths"},
      {"mcf-child", Collective::alltoall, "GLPK, a small fabric", plan_mcf_child,
       "the master LP by source and a child LP for each: a reference"},
      {"mcf", Collective::alltoall, "GLPK, a small fabric", plan_mcf, "the LP of all pairs and links: a reference"},
      {"fptas", Collective::alltoall, "", plan_fptas,
       "approximation by shortest-path trees on growing lengths (--epsilon): a baseline"},
      {"ewsp", Collective::alltoall, "GLPK (for the bound)", plan_ewsp,
       "equal parts on all shortest paths: a baseline"},
      {"ilp-disjoint", Collective::alltoall, "GLPK, a small fabric", plan_ilp_disjoint,
       "one of the link-disjoint paths per pair by integer programming: a baseline"},
      {"ilp-shortest", Collective::alltoall, "GLPK, a small fabric", plan_ilp_shortest,
       "one of the shortest paths per pair by integer programming: a baseline"},
      {"bruck", Collective::alltoall, "", plan_bruck_alltoall,
       "blocks combined into log2 N messages per host, half of them in each: a baseline for small blocks"},
  }};
  return planners;
}

}  // namespace libcoll
