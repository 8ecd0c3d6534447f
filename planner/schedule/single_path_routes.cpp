#include "planner/schedule/single_path_routes.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace libcoll::schedule {

using namespace topology;

namespace {

constexpr std::int64_t units_on_the_fastest_link = 1024;  ///< of load per pair
constexpr int rounds = 2;

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

/// Of every pair, by source · N + destination, the routes that are in use, ascending.
std::vector<std::vector<std::int32_t>> routes_in_use(const Schedule& schedule) {
  const std::int32_t nodes = schedule.topology.host_count();
  std::vector<std::vector<std::int32_t>> used(at(nodes) * at(nodes));
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.route != direct) used[at(transfer.from) * at(nodes) + at(transfer.to)].push_back(transfer.route);
  }
  for (std::vector<std::int32_t>& routes : used) {
    std::sort(routes.begin(), routes.end());
    routes.erase(std::unique(routes.begin(), routes.end()), routes.end());
  }
  return used;
}

class SinglePathLoads {
 public:
  explicit SinglePathLoads(const Schedule& schedule) : routes_(schedule.routes) {
    std::int64_t fastest = 1;
    for (const Link& link : schedule.topology.links()) fastest = std::max(fastest, link.bandwidth_bytes_per_second);
    for (const Link& link : schedule.topology.links()) {
      units_.push_back(units_on_the_fastest_link * fastest / link.bandwidth_bytes_per_second);
    }
    loads_.assign(units_.size(), 0);
  }

  void add(std::int32_t route, std::int64_t pairs) {
    for (const LinkId link : routes_[at(route)].links) loads_[at(link)] += pairs * units_[at(link)];
  }

  /// The largest load of its links, and the sum of all, with one pair more.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> with(std::int32_t route) const {
    std::pair<std::int64_t, std::int64_t> loads;
    for (const LinkId link : routes_[at(route)].links) {
      const std::int64_t load = loads_[at(link)] + units_[at(link)];
      loads.first = std::max(loads.first, load);
      loads.second += load;
    }
    return loads;
  }

 private:
  const std::vector<Route>& routes_;
  std::vector<std::int64_t> units_;  ///< of load that a pair adds, by link
  std::vector<std::int64_t> loads_;
};

}  // namespace

std::vector<std::int32_t> single_path_routes(const Schedule& schedule) {
  const std::vector<std::vector<std::int32_t>> used = routes_in_use(schedule);
  if (std::none_of(used.begin(), used.end(), [](const auto& routes) { return routes.size() > 1; })) return {};
  std::vector<std::size_t> pairs(used.size());
  std::iota(pairs.begin(), pairs.end(), std::size_t{0});
  std::stable_sort(pairs.begin(), pairs.end(),
                   [&used](std::size_t a, std::size_t b) { return used[a].size() < used[b].size(); });
  std::vector<std::int32_t> chosen(used.size(), direct);
  SinglePathLoads loads(schedule);
  for (int round = 0; round < rounds; ++round) {
    for (const std::size_t pair : pairs) {
      if (used[pair].empty()) continue;
      if (chosen[pair] != direct) loads.add(chosen[pair], -1);
      chosen[pair] = *std::min_element(used[pair].begin(), used[pair].end(), [&loads](std::int32_t a, std::int32_t b) {
        return loads.with(a) < loads.with(b);
      });
      loads.add(chosen[pair], 1);
    }
  }
  return chosen;
}

}  // namespace libcoll::schedule
