#include "planner/flow/problem/flow_problem.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "planner/base/index.h"
#include "planner/base/run_on_threads.h"
#include "planner/flow/problem/block_distances.h"

namespace libcoll::flow::problem {

using namespace topology;

namespace {

/// Links grouped by `end`, in ascending order within a group.
void group(const std::vector<std::int32_t>& end, std::int32_t nodes, std::vector<std::int32_t>& begin,
           std::vector<std::int32_t>& grouped) {
  begin.assign(at(nodes) + 1, 0);
  for (const std::int32_t node : end) ++begin[at(node) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  grouped.resize(end.size());
  std::vector<std::int32_t> next(begin.begin(), begin.end() - 1);
  for (std::size_t link = 0; link < end.size(); ++link) {
    grouped[at(next[at(end[link])]++)] = static_cast<std::int32_t>(link);
  }
}

}  // namespace

FlowProblem flow_problem(const Topology& topology, const SourceOrbits& orbits) {
  FlowProblem problem;
  problem.nodes = topology.node_count();
  problem.hosts = topology.host_count();
  problem.sources = orbits.sources;
  problem.weight.assign(orbits.sizes.begin(), orbits.sizes.end());
  problem.in_begin.push_back(0);
  for (NodeId node = 0; node < problem.nodes; ++node) {
    for (const LinkId link : topology.in_links(node)) {
      problem.link_id.push_back(link);
      problem.from.push_back(topology.link(link).from);
      problem.to.push_back(node);
      problem.link_class.push_back(orbits.link_class[at(link)]);
    }
    problem.in_begin.push_back(static_cast<std::int32_t>(problem.link_id.size()));
  }
  for (std::size_t i = 0; i < orbits.capacity.size(); ++i) {
    problem.capacity.push_back(orbits.capacity[i].to_double() * static_cast<double>(orbits.links[i]));
  }
  group(problem.from, problem.nodes, problem.out_begin, problem.out_link);
  return problem;
}

void renumber_by_link_id(const FlowProblem& problem, std::vector<std::vector<double>>& flow) {
  // The flows of a large fabric are too much memory to be there twice.
  std::vector<double> result(problem.links());
  for (std::vector<double>& of_source : flow) {
    for (std::size_t link = 0; link < of_source.size(); ++link) result[at(problem.link_id[link])] = of_source[link];
    of_source.swap(result);
  }
}

void renumber_by_problem_links(const FlowProblem& problem, std::vector<std::vector<double>>& flow) {
  std::vector<double> result(problem.links());
  for (std::vector<double>& of_source : flow) {
    for (std::size_t link = 0; link < result.size(); ++link) result[link] = of_source[at(problem.link_id[link])];
    of_source.swap(result);
  }
}

std::vector<double> class_loads(const FlowProblem& problem, const std::vector<std::vector<double>>& flow) {
  std::vector<double> of_link(problem.links(), 0);
  for (std::size_t source = 0; source < flow.size(); ++source) {
    const double weight = problem.weight[source];
    for (std::size_t link = 0; link < of_link.size(); ++link) of_link[link] += weight * flow[source][link];
  }
  std::vector<double> loads(problem.classes(), 0);
  for (std::size_t link = 0; link < of_link.size(); ++link) loads[at(problem.link_class[link])] += of_link[link];
  return loads;
}

double largest_load(const FlowProblem& problem, const std::vector<double>& loads) {
  double largest = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) largest = std::max(largest, loads[i] / problem.capacity[i]);
  return largest;
}

std::vector<double> link_lengths(const FlowProblem& problem, const std::vector<double>& prices) {
  std::vector<double> lengths(problem.links());
  for (std::size_t link = 0; link < problem.links(); ++link) {
    lengths[at(problem.link_id[link])] = prices[at(problem.link_class[link])];
  }
  return lengths;
}

double load_bound(const FlowProblem& problem, const std::vector<double>& prices, std::int32_t threads) {
  std::vector<float> lengths;
  for (const std::int32_t link_class : problem.link_class)
    lengths.push_back(static_cast<float>(prices[at(link_class)]));
  const std::size_t count = problem.sources.size();
  const std::size_t blocks = (count + float_lanes - 1) / float_lanes;
  std::vector<double> sums(blocks, 0);
  run_on_threads(threads, [&](std::int32_t worker) {
    std::vector<float> distance;
    for (auto block = at(worker); block < blocks; block += at(threads)) {
      const std::size_t first = block * float_lanes;
      const std::span<const NodeId> sources(problem.sources.data() + first,
                                            std::min<std::size_t>(float_lanes, count - first));
      block_distances({problem.in_begin, problem.from}, lengths, sources, distance);
      for (std::size_t i = 0; i < sources.size(); ++i) {
        double sum = 0;
        for (std::size_t v = 0; v < at(problem.hosts); ++v) sum += distance[v * float_lanes + i];
        sums[block] += problem.weight[first + i] * sum;
      }
    }
  });
  double capacity = 0;
  for (std::size_t i = 0; i < prices.size(); ++i) {
    capacity += problem.capacity[i] * static_cast<double>(static_cast<float>(prices[i]));
  }
  return capacity > 0 ? std::accumulate(sums.begin(), sums.end(), 0.0) / capacity : 0;
}

}  // namespace libcoll::flow::problem
