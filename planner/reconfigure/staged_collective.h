// Collectives in steps, as paper 002 §3.3 has them: communication matrices M_1..M_s and what each pair exchanges.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "planner/base/rational.h"
#include "planner/base/result.h"
#include "planner/broadcast/classic/pattern.h"
#include "planner/schedule/schedule.h"

namespace libcoll::reconfigure {

/// An entry of a communication matrix: `units` times what the step's unit is.
struct Demand {
  topology::NodeId from = 0;
  topology::NodeId to = 0;
  std::int64_t units = 1;
  friend bool operator==(const Demand&, const Demand&) = default;
  friend bool operator<(const Demand& a, const Demand& b) {
    return std::tie(a.from, a.to, a.units) < std::tie(b.from, b.to, b.units);
  }
};

/// M_i and m_i: nothing else is exchanged until all of it has arrived.
struct StagedStep {
  std::vector<Demand> demands;  ///< by ascending ends, units without common factor
  Rational unit;                ///< a unit's part of M, the whole vector (all-to-all: the N blocks of a node)
};

/// A collective algorithm for N nodes, whatever they are connected by.
struct StagedCollective {
  std::string algorithm;
  std::int32_t nodes = 0;
  std::vector<StagedStep> steps;
  std::optional<schedule::Collective> collective;  ///< none for demands
  /// Which chunks go from whom to whom, where a schedule can be made of it: not for demands.
  std::optional<broadcast::classic::Pattern> pattern;
  topology::NodeId root = 0;  ///< of broadcast and reduce
};

/// What an algorithm is staged for.
struct StageOptions {
  std::int32_t nodes = 2;
  std::int32_t ports = 1;                ///< of "bruck", "direct" and "binary-tree": messages of a node in a step
  std::vector<std::int32_t> dimensions;  ///< of "swing-multiport": sizes of the torus; empty: one ring
  /// Of "direct" all-to-all: what each source·N + destination asks for, the largest being 1 (demand_reader.h); empty:
  /// all the same.
  std::vector<double> demand;
  topology::NodeId root = 0;  ///< of broadcast and reduce
};

/// One way to stage one collective.
struct Staging {
  std::string_view collective;  ///< "allreduce", …, "broadcast", "reduce"
  std::string_view algorithm;
  bool powers_of_two;     ///< of nodes only
  std::string_view text;  ///< one line of help
  Result<StagedCollective> (*make)(const StageOptions& options);
  bool takes_ports = false;       ///< goes by StageOptions::ports
  bool takes_dimensions = false;  ///< goes by StageOptions::dimensions
};

/// Every staging there is; the first of a collective that serves the number of nodes is its default.
std::span<const Staging> stagings();

/// By name; an empty algorithm is the default of the collective. The error lists what there is, or says what the
/// algorithm needs.
Result<StagedCollective> stage(std::string_view collective, std::string_view algorithm, const StageOptions& options);

/// Any schedule of ours: its transfers step by step, whatever routes they took.
Result<StagedCollective> staged(const schedule::Schedule& schedule);

}  // namespace libcoll::reconfigure
