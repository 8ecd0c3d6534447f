// How long a schedule takes on its own topology, transfer by transfer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/base/result.h"
#include "planner/schedule/schedule.h"

namespace libcoll::simulate {

enum class NodeTiming : std::uint8_t {
  data_flow,  ///< a transfer starts when its data is there and its links are free, as the runtime does
  lockstep,   ///< no step begins before the last transfer of the one before it has arrived
};

struct SimulationOptions {
  double bytes = 1 << 20;          ///< M, the whole vector (all-to-all: the N blocks of a node)
  double alpha_seconds = 0;        ///< start-up of a transfer (lockstep: of a step), beside the latency of its links
  std::int64_t segment_bytes = 0;  ///< longer chunks are cut in data-flow, so that hops overlap; 0: they are not
  NodeTiming timing = NodeTiming::data_flow;
};

struct Simulation {
  double seconds = 0;                ///< until the last transfer has arrived
  std::vector<double> step_seconds;  ///< by step: until its last transfer has arrived
  double busiest_link_seconds = 0;   ///< the longest that a link carries data
  std::size_t messages = 0;          ///< transfers, or their segments
};

/// Data-flow: a chunk (or segment) that is there competes for the next link of its way; of those that wait for a link
/// the one of the earliest step goes first, in canonical order, those on routes in turn from every source to all its
/// destinations, segment by segment. A route's links forward as soon as a head arrives (cut-through) and queue what has
/// to wait. A chunk that is reduced has arrived when all its contributions of earlier steps have. Lockstep: a step
/// takes its α, its longest way's latency and its largest load, and what rewiring before it takes (paper 002, Equation
/// 4). Precondition: verify() or, for lockstep, verify_lockstep() finds the schedule right. Errors: data-flow of a
/// schedule that rewires the fabric, which has steps only; more chunks and segments than memory has room for.
Result<Simulation> simulate(const schedule::Schedule& schedule, const SimulationOptions& options);

}  // namespace libcoll::simulate
