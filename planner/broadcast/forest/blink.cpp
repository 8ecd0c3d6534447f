#include "planner/broadcast/forest/blink.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/broadcast/bound/cut_bound.h"
#include "planner/broadcast/forest/forestcoll.h"
#include "planner/route/lash.h"
#include "planner/route/route_classes.h"
#include "planner/schedule/cost.h"

namespace libcoll::broadcast::forest {

using namespace bound;
using namespace registry;
using namespace route;
using namespace schedule;
using namespace topology;

namespace {

constexpr std::int32_t default_max_chunks = 64;
constexpr std::int32_t trees_where_numbers_differ = 16;

using PlanRooted = Result<Schedule> (*)(const Topology&, const PlanOptions&);

/// By root. `trees`: as PlanOptions has it.
Result<std::vector<Schedule>> plan_each_root(PlanRooted plan, const Topology& topology, const PlanOptions& options,
                                             std::int32_t trees) {
  std::vector<Schedule> plans;
  for (NodeId root = 0; root < topology.host_count(); ++root) {
    PlanOptions wanted;
    wanted.threads = options.threads;
    wanted.time_limit_seconds = options.time_limit_seconds / (2 * topology.host_count());  // there may be two rounds
    wanted.trees = trees;
    wanted.root = root;
    Result<Schedule> made = plan(topology, wanted);
    if (!made) return made.error();
    plans.push_back(std::move(made).value());
  }
  return plans;
}

/// The least common multiple of all numbers of chunks; more than `most` where it is more.
std::int32_t common_chunks(const std::vector<Schedule>& plans, std::int32_t most) {
  std::int64_t common = 1;
  for (const Schedule& plan : plans) {
    common = std::lcm(common, std::int64_t{plan.chunks_per_shard});
    if (common > most) return most + 1;
  }
  return static_cast<std::int32_t>(common);
}

/// Puts plans of single shards together.
class Union {
 public:
  explicit Union(Schedule& all) : all_(all) {}

  void add(const Schedule& plan) {
    const std::int32_t factor = all_.chunks_per_shard / plan.chunks_per_shard;
    for (Transfer transfer : plan.transfers) {
      transfer.chunk_begin *= factor;
      transfer.chunk_count *= factor;
      if (transfer.route != direct) transfer.route = place_of(plan.routes[at(transfer.route)]);
      all_.transfers.push_back(transfer);
    }
    all_.steps = std::max(all_.steps, plan.steps);
  }

 private:
  /// Plans share routes over the same links, whatever layer and class each gave them.
  std::int32_t place_of(const Route& route) {
    const auto next = static_cast<std::int32_t>(all_.routes.size());
    const auto [place, is_new] = places_.try_emplace(route.links, next);
    if (is_new) all_.routes.push_back({route.source, route.destination, route.links});
    return place->second;
  }

  Schedule& all_;
  std::map<std::vector<LinkId>, std::int32_t> places_;
};

/// Of the root whose plan takes longest.
void report(const PlanOptions& options, const std::vector<Schedule>& plans, const Schedule& all) {
  if (options.figures == nullptr) return;
  const auto slowest = std::max_element(plans.begin(), plans.end(), [](const Schedule& a, const Schedule& b) {
    return a.proof.bandwidth_time < b.proof.bandwidth_time;
  });
  options.figures->more = {{"broadcast_time", slowest->proof.bandwidth_time.to_string()},
                           {"broadcast_bound", slowest->proof.bandwidth_bound.to_string()},
                           {"tree_depth_max", std::int64_t{all.steps}}};
}

Result<Schedule> plan_blink(Collective collective, PlanRooted plan, const Topology& topology,
                            const PlanOptions& options) {
  const std::int32_t most = options.max_chunks > 0 ? options.max_chunks : default_max_chunks;
  Result<std::vector<Schedule>> plans = plan_each_root(plan, topology, options, 0);
  if (!plans) return plans.error();
  std::int32_t chunks = common_chunks(*plans, most);
  if (chunks > most) {
    plans = plan_each_root(plan, topology, options, std::min(most, trees_where_numbers_differ));
    if (!plans) return plans.error();
    chunks = common_chunks(*plans, most);
  }
  Schedule all;
  all.collective = collective;
  all.algorithm = "blink";
  all.topology = topology;
  all.pipelined = true;
  all.chunks_per_shard = chunks;
  Union united(all);
  for (const Schedule& each : *plans) united.add(each);
  assign_layers(topology, all.routes);
  assign_route_classes(topology, all.routes);
  sort_transfers(all);
  all.proof.max_link_load = max_link_load(all);
  all.proof.bandwidth_time = bandwidth_time(all);
  all.proof.bandwidth_bound = quick_cut_bound(topology, collective, 0);
  report(options, *plans, all);
  if (!options.schedule) {
    all.transfers.clear();
    all.routes.clear();
  }
  return all;
}

}  // namespace

Result<Schedule> plan_blink_allgather(const Topology& topology, const PlanOptions& options) {
  return plan_blink(Collective::allgather, plan_forestcoll_broadcast, topology, options);
}

Result<Schedule> plan_blink_reduce_scatter(const Topology& topology, const PlanOptions& options) {
  return plan_blink(Collective::reduce_scatter, plan_forestcoll_reduce, topology, options);
}

}  // namespace libcoll::broadcast::forest
