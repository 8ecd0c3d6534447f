// The table that connects a planner's name with its function, its help and its place in `libcoll info`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "planner/result.h"
#include "planner/schedule/schedule.h"

namespace libcoll {

/// What a caller may ask of any planner; each takes what concerns it.
struct PlanOptions {
  std::int32_t max_chunks = 0;  ///< upper limit on chunks_per_shard; 0: the planner's default
  double chunk_loss = 0.02;     ///< accepted loss in F through rounding to chunks (all-to-all)
};

/// One planning algorithm for one collective.
struct Planner {
  std::string_view name;  ///< "bfb", "mcf-path", "mcf-link": what --algorithm takes
  Collective collective;
  std::string_view needs;  ///< "" or what it needs: "GLPK", "hosts only (no switches)", …
  Result<Schedule> (*plan)(const Topology& topology, const PlanOptions& options);
  std::string_view text;  ///< one line for --help and `libcoll info`
};

/// Combinatorial planners, fit to run inside a user's process: BFB for allgather, reduce_scatter, allreduce.
/// The first entry of a collective is its default.
std::span<const Planner> broadcast_planners();

/// All-to-all planners; they need an LP solver and live in the `libcoll` command only.
std::span<const Planner> flow_planners();

/// The planner of that name for that collective in a table; an empty name takes the first of the collective.
/// The error lists the names there are.
Result<Planner> find_planner(std::span<const Planner> table, Collective collective, std::string_view name);

}  // namespace libcoll
