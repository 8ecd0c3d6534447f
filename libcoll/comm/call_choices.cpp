#include "libcoll/comm/call_choices.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "libcoll/base/config.h"
#include "libcoll/execute/direct_exchange.h"
#include "libcoll/execute/scattered_reduction.h"
#include "libcoll/node/call_blocks.h"
#include "libcoll/transport/transport.h"

namespace libcoll::comm {

using namespace execute;
using namespace plan;
using namespace schedule;
using namespace select;
using namespace transport;

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

CallKind call_of(const Call& call) {
  const bool gathers = call.collective == Collective::allgather;
  if (call.is_rooted) return gathers ? CallKind::bcast : CallKind::reduce;
  if (call.counts.empty()) return call_of(call.collective);
  if (call.collective == Collective::alltoall) return CallKind::alltoallv;
  return gathers ? CallKind::allgatherv : CallKind::reduce_scatter;
}

void CallChoices::inherit(const CallChoices& original) {
  table_ = original.table_;
  learned_ = original.learned_;
}

void CallChoices::learn_settings() {
  const Runtime& runtime = members_.runtime();
  table_ = std::make_shared<const SelectionTable>(runtime.config(), runtime.tuning_table(), members_.size());
}

void CallChoices::add(RowSource source, const std::vector<TuningChoice>& choices) {
  for (const bool order_matters : {false, true}) add(source, choices, order_matters);
}

void CallChoices::add(RowSource source, const std::vector<TuningChoice>& choices, bool order_matters) {
  SelectionTable changed = *table_;
  changed.add(source, choices, order_matters);
  table_ = std::make_shared<const SelectionTable>(std::move(changed));
}

bool CallChoices::begins_learning(CallKind call, bool order_matters) {
  return !std::exchange(learned_[order_matters ? 1 : 0][static_cast<std::size_t>(call)], true);
}

const SelectionRow* CallChoices::row_for(const Call& call) const {
  if (!call.counts.empty()) return nullptr;
  return table_->find(call_of(call.collective), call.elements * call.element_bytes, call.order_matters);
}

Protocol CallChoices::select(const Call& call, bool can_go_direct) const {
  const std::int64_t bytes = call.elements * call.element_bytes;
  const SelectionRow* row = can_go_direct && bytes > 0 ? row_for(call) : nullptr;
  if (row == nullptr) return Protocol::planned;
  if (row->choice.scattered && call.collective == Collective::allreduce && bytes <= ScatteredReduction::most_bytes) {
    return Protocol::scattered;
  }
  const bool fits = bytes <= DirectExchange::most_bytes / members_.size();
  return fits && row->choice.direct ? Protocol::directly : Protocol::planned;
}

std::int64_t CallChoices::segment_bytes(Collective collective) const {
  const std::int64_t configured = members_.runtime().config().segment_bytes;
  // Who names a length wants it.
  const bool is_named = configured != default_segment_bytes;
  if (!members_.share_memory() || is_named) return configured;
  return node::is_reduction(collective) ? most_memory_segment_bytes : most_read_segment_bytes;
}

Tuning CallChoices::tuning_for(const Call& call) const {
  Tuning tuning = members_.runtime().tuning();
  tuning.segment_bytes = segment_bytes(call.collective);
  const SelectionRow* row = row_for(call);
  if (row != nullptr && row->choice.segment_bytes > 0) {
    // Transports have made room for segments as configured.
    tuning.segment_bytes = std::min(tuning.segment_bytes, row->choice.segment_bytes);
  }
  if (row != nullptr && row->choice.in_flight > 0) tuning.in_flight = row->choice.in_flight;
  return tuning;
}

const LoweredPlanPointer& CallChoices::chosen_plan(const Call& call, const Plans& plans) const {
  if (plans.one_root != nullptr && call.is_rooted && vector_bytes(call, members_.size()) >= plans.one_root_from) {
    return plans.one_root;
  }
  const SelectionRow* row = plans.named.empty() ? nullptr : row_for(call);
  if (row != nullptr && !row->choice.algorithm.empty()) return plans.by(row->choice.algorithm);
  return plans.small != nullptr && vector_bytes(call, members_.size()) <= plans.small_up_to ? plans.small : plans.usual;
}

}  // namespace libcoll::comm
