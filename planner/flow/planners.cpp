#include "planner/flow/planners.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "planner/broadcast/classic/bruck.h"
#include "planner/flow/baseline/ewsp.h"
#include "planner/flow/baseline/fptas.h"
#include "planner/flow/baseline/ilp.h"
#include "planner/flow/baseline/single_path.h"
#include "planner/flow/link_mcf.h"
#include "planner/flow/mcf.h"
#include "planner/flow/mcf_decomposed.h"
#include "planner/flow/p_mcf.h"
#include "planner/flow/ts_mcf.h"

namespace libcoll::flow {

using namespace baseline;
using namespace broadcast::classic;
using namespace registry;
using namespace schedule;

namespace {

constexpr double most_time_steps = 1000;  // the time-stepped LP has a column for every link and step

/// What lowering to routes takes, and more.
template <std::size_t more>
constexpr auto lowered_and(const std::array<TakenOption, more>& others) {
  constexpr std::array lowered = {TakenOption{PlannerOption::max_chunks, 0, most_chunks},
                                  TakenOption{PlannerOption::chunk_loss, 0, 1},
                                  TakenOption{PlannerOption::max_routes, 0, most_chunks},
                                  TakenOption{PlannerOption::steps, 0, most_steps},
                                  TakenOption{PlannerOption::layer_method},
                                  TakenOption{PlannerOption::max_layers, 0, 1024},
                                  TakenOption{PlannerOption::demand},
                                  TakenOption{PlannerOption::forwarding_table}};
  std::array<TakenOption, lowered.size() + more> all{};
  std::copy(lowered.begin(), lowered.end(), all.begin());
  std::copy(others.begin(), others.end(), all.begin() + lowered.size());
  return all;
}

}  // namespace

bool takes_demand(std::string_view algorithm) {
  const auto table = flow_planners();
  return std::any_of(table.begin(), table.end(), [&](const Planner& planner) {
    return planner.name == algorithm && takes(planner, PlannerOption::demand);
  });
}

std::string demand_planners() {
  std::string names;
  for (const Planner& planner : flow_planners()) {
    if (takes(planner, PlannerOption::demand)) names += (names.empty() ? "" : ", ") + std::string(planner.name);
  }
  return names;
}

std::span<const Planner> flow_planners() {
  static constexpr TakenOption with_gap{PlannerOption::gap, 0, 1};
  static constexpr TakenOption symmetric{PlannerOption::no_symmetry};

  // These choose among paths; the others' paths are what they are.
  static constexpr TakenOption class_loss{PlannerOption::class_loss, 0, 1};
  static constexpr TakenOption max_classes{PlannerOption::max_classes, 0, most_classes};

  static constexpr auto for_mcf_path = lowered_and(std::array{class_loss, max_classes, with_gap, symmetric});
  static constexpr auto for_p_mcf =
      lowered_and(std::array{TakenOption{PlannerOption::paths}, class_loss, max_classes, symmetric});
  static constexpr auto for_split = lowered_and(std::array{symmetric});
  static constexpr auto for_mcf = lowered_and(std::array<TakenOption, 0>{});
  static constexpr auto for_fptas = lowered_and(std::array{with_gap, TakenOption{PlannerOption::epsilon, 0, 0.5}});
  static constexpr auto for_ilp = lowered_and(std::array{with_gap, symmetric});
  // Hosts forward: there are no routes.
  static constexpr std::array for_mcf_link = {TakenOption{PlannerOption::max_chunks, 0, most_chunks},
                                              TakenOption{PlannerOption::chunk_loss, 0, 1},
                                              TakenOption{PlannerOption::max_routes, 0, most_chunks},
                                              TakenOption{PlannerOption::demand},
                                              with_gap,
                                              symmetric};
  static constexpr std::array for_ts_mcf = {
      TakenOption{PlannerOption::steps, 0, most_time_steps}, TakenOption{PlannerOption::max_chunks, 0, most_chunks},
      TakenOption{PlannerOption::chunk_loss, 0, 1}, TakenOption{PlannerOption::demand}, symmetric};
  static constexpr std::array for_single_path = {TakenOption{PlannerOption::layer_method},
                                                 TakenOption{PlannerOption::max_layers, 0, 1024},
                                                 TakenOption{PlannerOption::forwarding_table}, symmetric};
  static constexpr std::array on_routes = {TakenOption{PlannerOption::forwarding_table}};
  static constexpr Needs on_given_routes{Need::forwarding};
  static constexpr Needs by_lp{Need::lp_solver, Need::forwarding};
  static constexpr Needs by_large_lp{Need::lp_solver, Need::small_fabric, Need::forwarding};
  static constexpr Needs by_lp_on_hosts{Need::lp_solver, Need::hosts_only};
  static constexpr Needs bounded_by_lp{Need::lp_bound, Need::forwarding};
  static constexpr Needs on_whole_grid{Need::lp_bound, Need::whole_grid, Need::forwarding};
  static constexpr std::array<Planner, 15> planners = {{
      {"mcf-path", Collective::alltoall, by_lp, plan_mcf_path,
       "max concurrent flow on routes: NICs forward, layers without deadlock", for_mcf_path},
      {"mcf-link", Collective::alltoall, by_lp_on_hosts, plan_mcf_link,
       "max concurrent flow on links: hosts store and forward", for_mcf_link},
      {"sssp", Collective::alltoall, bounded_by_lp, plan_sssp,
       "one shortest path per pair, balanced as a fabric manager would: a baseline", for_single_path},
      {"dor", Collective::alltoall, on_whole_grid, plan_dor, "one dimension-ordered path per pair: a baseline",
       for_single_path},
      {"ts-mcf", Collective::alltoall, by_lp_on_hosts, plan_ts_mcf,
       "time-stepped flow on links: hosts store and forward in --steps rounds", for_ts_mcf},
      {"p-mcf", Collective::alltoall, by_lp, plan_p_mcf, "max concurrent flow on chosen paths: --paths", for_p_mcf},
      {"mcf-extp", Collective::alltoall, by_lp, plan_mcf_extp, "widest paths extracted from the flow of every pair",
       for_split},
      {"mcf-decomposed", Collective::alltoall, by_lp, plan_mcf_decomposed,
       "the master LP by source, its flow decomposed into paths", for_split},
      {"mcf-child", Collective::alltoall, by_large_lp, plan_mcf_child,
       "the master LP by source and a child LP for each: a reference", for_split},
      {"mcf", Collective::alltoall, by_large_lp, plan_mcf, "the LP of all pairs and links: a reference", for_mcf},
      {"fptas", Collective::alltoall, on_given_routes, plan_fptas,
       "approximation by shortest-path trees on growing lengths (--epsilon): a baseline", for_fptas},
      {"ewsp", Collective::alltoall, bounded_by_lp, plan_ewsp, "equal parts on all shortest paths: a baseline",
       for_split},
      {"ilp-disjoint", Collective::alltoall, by_large_lp, plan_ilp_disjoint,
       "one of the link-disjoint paths per pair by integer programming: a baseline", for_ilp},
      {"ilp-shortest", Collective::alltoall, by_large_lp, plan_ilp_shortest,
       "one of the shortest paths per pair by integer programming: a baseline", for_ilp},
      {"bruck", Collective::alltoall, on_given_routes, plan_bruck_alltoall,
       "blocks combined into log2 N messages per host, half of them in each: a baseline for small blocks", on_routes},
  }};
  return planners;
}

}  // namespace libcoll::flow
