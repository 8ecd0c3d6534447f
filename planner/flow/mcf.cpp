#include "planner/flow/mcf.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "planner/flow/chunking.h"
#include "planner/flow/concurrent_flow.h"
#include "planner/route/lash.h"
#include "planner/route/route_classes.h"
#include "planner/schedule/cost.h"
#include "planner/topology/facts.h"

namespace libcoll {
namespace {

/// The pairs of every source: those solved for, under every image.
std::vector<ChunkedPair> all_pairs(const Topology& topology, const LinkClasses& classes,
                                   const std::vector<ChunkedPair>& solved) {
  std::vector<ChunkedPair> pairs;
  for (const Automorphism& image : classes.images) {
    for (const ChunkedPair& pair : solved) {
      ChunkedPair& copy = pairs.emplace_back();
      copy.source = image[static_cast<std::size_t>(pair.source)];
      copy.destination = image[static_cast<std::size_t>(pair.destination)];
      for (const ChunkedPath& path : pair.paths) {
        copy.paths.push_back({image_of(topology, image, path.links), path.chunks});
      }
    }
  }
  return pairs;
}

ShardId shard_of(const Topology& topology, const ChunkedPair& pair) {
  return pair.source * topology.host_count() + pair.destination;
}

void append_routed(Schedule& schedule, const ChunkedPair& pair) {
  std::int32_t begin = 0;
  for (const ChunkedPath& path : pair.paths) {
    const auto route = static_cast<std::int32_t>(schedule.routes.size());
    schedule.routes.push_back({pair.source, pair.destination, path.links, 0});
    schedule.transfers.push_back({shard_of(schedule.topology, pair), begin, path.chunks, pair.source, pair.destination,
                                  1, route, TransferKind::copy});
    begin += path.chunks;
  }
}

/// Steps count down to 0 at the destination for now: what has the longest way to go leaves first, so that no link waits
/// for late hops at the end. Paths of a pair are in lexicographic order, so those that share a link at the same hop are
/// mostly neighbours, and their chunks cross it in one transfer.
void append_hops(Schedule& schedule, const ChunkedPair& pair) {
  const std::size_t first = schedule.transfers.size();
  std::int32_t begin = 0;
  for (const ChunkedPath& path : pair.paths) {
    const auto length = static_cast<std::int32_t>(path.links.size());
    schedule.steps = std::max(schedule.steps, length);
    for (std::int32_t hop = 0; hop < length; ++hop) {
      const Link& link = schedule.topology.link(path.links[static_cast<std::size_t>(hop)]);
      const std::int32_t step = hop + 1 - length;
      const auto continues = [&](const Transfer& transfer) {
        return transfer.step == step && transfer.from == link.from && transfer.to == link.to &&
               transfer.chunk_begin + transfer.chunk_count == begin;
      };
      const auto neighbour = std::find_if(schedule.transfers.begin() + static_cast<std::ptrdiff_t>(first),
                                          schedule.transfers.end(), continues);
      if (neighbour != schedule.transfers.end()) {
        neighbour->chunk_count += path.chunks;
      } else {
        schedule.transfers.push_back({shard_of(schedule.topology, pair), begin, path.chunks, link.from, link.to, step,
                                      direct, TransferKind::copy});
      }
    }
    begin += path.chunks;
  }
}

/// The schedule without its transfers' order and proof; `append` lowers one pair.
Schedule lower_pairs(const Topology& topology, const char* algorithm, const Chunking& chunking,
                     const LinkClasses& classes, void (*append)(Schedule&, const ChunkedPair&)) {
  Schedule schedule;
  schedule.collective = Collective::alltoall;
  schedule.algorithm = algorithm;
  schedule.topology = topology;
  schedule.chunks_per_shard = chunking.chunks_per_shard;
  schedule.steps = 1;
  for (const ChunkedPair& pair : all_pairs(topology, classes, chunking.pairs)) append(schedule, pair);
  for (Transfer& transfer : schedule.transfers) {
    if (transfer.route == direct) transfer.step += schedule.steps;
  }
  return schedule;
}

FlowOptions flow_options(const PlanOptions& options) {
  FlowOptions result;
  result.gap = options.gap;
  result.time_limit_seconds = options.time_limit_seconds;
  result.threads = options.threads;
  result.paths = options.schedule;
  result.few_paths = options.schedule;
  return result;
}

/// The largest load as the proof has it when there are no transfers to add up: that of the fluid plan, or the bound
/// when the two are one but for rounding.
Rational fluid_load(const ConcurrentFlow& fluid) {
  constexpr double rounding = 1e-12;
  const Rational bound = fluid.certificate.load_lower_bound;
  if (bound.to_double() * fluid.flow >= 1 - rounding) return bound;
  constexpr std::int64_t finest_denominator = 1'000'000'000;
  const double scaled = std::ceil(static_cast<double>(finest_denominator) / fluid.flow);
  return {static_cast<std::int64_t>(scaled), finest_denominator};
}

/// Topology, figures and proof, all but the transfers.
Schedule without_transfers(const Topology& topology, const char* algorithm, const ConcurrentFlow& fluid) {
  Schedule schedule;
  schedule.collective = Collective::alltoall;
  schedule.algorithm = algorithm;
  schedule.topology = topology;
  schedule.steps = 1;
  schedule.proof.max_link_load = fluid_load(fluid);
  schedule.proof.flow = fluid.flow;
  return schedule;
}

Schedule with_transfers(const Topology& topology, const PlanOptions& options, const char* algorithm,
                        const ConcurrentFlow& fluid, void (*append)(Schedule&, const ChunkedPair&)) {
  const Chunking chunking = round_to_chunks(topology, fluid, options);
  Schedule schedule = lower_pairs(topology, algorithm, chunking, fluid.classes, append);
  assign_layers(topology, schedule.routes);
  assign_route_classes(topology, schedule.routes);
  sort_transfers(schedule);
  schedule.proof.max_link_load = max_link_load(schedule);
  // Whole chunks can come out ahead of a fluid plan that was left a hair from its optimum.
  const double chunked_flow = 1 / schedule.proof.max_link_load.to_double();
  schedule.proof.flow = std::min(std::max(fluid.flow, chunked_flow), fluid.certificate.flow_upper_bound);
  return schedule;
}

Result<Schedule> plan(const Topology& topology, const PlanOptions& options, const char* algorithm,
                      void (*append)(Schedule&, const ChunkedPair&)) {
  if (!options.demand.empty()) return Error{std::string(algorithm) + " plans equal demands only"};
  const Result<ConcurrentFlow> fluid = max_concurrent_flow(topology, flow_options(options));
  if (!fluid) return fluid.error();
  Schedule schedule = options.schedule ? with_transfers(topology, options, algorithm, *fluid, append)
                                       : without_transfers(topology, algorithm, *fluid);
  const Rational unit(degree(topology), topology.host_count());
  schedule.proof.bandwidth_time = unit * schedule.proof.max_link_load;
  schedule.proof.bandwidth_bound = unit * fluid->certificate.load_lower_bound;
  schedule.proof.flow_upper_bound = fluid->certificate.flow_upper_bound;
  if (options.figures != nullptr) {
    options.figures->method = fluid->method;
    options.figures->symmetry_order = fluid->symmetry_order;
  }
  return schedule;
}

}  // namespace

Result<Schedule> plan_mcf_path(const Topology& topology, const PlanOptions& options) {
  return plan(topology, options, "mcf-path", append_routed);
}

Result<Schedule> plan_mcf_link(const Topology& topology, const PlanOptions& options) {
  if (topology.node_count() != topology.host_count()) {
    return Error{"mcf-link forwards in hosts only, and " + topology.name() + " has " +
                 std::to_string(topology.node_count() - topology.host_count()) + " switches: use mcf-path"};
  }
  return plan(topology, options, "mcf-link", append_hops);
}

}  // namespace libcoll
