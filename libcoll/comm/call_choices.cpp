#include "libcoll/comm/call_choices.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "libcoll/base/config.h"
#include "libcoll/execute/direct_exchange.h"
#include "libcoll/execute/scattered_reduction.h"
#include "libcoll/transport/transport.h"

namespace libcoll {
namespace {

/// All shards together, which is the same on all ranks. Rooted calls are planned as vectors of one shard.
std::int64_t vector_bytes(const Call& call, std::int32_t ranks) {
  if (!call.counts.empty()) {
    return std::accumulate(call.counts.begin(), call.counts.end(), std::int64_t{0}) * call.element_bytes;
  }
  const bool whole = call.collective == Collective::allreduce;
  return call.elements * call.element_bytes * (whole ? 1 : ranks);
}

}  // namespace

CallKind call_of(Collective collective) {
  constexpr std::array kinds{CallKind::allgather, CallKind::reduce_scatter_block, CallKind::allreduce,
                             CallKind::alltoall};
  return kinds[static_cast<std::size_t>(collective)];
}

void CallChoices::inherit(const CallChoices& original) {
  by_measurement_ = original.by_measurement_;
  by_facts_ = original.by_facts_;
  tuned_ = original.tuned_;
}

void CallChoices::learn_table() { tuned_ = ChoicesByCall(members_.runtime().tuning_table(), members_.size()); }

void CallChoices::add(const std::vector<TuningChoice>& choices, bool order_matters) {
  Modelled& modelled = order_matters ? by_facts_ : by_measurement_;
  modelled.table.add(choices);
  modelled.chosen = ChoicesByCall(modelled.table, members_.size());
}

const TuningChoice* CallChoices::choice_for(const Call& call) const {
  if (!call.counts.empty()) return nullptr;
  const CallKind kind = call_of(call.collective);
  const std::int64_t bytes = call.elements * call.element_bytes;
  const TuningChoice* choice = tuned(kind, bytes);
  return choice != nullptr ? choice : modelled(kind, bytes, call.order_matters);
}

Protocol CallChoices::select(const Call& call, bool can_go_direct) const {
  if (!can_go_direct || !call.counts.empty()) return Protocol::planned;
  const std::int64_t bytes = call.elements * call.element_bytes;
  if (bytes <= 0) return Protocol::planned;
  const CallKind kind = call_of(call.collective);
  const TuningChoice* in_table = tuned(kind, bytes);
  const TuningChoice* choice = in_table != nullptr ? in_table : modelled(kind, bytes, call.order_matters);
  if (choice != nullptr && choice->scattered && call.collective == Collective::allreduce &&
      bytes <= ScatteredReduction::most_bytes) {
    return Protocol::scattered;
  }
  // A table says "plan" for what goes direct by itself, too; the cost model has tried both. Who names a planner wants
  // its plans.
  const bool is_said = choice != nullptr && !choice->native && (in_table == nullptr || !in_table->algorithm.empty());
  const bool is_small = !is_said && bytes <= members_.runtime().config().planless_max / members_.size();
  const bool fits = bytes <= DirectExchange::most_bytes / members_.size();
  return fits && (is_small || (choice != nullptr && choice->direct)) ? Protocol::directly : Protocol::planned;
}

std::int64_t CallChoices::segment_bytes() const {
  const std::int64_t configured = members_.runtime().config().segment_bytes;
  // Who names a length wants it.
  const bool is_named = configured != Config().segment_bytes;
  return members_.share_memory() && !is_named ? most_memory_segment_bytes : configured;
}

Tuning CallChoices::tuning_for(const Call& call) const {
  Tuning tuning = members_.runtime().tuning();
  tuning.segment_bytes = segment_bytes();
  const TuningChoice* choice = choice_for(call);
  if (choice != nullptr && choice->segment_bytes > 0) {
    // Transports have made room for segments as configured.
    tuning.segment_bytes = std::min(tuning.segment_bytes, choice->segment_bytes);
  }
  if (choice != nullptr && choice->in_flight > 0) tuning.in_flight = choice->in_flight;
  return tuning;
}

const LoweredPlanPointer& CallChoices::chosen_plan(const Call& call, const Plans& plans) const {
  const TuningChoice* choice = plans.named.empty() ? nullptr : choice_for(call);
  if (choice != nullptr && !choice->algorithm.empty()) return plans.by(choice->algorithm);
  return plans.small != nullptr && vector_bytes(call, members_.size()) <= plans.small_up_to ? plans.small : plans.usual;
}

}  // namespace libcoll
