#include "libcoll/runtime/flat_collective.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "libcoll/runtime/communicator.h"

namespace libcoll {

FlatCollective::FlatCollective(Communicator& communicator, Call call, LoweredPlanPointer plan, CallSequence sequence,
                               std::shared_ptr<PersistentContext> persistent)
    : communicator_(communicator),
      call_(std::move(call)),
      plan_(std::move(plan)),
      sequence_(sequence),
      persistent_(std::move(persistent)),
      tuning_(communicator.tuning_for(call_)) {
  count_rounds();
}

FlatCollective::FlatCollective(Communicator& communicator, Call call, LoweredPlanPointer plan, Shape shape,
                               const Tuning& tuning, std::shared_ptr<PersistentContext> persistent)
    : communicator_(communicator),
      call_(std::move(call)),
      plan_(std::move(plan)),
      shape_(std::move(shape)),
      persistent_(std::move(persistent)),
      tuning_(tuning) {}

void FlatCollective::begin() {
  if (over()) return;
  // The rounds of a persistent call's starts are numbered by themselves, at once; how many they are may depend on the
  // plan.
  if (sequence_.settled || !persistent_) communicator_.enter(*this);
  advance();
}

bool FlatCollective::settle() {
  if (!communicator_.settles(sequence_, persistent_.get())) return false;
  plan_ = communicator_.settled_plan(call_.collective, plan_, sequence_, persistent_.get());
  sequence_.settled = true;
  count_rounds();
  if (persistent_) {
    communicator_.enter(*this);
  } else {
    communicator_.number_calls();
  }
  return true;
}

/// The init of a persistent call has told everybody all lengths.
void FlatCollective::count_rounds() {
  const bool exchanges_unequal = call_.collective == Collective::alltoall && !call_.counts.empty();
  const bool wants_lengths = exchanges_unequal && (plan_->forwards || plan_->spread != nullptr);
  tells_lengths_ = wants_lengths && !persistent_;
  if (wants_lengths && persistent_) plan_ = communicator_.plan_for_lengths(call_, plan_);
  rounds_ = tells_lengths_ ? 1 : communicator_.rounds_of(call_, *plan_);
}

void FlatCollective::advance() noexcept {
  try {
    while (!over()) {
      if (communicator_.is_broken()) return abandon();
      if (!sequence_.settled && !settle()) return;
      if (flight_) {
        flight_->execution->advance();
      } else {
        if (!communicator_.admits(*this)) return;
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
  communicator_.record_round(call_, *plan_, *flight_->task_graph);
  communicator_.keep(std::move(flight_));
  const bool all_told = awaits_lengths();
  ++round_;
  if (all_told) {
    plan_ = communicator_.plan_for_lengths(call_, plan_);
    rounds_ = 1 + communicator_.rounds_of(call_, *plan_);
    communicator_.number_calls();
  }
  if (over()) communicator_.leave(*this);
}

Portion FlatCollective::portion() {
  if (shape_) return {call_.input, call_.output, *shape_};
  if (awaits_lengths()) return lengths();
  const std::int64_t told = tells_lengths_ ? 1 : 0;
  return communicator_.portion_of(call_, rounds_ - told, round_ - told);
}

/// This rank's row goes to every rank, and theirs come to where they belong.
Portion FlatCollective::lengths() {
  auto* const rows = reinterpret_cast<std::byte*>(call_.counts.data());
  Shape row = equal_shards(communicator_.size(), sizeof(std::int64_t));
  row.input_stride_bytes = 0;
  return {rows + communicator_.rank_ * row.output_stride_bytes, rows, std::move(row)};
}

void FlatCollective::launch() {
  flight_ = communicator_.prepare(call_, plan_, portion(), tuning_, tags());
  largest_message_bytes_ = std::max(largest_message_bytes_, flight_->execution->largest_message_bytes());
  flight_->execution->start();
}

TagSpace FlatCollective::tags() const { return {persistent_ ? persistent_->id_ : communicator_.id_, number()}; }

void FlatCollective::abandon() noexcept {
  if (over()) return;
  failed_ = true;
  static_cast<void>(flight_.release());
  communicator_.leave(*this);
}

bool FlatCollective::drive(ProgressHook hook) {
  return communicator_.runtime_.drive(*this, hook, [this] { return in_words(); });
}

std::string FlatCollective::in_words() const {
  if (!flight_) return communicator_.in_words(call_.collective, number()) + "waits for calls before it";
  std::vector<NodeId> nodes;
  flight_->execution->add_awaited(nodes);
  return communicator_.in_words(call_.collective, number()) + communicator_.awaited_nodes_in_words(nodes);
}

int FlatCollective::milliseconds_to_next_advance() const {
  return flight_ ? flight_->execution->milliseconds_to_next_send() : std::numeric_limits<int>::max();
}

}  // namespace libcoll
