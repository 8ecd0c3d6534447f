#include "libcoll/command/plans_by_size.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "libcoll/command/planning.h"
#include "libcoll/command/text.h"
#include "libcoll/plan/plan_source.h"
#include "planner/plan/default_plan.h"
#include "planner/topology/facts.h"
#include "planner/topology/part.h"

namespace libcoll::command {

using namespace default_plan;
using namespace plan;
using namespace schedule;
using namespace topology;

namespace {

constexpr std::array of_the_allgather_family = {Collective::allreduce, Collective::allgather,
                                                Collective::reduce_scatter};

/// What a communicator on these hosts asks for.
Result<PlanRequest> request_of(const Topology& topology, const std::string& nodes) {
  if (nodes.empty()) return PlanRequest{topology, "", Collective::allreduce};
  const Result<std::vector<NodeId>> hosts = parse_node_ranges(nodes, topology.host_count());
  if (!hosts) return Error{"--nodes: " + hosts.error().message};
  if (static_cast<NodeId>(hosts->size()) == topology.host_count()) {
    return PlanRequest{topology, "", Collective::allreduce};
  }
  const MovedHosts moved = move_hosts(translations(topology), *hosts);
  Result<Topology> part = part_of(topology, moved.image);
  if (!part) return Error{"--nodes: " + part.error().message};
  return PlanRequest{std::move(part).value(), node_ranges(moved.image), Collective::allreduce};
}

SizedPlan sized(const Schedule& schedule, std::optional<std::int64_t> up_to) {
  return {schedule.algorithm, up_to, schedule.steps, lockstep_time(schedule), schedule.proof.bandwidth_time};
}

}  // namespace

Result<std::vector<PlansOfCollective>> plans_by_size(const Topology& topology, const std::string& nodes,
                                                     const Config& config) {
  Result<PlanRequest> request = request_of(topology, nodes);
  if (!request) return request.error();
  PlanSource source;
  std::vector<PlansOfCollective> collectives;
  for (const Collective collective : of_the_allgather_family) {
    PlansOfCollective& entry = collectives.emplace_back();
    entry.collective = collective;
    entry.setting = algorithm_setting(config, collective);
    if (entry.setting == "native") continue;
    request->collective = collective;
    std::optional<Result<PlanPair>> plans = source.obtain(config, *request);
    if (!plans) return Error{"planning " + std::string(to_string(collective)) + " did not end"};
    if (!*plans) return Error{std::string(to_string(collective)) + ": " + plans->error().message};
    const PlanPair& pair = **plans;
    if (pair.small) entry.plans.push_back(sized(*pair.small, small_up_to(*pair.small, pair.usual)));
    entry.plans.push_back(sized(pair.usual, std::nullopt));
  }
  return collectives;
}

Json plans_by_size_json(const Topology& topology, const std::string& nodes,
                        const std::vector<PlansOfCollective>& collectives) {
  Json list = Json::array();
  for (const PlansOfCollective& each : collectives) {
    Json plans = Json::array();
    for (const SizedPlan& plan : each.plans) {
      plans.push_back({{"algorithm", plan.algorithm},
                       {"up_to_bytes", plan.up_to_bytes ? Json(*plan.up_to_bytes) : Json(nullptr)},
                       {"steps", plan.steps},
                       {"hops", plan.time.hops},
                       {"latency_seconds", plan.time.latency_seconds},
                       {"bandwidth_time", plan.bandwidth_time.to_string()},
                       {"seconds_per_byte", plan.time.seconds_per_byte}});
    }
    list.push_back({{"collective", to_string(each.collective)}, {"setting", each.setting}, {"plans", plans}});
  }
  return {{"plans", {{"topology", topology.name()}, {"nodes", nodes}, {"collectives", list}}}};
}

std::string plans_by_size_text(const Topology& topology, const std::string& nodes,
                               const std::vector<PlansOfCollective>& collectives) {
  std::vector<std::vector<std::string>> rows = {
      {"collective", "up to bytes", "plan", "steps", "T_L us", "T_B M/B", "us per MiB"}};
  constexpr double mebibyte = 1 << 20;
  for (const PlansOfCollective& each : collectives) {
    const std::string name(to_string(each.collective));
    if (each.plans.empty()) rows.push_back({name, "any", "native"});
    for (const SizedPlan& plan : each.plans) {
      const std::string above = each.plans.size() > 1 ? "above" : "any";
      rows.push_back({name, plan.up_to_bytes ? std::to_string(*plan.up_to_bytes) : above, plan.algorithm,
                      std::to_string(plan.steps), rounded(1e6 * plan.time.latency_seconds, 6),
                      short_text(plan.bandwidth_time), rounded(1e6 * (mebibyte * plan.time.seconds_per_byte), 6)});
    }
  }
  return topology.name() + (nodes.empty() ? "" : ", nodes " + nodes) + "\n" + columns(rows) +
         "Of the whole vector M, by the topology's latencies and bandwidths: T = T_L + M · T_B / B. Calls that are "
         "left "
         "to MPI or go without a plan: libcoll info --choices\n";
}

}  // namespace libcoll::command
