// Linear programs solved by GLPK. GLPK is GPL-3: what links this file is GPL-3 as a whole.
#pragma once

#include "planner/base/result.h"
#include "planner/lp/linear_program.h"

namespace libcoll::lp {

/// Solves the program without writing to the terminal. Infeasible and unbounded programs are a status of the
/// solution; an Error means that the solver gave up (numerical trouble, memory, a malformed program). GLPK's own
/// fatal errors are caught, so that they too become an Error. `seconds` > 0 limits simplex, which then ends with status
/// time_limit and no solution; interior point cannot be stopped.
Result<LpSolution> solve_with_glpk(const LinearProgram& program, LpMethod method, double seconds = 0);

/// Solves the program with its integer columns by branch and cut, until the best solution is proven to be within
/// the relative `gap` of the optimum or `seconds` (> 0) are over. Errors as above.
Result<IntegerSolution> solve_integer_with_glpk(const LinearProgram& program, double gap, double seconds);

}  // namespace libcoll::lp
