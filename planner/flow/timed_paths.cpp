#include "planner/flow/timed_paths.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

#include "planner/base/index.h"
#include "planner/flow/first_order/choice_equilibrium.h"
#include "planner/flow/problem/demand.h"

namespace libcoll::flow {

using namespace first_order;
using namespace paths;
using namespace problem;
using namespace schedule;
using namespace topology;

namespace {

constexpr std::size_t most_retimings = 1'000'000;  // of all pairs: a hundred bytes each
constexpr std::size_t most_per_pair = 64;
constexpr double near_least = 0.002;  // gap of the weights of retimings

/// How many steps a path can begin in when its hops follow one another.
std::int32_t waves(const std::vector<LinkId>& links, std::int32_t steps) {
  return steps - static_cast<std::int32_t>(links.size()) + 1;
}

std::vector<std::int32_t> without_waiting(const std::vector<LinkId>& links, std::int32_t start) {
  std::vector<std::int32_t> times(links.size());
  std::iota(times.begin(), times.end(), start);
  return times;
}

}  // namespace

std::vector<TimedPair> shortest_in_time(const LinkClasses& rows, const std::vector<Route>& routes, std::int32_t steps) {
  std::vector<TimedPair> pairs;
  for (const Route& route : routes) {
    if (std::find(rows.sources.begin(), rows.sources.end(), route.source) == rows.sources.end()) continue;
    TimedPath path{route.links, std::vector<std::int32_t>(route.links.size()), 1};
    std::iota(path.steps.begin(), path.steps.end(), steps - static_cast<std::int32_t>(route.links.size()) + 1);
    pairs.push_back({route.source, route.destination, {std::move(path)}});
  }
  return pairs;
}

double stepped_load(const LinkClasses& rows, const std::vector<TimedPair>& pairs, std::int32_t steps,
                    std::int32_t hosts, std::span<const double> demand) {
  std::vector<std::vector<double>> amounts(at(steps), std::vector<double>(rows.loads.size(), 0));
  for (const TimedPair& pair : pairs) {
    for (const TimedPath& path : pair.paths) {
      const double amount = share(demand, hosts, pair.source, pair.destination) * path.weight;
      for (std::size_t i = 0; i < path.links.size(); ++i) amounts[at(path.steps[i] - 1)][at(path.links[i])] += amount;
    }
  }
  double sum = 0;
  for (const std::vector<double>& of_step : amounts) sum += largest_load(rows, of_step);
  return sum;
}

void add_retimings(TimedPair& pair, std::int32_t steps, std::size_t most) {
  const std::vector<TimedPath> given = pair.paths;
  const auto add = [&](const TimedPath& path, const std::vector<std::int32_t>& times) {
    const bool known = std::any_of(pair.paths.begin(), pair.paths.end(), [&](const TimedPath& other) {
      return other.steps == times && other.links == path.links;
    });
    if (!known) pair.paths.push_back({path.links, times, 0});
  };
  for (const TimedPath& path : given) {
    for (std::int32_t start = 1; start <= waves(path.links, steps) && pair.paths.size() < most; ++start) {
      add(path, without_waiting(path.links, start));
    }
  }
  for (const TimedPath& path : given) {
    std::vector<std::int32_t> times = without_waiting(path.links, 1);
    const auto hops = static_cast<std::int32_t>(times.size());
    for (bool more = true; more && pair.paths.size() < most;) {
      add(path, times);
      // The next ascending choice of steps in lexicographic order.
      std::int32_t last = hops - 1;
      while (last >= 0 && times[at(last)] == steps - (hops - 1 - last)) --last;
      more = last >= 0;
      if (more) std::iota(times.begin() + last, times.end(), times[at(last)] + 1);
    }
  }
}

ChunkProblem stepped_problem(const LinkClasses& rows, const std::vector<TimedPair>& pairs, std::int32_t steps,
                             std::int32_t hosts, std::span<const double> demand) {
  ChunkProblem problem;
  problem.groups = steps;
  for (std::int32_t step = 0; step < steps; ++step) {
    for (const Rational& capacity : rows.capacity) {
      problem.capacity.push_back(capacity.to_double());
      problem.group.push_back(step);
    }
  }
  const auto per_step = static_cast<std::int32_t>(rows.capacity.size());
  for (const TimedPair& pair : pairs) {
    problem.size.push_back(share(demand, hosts, pair.source, pair.destination));
    std::vector<Choice>& choices = problem.commodities.emplace_back();
    for (const TimedPath& path : pair.paths) {
      std::map<std::int32_t, std::int32_t> loads;
      for (std::size_t i = 0; i < path.links.size(); ++i) {
        for (const ClassLoad& load : rows.loads[at(path.links[i])]) {
          loads[(path.steps[i] - 1) * per_step + load.link_class] += load.times;
        }
      }
      Choice& choice = choices.emplace_back();
      choice.weight = path.weight;
      for (const auto& [resource, times] : loads) choice.uses.push_back({resource, times});
    }
  }
  return problem;
}

TimeSteppedFlow paths_in_time(const LinkClasses& rows, const std::vector<PairPaths>& pairs, std::int32_t steps,
                              std::int32_t hosts, std::span<const double> demand, const Deadline& deadline) {
  const std::size_t most =
      std::clamp<std::size_t>(most_retimings / std::max<std::size_t>(1, pairs.size()), at(steps), most_per_pair);
  TimeSteppedFlow result;
  result.pairs.reserve(pairs.size());
  for (const PairPaths& pair : pairs) {
    TimedPair& timed = result.pairs.emplace_back(TimedPair{pair.source, pair.destination, {}});
    for (const WeightedPath& path : pair.paths) {
      const std::int32_t count = waves(path.links, steps);
      for (std::int32_t start = 1; start <= count; ++start) {
        timed.paths.push_back({path.links, without_waiting(path.links, start), path.weight / count});
      }
    }
    add_retimings(timed, steps, most);
  }
  ChunkProblem problem = stepped_problem(rows, result.pairs, steps, hosts, demand);
  equilibrate_choices(problem, near_least, deadline);
  for (std::size_t i = 0; i < result.pairs.size(); ++i) {
    std::vector<TimedPath>& paths = result.pairs[i].paths;
    for (std::size_t k = 0; k < paths.size(); ++k) paths[k].weight = problem.commodities[i][k].weight;
    std::erase_if(paths, [](const TimedPath& path) { return path.weight <= 0; });
  }
  result.load = stepped_load(rows, result.pairs, steps, hosts, demand);
  return result;
}

}  // namespace libcoll::flow
