#include "libcoll/comm/call_rounds.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "libcoll/base/log.h"
#include "planner/base/index.h"

namespace libcoll::comm {

using namespace execute;
using namespace plan;
using namespace schedule;
using namespace topology;

namespace {

/// Of the load by the usual plan: hosts that forward have to be worth it.
constexpr double most_spread_load = 0.8;

/// A round moves at most round_bytes of a rank's whole vector; its scratch memory is of that order.
std::int64_t elements_per_round(const Membership& members, const Call& call) {
  const auto blocks =
      static_cast<std::int64_t>(call.collective != Collective::allreduce ? members.rank_of_node().size() : 1);
  const std::int64_t bytes = std::max<std::int64_t>(1, members.runtime().config().round_bytes / blocks);
  return std::max<std::int64_t>(1, bytes / call.element_bytes);
}

/// The same on every rank.
std::int64_t rounds_of_unequal(const Membership& members, const Call& call, const LoweredPlan& plan) {
  const std::size_t ranks = members.rank_of_node().size();
  std::int64_t most = 0;
  if (call.collective != Collective::alltoall) {
    most = std::accumulate(call.counts.begin(), call.counts.end(), std::int64_t{0});
  } else if (plan.forwards) {
    // What hosts keep for others is of the order of what the busiest of them sends or receives.
    std::vector<std::int64_t> sent(ranks, 0);
    std::vector<std::int64_t> received(ranks, 0);
    for (std::size_t block = 0; block < call.counts.size(); ++block) {
      sent[block / ranks] += call.counts[block];
      received[block % ranks] += call.counts[block];
    }
    most = std::max(*std::max_element(sent.begin(), sent.end()), *std::max_element(received.begin(), received.end()));
  }
  // Otherwise nobody knows all blocks; nor is anything kept for others.
  const std::int64_t bytes = most * call.element_bytes;
  return bytes == 0 ? 1 : (bytes - 1) / members.runtime().config().round_bytes + 1;
}

/// Round k of K takes elements [n·k/K, n·(k+1)/K) of every shard of n.
Portion portion_of_unequal(const Membership& members, const Call& call, std::int64_t rounds, std::int64_t index) {
  const auto ranks = static_cast<std::int64_t>(members.rank_of_node().size());
  const auto cut = [rounds](std::int64_t elements, std::int64_t round) {
    __extension__ using Wide = __int128;
    return static_cast<std::int64_t>(Wide{elements} * round / rounds);
  };
  // Where in the shard that a rank owns, or exchanges with this one, the round begins.
  const auto skipped = [&](std::int64_t shard) {
    return cut(call.counts[static_cast<std::size_t>(shard)], index) * call.element_bytes;
  };
  Portion portion{
      call.input, call.output, {0, call.element_bytes, 0, 0, call.counts, call.input_offsets, call.output_offsets}};
  Shape& shape = portion.shape;
  for (std::int64_t& count : shape.counts) count = cut(count, index + 1) - cut(count, index);
  switch (call.collective) {
    case Collective::allgather:
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        shape.output_offsets[static_cast<std::size_t>(rank)] += skipped(rank);
      }
      portion.input += skipped(members.rank());
      break;
    case Collective::reduce_scatter:
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        shape.input_offsets[static_cast<std::size_t>(rank)] += skipped(rank);
      }
      portion.output += skipped(members.rank());
      break;
    case Collective::alltoall:
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        shape.input_offsets[static_cast<std::size_t>(rank)] += skipped(members.rank() * ranks + rank);
        shape.output_offsets[static_cast<std::size_t>(rank)] += skipped(rank * ranks + members.rank());
      }
      break;
    case Collective::allreduce:
    case Collective::broadcast:
    case Collective::reduce:
      break;
  }
  return portion;
}

}  // namespace

std::int64_t rounds_of(const Membership& members, const Call& call, const LoweredPlan& plan) {
  if (!call.counts.empty()) return rounds_of_unequal(members, call, plan);
  const std::int64_t elements = elements_per_round(members, call);
  return call.elements / elements + (call.elements % elements != 0 ? 1 : 0);
}

Portion portion_of(const Membership& members, const Call& call, std::int64_t rounds, std::int64_t index) {
  if (!call.counts.empty()) return portion_of_unequal(members, call, rounds, index);
  const std::int64_t elements = elements_per_round(members, call);
  const std::int64_t begin = index * elements;
  Shape shape = equal_shards(call.elements, call.element_bytes);
  shape.elements = std::min(elements, call.elements - begin);
  const std::int64_t offset = begin * call.element_bytes;
  return {call.input + offset, call.output + offset, std::move(shape)};
}

LoweredPlanPointer plan_for_lengths(const Membership& members, const Call& call, const LoweredPlanPointer& usual) {
  if (usual->spread == nullptr) return usual;
  const std::vector<std::int32_t>& place_of_shard = members.place_of_shard();
  const std::int32_t nodes = members.nodes();
  std::vector<std::int64_t> bytes(call.counts.size(), 0);
  for (NodeId from = 0; from < nodes; ++from) {
    for (NodeId to = 0; to < nodes; ++to) {
      const std::int64_t block = std::int64_t{place_of_shard[at(from)]} * nodes + place_of_shard[at(to)];
      if (from != to) bytes[at(from * nodes + to)] = call.counts[at(block)] * call.element_bytes;
    }
  }
  if (*std::max_element(bytes.begin(), bytes.end()) < members.runtime().config().valiant_threshold) return usual;
  const double as_usual = usual->loads.busiest(bytes);
  const double spread = usual->loads.busiest(spread_evenly(bytes, nodes));
  if (spread > most_spread_load * as_usual) return usual;
  if (log_enabled(LogLevel::trace)) {
    log(LogLevel::trace,
        members.name() + ": by way of all nodes, " + std::to_string(static_cast<std::int64_t>(spread)) +
            " bytes on the busiest link in place of " + std::to_string(static_cast<std::int64_t>(as_usual)));
  }
  return usual->spread;
}

}  // namespace libcoll::comm
