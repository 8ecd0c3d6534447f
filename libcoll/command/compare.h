// All algorithms of one collective on one topology, in one table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libcoll/command/command.h"
#include "planner/base/deadline.h"
#include "planner/registry/planner.h"
#include "planner/schedule/lockstep_time.h"

namespace libcoll::command {

/// One way of running an algorithm: most have one, pipelined trees one for every number of segments tried.
struct ComparedVariant {
  std::int32_t steps = 0;
  std::int64_t segments = 1;
  std::string bandwidth_time;  ///< T_B in M/B, exact
  double bandwidth_time_float = 0;
  std::string topology_bound;  ///< of T_B, exact
  std::string optimality;      ///< what is known about how far from the optimum T_B is
  schedule::LockstepTime time;
};

struct ComparedAlgorithm {
  std::string algorithm;
  std::string reason;  ///< why it cannot plan here; empty: it can
  bool lockstep = false;
  double plan_seconds = 0;  ///< of the first variant
  std::vector<std::string> faults;
  std::vector<ComparedVariant> variants;

  /// The variant with the least modelled time for M bytes.
  [[nodiscard]] const ComparedVariant& best(double bytes) const;
};

/// Every planner of a collective, planned, verified and costed.
struct Comparison {
  topology::Topology topology;
  schedule::Collective collective = schedule::Collective::allgather;
  std::vector<double> sizes;  ///< M in bytes
  std::vector<ComparedAlgorithm> algorithms;
};

/// One planner, in as many variants as it has and as there is time for.
ComparedAlgorithm compare_one(const registry::Planner& planner, const topology::Topology& topology,
                              const registry::PlanOptions& options, const Deadline& deadline = Deadline(0));

/// Each planner has an equal share of the time that those before it left, and is stopped at its end.
Comparison compare(const topology::Topology& topology, schedule::Collective collective,
                   const std::vector<double>& sizes, const registry::PlanOptions& options,
                   const Deadline& deadline = Deadline(0));

/// The figures with their fixed names (man page, section JSON), in the order of the planner table.
Json comparison_json(const Comparison& comparison);

/// A table for people, the fastest at the first size first, then what cannot plan here and why.
std::string comparison_text(const Comparison& comparison);

/// Whether every schedule was found right.
bool all_right(const Comparison& comparison);

}  // namespace libcoll::command
