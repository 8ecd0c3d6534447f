#include "planner/flow/paths/path_flow.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "planner/base/index.h"
#include "planner/base/rational.h"
#include "planner/flow/problem/demand.h"

namespace libcoll::flow::paths {

using namespace problem;
using namespace topology;

namespace {

/// What one chunk on the path adds, one entry per class.
std::vector<ClassLoad> loads_of(const LinkClasses& classes, const std::vector<LinkId>& links) {
  std::vector<ClassLoad> loads;
  loads.reserve(links.size());
  for (const LinkId link : links) {
    const std::vector<ClassLoad>& of_link = classes.loads[at(link)];
    loads.insert(loads.end(), of_link.begin(), of_link.end());
  }
  std::sort(loads.begin(), loads.end(),
            [](const ClassLoad& a, const ClassLoad& b) { return a.link_class < b.link_class; });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < loads.size(); ++i) {
    if (loads[i].link_class == loads[kept].link_class) {
      loads[kept].times += loads[i].times;
    } else {
      loads[++kept] = loads[i];
    }
  }
  if (!loads.empty()) loads.resize(kept + 1);
  return loads;
}

}  // namespace

double largest_load(const LinkClasses& classes, std::span<const PairPaths> pairs, std::int32_t hosts,
                    std::span<const double> demand) {
  std::vector<double> amounts(classes.loads.size(), 0);
  for (const PairPaths& pair : pairs) {
    const double asked = share(demand, hosts, pair.source, pair.destination);
    for (const WeightedPath& path : pair.paths) {
      for (const LinkId link : path.links) amounts[at(link)] += asked * path.weight;
    }
  }
  return largest_load(classes, amounts);
}

ChunkProblem chunk_problem(const LinkClasses& classes, std::span<const PairPaths> pairs, std::int32_t hosts,
                           std::span<const double> demand) {
  ChunkProblem problem;
  for (const Rational& capacity : classes.capacity) problem.capacity.push_back(capacity.to_double());
  problem.group.assign(problem.capacity.size(), 0);
  problem.size.reserve(pairs.size());
  problem.commodities.reserve(pairs.size());
  for (const PairPaths& pair : pairs) {
    problem.size.push_back(share(demand, hosts, pair.source, pair.destination));
    std::vector<Choice>& choices = problem.commodities.emplace_back();
    choices.reserve(pair.paths.size());
    for (const WeightedPath& path : pair.paths) choices.push_back({loads_of(classes, path.links), path.weight});
  }
  return problem;
}

}  // namespace libcoll::flow::paths
