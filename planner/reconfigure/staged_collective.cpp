#include "planner/reconfigure/staged_collective.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "planner/base/index.h"
#include "planner/broadcast/classic/bruck.h"
#include "planner/broadcast/classic/rooted_trees.h"
#include "planner/broadcast/classic/swing.h"
#include "planner/reconfigure/birkhoff.h"
#include "planner/topology/generators.h"

namespace libcoll::reconfigure {

using namespace broadcast::classic;
using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

NodeId modulo(std::int64_t node, std::int32_t nodes) { return static_cast<NodeId>((node % nodes + nodes) % nodes); }

/// Takes the common factor of the units into the unit, so that steps of the same matrix are seen to be equal.
StagedStep reduced(StagedStep step) {
  std::sort(step.demands.begin(), step.demands.end());
  std::int64_t factor = 0;
  for (const Demand& demand : step.demands) factor = std::gcd(factor, demand.units);
  if (factor > 1) {
    for (Demand& demand : step.demands) demand.units /= factor;
    step.unit *= Rational(factor);
  }
  return step;
}

StagedCollective from_pattern(std::string algorithm, Collective collective, std::int32_t nodes, Pattern pattern) {
  StagedCollective result{std::move(algorithm), nodes, {}, collective, std::nullopt};
  const std::int64_t shards = is_rooted(collective) ? 1 : nodes;
  std::vector<std::map<std::pair<NodeId, NodeId>, std::int64_t>> chunks(at(pattern.steps));
  for (const Transfer& transfer : pattern.transfers) {
    chunks[at(transfer.step) - 1][{transfer.from, transfer.to}] += transfer.chunk_count;
  }
  for (const auto& step : chunks) {
    StagedStep next{{}, Rational(1, shards * pattern.chunks_per_shard)};
    for (const auto& [ends, count] : step) next.demands.push_back({ends.first, ends.second, count});
    result.steps.push_back(reduced(std::move(next)));
  }
  result.pattern = std::move(pattern);
  return result;
}

/// An allgather as all three collectives of its kind.
Result<StagedCollective> as(Collective collective, const char* algorithm, std::int32_t nodes,
                            Result<Pattern> allgather) {
  if (!allgather) return Error{std::string(algorithm) + ": " + allgather.error().message};
  if (collective == Collective::allgather) {
    return from_pattern(algorithm, collective, nodes, std::move(allgather).value());
  }
  Pattern pattern = reversed(*allgather);
  if (collective == Collective::allreduce) pattern = in_turn(pattern, *allgather);
  return from_pattern(algorithm, collective, nodes, std::move(pattern));
}

/// §5.1: in step i of the reduce-scatter u sends m/2^i to u + 2^(i−1); in the allgather the pattern reverses.
template <Collective collective>
Result<StagedCollective> recursive_doubling(const StageOptions& options) {
  if (!std::has_single_bit(static_cast<std::uint32_t>(options.nodes))) {
    return Error{"recursive-doubling: found " + std::to_string(options.nodes) + " nodes, expected a power of two"};
  }
  Gathering gathering(options.nodes);
  for (std::int32_t distance = options.nodes / 2; distance > 0; distance /= 2) {
    std::vector<NodeId> partners;
    partners.reserve(at(options.nodes));
    for (NodeId node = 0; node < options.nodes; ++node) partners.push_back(modulo(node - distance, options.nodes));
    if (const Status status = gathering.exchange(partners); !status) return status.error();
  }
  return as(collective, "recursive-doubling", options.nodes, gathering.finish());
}

/// Bruck's concatenation with k ports: whoever holds h shards sends them to the k nodes h, 2h, …, kh behind it.
template <Collective collective>
Result<StagedCollective> bruck_concatenation(const StageOptions& options) {
  const std::int32_t nodes = options.nodes;
  Pattern pattern;
  for (std::int64_t held = 1; held < nodes; held *= options.ports + 1) {
    ++pattern.steps;
    for (std::int64_t behind = held; behind < std::min<std::int64_t>(held * (options.ports + 1), nodes);
         behind += held) {
      const std::int64_t count = std::min(held, nodes - behind);
      for (NodeId from = 0; from < nodes; ++from) {
        for (std::int64_t i = 0; i < count; ++i) {
          pattern.transfers.push_back({modulo(from + i, nodes), 0, 1, from, modulo(from - behind, nodes), pattern.steps,
                                       direct, TransferKind::copy});
        }
      }
    }
  }
  return as(collective, "bruck", nodes, std::move(pattern));
}

Result<StagedCollective> swing_of(Collective collective, const StageOptions& options, const char* algorithm,
                                  const std::string& topology,
                                  Result<Schedule> (*plan)(Collective, const Topology&, const PlanOptions&)) {
  const Result<Topology> graph = generate(topology);
  if (!graph) return graph.error();
  if (graph->host_count() != options.nodes) {
    return Error{std::string(algorithm) + ": found dimensions of " + std::to_string(graph->host_count()) +
                 " nodes together, expected " + std::to_string(options.nodes)};
  }
  const Result<Schedule> schedule = plan(collective, *graph, PlanOptions());
  if (!schedule) return schedule.error();
  Result<StagedCollective> result = staged(*schedule);
  if (result.ok()) result->algorithm = algorithm;
  return result;
}

/// On a complete graph nothing needs a route, and its nodes form one ring by id.
template <Collective collective>
Result<StagedCollective> swing(const StageOptions& options) {
  return swing_of(collective, options, "swing", "complete:" + std::to_string(options.nodes), plan_swing);
}

template <Collective collective>
Result<StagedCollective> swing_multiport(const StageOptions& options) {
  std::string sizes;
  for (const std::int32_t size : options.dimensions) sizes += (sizes.empty() ? "" : "x") + std::to_string(size);
  const std::string topology = sizes.empty() ? "complete:" + std::to_string(options.nodes)
                                             : (options.dimensions.size() > 1 ? "torus:" : "ring:") + sizes;
  return swing_of(collective, options, "swing-multiport", topology, plan_swing_multiport);
}

/// The matchings of a Birkhoff–von Neumann decomposition, largest coefficients first, `ports` of them in a step. M is
/// what a node would send if it had the largest demand for everyone.
Result<StagedCollective> decomposed_alltoall(const StageOptions& options) {
  constexpr std::int64_t parts = 1 << 12;  // of the largest demand
  const std::size_t pairs = at(options.nodes) * at(options.nodes);
  if (options.demand.size() != pairs) {
    return Error{"direct: found demands of " + std::to_string(options.demand.size()) + " pairs, expected " +
                 std::to_string(pairs)};
  }
  std::vector<std::int64_t> matrix;
  for (const double amount : options.demand) {
    if (!(amount >= 0 && amount <= 1)) return Error{"direct: found a demand outside 0 to 1"};
    matrix.push_back(std::llround(amount * static_cast<double>(parts)));
  }
  const std::vector<MatchingTerm> terms = birkhoff_von_neumann(matrix, options.nodes);
  StagedCollective result{"direct", options.nodes, {}, std::nullopt, std::nullopt};
  for (std::size_t first = 0; first < terms.size(); first += at(options.ports)) {
    std::map<std::pair<NodeId, NodeId>, std::int64_t> units;
    for (std::size_t i = first; i < std::min(first + at(options.ports), terms.size()); ++i) {
      for (const Demand& demand : terms[i].demands) units[{demand.from, demand.to}] += demand.units;
    }
    StagedStep step{{}, Rational(1, options.nodes * parts)};
    for (const auto& [ends, count] : units) step.demands.push_back({ends.first, ends.second, count});
    result.steps.push_back(reduced(std::move(step)));
  }
  if (result.steps.empty()) return Error{"direct: found no demand at all, expected at least one"};
  return result;
}

/// The transpose: in step t every node sends the blocks for the `ports` nodes next in turn. The rotations are a
/// Birkhoff–von Neumann decomposition of the uniform demand with equal coefficients (§3.3).
Result<StagedCollective> direct_alltoall(const StageOptions& options) {
  if (!options.demand.empty()) return decomposed_alltoall(options);
  const std::int32_t nodes = options.nodes;
  Pattern pattern;
  for (std::int32_t shift = 1; shift < nodes; ++shift) {
    pattern.steps = (shift - 1) / options.ports + 1;
    for (NodeId from = 0; from < nodes; ++from) {
      const NodeId to = modulo(from + shift, nodes);
      pattern.transfers.push_back({from * nodes + to, 0, 1, from, to, pattern.steps, direct, TransferKind::copy});
    }
  }
  return from_pattern("direct", Collective::alltoall, nodes, std::move(pattern));
}

/// A message for each digit but 0: radix ports + 1.
Result<StagedCollective> bruck_index(const StageOptions& options) {
  return from_pattern("bruck", Collective::alltoall, options.nodes,
                      bruck_index_pattern(options.nodes, options.ports + 1));
}

/// A broadcast as such, or turned around as a reduction.
Result<StagedCollective> rooted(Collective collective, const char* algorithm, const StageOptions& options,
                                Pattern broadcast) {
  if (options.root < 0 || options.root >= options.nodes) {
    return Error{std::string(algorithm) + ": found root " + std::to_string(options.root) + ", expected 0 to " +
                 std::to_string(options.nodes - 1)};
  }
  if (collective == Collective::reduce) broadcast = reversed(std::move(broadcast));
  StagedCollective result = from_pattern(algorithm, collective, options.nodes, std::move(broadcast));
  result.root = options.root;
  return result;
}

template <Collective collective>
Result<StagedCollective> binomial_tree(const StageOptions& options) {
  return rooted(collective, "binomial-tree", options, binomial_tree_pattern(options.nodes, options.root));
}

template <Collective collective>
Result<StagedCollective> binary_tree(const StageOptions& options) {
  return rooted(collective, "binary-tree", options, binary_tree_pattern(options.nodes, options.root, options.ports));
}

constexpr auto allgather = Collective::allgather;
constexpr auto reduce_scatter = Collective::reduce_scatter;
constexpr auto allreduce = Collective::allreduce;
constexpr auto broadcast = Collective::broadcast;
constexpr auto reduce = Collective::reduce;

}  // namespace

std::span<const Staging> stagings() {
  static constexpr std::string_view doubling = "distances 1, 2, 4, … around the ring, half the data each time";
  static constexpr std::string_view swinging = "distances 1, -1, 3, -5, … to alternate sides";
  static constexpr std::string_view multiport = "2 D swings at once, each with its part of the data";
  static constexpr std::string_view concatenation = "distances in powers of ports + 1, for any number of nodes";
  static constexpr std::array table = {
      Staging{"allreduce", "recursive-doubling", true, doubling, recursive_doubling<allreduce>},
      Staging{"allreduce", "bruck", false, concatenation, bruck_concatenation<allreduce>, true},
      Staging{"allreduce", "swing", false, swinging, swing<allreduce>},
      Staging{"allreduce", "swing-multiport", false, multiport, swing_multiport<allreduce>, false, true},
      Staging{"reduce_scatter", "recursive-doubling", true, doubling, recursive_doubling<reduce_scatter>},
      Staging{"reduce_scatter", "bruck", false, concatenation, bruck_concatenation<reduce_scatter>, true},
      Staging{"reduce_scatter", "swing", false, swinging, swing<reduce_scatter>},
      Staging{"reduce_scatter", "swing-multiport", false, multiport, swing_multiport<reduce_scatter>, false, true},
      Staging{"allgather", "recursive-doubling", true, doubling, recursive_doubling<allgather>},
      Staging{"allgather", "bruck", false, concatenation, bruck_concatenation<allgather>, true},
      Staging{"allgather", "swing", false, swinging, swing<allgather>},
      Staging{"allgather", "swing-multiport", false, multiport, swing_multiport<allgather>, false, true},
      Staging{"alltoall", "direct", false, "every block straight to its destination, one rotation after the other",
              direct_alltoall, true},
      Staging{"alltoall", "bruck", false, "the index algorithm of radix ports + 1", bruck_index, true},
      Staging{"broadcast", "binomial-tree", false, "whoever has the data sends it on", binomial_tree<broadcast>},
      Staging{"broadcast", "binary-tree", false, "every node to its two children", binary_tree<broadcast>, true},
      Staging{"reduce", "binomial-tree", false, "the broadcast turned around", binomial_tree<reduce>},
      Staging{"reduce", "binary-tree", false, "the broadcast turned around", binary_tree<reduce>, true},
  };
  return table;
}

Result<StagedCollective> stage(std::string_view collective, std::string_view algorithm, const StageOptions& options) {
  if (options.nodes < 2) return Error{"found " + std::to_string(options.nodes) + " nodes, expected at least two"};
  if (options.ports < 1) return Error{"found " + std::to_string(options.ports) + " ports, expected at least one"};
  if (options.root != 0 && collective != to_string(broadcast) && collective != to_string(reduce)) {
    return Error{"found root " + std::to_string(options.root) + ", but " + std::string(collective) + " has none"};
  }
  const bool power_of_two = std::has_single_bit(static_cast<std::uint32_t>(options.nodes));
  std::string known;
  std::optional<Staging> found;
  for (const Staging& staging : stagings()) {
    if (staging.collective != collective) continue;
    const std::string name(staging.algorithm);
    known += (known.empty() ? "" : ", ") + name;
    const bool serves = algorithm.empty() ? power_of_two || !staging.powers_of_two : staging.algorithm == algorithm;
    if (serves && !found) found = staging;
  }
  if (found) return found->make(options);
  if (known.empty()) {
    return Error{"no staged algorithm for \"" + std::string(collective) +
                 "\", expected allreduce, reduce_scatter, allgather, alltoall, broadcast or reduce"};
  }
  return Error{"no staged algorithm \"" + std::string(algorithm) + "\" for " + std::string(collective) +
               ", expected one of: " + known};
}

Result<StagedCollective> staged(const Schedule& schedule) {
  if (schedule.transfers.empty()) return Error{"a schedule without transfers has no steps to stage"};
  if (schedule.pipelined) return Error{"a pipelined schedule has no steps that end"};
  Pattern pattern{schedule.chunks_per_shard, schedule.steps, schedule.transfers, {}};
  for (Transfer& transfer : pattern.transfers) transfer.route = direct;
  StagedCollective result =
      from_pattern(schedule.algorithm, schedule.collective, schedule.topology.host_count(), std::move(pattern));
  result.root = schedule.root;
  return result;
}

}  // namespace libcoll::reconfigure
