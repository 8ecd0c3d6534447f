#include "planner/broadcast/bfb/expansion.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/broadcast/bfb/bfb.h"
#include "planner/schedule/cost.h"
#include "planner/schedule/reverse.h"
#include "planner/topology/expansion.h"
#include "planner/topology/generators.h"
#include "planner/topology/isomorphism.h"

namespace libcoll::broadcast::bfb {

using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

Status check(const Schedule& schedule) {
  if (schedule.collective == Collective::allgather && schedule.routes.empty()) return {};
  return Error{"only a link-based allgather can be expanded, not a schedule for " +
               std::string(to_string(schedule.collective))};
}

/// The frame of an expanded schedule, to be filled with transfers.
Result<Schedule> frame(Result<Topology> topology, std::int64_t chunks, std::int32_t steps) {
  if (!topology) return topology.error();
  if (chunks > std::numeric_limits<std::int32_t>::max()) {
    return Error{std::to_string(chunks) + " chunks per shard are too many"};
  }
  Schedule schedule;
  schedule.collective = Collective::allgather;
  schedule.algorithm = "expansion";
  schedule.topology = std::move(topology).value();
  schedule.chunks_per_shard = static_cast<std::int32_t>(chunks);
  schedule.steps = steps;
  return schedule;
}

void finish(Schedule& schedule) {
  sort_transfers(schedule);
  schedule.proof.bandwidth_time = bandwidth_time(schedule);
  schedule.proof.bandwidth_bound = allgather_bandwidth_bound(schedule.topology);
  schedule.proof.max_link_load = max_link_load(schedule);
}

/// Where a transfer of the base recurs: what to add to its shard and to its nodes.
struct Offset {
  NodeId shard = 0;
  NodeId node = 0;
};

/// The places of one phase of Definition 14. Dimension `active` is where the base's transfers go; in those before it,
/// from `first` on, the shards have spread already; in the rest they have not moved.
std::vector<Offset> places(std::int32_t nodes, std::int32_t factors, std::int32_t first, std::int32_t active) {
  std::vector<Offset> result = {{}};
  NodeId stride = 1;
  for (std::int32_t dimension = factors - 1; dimension >= 0; --dimension, stride *= nodes) {
    if (dimension == active) continue;
    const bool spread = (dimension - first + factors) % factors < (active - first + factors) % factors;
    std::vector<Offset> next;
    for (const Offset& offset : result) {
      for (NodeId owner = 0; owner < nodes; ++owner) {
        for (NodeId at = spread ? 0 : owner; at < (spread ? nodes : owner + 1); ++at) {
          next.push_back({offset.shard + owner * stride, offset.node + at * stride});
        }
      }
    }
    result = std::move(next);
  }
  return result;
}

NodeId power_of(NodeId base, std::int32_t exponent) {
  NodeId power = 1;
  for (std::int32_t i = 0; i < exponent; ++i) power *= base;
  return power;
}

enum class Side : std::uint8_t { itself, transposed };

Result<Schedule> plan_specification(std::string_view specification, Side side, const PlanOptions& options);

Result<Schedule> plan_both_directions(std::string_view base, Side side, const PlanOptions& options) {
  const Result<Schedule> forward = plan_specification(base, side, options);
  if (!forward) return forward.error();
  if (const std::optional<Automorphism> map = reverse_symmetry(forward->topology)) {
    return expand_both_directions(*forward, isomorphic_image(*forward, *map, transpose(forward->topology)));
  }
  const Result<Schedule> backward =
      plan_specification(base, side == Side::itself ? Side::transposed : Side::itself, options);
  return backward ? expand_both_directions(*forward, *backward) : backward.error();
}

/// The allgather on the topology of that name, or on its transpose: expansions commute with transposition, links
/// keeping their numbers.
Result<Schedule> plan_specification(std::string_view specification, Side side, const PlanOptions& options) {
  using Kind = ExpansionParts::Kind;
  const Result<ExpansionParts> parts = split_expansion(specification);
  if (!parts) return parts.error();
  if (parts->kind == Kind::none || parts->kind == Kind::product) {
    const Result<Topology> topology = generate(specification);
    if (!topology) return topology.error();
    return plan_bfb_allgather(side == Side::itself ? *topology : transpose(*topology), options);
  }
  if (parts->kind == Kind::bidirectional) return plan_both_directions(parts->operands[0], side, options);
  const Result<Schedule> base = plan_specification(parts->operands[0], side, options);
  if (!base) return base.error();
  if (parts->kind == Kind::line) return expand_line(*base);
  return parts->kind == Kind::degree ? expand_degree(*base, parts->number) : expand_power(*base, parts->number);
}

/// Same nodes and links, in whatever order, all of one bandwidth.
bool same_links(const Topology& a, const Topology& b) {
  if (a.node_count() != b.node_count() || a.link_count() != b.link_count() || a.host_count() != a.node_count()) {
    return false;
  }
  return std::all_of(a.links().begin(), a.links().end(), [&](const Link& link) {
    return link.bandwidth_bytes_per_second == a.unit_bandwidth_bytes_per_second() &&
           b.find_link(link.from, link.to) >= 0;
  });
}

/// The allgather on the given topology, or on its transpose. PlanOptions::schedule is the caller's business.
Result<Schedule> plan_side(const Topology& topology, Side side, PlanOptions options) {
  options.schedule = true;
  options.figures = nullptr;
  const Result<ExpansionParts> parts = split_expansion(topology.name());
  if (!parts) return parts.error();
  if (parts->kind == ExpansionParts::Kind::none) {
    return Error{"expansion plans line:, degree:, power:, product: and bidirectional: topologies, and '" +
                 topology.name() + "' is none of them"};
  }
  Result<Schedule> schedule = plan_specification(topology.name(), side, options);
  if (!schedule) return schedule;
  const Topology wanted = side == Side::itself ? topology : transpose(topology);
  if (!same_links(wanted, schedule->topology)) {
    return Error{"the links of " + topology.name() + " are not those of that name, or not of one bandwidth"};
  }
  schedule->topology = wanted;
  schedule->algorithm = "expansion";
  return schedule;
}

Schedule as_asked(Schedule schedule, const PlanOptions& options) {
  if (!options.schedule) schedule.transfers.clear();
  return schedule;
}

Result<Schedule> reduce_scatter_of(const Topology& topology, const PlanOptions& options) {
  const std::optional<Automorphism> map = reverse_symmetry(topology);
  if (options.figures != nullptr) {
    options.figures->more.emplace_back("reverse_symmetric", std::int64_t{map ? 1 : 0});
  }
  const Result<Schedule> allgather = plan_side(topology, map ? Side::itself : Side::transposed, options);
  if (!allgather) return allgather.error();
  Result<Schedule> schedule = map ? reduce_scatter_by_symmetry(*allgather, *map) : reverse(*allgather);
  // The transpose of the transpose has the same links; the name and the settings are the user's.
  if (schedule) schedule->topology = topology;
  return schedule;
}

}  // namespace

ExpansionCost line_cost(const ExpansionCost& base) {
  return {base.nodes * base.degree, base.degree, base.steps + 1, base.bandwidth_time + Rational(1, base.nodes)};
}

ExpansionCost degree_cost(const ExpansionCost& base, std::int64_t copies) {
  const std::int64_t nodes = base.nodes * copies;
  // One copy has no others to hear from.
  return {nodes, base.degree * copies, base.steps + (copies > 1 ? 1 : 0),
          base.bandwidth_time + Rational(copies - 1, nodes)};
}

ExpansionCost power_cost(const ExpansionCost& base, std::int64_t factors) {
  std::int64_t nodes = 1;
  for (std::int64_t i = 0; i < factors; ++i) nodes *= base.nodes;
  return {nodes, base.degree * factors, base.steps * factors,
          base.bandwidth_time * Rational(base.nodes, base.nodes - 1) * Rational(nodes - 1, nodes)};
}

Result<Schedule> expand_line(const Schedule& allgather) {
  if (Status status = check(allgather); !status) return status.error();
  const Topology& base = allgather.topology;
  Result<Schedule> schedule = frame(line_graph(base), allgather.chunks_per_shard, allgather.steps + 1);
  if (!schedule) return schedule;
  for (const Link& link : schedule->topology.links()) {
    schedule->transfers.push_back({link.from, 0, allgather.chunks_per_shard, link.from, link.to, 1});
  }
  for (const Transfer& transfer : allgather.transfers) {
    const LinkId from = base.find_link(transfer.from, transfer.to);
    for (const LinkId to : base.out_links(transfer.to)) {
      for (const LinkId owner : base.in_links(transfer.shard)) {
        if (owner == to) continue;  // has its own shard
        Transfer copy = transfer;
        copy.shard = owner;
        copy.from = from;
        copy.to = to;
        copy.step = transfer.step + 1;
        schedule->transfers.push_back(copy);
      }
    }
  }
  finish(*schedule);
  return schedule;
}

Result<Schedule> expand_degree(const Schedule& allgather, std::int32_t copies) {
  if (Status status = check(allgather); !status) return status.error();
  const Topology& base = allgather.topology;
  const NodeId nodes = base.node_count();
  std::int64_t chunks = allgather.chunks_per_shard;
  for (NodeId v = 0; copies > 1 && v < nodes && chunks <= std::numeric_limits<std::int32_t>::max(); ++v) {
    chunks = std::lcm(chunks, std::ssize(base.in_links(v)) * copies);
  }
  Result<Schedule> schedule = frame(degree_expansion(base, copies), chunks, allgather.steps + (copies > 1 ? 1 : 0));
  if (!schedule) return schedule;
  const std::int32_t scale = schedule->chunks_per_shard / allgather.chunks_per_shard;
  for (const Transfer& transfer : allgather.transfers) {
    for (std::int32_t i = 0; i < copies; ++i) {
      for (std::int32_t j = 0; j < copies; ++j) {
        Transfer copy = transfer;
        copy.shard += i * nodes;
        copy.from += i * nodes;
        copy.to += j * nodes;
        copy.chunk_begin *= scale;
        copy.chunk_count *= scale;
        schedule->transfers.push_back(copy);
      }
    }
  }
  // Last, every copy of v hears of the others' shards, an equal part over each of its links.
  for (NodeId v = 0; v < nodes; ++v) {
    const auto parts = static_cast<std::int32_t>(base.in_links(v).size()) * copies;
    for (std::int32_t i = 0; i < copies; ++i) {
      for (std::int32_t j = 0; j < copies; ++j) {
        if (i == j) continue;
        const std::int32_t size = schedule->chunks_per_shard / parts;
        std::int32_t begin = 0;
        for (const LinkId id : base.in_links(v)) {
          for (std::int32_t k = 0; k < copies; ++k, begin += size) {
            schedule->transfers.push_back(
                {j * nodes + v, begin, size, k * nodes + base.link(id).from, i * nodes + v, schedule->steps});
          }
        }
      }
    }
  }
  finish(*schedule);
  return schedule;
}

Result<Schedule> expand_power(const Schedule& allgather, std::int32_t factors) {
  if (Status status = check(allgather); !status) return status.error();
  Result<Schedule> schedule = frame(cartesian_power(allgather.topology, factors),
                                    std::int64_t{factors} * allgather.chunks_per_shard, factors * allgather.steps);
  if (!schedule) return schedule;
  const NodeId nodes = allgather.topology.node_count();
  for (std::int32_t first = 0; first < factors; ++first) {
    for (std::int32_t phase = 0; phase < factors; ++phase) {
      const std::int32_t active = (first + phase) % factors;
      const NodeId stride = power_of(nodes, factors - 1 - active);
      for (const Offset& place : places(nodes, factors, first, active)) {
        for (const Transfer& transfer : allgather.transfers) {
          Transfer copy = transfer;
          copy.shard = place.shard + transfer.shard * stride;
          copy.from = place.node + transfer.from * stride;
          copy.to = place.node + transfer.to * stride;
          copy.chunk_begin += first * allgather.chunks_per_shard;
          copy.step += phase * allgather.steps;
          schedule->transfers.push_back(copy);
        }
      }
    }
  }
  finish(*schedule);
  return schedule;
}

Result<Schedule> expand_both_directions(const Schedule& forward, const Schedule& backward) {
  for (const Schedule* half : {&forward, &backward}) {
    if (Status status = check(*half); !status) return status.error();
  }
  const std::int64_t chunks = std::lcm(std::int64_t{forward.chunks_per_shard}, backward.chunks_per_shard);
  Result<Schedule> schedule =
      frame(both_directions(forward.topology), 2 * chunks, std::max(forward.steps, backward.steps));
  if (!schedule) return schedule;
  for (const Schedule* half : {&forward, &backward}) {
    const auto scale = static_cast<std::int32_t>(chunks / half->chunks_per_shard);
    const auto begin = static_cast<std::int32_t>(half == &forward ? 0 : chunks);
    for (Transfer transfer : half->transfers) {
      transfer.chunk_begin = transfer.chunk_begin * scale + begin;
      transfer.chunk_count *= scale;
      schedule->transfers.push_back(transfer);
    }
  }
  finish(*schedule);
  return schedule;
}

Schedule isomorphic_image(const Schedule& schedule, const Automorphism& map, const Topology& image) {
  Schedule result = schedule;
  result.topology = image;
  for (Transfer& transfer : result.transfers) {
    transfer.shard = map[at(transfer.shard)];
    transfer.from = map[at(transfer.from)];
    transfer.to = map[at(transfer.to)];
  }
  sort_transfers(result);
  return result;
}

Result<Schedule> reduce_scatter_by_symmetry(const Schedule& allgather, const Automorphism& to_transpose) {
  if (Status status = check(allgather); !status) return status.error();
  return reverse(isomorphic_image(allgather, to_transpose, transpose(allgather.topology)));
}

Result<Schedule> plan_expansion_allgather(const Topology& topology, const PlanOptions& options) {
  Result<Schedule> schedule = plan_side(topology, Side::itself, options);
  return schedule ? as_asked(std::move(schedule).value(), options) : schedule;
}

Result<Schedule> plan_expansion_reduce_scatter(const Topology& topology, const PlanOptions& options) {
  Result<Schedule> schedule = reduce_scatter_of(topology, options);
  return schedule ? as_asked(std::move(schedule).value(), options) : schedule;
}

Result<Schedule> plan_expansion_allreduce(const Topology& topology, const PlanOptions& options) {
  const Result<Schedule> reduce_scatter = reduce_scatter_of(topology, options);
  if (!reduce_scatter) return reduce_scatter.error();
  const Result<Schedule> allgather = plan_side(topology, Side::itself, options);
  if (!allgather) return allgather.error();
  Result<Schedule> schedule = concatenate(*reduce_scatter, *allgather);
  return schedule ? as_asked(std::move(schedule).value(), options) : schedule;
}

}  // namespace libcoll::broadcast::bfb
