// Flows of whole units, which split no pair over several paths.
#pragma once

#include "planner/flow/flow_problem.h"

namespace libcoll {

/// Where a source's links carry fractions of a unit, they close cycles (regardless of direction), as what enters and
/// leaves every node is whole. Along such a cycle flow is pushed, whichever way loads the fuller classes less, until
/// one of its links carries whole units, as long as no class is loaded beyond `most_load` times its capacity; what
/// would be stays as it is. Every fraction left can split a pair, whole units cannot. No link is used that was not, so
/// flows without cycles stay without. Writes solution.load anew.
///
/// Precondition: every source brings one unit to each other host.
void push_to_whole_units(const FlowProblem& problem, double most_load, FlowSolution& solution);

}  // namespace libcoll
