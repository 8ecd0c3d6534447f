// Max concurrent flow by PDHG, bushes, GLPK and Clp, each in a process of its own and for a limited time.
//
//   concurrent_flow_race GAP SECONDS TOPOLOGY...       concurrent_flow_race 0.001 60 genkautz:100,4
//
// Prints CSV: the linear program (6)-(9) of paper 003 has so many columns and rows; a method's seconds, its U = 1/F and
// the gap that it proves (0: a linear program, solved), and its seconds over those of "bushes, pdhg". Methods that were
// stopped have no figures.
#include <coin/Clp_C_Interface.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/flow/first_order/bushes.h"
#include "planner/flow/first_order/pdhg.h"
#include "planner/flow/lp/master_lp.h"
#include "planner/flow/problem/flow_problem.h"
#include "planner/lp/glpk_solver.h"
#include "planner/topology/automorphisms.h"
#include "planner/topology/reader.h"

namespace libcoll {

using namespace flow::first_order;
using namespace flow::problem;
using namespace flow_lp;
using namespace lp;
using namespace topology;

namespace {

// Where max_concurrent_flow() goes over from bushes to PDHG.
constexpr double handover_gap = 1.5e-2;

/// What a method came to.
struct Outcome {
  double load = 0;  ///< U
  double gap = 0;
};

struct Timed {
  double seconds = 0;
  Outcome outcome;
};

std::optional<Outcome> by_first_order(const Topology& topology, double gap, bool with_pdhg) {
  const FlowProblem problem = flow_problem(topology, source_orbits(topology, {}));
  FlowLimits limits;
  limits.gap = gap;
  Bushes bushes(problem);
  FlowSolution solution = bushes.solve(limits, with_pdhg ? handover_gap : 0);
  if (with_pdhg && solution.gap() > gap) solution = solve_by_pdhg(problem, std::move(solution), limits);
  return Outcome{solution.load, solution.gap()};
}

std::optional<Outcome> by_glpk(const Topology& topology, LpMethod method) {
  const Result<LpSolution> solution = solve_with_glpk(master_lp(topology, link_classes(topology, {})), method);
  if (!solution || solution->status != LpStatus::optimal) return std::nullopt;
  return Outcome{solution->objective, 0};
}

/// A linear program by columns, as Clp takes it.
struct ByColumns {
  std::vector<CoinBigIndex> start;
  std::vector<int> row;
  std::vector<double> value, lower, upper, cost, row_lower, row_upper;
};

ByColumns by_columns(const LinearProgram& program) {
  ByColumns result;
  std::vector<std::vector<std::pair<int, double>>> entries(program.columns.size());
  for (std::size_t row = 0; row < program.rows.size(); ++row) {
    result.row_lower.push_back(program.rows[row].lower);
    result.row_upper.push_back(program.rows[row].upper);
    for (const LpEntry& entry : program.rows[row].entries) {
      entries[static_cast<std::size_t>(entry.column)].emplace_back(static_cast<int>(row), entry.value);
    }
  }
  for (std::size_t column = 0; column < program.columns.size(); ++column) {
    result.start.push_back(static_cast<CoinBigIndex>(result.row.size()));
    result.lower.push_back(program.columns[column].lower);
    result.upper.push_back(program.columns[column].upper);
    result.cost.push_back(program.columns[column].cost);
    for (const auto& [row, value] : entries[column]) {
      result.row.push_back(row);
      result.value.push_back(value);
    }
  }
  result.start.push_back(static_cast<CoinBigIndex>(result.row.size()));
  return result;
}

std::optional<Outcome> by_clp(const Topology& topology, int (*solve)(Clp_Simplex*)) {
  const ByColumns program = by_columns(master_lp(topology, link_classes(topology, {})));
  Clp_Simplex* model = Clp_newModel();
  Clp_setLogLevel(model, 0);
  Clp_loadProblem(model, static_cast<int>(program.cost.size()), static_cast<int>(program.row_lower.size()),
                  program.start.data(), program.row.data(), program.value.data(), program.lower.data(),
                  program.upper.data(), program.cost.data(), program.row_lower.data(), program.row_upper.data());
  solve(model);
  std::optional<Outcome> outcome;
  if (Clp_status(model) == 0) outcome = Outcome{Clp_objectiveValue(model), 0};
  Clp_deleteModel(model);
  return outcome;
}

/// In a child, which is ended when the time is over: not every solver can be stopped.
std::optional<Timed> in_time(const std::function<std::optional<Outcome>()>& method, unsigned seconds) {
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    const auto start = std::chrono::steady_clock::now();
    const std::optional<Outcome> outcome = method();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    const Timed timed{taken.count(), outcome.value_or(Outcome{})};
    const bool told = outcome && write(ends[1], &timed, sizeof timed) == static_cast<ssize_t>(sizeof timed);
    _exit(told ? 0 : 1);
  }
  close(ends[1]);
  Timed timed;
  const bool heard = child > 0 && read(ends[0], &timed, sizeof timed) == static_cast<ssize_t>(sizeof timed);
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return heard ? std::optional(timed) : std::nullopt;
}

struct Method {
  const char* name;
  std::function<std::optional<Outcome>()> run;
};

void race(const std::string& specification, const Topology& topology, double gap, unsigned seconds) {
  const LinearProgram program = master_lp(topology, link_classes(topology, {}));
  const std::vector<Method> methods = {
      {"bushes, pdhg", [&] { return by_first_order(topology, gap, true); }},
      {"bushes", [&] { return by_first_order(topology, gap, false); }},
      {"GLPK interior point", [&] { return by_glpk(topology, LpMethod::interior_point); }},
      {"GLPK simplex", [&] { return by_glpk(topology, LpMethod::simplex); }},
      {"Clp barrier", [&] { return by_clp(topology, &Clp_initialBarrierNoCrossSolve); }},
      {"Clp dual simplex", [&] { return by_clp(topology, &Clp_initialDualSolve); }},
      {"Clp primal simplex", [&] { return by_clp(topology, &Clp_initialPrimalSolve); }}};
  double first = 0;
  for (const Method& method : methods) {
    std::printf("\"%s\",%zu,%zu,\"%s\"", specification.c_str(), program.columns.size(), program.rows.size(),
                method.name);
    std::fflush(stdout);
    const std::optional<Timed> timed = in_time(method.run, seconds);
    if (!timed) {
      std::printf(",>%u,,,%s\n", seconds, first > 0 ? (">" + std::to_string(seconds / first)).c_str() : "");
    } else {
      if (first <= 0) first = timed->seconds;
      std::printf(",%.3f,%.9g,%.2e,%.2f\n", timed->seconds, timed->outcome.load, timed->outcome.gap,
                  timed->seconds / first);
    }
    std::fflush(stdout);
  }
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 3) {
    std::fputs("usage: concurrent_flow_race GAP SECONDS TOPOLOGY...\n", stderr);
    return 2;
  }
  std::puts("topology,columns,rows,method,seconds,U,gap,ratio");
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    const Result<Topology> topology = load_topology(arguments[i]);
    if (!topology) {
      std::fprintf(stderr, "%s\n", topology.error().message.c_str());
      return 2;
    }
    race(arguments[i], *topology, std::atof(arguments[0].c_str()),
         static_cast<unsigned>(std::atoi(arguments[1].c_str())));
  }
  return 0;
}

}  // namespace
}  // namespace libcoll

int main(int argc, char** argv) { return libcoll::run({argv + 1, argv + argc}); }
