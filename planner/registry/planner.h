// The table that connects a planner's name with its function, its help and its place in `libcoll info`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "planner/base/result.h"
#include "planner/registry/planner_needs.h"
#include "planner/registry/planner_options.h"
#include "planner/schedule/schedule.h"

namespace libcoll::registry {

/// How a plan came about, beside what its schedule says. Printed by `libcoll plan`.
struct PlanFigures {
  std::string method;               ///< of the solver: "simplex", "bushes", …; empty when there is no choice
  std::int64_t symmetry_order = 1;  ///< automorphisms made use of
  double loss_routes = 0;           ///< of F through PlanOptions::max_routes
  /// What only this planner knows, by its JSON name, in the order it is printed.
  std::vector<std::pair<std::string, std::variant<std::string, double, std::int64_t>>> more;
};

/// What a caller may ask of any planner; each takes what concerns it.
struct PlanOptions {
  std::int32_t max_chunks = 0;  ///< upper limit on chunks_per_shard; 0: the planner's default
  double chunk_loss = 0.02;     ///< accepted loss in F through rounding to chunks (all-to-all)
  double gap = 0;               ///< enough once F_upper_bound / F − 1 is certified to be at most this; 0: the default
  double time_limit_seconds = 0;  ///< then the best plan so far, with its bound; 0: none
  std::int32_t threads = 1;
  bool schedule = true;         ///< false: figures and certificate only, the schedule has no transfers
  std::int32_t max_routes = 0;  ///< routes per pair at most; 0: as many as come out
  std::string paths;            ///< path sets of p-mcf: "disjoint", "shortest", "all:LENGTH"; empty: the default
  std::int32_t steps = 0;       ///< of time-stepped flow; 0: the smallest that serves
  double epsilon = 0;           ///< of approximation schemes; 0: the default
  std::int32_t trees = 0;       ///< per root, of ForestColl; 0: as many as the optimum takes; -1: a small number
  topology::NodeId root = 0;    ///< of rooted collectives
  bool symmetry = true;         ///< look for automorphisms and use them (all-to-all)
  std::string layer_method;     ///< as parse_layer_method reads it; empty: auto (all-to-all on routes)
  std::int32_t max_layers =
      0;  ///< layers at most, the routes chosen for them (p-mcf, mcf-path); 0: as many as it takes
  /// Accepted loss in F for fewer classes by destination (destination tree × layer), as InfiniBand has them; nothing:
  /// they are not counted, and routes have classes by source and destination (all-to-all on routes).
  std::optional<double> class_loss = std::nullopt;
  std::int32_t max_classes = 0;  ///< classes by destination at most, whatever F that costs; 0: any number
  /// Share of a shard every source·N + destination asks for; empty: all 1 (all-to-all).
  std::vector<double> demand;
  // Of fabrics that can be rewired (harvest), paper 002.
  std::string staging;                    ///< the staged algorithm; empty: the default of the collective
  double size_bytes = 1 << 20;            ///< M that the rewirings are for
  double alpha_seconds = 5e-7;            ///< α of a step, as in Figure 5
  double reconfiguration_seconds = 1e-5;  ///< α_r of a rewiring
  PlanFigures* figures = nullptr;         ///< filled in when not null
};

/// One planning algorithm for one collective.
struct Planner {
  std::string_view name;  ///< "bfb", "mcf-path", "mcf-link": what --algorithm takes
  schedule::Collective collective;
  Needs needs;
  Result<schedule::Schedule> (*plan)(const topology::Topology& topology, const PlanOptions& options);
  std::string_view text;  ///< one line for --help and `libcoll info`
  /// What it takes beside what all do: `libcoll plan` refuses the others.
  std::span<const TakenOption> options;
};

/// The planner of that name for that collective in a table; an empty name takes the first of the collective.
/// The error lists the names there are.
Result<Planner> find_planner(std::span<const Planner> table, schedule::Collective collective, std::string_view name);

}  // namespace libcoll::registry
