// Harvest (paper 002): when and how to rewire a photonic fabric in the course of a collective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "planner/base/deadline.h"
#include "planner/base/result.h"
#include "planner/reconfigure/candidates.h"
#include "planner/reconfigure/configuration.h"
#include "planner/reconfigure/interval_program.h"
#include "planner/reconfigure/staged_collective.h"
#include "planner/reconfigure/step_flow.h"

namespace libcoll::reconfigure {

/// The parameters of Equation 4.
struct HarvestModel {
  double bytes = 0;                    ///< M, the whole vector (all-to-all: the N blocks of a node)
  double alpha_seconds = 0;            ///< of a step
  double delta_seconds = 0;            ///< of a link
  double bytes_per_second = 1;         ///< of one port
  double reconfiguration_seconds = 0;  ///< α_r
};

/// A step as it runs: α + δ·hops + unit·congestion / bandwidth.
struct HarvestStep {
  std::size_t configuration = 0;
  FlowPoint flow;
  double seconds = 0;  ///< without rewiring
};

struct HarvestPlan {
  std::vector<Interval> intervals;  ///< of steps, from 0
  bool rewired_at_start = false;    ///< the first interval is not on the wiring that was there
  std::vector<HarvestStep> steps;
  double seconds = 0;         ///< t_c(1, s) of Equation 4
  double static_seconds = 0;  ///< the best of the fixed topologies, all the time; infinite when none was looked at
  std::size_t static_configuration = 0;
  double ring_seconds = 0;  ///< the ring with all ports all the time, over shortest paths only: Figure 5's baseline
  double every_step_seconds = 0;  ///< every step on its own matching (BvN schedules)

  [[nodiscard]] std::size_t rewirings() const { return intervals.size() - 1 + (rewired_at_start ? 1 : 0); }
};

/// What there was no time for.
struct HarvestLeftOut {
  std::int64_t candidates = 0;  ///< not looked at for every step; no plan uses them in the steps left out
  std::int64_t moves = 0;       ///< of the local search
  std::int64_t intervals = 0;   ///< whose integer program was ended early: what it proves is weaker
};

/// A collective and what the fabric could be wired to for it, with θ of every step on every configuration. Made once,
/// then priced for any number of models.
class Harvest {
 public:
  /// Candidates as in candidates.h, and `initial`, the wiring that is there when the collective begins: leaving it
  /// costs α_r as any rewiring does. Without it the first wiring is free (Algorithm 1). After the deadline only every
  /// step's own matching, see left_out(). Errors of the candidates, of
  /// the LP solver, for an initial wiring of other size or more ports.
  static Result<Harvest> prepare(StagedCollective collective, std::int32_t degree,
                                 std::optional<Configuration> initial = std::nullopt,
                                 const Deadline& deadline = Deadline(0));

  /// The best rewirings, and the baselines of §6.1: the best static one of ring, 2D and 3D torus, generalized Kautz
  /// graph and initial wiring, and rewiring for every step, both with α_r wherever E_i ≠ E_{i−1}.
  [[nodiscard]] HarvestPlan plan(const HarvestModel& model) const;

  /// Local search: exchanges the ends of two wires (degrees stay) on the configurations of the current plan, `moves`
  /// times in all or until the deadline, and keeps what makes an interval faster as a further candidate. Returns how
  /// many it kept.
  Result<std::size_t> search(const HarvestModel& model, std::size_t moves, std::uint64_t seed,
                             const Deadline& deadline = Deadline(0));

  /// The subproblem of every interval by integer program (integer_interval.h), at most `seconds` each (0: no limit):
  /// what is faster than the candidates becomes one. Returns what no rewirings of the collective can beat under this
  /// model: the dynamic program over the intervals' proven bounds. The time until the deadline is shared by the
  /// intervals. Errors of integer_interval.
  Result<double> solve(const HarvestModel& model, double seconds, const Deadline& deadline = Deadline(0));

  [[nodiscard]] const HarvestLeftOut& left_out() const { return left_out_; }

  [[nodiscard]] const StagedCollective& collective() const { return collective_; }
  [[nodiscard]] const std::vector<Configuration>& configurations() const { return candidates_.configurations; }
  /// Of a step (from 0).
  [[nodiscard]] const CongestionFrontier& frontier(std::size_t configuration, std::size_t step) const {
    return frontiers_[configuration][matrix_of_[step]];
  }

 private:
  /// `wanted`: matrices by their number; the others count as not served.
  Status add(Configuration configuration, const std::function<bool(std::size_t)>& wanted = {},
             const Deadline& deadline = Deadline(0));
  [[nodiscard]] HarvestStep step_on(std::size_t configuration, std::size_t step, const HarvestModel& model) const;
  [[nodiscard]] double seconds_on(const Interval& interval, const HarvestModel& model) const;
  [[nodiscard]] double ring_seconds(const HarvestModel& model) const;
  [[nodiscard]] double sequence_seconds(const std::vector<std::size_t>& by_step, const HarvestModel& model) const;

  StagedCollective collective_;
  std::int32_t degree_ = 0;
  Candidates candidates_;
  std::vector<std::vector<Demand>> matrices_;               ///< different ones only
  std::vector<std::size_t> matrix_of_;                      ///< by step
  std::vector<std::vector<CongestionFrontier>> frontiers_;  ///< [configuration][matrix]
  std::optional<std::size_t> initial_;
  HarvestLeftOut left_out_;
};

/// What a step of `bytes` per unit takes at best on a configuration (Equation 3): its seconds are infinite when the
/// frontier is empty.
HarvestStep step_seconds(const CongestionFrontier& frontier, double bytes, const HarvestModel& model);

}  // namespace libcoll::reconfigure
