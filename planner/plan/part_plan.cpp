#include "planner/plan/part_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/broadcast/bound/forest_optimum.h"
#include "planner/route/sssp.h"
#include "planner/schedule/cost.h"
#include "planner/schedule/lockstep_time.h"
#include "planner/topology/facts.h"
#include "planner/topology/part.h"

namespace libcoll::default_plan {

using namespace broadcast::bound;
using namespace registry;
using namespace route;
using namespace schedule;
using namespace topology;

namespace {

/// Hosts times nodes up to which forests through routers take two seconds at most (32 of 256 nodes do); 256 of 512 take
/// more than 25.
constexpr std::int64_t small_forest = 1 << 13;

/// A planner, and whether it is to see the routers.
struct Attempt {
  std::string_view planner;  ///< empty: the first of the collective
  bool through_routers = false;
  bool last_resort = false;  ///< where others succeed it takes too long
};

/// In the order of preference among equals.
std::vector<Attempt> attempts(const Topology& part, Collective collective, std::string_view algorithm) {
  const bool routers = part.node_count() != part.host_count();
  std::vector<Attempt> list;
  if (!algorithm.empty()) {
    list.push_back({algorithm, false});
    if (routers) list.push_back({algorithm, true});
  } else if (collective == Collective::alltoall) {
    // Single paths first: they ask nothing of the hosts in between.
    list = {{"sssp", routers}, {"mcf-link", false}};
  } else {
    list.push_back({{}, false});
    if (is_rooted(collective)) {
      if (routers) list.push_back({"forestcoll", true});
      return list;
    }
    const bool large = std::int64_t{part.host_count()} * part.node_count() > small_forest;
    if (!routers) list.push_back({"forestcoll", false, large});
    if (routers) list.insert(list.end(), {{"multitree", true}, {"forestcoll", true, large}});
  }
  return list;
}

/// T_B = d/N · (load over a link of the slowest kind): the factor from one topology's unit, M/B with B = d·b, to
/// another's.
Rational unit_ratio(const Topology& from, const Topology& to) {
  return Rational(degree(to), degree(from)) *
         Rational(to.unit_bandwidth_bytes_per_second(), from.unit_bandwidth_bytes_per_second());
}

/// What no routing can beat (paper 003 (25)): every block crosses as many links as its hosts are apart, over all the
/// capacity there is. In shards per unit capacity.
Rational distance_bound(const Topology& topology) {
  Rational capacity;
  for (LinkId link = 0; link < topology.link_count(); ++link) capacity += topology.capacity(link);
  const DistanceMatrix distance = hop_distances(topology);
  std::int64_t hops = 0;
  for (NodeId from = 0; from < topology.host_count(); ++from) {
    for (NodeId to = 0; to < topology.host_count(); ++to) hops += distance[at(from)][at(to)];
  }
  return Rational(hops) / capacity;
}

/// A bound for the part whatever its routers do.
Rational bandwidth_bound(const Topology& part, Collective collective, NodeId root) {
  const auto broadcast_bound = [root](const Topology& topology) {
    const Result<Rational> bound = broadcast_bandwidth_bound(topology, root);
    return bound.ok() ? *bound : Rational(0);  // bandwidths too fine to tell: no bound
  };
  switch (collective) {
    case Collective::allgather:
      return allgather_bandwidth_bound(part);
    case Collective::reduce_scatter:
      return allgather_bandwidth_bound(transpose(part));
    case Collective::allreduce:
      return allgather_bandwidth_bound(part) + allgather_bandwidth_bound(transpose(part));
    case Collective::alltoall:
      return Rational(degree(part), part.host_count()) * distance_bound(part);
    case Collective::broadcast:
      return broadcast_bound(part);
    case Collective::reduce:
      return broadcast_bound(transpose(part));
  }
  return {};
}

/// A schedule of the hosts alone as one of the whole part, whose links have other numbers and whose T_B another unit.
Schedule lift(Schedule schedule, const Topology& part) {
  const std::vector<LinkId> links = links_without_switches(part);
  for (Route& route : schedule.routes) {
    for (LinkId& link : route.links) link = links[at(link)];
  }
  const Topology inner = std::exchange(schedule.topology, part);
  const Rational capacity(part.unit_bandwidth_bytes_per_second(), inner.unit_bandwidth_bytes_per_second());
  Proof& proof = schedule.proof;
  proof.bandwidth_time = proof.bandwidth_time * unit_ratio(inner, part);
  proof.max_link_load = proof.max_link_load * capacity;
  proof.bandwidth_bound = bandwidth_bound(part, schedule.collective, schedule.root);
  if (schedule.collective == Collective::alltoall) {
    proof.flow /= capacity.to_double();
    proof.flow_upper_bound = 1 / distance_bound(part).to_double();
    proof.flow = std::min(proof.flow, proof.flow_upper_bound);
    proof.lengths.clear();  // they are of other links
  }
  return schedule;
}

Result<Schedule> attempt(std::span<const Planner> table, const Topology& part, Collective collective,
                         const Attempt& how, const PlanOptions& options) {
  const Result<Planner> planner = find_planner(table, collective, how.planner);
  if (!planner) return planner.error();
  PlanOptions asked = options;
  asked.schedule = true;  // only the transfers tell what default routes make of it
  asked.figures = nullptr;
  // As many trees as the optimum takes can be thousands, for links that default routes do not use that way.
  if (asked.trees == 0 && part.node_count() != part.host_count()) asked.trees = -1;
  Result<Schedule> schedule =
      how.through_routers ? planner->plan(part, asked) : planner->plan(without_switches(part), asked);
  if (!schedule) return schedule;
  if (planner->needs.has(Need::lockstep))
    return Error{std::string(planner->name) + " is a model: not for parts of a fabric"};
  if (!how.through_routers) schedule = lift(std::move(schedule).value(), part);
  return on_default_routes(std::move(schedule).value());
}

/// Of those that serve some vectors better than `usual` the one of least T_L, of equals the one of least T_B.
std::optional<Schedule> small_plan(const std::vector<Schedule>& made, const Schedule& usual) {
  const auto key = [](const Schedule& schedule) {
    return std::pair(lockstep_time(schedule).latency_seconds, schedule.proof.bandwidth_time);
  };
  const Schedule* least = nullptr;
  for (const Schedule& schedule : made) {
    if (small_up_to(schedule, usual) && (least == nullptr || key(schedule) < key(*least))) least = &schedule;
  }
  if (least == nullptr) return std::nullopt;
  return *least;
}

void drop_transfers(Schedule& schedule) {
  schedule.transfers.clear();
  schedule.routes.clear();
}

}  // namespace

Result<Schedule> on_default_routes(Schedule schedule) {
  if (schedule.routes.empty()) return schedule;
  Result<std::vector<Route>> shortest = sssp_routes(schedule.topology);
  if (!shortest) return shortest.error();
  std::map<std::pair<NodeId, NodeId>, std::size_t> route_of_pair;
  for (std::size_t i = 0; i < shortest->size(); ++i) {
    const Route& route = shortest.value()[i];
    route_of_pair.emplace(std::pair(route.source, route.destination), i);
  }
  std::vector<std::int32_t> number(shortest->size(), direct);
  schedule.routes.clear();
  for (Transfer& transfer : schedule.transfers) {
    if (transfer.route == direct) continue;
    const std::size_t route = route_of_pair.at({transfer.from, transfer.to});
    if (number[route] == direct) {
      number[route] = static_cast<std::int32_t>(schedule.routes.size());
      schedule.routes.push_back(shortest.value()[route]);
    }
    transfer.route = number[route];
  }
  sort_transfers(schedule);
  Proof& proof = schedule.proof;
  proof.max_link_load = busiest_load(schedule);
  proof.bandwidth_time = bandwidth_time(schedule);
  if (schedule.collective == Collective::alltoall) {
    proof.flow = std::min(1 / proof.max_link_load.to_double(), proof.flow_upper_bound);
  }
  return schedule;
}

std::vector<std::string> part_planners(const Topology& part, Collective collective, std::string_view algorithm) {
  std::vector<std::string> names;
  for (const Attempt& how : attempts(part, collective, algorithm)) names.emplace_back(how.planner);
  return names;
}

Result<DefaultPlans> plan_part(std::span<const Planner> table, const Topology& part, Collective collective,
                               std::string_view algorithm, const PlanOptions& options) {
  if (Status status = check_connected(part); !status) return status.error();
  std::vector<Schedule> made;
  std::string errors;
  for (const Attempt& how : attempts(part, collective, algorithm)) {
    if (how.last_resort && !made.empty()) continue;
    Result<Schedule> schedule = attempt(table, part, collective, how, options);
    if (schedule.ok()) {
      made.push_back(std::move(schedule).value());
    } else {
      errors += (errors.empty() ? "" : "; ") + schedule.error().message;
    }
  }
  if (made.empty()) return Error{errors};
  DefaultPlans plans;
  for (const Schedule& schedule : made) plans.candidates.push_back(candidate_of(schedule));
  const auto best = std::min_element(made.begin(), made.end(), [](const Schedule& a, const Schedule& b) {
    return a.proof.bandwidth_time < b.proof.bandwidth_time;
  });
  if (algorithm.empty() && is_gathering(collective)) plans.least_steps = small_plan(made, *best);
  plans.least_bandwidth_time = std::move(*best);
  if (!options.schedule) {
    drop_transfers(plans.least_bandwidth_time);
    if (plans.least_steps) drop_transfers(*plans.least_steps);
  }
  return plans;
}

}  // namespace libcoll::default_plan
