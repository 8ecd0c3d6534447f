#include "planner/lp/glpk_solver.h"

#include <glpk.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <limits>
#include <string>
#include <utility>

namespace libcoll::lp {
namespace {

int bound_type(double lower, double upper) {
  if (std::isinf(lower)) return std::isinf(upper) ? GLP_FR : GLP_UP;
  if (std::isinf(upper)) return GLP_LO;
  return lower < upper ? GLP_DB : GLP_FX;
}

/// The program in GLPK's compressed form. Built before GLPK is entered, because GLPK leaves by longjmp when it
/// fails and must then not jump over destructors.
struct Matrix {
  std::vector<int> rows{0};  // GLPK counts from 1
  std::vector<int> columns{0};
  std::vector<double> values{0};
};

Matrix matrix_of(const LinearProgram& program) {
  Matrix matrix;
  for (std::size_t row = 0; row < program.rows.size(); ++row) {
    for (const LpEntry& entry : program.rows[row].entries) {
      matrix.rows.push_back(static_cast<int>(row) + 1);
      matrix.columns.push_back(entry.column + 1);
      matrix.values.push_back(entry.value);
    }
  }
  return matrix;
}

/// Everything one solve reads and writes; it outlives a jump out of GLPK.
struct Job {
  const LinearProgram* program = nullptr;
  void (*solve)(Job& job) = nullptr;
  int milliseconds = std::numeric_limits<int>::max();
  double gap = 0;
  Matrix matrix;
  glp_prob* problem = nullptr;
  LpSolution solution;
  double bound = 0;  ///< of integer programs
  int failure = 0;   ///< GLPK's return code
  int status = GLP_UNDEF;
  std::string messages;  ///< what GLPK would have printed
};

void load(Job& job) {
  const LinearProgram& program = *job.program;
  job.problem = glp_create_prob();
  glp_set_obj_dir(job.problem, program.sense == Sense::minimise ? GLP_MIN : GLP_MAX);
  if (!program.rows.empty()) glp_add_rows(job.problem, static_cast<int>(program.rows.size()));
  for (std::size_t i = 0; i < program.rows.size(); ++i) {
    const LpRow& row = program.rows[i];
    glp_set_row_bnds(job.problem, static_cast<int>(i) + 1, bound_type(row.lower, row.upper), row.lower, row.upper);
  }
  if (!program.columns.empty()) glp_add_cols(job.problem, static_cast<int>(program.columns.size()));
  for (std::size_t i = 0; i < program.columns.size(); ++i) {
    const LpColumn& column = program.columns[i];
    const int index = static_cast<int>(i) + 1;
    glp_set_col_bnds(job.problem, index, bound_type(column.lower, column.upper), column.lower, column.upper);
    glp_set_obj_coef(job.problem, index, column.cost);
    if (column.integer) glp_set_col_kind(job.problem, index, GLP_IV);
  }
  glp_load_matrix(job.problem, static_cast<int>(job.matrix.values.size()) - 1, job.matrix.rows.data(),
                  job.matrix.columns.data(), job.matrix.values.data());
}

void solve_by_simplex(Job& job) {
  glp_smcp parameters;
  glp_init_smcp(&parameters);
  parameters.msg_lev = GLP_MSG_OFF;
  parameters.presolve = GLP_ON;
  parameters.tm_lim = job.milliseconds;
  job.failure = glp_simplex(job.problem, &parameters);
  job.status = glp_get_status(job.problem);
  // The presolver reports these two by its return code and leaves the status undefined.
  if (job.failure == GLP_ENOPFS) job.status = GLP_NOFEAS;
  if (job.failure == GLP_ENODFS) job.status = GLP_UNBND;
  if (job.status == GLP_NOFEAS || job.status == GLP_UNBND) job.failure = 0;
  if (job.failure != 0 || job.status != GLP_OPT) return;
  LpSolution& solution = job.solution;
  solution.objective = glp_get_obj_val(job.problem);
  for (std::size_t i = 0; i < solution.primal.size(); ++i) {
    solution.primal[i] = glp_get_col_prim(job.problem, static_cast<int>(i) + 1);
  }
  for (std::size_t i = 0; i < solution.row_duals.size(); ++i) {
    solution.row_duals[i] = glp_get_row_dual(job.problem, static_cast<int>(i) + 1);
  }
}

void solve_by_interior_point(Job& job) {
  glp_iptcp parameters;
  glp_init_iptcp(&parameters);
  parameters.msg_lev = GLP_MSG_OFF;
  parameters.ord_alg = GLP_ORD_AMD;
  job.failure = glp_interior(job.problem, &parameters);
  job.status = glp_ipt_status(job.problem);
  if (job.failure != 0 || job.status != GLP_OPT) return;
  LpSolution& solution = job.solution;
  solution.objective = glp_ipt_obj_val(job.problem);
  for (std::size_t i = 0; i < solution.primal.size(); ++i) {
    solution.primal[i] = glp_ipt_col_prim(job.problem, static_cast<int>(i) + 1);
  }
  for (std::size_t i = 0; i < solution.row_duals.size(); ++i) {
    solution.row_duals[i] = glp_ipt_row_dual(job.problem, static_cast<int>(i) + 1);
  }
}

/// Called at every node of the search tree: keeps the bound of what is still open.
void keep_bound(glp_tree* tree, void* job) {
  const int node = glp_ios_best_node(tree);
  if (node != 0) static_cast<Job*>(job)->bound = glp_ios_node_bound(tree, node);
}

void solve_by_branch_and_cut(Job& job) {
  glp_iocp parameters;
  glp_init_iocp(&parameters);
  parameters.msg_lev = GLP_MSG_OFF;
  parameters.presolve = GLP_ON;
  parameters.tm_lim = job.milliseconds;
  parameters.mip_gap = job.gap;
  parameters.cb_func = keep_bound;
  parameters.cb_info = &job;
  job.bound = job.program->sense == Sense::minimise ? -no_bound : no_bound;
  job.failure = glp_intopt(job.problem, &parameters);
  job.status = glp_mip_status(job.problem);
  if (job.failure == GLP_ENOPFS) job.status = GLP_NOFEAS;
  if (job.failure == GLP_ENODFS) job.status = GLP_UNBND;
  if (job.status == GLP_NOFEAS || job.status == GLP_UNBND) job.failure = 0;
  if (job.status != GLP_OPT && job.status != GLP_FEAS) return;
  job.solution.objective = glp_mip_obj_val(job.problem);
  for (std::size_t i = 0; i < job.solution.primal.size(); ++i) {
    job.solution.primal[i] = glp_mip_col_val(job.problem, static_cast<int>(i) + 1);
  }
}

/// Non-zero tells GLPK that its text needs no terminal.
int keep_message(void* job, const char* text) {
  static_cast<Job*>(job)->messages += text;
  return 1;
}

void leave_glpk(void* place) { std::longjmp(*static_cast<std::jmp_buf*>(place), 1); }

/// False when GLPK met a fatal error, after which its whole environment is thrown away. Holds nothing with a
/// destructor, so that jumping out of it is defined.
bool run_guarded(Job& job) {
  std::jmp_buf place;
  if (setjmp(place) != 0) {  // NOLINT(cert-err52-cpp): the only way out of GLPK's fatal errors
    glp_free_env();
    return false;
  }
  glp_term_hook(keep_message, &job);
  glp_error_hook(leave_glpk, &place);
  load(job);
  job.solve(job);
  glp_delete_prob(job.problem);
  glp_error_hook(nullptr, nullptr);
  glp_term_hook(nullptr, nullptr);
  return true;
}

int in_milliseconds(double seconds) {
  constexpr double most = std::numeric_limits<int>::max();
  return seconds > 0 ? static_cast<int>(std::clamp(seconds * 1000, 1.0, most)) : std::numeric_limits<int>::max();
}

Job job_for(const LinearProgram& program, double seconds) {
  Job job;
  job.program = &program;
  job.milliseconds = in_milliseconds(seconds);
  job.matrix = matrix_of(program);
  job.solution.primal.resize(program.columns.size());
  job.solution.row_duals.resize(program.rows.size());
  return job;
}

Error refusal(const Job& job) {
  return Error{"GLPK refused the linear program: " + job.messages.substr(0, job.messages.find('\n'))};
}

Error no_solution(const Job& job) {
  return Error{"GLPK found no solution of the linear program (return code " + std::to_string(job.failure) +
               ", status " + std::to_string(job.status) + ")"};
}

}  // namespace

Result<LpSolution> solve_with_glpk(const LinearProgram& program, LpMethod method, double seconds) {
  Job job = job_for(program, seconds);
  job.solve = method == LpMethod::simplex ? solve_by_simplex : solve_by_interior_point;
  if (!run_guarded(job)) return refusal(job);
  if (job.failure == 0 && job.status == GLP_OPT) return std::move(job.solution);
  if (job.failure == 0 && job.status == GLP_NOFEAS) return LpSolution{LpStatus::infeasible, 0, {}, {}};
  if (job.failure == 0 && job.status == GLP_UNBND) return LpSolution{LpStatus::unbounded, 0, {}, {}};
  if (job.failure == GLP_ETMLIM) return LpSolution{LpStatus::time_limit, 0, {}, {}};
  return no_solution(job);
}

Result<IntegerSolution> solve_integer_with_glpk(const LinearProgram& program, double gap, double seconds) {
  Job job = job_for(program, seconds);
  job.solve = solve_by_branch_and_cut;
  job.gap = gap;
  if (!run_guarded(job)) return refusal(job);
  const bool found = job.status == GLP_OPT || job.status == GLP_FEAS;
  const bool proven = (job.failure == 0 && job.status == GLP_OPT) || job.failure == GLP_EMIPGAP;
  if (job.failure == 0 && job.status == GLP_NOFEAS) return IntegerSolution{LpStatus::infeasible, 0, 0, {}};
  if (job.failure == 0 && job.status == GLP_UNBND) return IntegerSolution{LpStatus::unbounded, 0, 0, {}};
  if (!proven && job.failure != GLP_ETMLIM) return no_solution(job);
  IntegerSolution result{proven ? LpStatus::optimal : LpStatus::time_limit, job.solution.objective, job.bound, {}};
  if (job.failure == 0) result.bound = result.objective;
  if (found) result.primal = std::move(job.solution.primal);
  return result;
}

}  // namespace libcoll::lp
