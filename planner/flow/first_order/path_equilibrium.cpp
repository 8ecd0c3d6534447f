#include "planner/flow/first_order/path_equilibrium.h"

#include <cstddef>
#include <utility>

#include "planner/base/index.h"
#include "planner/flow/first_order/choice_equilibrium.h"

namespace libcoll::flow::first_order {

using namespace paths;
using namespace problem;

PathEquilibrium equilibrate_paths(const LinkClasses& classes, std::vector<PairPaths> pairs, std::int32_t hosts,
                                  std::span<const double> demand, double gap, const Deadline& deadline) {
  ChunkProblem problem = chunk_problem(classes, pairs, hosts, demand);
  const ChoiceEquilibrium equilibrium = equilibrate_choices(problem, gap, deadline);
  PathEquilibrium result;
  result.bound = equilibrium.bound;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    std::vector<WeightedPath>& paths = pairs[i].paths;
    for (std::size_t k = 0; k < paths.size(); ++k) paths[k].weight = problem.commodities[i][k].weight;
    std::erase_if(paths, [](const WeightedPath& path) { return path.weight <= 0; });
  }
  result.flow.load = largest_load(classes, pairs, hosts, demand);
  result.flow.pairs = std::move(pairs);
  for (const std::vector<ClassLoad>& loads : classes.loads) {
    double price = 0;
    for (const ClassLoad& load : loads) price += load.times * equilibrium.prices[at(load.link_class)];
    result.flow.prices.push_back(price);
  }
  return result;
}

}  // namespace libcoll::flow::first_order
