// What a call takes by each way it could go: the α–β model of papers 000 and 001 with the fabric's own α and b, beside
// what the program's own MPI was seen to take.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libcoll/base/calls.h"
#include "libcoll/select/tuning_table.h"
#include "planner/schedule/lockstep_time.h"
#include "planner/schedule/schedule.h"

namespace libcoll::select {

/// T(m) in nanoseconds for m bytes as tuning tables count them: of the vector (allreduce, bcast, reduce), of a block.
struct CostLine {
  double latency_nanoseconds = 0;
  double nanoseconds_per_byte = 0;
  [[nodiscard]] double at(std::int64_t bytes) const {
    return latency_nanoseconds + static_cast<double>(bytes) * nanoseconds_per_byte;
  }
};

/// Of a plan, all that the model knows.
struct PlanCost {
  std::int32_t hops = 0;      ///< T_L / α
  double bandwidth_time = 0;  ///< T_B in M/B
  std::int64_t degree = 1;    ///< B = degree · b
};

PlanCost plan_cost(const schedule::Schedule& schedule);

/// T_L·α + T_B·M/B, with M = m, or m · ranks where m is a block. A broadcast or reduction, planned as an allgather or
/// reduce-scatter of one shard, takes T_L·α + m/b: every link carries all of it once at most.
CostLine plan_line(CallKind call, std::int32_t ranks, const PlanCost& plan, const LinkFigures& links);

/// From rank to rank by DirectExchange: a round is α, and a rank takes in the blocks of all others by one link.
CostLine direct_line(std::int32_t ranks, const LinkFigures& links);

/// What calls of a size took.
struct CostSample {
  std::int64_t bytes = 0;
  std::int64_t nanoseconds = 0;
};

/// Straight lines between samples, in ascending order of bytes; before the first and after the last its own time.
/// Precondition: there is one.
double between_samples(std::span<const CostSample> samples, std::int64_t bytes);

/// The segment length s for which a message of m bytes over h links one after the other, T(s) = (m/s + h − 1)(α + s·β),
/// takes least: s = √(m·α / ((h − 1)·β)), as the power of two that is next below, from 16 KiB up to `most`.
std::int64_t best_segment_bytes(std::int64_t link_bytes, std::int32_t hops, const LinkFigures& links,
                                std::int64_t most);

/// Messages of s bytes that keep a link of delay α and bandwidth b busy while the oldest is under way: 1 + ⌈α·b / s⌉,
/// at most `most_in_flight`.
std::int64_t in_flight_for(std::int64_t segment_bytes, const LinkFigures& links);
inline constexpr std::int64_t most_in_flight = 256;

/// What is known when a choice is made.
struct CostQuestion {
  CallKind call = CallKind::allreduce;
  std::int32_t ranks = 1;
  LinkFigures links;
  PlanCost plan;
  bool can_go_direct = false;
  /// MPI's own, from its smallest size on. It is chosen between the first and the last size only: beyond, plans do what
  /// they were made for.
  std::vector<CostSample> native;
  /// Ours, where they were tried. Beyond the last size calls take as much more than the model says as there.
  std::vector<CostSample> by_plan;
  std::vector<CostSample> directly;
  /// Of allreduces by ScatteredReduction. They are chosen between the first and the last size only; empty: not
  /// possible.
  std::vector<CostSample> scattered;
  std::int64_t segment_bytes = 0;  ///< of a choice that says nothing
  std::int64_t in_flight = 1;      ///< as configured: messages per peer
  bool share_memory = false;       ///< nothing is forwarded while the processor copies: segments are not cut shorter
};

/// By size: the way that takes least, where ours may take 1/40 more than MPI's. The last one is for all sizes above.
std::vector<TuningChoice> choose_by_cost(const CostQuestion& question);

/// The same for reductions whose bits depend on the way: by kind, ranks and size alone, so that a sum has the same bits
/// in every run. Measured figures, `links`, decide only how a plan's messages are cut and sent, which changes no order.
/// Of the question's samples none is looked at; `can_be_scattered` as Communicator has it.
std::vector<TuningChoice> choose_by_facts(const CostQuestion& question, bool can_be_scattered);
/// The same where they need no messages. Without a way of their own for short ones these are left to MPI.
std::vector<TuningChoice> choose_by_facts_without_messages(CallKind call, std::int32_t ranks, bool has_short_calls);

/// Within a node, of nonblocking and persistent calls, which nobody can try before they begin: whether ours take less
/// than MPI's. By kind (the blocking variant), ranks and size alone. `bytes`: of the vector (allreduce, reduce), of all
/// blocks (allgatherv, reduce_scatter), of a block (others).
bool is_faster_unattended(CallKind call, std::int32_t ranks, std::int64_t bytes);

/// Across nodes, of the same calls: whether ours take more than MPI's because they are short, and plans have more
/// steps. By kind, ranks and size alone, as above.
bool is_slower_unattended(CallKind call, std::int32_t ranks, std::int64_t bytes);

/// Of calls that need no messages: ours at sizes at which they were seen to take less than
/// MPI's by more than noise, 1/20. Beyond the last size that both were tried at, as there. Precondition: both have
/// samples.
std::vector<TuningChoice> choose_by_samples(CallKind call, std::int32_t ranks, std::span<const CostSample> ours,
                                            std::span<const CostSample> native);

}  // namespace libcoll::select
