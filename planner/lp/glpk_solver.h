// Linear programs solved by GLPK. GLPK is GPL-3: what links this file is GPL-3 as a whole.
#pragma once

#include "planner/lp/linear_program.h"
#include "planner/result.h"

namespace libcoll {

/// Solves the program without writing to the terminal. Infeasible and unbounded programs are a status of the
/// solution; an Error means that the solver gave up (numerical trouble, memory, a malformed program). GLPK's own
/// fatal errors are caught, so that they too become an Error.
Result<LpSolution> solve_with_glpk(const LinearProgram& program, LpMethod method);

}  // namespace libcoll
