#include "planner/reconfigure/rewired_schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/reconfigure/planners.h"
#include "planner/route/lash.h"
#include "planner/route/route_classes.h"
#include "planner/schedule/cost.h"
#include "planner/topology/facts.h"

namespace libcoll::reconfigure {

using namespace registry;
using namespace route;
using namespace schedule;
using namespace topology;

namespace {

constexpr std::int32_t default_max_chunks = 16;
constexpr double rounding = 1e-6;  // chunks of a path that are as good as whole

using Ends = std::pair<NodeId, NodeId>;

/// Everything that is ever wired, each link with the most bandwidth it ever has. What is not rewired stays as it is.
Result<Topology> united(const Harvest& harvest, const HarvestPlan& plan, const HarvestModel& model,
                        const Topology* initial) {
  if (initial != nullptr && plan.rewirings() == 0) return *initial;
  std::map<Ends, std::int64_t> ports;
  for (const Interval& interval : plan.intervals) {
    for (const Wire& wire : harvest.configurations()[interval.configuration].wires) {
      std::int64_t& known = ports[{wire.from, wire.to}];
      known = std::max<std::int64_t>(known, wire.count);
    }
  }
  const std::string& static_name = harvest.configurations()[plan.intervals.front().configuration].name;
  std::vector<Node> nodes;
  if (initial != nullptr) nodes.assign(initial->nodes().begin(), initial->nodes().end());
  for (NodeId node = static_cast<NodeId>(nodes.size()); node < harvest.collective().nodes; ++node)
    nodes.push_back({std::to_string(node), "", false});
  std::vector<Link> links;
  links.reserve(ports.size());
  const std::int64_t bandwidth = std::llround(model.bytes_per_second);
  for (const auto& [ends, count] : ports) {
    links.push_back({ends.first, ends.second, count * bandwidth, model.delta_seconds});
  }
  return Topology::make(initial != nullptr ? initial->name() : static_name, std::move(nodes), std::move(links));
}

std::vector<Wiring> wirings(const Harvest& harvest, const HarvestPlan& plan, const HarvestModel& model,
                            const Topology& topology) {
  std::vector<Wiring> result;
  if (plan.rewirings() == 0) return result;
  const std::int64_t bandwidth = std::llround(model.bytes_per_second);
  for (const Interval& interval : plan.intervals) {
    const Configuration& configuration = harvest.configurations()[interval.configuration];
    const bool from_the_start = result.empty() && !plan.rewired_at_start;
    Wiring wiring{static_cast<std::int32_t>(interval.first) + 1,
                  configuration.name,
                  from_the_start ? 0 : model.reconfiguration_seconds,
                  {}};
    for (const Wire& wire : configuration.wires) {
      wiring.links.push_back({topology.find_link(wire.from, wire.to), wire.count * bandwidth});
    }
    std::sort(wiring.links.begin(), wiring.links.end(),
              [](const LiveLink& a, const LiveLink& b) { return a.link < b.link; });
    result.push_back(std::move(wiring));
  }
  return result;
}

/// Paths of one demand of a step.
struct Flow {
  std::int64_t chunks = 0;  ///< of the demand, before shards are cut finer
  std::vector<SharedPath> paths;
};

using StepFlows = std::map<Ends, Flow>;

Result<std::vector<StepFlows>> flows_of(const Harvest& harvest, const HarvestPlan& plan, const Deadline& deadline) {
  std::vector<StepFlows> result(plan.steps.size());
  for (std::size_t step = 0; step < plan.steps.size(); ++step) {
    const std::vector<Demand>& demands = harvest.collective().steps[step].demands;
    const HarvestStep& chosen = plan.steps[step];
    if (demands.empty()) continue;
    Result<std::vector<std::vector<SharedPath>>> paths =
        step_paths(harvest.configurations()[chosen.configuration], demands, chosen.flow, deadline);
    if (!paths) return paths.error();
    for (std::size_t i = 0; i < demands.size(); ++i) {
      result[step][{demands[i].from, demands[i].to}].paths = std::move((*paths)[i]);
    }
  }
  for (const Transfer& transfer : harvest.collective().pattern->transfers) {
    result[at(transfer.step) - 1][{transfer.from, transfer.to}].chunks += transfer.chunk_count;
  }
  return result;
}

/// The least number of parts of a chunk for which every path carries whole parts.
std::int32_t parts_of_chunks(const std::vector<StepFlows>& flows, std::int32_t max_parts) {
  const auto whole = [&](std::int32_t parts) {
    for (const StepFlows& step : flows) {
      for (const auto& [ends, flow] : step) {
        for (const SharedPath& path : flow.paths) {
          const double carried = path.share * static_cast<double>(flow.chunks) * parts;
          if (std::abs(carried - std::round(carried)) > rounding * parts) return false;
        }
      }
    }
    return true;
  };
  for (std::int32_t parts = 1; parts < max_parts; ++parts) {
    if (whole(parts)) return parts;
  }
  return std::max(max_parts, 1);
}

/// Deals a pair's chunks of one step out to its paths, in proportion to their shares.
class Dealer {
 public:
  Dealer(Schedule& schedule, const Flow& flow, std::int32_t parts) : schedule_(schedule), flow_(flow) {
    double sum = 0;
    const double total = static_cast<double>(flow.chunks) * parts;
    std::int64_t before = 0;
    for (const SharedPath& path : flow.paths) {
      sum += path.share;
      const std::int64_t until = std::llround(sum * total);
      left_.push_back(until - before);
      before = until;
    }
    left_.back() += static_cast<std::int64_t>(total) - before;
  }

  /// Precondition: all transfers together have the flow's chunks.
  void deal(Transfer transfer, std::map<std::vector<LinkId>, std::int32_t>& routes) {
    while (transfer.chunk_count > 0) {
      while (left_[next_] == 0) ++next_;
      Transfer part = transfer;
      part.chunk_count = static_cast<std::int32_t>(std::min<std::int64_t>(transfer.chunk_count, left_[next_]));
      part.route = route(flow_.paths[next_].nodes, routes);
      schedule_.transfers.push_back(part);
      left_[next_] -= part.chunk_count;
      transfer.chunk_begin += part.chunk_count;
      transfer.chunk_count -= part.chunk_count;
    }
  }

 private:
  std::int32_t route(const std::vector<NodeId>& nodes, std::map<std::vector<LinkId>, std::int32_t>& routes) {
    if (nodes.size() == 2) return direct;
    std::vector<LinkId> links;
    for (std::size_t i = 1; i < nodes.size(); ++i)
      links.push_back(schedule_.topology.find_link(nodes[i - 1], nodes[i]));
    const auto [known, is_new] = routes.try_emplace(links, static_cast<std::int32_t>(schedule_.routes.size()));
    if (is_new) schedule_.routes.push_back({nodes.front(), nodes.back(), std::move(links), 0, 0});
    return known->second;
  }

  Schedule& schedule_;
  const Flow& flow_;
  std::vector<std::int64_t> left_;
  std::size_t next_ = 0;
};

HarvestModel model_of(const Topology& topology, const PlanOptions& options) {
  HarvestModel model;
  model.bytes = options.size_bytes;
  model.alpha_seconds = options.alpha_seconds;
  model.reconfiguration_seconds = options.reconfiguration_seconds;
  model.bytes_per_second = static_cast<double>(topology.unit_bandwidth_bytes_per_second());
  for (const Link& link : topology.links()) model.delta_seconds = std::max(model.delta_seconds, link.latency_seconds);
  return model;
}

template <Collective collective>
Result<Schedule> plan_as(const Topology& topology, const PlanOptions& options) {
  return plan_harvest(collective, topology, options);
}

}  // namespace

Result<Schedule> rewired_schedule(const Harvest& harvest, const HarvestPlan& plan, const HarvestModel& model,
                                  std::int32_t max_chunks, const Topology* initial, const Deadline& deadline) {
  const StagedCollective& collective = harvest.collective();
  if (!collective.pattern || !collective.collective) {
    return Error{"there are no schedules of demands: " + collective.algorithm + " has figures only"};
  }
  Result<Topology> topology = united(harvest, plan, model, initial);
  if (!topology) return topology.error();
  const Result<std::vector<StepFlows>> flows = flows_of(harvest, plan, deadline);
  if (!flows) return flows.error();
  const std::int32_t limit = max_chunks > 0 ? max_chunks : default_max_chunks;
  const std::int32_t parts = parts_of_chunks(*flows, limit / collective.pattern->chunks_per_shard);
  Schedule schedule;
  schedule.collective = *collective.collective;
  schedule.root = collective.root;
  schedule.algorithm = "harvest";
  schedule.topology = std::move(topology).value();
  schedule.chunks_per_shard = collective.pattern->chunks_per_shard * parts;
  schedule.steps = collective.pattern->steps;
  schedule.wirings = wirings(harvest, plan, model, schedule.topology);
  std::map<std::pair<std::int32_t, Ends>, Dealer> dealers;
  std::map<std::vector<LinkId>, std::int32_t> routes;
  for (Transfer transfer : collective.pattern->transfers) {
    const Ends ends{transfer.from, transfer.to};
    transfer.chunk_begin *= parts;
    transfer.chunk_count *= parts;
    const Flow& flow = (*flows)[at(transfer.step) - 1].at(ends);
    dealers.try_emplace({transfer.step, ends}, schedule, flow, parts).first->second.deal(transfer, routes);
  }
  sort_transfers(schedule);
  assign_layers(schedule.topology, schedule.routes);
  assign_route_classes(schedule.topology, schedule.routes);
  schedule.proof.max_link_load = max_link_load(schedule);
  schedule.proof.bandwidth_time = bandwidth_time(schedule);
  // Every port could be wired to where it is wanted. An all-to-all's node sends (N−1)/N of M then.
  schedule.proof.bandwidth_bound = universal_bandwidth_bound(schedule.collective, schedule.topology.host_count());
  return schedule;
}

Result<Schedule> plan_harvest(Collective collective, const Topology& topology, const PlanOptions& options) {
  const auto refused = [&](const Error& error) {
    return Error{"harvest on " + topology.name() + ": " + error.message};
  };
  Result<Configuration> initial = configuration_of(topology);
  if (!initial) return refused(initial.error());
  const std::int32_t degree = ports_used(*initial);
  Result<StagedCollective> stages =
      stage(to_string(collective), options.staging,
            {.nodes = topology.host_count(), .ports = 1, .dimensions = {}, .demand = {}, .root = options.root});
  if (!stages) return refused(stages.error());
  const Deadline deadline(options.time_limit_seconds);
  const Result<Harvest> harvest =
      Harvest::prepare(std::move(stages).value(), degree, std::move(initial).value(), deadline);
  if (!harvest) return refused(harvest.error());
  const HarvestModel model = model_of(topology, options);
  const HarvestPlan plan = harvest->plan(model);
  Result<Schedule> schedule = rewired_schedule(*harvest, plan, model, options.max_chunks, &topology, deadline);
  if (!schedule) return refused(schedule.error());
  if (!options.schedule) {
    schedule->transfers.clear();
    schedule->routes.clear();
  }
  if (options.figures != nullptr) {
    options.figures->method = harvest->collective().algorithm;
    options.figures->more = {
        {"completion_seconds", plan.seconds},
        {"static_seconds", plan.static_seconds},
        {"static_topology", harvest->configurations()[plan.static_configuration].name},
        {"every_step_seconds", plan.every_step_seconds},
    };
    if (deadline.limited()) options.figures->more.emplace_back("candidates_left_out", harvest->left_out().candidates);
  }
  return schedule;
}

std::span<const Planner> reconfigure_planners() {
  static constexpr Needs needs{Need::lp_solver, Need::hosts_only, Need::rewiring};
  static constexpr std::string_view text = "rewires the fabric in the course of a staged algorithm (--reconfiguration)";
  static constexpr std::array options = {TakenOption{PlannerOption::staging}, TakenOption{PlannerOption::size},
                                         TakenOption{PlannerOption::alpha}, TakenOption{PlannerOption::reconfiguration},
                                         TakenOption{PlannerOption::max_chunks, 0, most_chunks}};
  static constexpr std::array planners = {
      Planner{"harvest", Collective::allgather, needs, plan_as<Collective::allgather>, text, options},
      Planner{"harvest", Collective::reduce_scatter, needs, plan_as<Collective::reduce_scatter>, text, options},
      Planner{"harvest", Collective::allreduce, needs, plan_as<Collective::allreduce>, text, options},
      Planner{"harvest", Collective::alltoall, needs, plan_as<Collective::alltoall>, text, options},
      Planner{"harvest", Collective::broadcast, needs, plan_as<Collective::broadcast>, text, options},
      Planner{"harvest", Collective::reduce, needs, plan_as<Collective::reduce>, text, options},
  };
  return planners;
}

}  // namespace libcoll::reconfigure
