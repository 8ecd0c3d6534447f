#include "libcoll/runtime/flat_call.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "libcoll/runtime/communicator.h"

namespace libcoll {

FlatCall::FlatCall(Communicator& communicator, Call call, LoweredPlanPointer plan, Turn turn,
                   std::shared_ptr<Channel> channel)
    : communicator_(communicator),
      call_(std::move(call)),
      plan_(std::move(plan)),
      turn_(turn),
      channel_(std::move(channel)),
      tuning_(communicator.tuning_for(call_)) {
  count_rounds();
}

FlatCall::FlatCall(Communicator& communicator, Call call, LoweredPlanPointer plan, Shape shape, const Tuning& tuning,
                   std::shared_ptr<Channel> channel)
    : communicator_(communicator),
      call_(std::move(call)),
      plan_(std::move(plan)),
      shape_(std::move(shape)),
      channel_(std::move(channel)),
      tuning_(tuning) {}

void FlatCall::begin() {
  if (over()) return;
  // The rounds of a persistent call's starts are numbered by themselves, at once; how many they are may depend on the
  // plan.
  if (turn_.settled || !channel_) communicator_.enter(*this);
  advance();
}

bool FlatCall::settle() {
  if (!communicator_.settles(turn_, channel_.get())) return false;
  plan_ = communicator_.settled_plan(call_.collective, plan_, turn_, channel_.get());
  turn_.settled = true;
  count_rounds();
  if (channel_) {
    communicator_.enter(*this);
  } else {
    communicator_.number_calls();
  }
  return true;
}

/// The init of a persistent call has told everybody all lengths.
void FlatCall::count_rounds() {
  const bool exchanges_unequal = call_.collective == Collective::alltoall && !call_.counts.empty();
  const bool wants_lengths = exchanges_unequal && (plan_->forwards || plan_->spread != nullptr);
  tells_lengths_ = wants_lengths && !channel_;
  if (wants_lengths && channel_) plan_ = communicator_.plan_for_lengths(call_, plan_);
  rounds_ = tells_lengths_ ? 1 : communicator_.rounds_of(call_, *plan_);
}

void FlatCall::advance() noexcept {
  try {
    while (!over()) {
      if (communicator_.is_broken()) return abandon();
      if (!turn_.settled && !settle()) return;
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

void FlatCall::end_round() {
  communicator_.record_round(call_, *plan_, *flight_->script);
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

Portion FlatCall::portion() {
  if (shape_) return {call_.input, call_.output, *shape_};
  if (awaits_lengths()) return lengths();
  const std::int64_t told = tells_lengths_ ? 1 : 0;
  return communicator_.portion_of(call_, rounds_ - told, round_ - told);
}

/// This rank's row goes to every rank, and theirs come to where they belong.
Portion FlatCall::lengths() {
  auto* const rows = reinterpret_cast<std::byte*>(call_.counts.data());
  Shape row = equal_shards(communicator_.size(), sizeof(std::int64_t));
  row.input_stride_bytes = 0;
  return {rows + communicator_.rank_ * row.output_stride_bytes, rows, std::move(row)};
}

void FlatCall::launch() {
  flight_ = communicator_.prepare(call_, plan_, portion(), tuning_, tags());
  largest_message_bytes_ = std::max(largest_message_bytes_, flight_->execution->largest_message_bytes());
  flight_->execution->start();
}

TagSpace FlatCall::tags() const { return {channel_ ? channel_->id_ : communicator_.id_, number()}; }

void FlatCall::abandon() noexcept {
  if (over()) return;
  failed_ = true;
  static_cast<void>(flight_.release());
  communicator_.leave(*this);
}

bool FlatCall::drive(ProgressHook hook) {
  return communicator_.runtime_.drive(*this, hook, [this] { return in_words(); });
}

std::string FlatCall::in_words() const {
  if (!flight_) return communicator_.in_words(call_.collective, number()) + "waits for calls before it";
  std::vector<NodeId> nodes;
  flight_->execution->add_awaited(nodes);
  return communicator_.in_words(call_.collective, number()) + communicator_.awaited_nodes_in_words(nodes);
}

int FlatCall::milliseconds_to_next_advance() const {
  return flight_ ? flight_->execution->milliseconds_to_next_send() : std::numeric_limits<int>::max();
}

}  // namespace libcoll
