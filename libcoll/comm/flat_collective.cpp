#include "libcoll/comm/flat_collective.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "libcoll/comm/call_rounds.h"
#include "libcoll/comm/communicator_parts.h"
#include "libcoll/execute/memory_traffic.h"
#include "planner/base/index.h"

namespace libcoll::comm {

using namespace execute;
using namespace observe;
using namespace plan;
using namespace schedule;
using namespace topology;
using namespace transport;

namespace {

std::int64_t bytes_of(const Shape& shape) {
  return std::accumulate(shape.counts.begin(), shape.counts.end(), std::int64_t{0}) * shape.element_bytes;
}

}  // namespace

FlatCollective::FlatCollective(CommunicatorParts& parts, Call call, LoweredPlanPointer plan, CallSequence sequence,
                               std::shared_ptr<PersistentContext> persistent)
    : parts_(parts),
      call_(std::move(call)),
      plan_(std::move(plan)),
      sequence_(sequence),
      persistent_(std::move(persistent)),
      tuning_(parts.choices.tuning_for(call_)) {
  count_rounds();
}

FlatCollective::FlatCollective(CommunicatorParts& parts, Call call, LoweredPlanPointer plan, Shape shape,
                               const Tuning& tuning, std::shared_ptr<PersistentContext> persistent)
    : parts_(parts),
      call_(std::move(call)),
      plan_(std::move(plan)),
      shape_(std::move(shape)),
      persistent_(std::move(persistent)),
      tuning_(tuning) {}

void FlatCollective::begin() {
  if (over()) return;
  // The rounds of a persistent call's starts are numbered by themselves, at once; how many they are may depend on the
  // plan.
  if (sequence_.settled || !persistent_) parts_.queue.enter(*this);
  advance();
}

bool FlatCollective::settle() {
  if (!parts_.sequence.settles(sequence_, persistent_.get())) return false;
  parts_.sequence.settle(call_.collective, sequence_, plan_, persistent_.get());
  count_rounds();
  if (persistent_) {
    parts_.queue.enter(*this);
  } else {
    parts_.queue.number_calls();
  }
  return true;
}

/// The init of a persistent call has told everybody all lengths.
void FlatCollective::count_rounds() {
  const bool exchanges_unequal = call_.collective == Collective::alltoall && !call_.counts.empty();
  const bool wants_lengths = exchanges_unequal && (plan_->forwards || plan_->spread != nullptr);
  tells_lengths_ = wants_lengths && !persistent_;
  if (wants_lengths && persistent_) plan_ = plan_for_lengths(parts_.members, call_, plan_);
  rounds_ = tells_lengths_ ? 1 : rounds_of(parts_.members, call_, *plan_);
}

void FlatCollective::advance() noexcept {
  try {
    while (!over()) {
      if (parts_.members.is_broken()) return abandon();
      if (!sequence_.settled && !settle()) return;
      if (flight_) {
        flight_->execution->advance();
      } else {
        if (!parts_.queue.admits(*this)) return;
        launch();
      }
      const Execution& execution = *flight_->execution;
      if (execution.failed()) return abandon();
      if (!execution.finished()) return;
      end_round();
    }
  } catch (...) {
    abandon();  // no memory for the next round
  }
}

void FlatCollective::end_round() {
  record_round();
  lengths_differ_ = lengths_differ_ || flight_->execution->lengths_differ();
  parts_.queue.keep(std::move(flight_));
  const bool all_told = awaits_lengths();
  ++round_;
  if (all_told) {
    plan_ = plan_for_lengths(parts_.members, call_, plan_);
    rounds_ = 1 + rounds_of(parts_.members, call_, *plan_);
    parts_.queue.number_calls();
  }
  if (!over()) return;
  parts_.queue.leave(*this);
  if (lengths_differ_) parts_.members.note_other_length(persistent_.get());
}

Portion FlatCollective::portion() {
  if (shape_) return {call_.input, call_.output, *shape_};
  if (awaits_lengths()) return lengths();
  const std::int64_t told = tells_lengths_ ? 1 : 0;
  return portion_of(parts_.members, call_, rounds_ - told, round_ - told);
}

/// This rank's row goes to every rank, and theirs come to where they belong.
Portion FlatCollective::lengths() {
  auto* const rows = reinterpret_cast<std::byte*>(call_.counts.data());
  Shape row = equal_shards(parts_.members.size(), sizeof(std::int64_t));
  row.input_stride_bytes = 0;
  return {rows + parts_.members.rank() * row.output_stride_bytes, rows, std::move(row)};
}

void FlatCollective::record_round() {
  CommunicatorRecord* const record = parts_.members.record();
  if (record == nullptr) return;
  record->count_round(call_.collective, plan_->links.ends(), plan_->links.bytes_of(*flight_->task_graph));
  const MemoryTraffic traffic = memory_traffic(*flight_->task_graph);
  record->count_memory(
      call_.collective, parts_.members.share_memory() ? traffic.total_by_memory() : traffic.total(),
      vector_bytes(call_.collective, portion().shape, parts_.members.place_of_shard()[at(parts_.members.node())],
                   parts_.members.nodes()));
}

void FlatCollective::take_numbers(std::uint32_t& next) {
  if (numbered_ == 0) first_number_ = next;
  next += static_cast<std::uint32_t>(rounds_ - numbered_);
  numbered_ = rounds_;
}

void FlatCollective::launch() {
  const Portion moved = portion();
  Tuning tuning = tuning_;
  if (plan_->one_root && !parts_.members.share_memory()) {
    tuning.segment_bytes = plan_->one_root->best_segment_bytes(bytes_of(moved.shape), tuning.segment_bytes);
  }
  flight_ = parts_.queue.prepare(call_, plan_, moved, tuning, tags());
  largest_message_bytes_ = std::max(largest_message_bytes_, flight_->execution->largest_message_bytes());
  flight_->execution->start();
}

TagSpace FlatCollective::tags() const { return {persistent_ ? persistent_->id() : parts_.members.id(), number()}; }

void FlatCollective::abandon() noexcept {
  if (over()) return;
  failed_ = true;
  static_cast<void>(flight_.release());
  parts_.queue.leave(*this);
  parts_.members.note_failure(persistent_.get());
}

bool FlatCollective::drive(ProgressHook hook) {
  return parts_.members.runtime().engine().drive(*this, hook, [this] { return in_words(); });
}

std::string FlatCollective::in_words() const {
  if (!flight_) return parts_.members.in_words(call_.collective, number()) + "waits for calls before it";
  std::vector<NodeId> nodes;
  flight_->execution->add_awaited(nodes);
  return parts_.members.in_words(call_.collective, number()) + parts_.members.awaited_nodes_in_words(nodes);
}

int FlatCollective::milliseconds_to_next_advance() const {
  return flight_ ? flight_->execution->milliseconds_to_next_send() : std::numeric_limits<int>::max();
}

}  // namespace libcoll::comm
