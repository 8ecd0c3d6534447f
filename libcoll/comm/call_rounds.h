// How a call is cut into rounds, and by which plan one of unequal blocks goes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libcoll/comm/membership.h"
#include "libcoll/execute/call.h"
#include "libcoll/execute/task_graph.h"
#include "libcoll/plan/lowered_plan.h"

namespace libcoll::comm {

/// A round of a call: the part of its buffers that the round works on.
struct Portion {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  execute::Shape shape;
};

/// The same on every rank.
std::int64_t rounds_of(const Membership& members, const execute::Call& call, const plan::LoweredPlan& plan);
Portion portion_of(const Membership& members, const execute::Call& call, std::int64_t rounds, std::int64_t index);

/// The plan by which a call goes whose blocks all ranks know: `usual`, or by way of all nodes.
plan::LoweredPlanPointer plan_for_lengths(const Membership& members, const execute::Call& call,
                                          const plan::LoweredPlanPointer& usual);

}  // namespace libcoll::comm
