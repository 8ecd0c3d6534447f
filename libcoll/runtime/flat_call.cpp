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
      rounds_(communicator.rounds_of(call_, *plan_)),
      tuning_(communicator.tuning_for(call_)) {}

FlatCall::FlatCall(Communicator& communicator, Call call, LoweredPlanPointer plan, Shape shape, const Tuning& tuning,
                   std::shared_ptr<Channel> channel)
    : communicator_(communicator),
      call_(std::move(call)),
      plan_(std::move(plan)),
      shape_(std::move(shape)),
      channel_(std::move(channel)),
      rounds_(1),
      tuning_(tuning) {}

void FlatCall::begin() {
  if (over()) return;
  // How many rounds the start of a persistent call has may depend on the plan; it is the only one that they are
  // numbered for.
  if (turn_.settled || !channel_) communicator_.enter(*this);
  advance();
}

bool FlatCall::settle() {
  if (!communicator_.settles(turn_, channel_.get())) return false;
  plan_ = communicator_.settled_plan(call_.collective, plan_, turn_, channel_.get());
  turn_.settled = true;
  if (channel_) {
    rounds_ = communicator_.rounds_of(call_, *plan_);
    communicator_.enter(*this);
  }
  return true;
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
      communicator_.record_round(call_, *plan_, *flight_->script);
      communicator_.keep(std::move(flight_));
      ++round_;
      if (over()) communicator_.leave(*this);
    }
  } catch (...) {
    abandon();  // no memory for the next round
  }
}

void FlatCall::launch() {
  const Portion portion =
      shape_ ? Portion{call_.input, call_.output, *shape_} : communicator_.portion_of(call_, rounds_, round_);
  flight_ = communicator_.prepare(call_, plan_, portion, tuning_, tags());
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

bool FlatCall::drive(ProgressHook hook) { return communicator_.runtime_.drive(*this, hook); }

int FlatCall::milliseconds_to_next_advance() const {
  return flight_ ? flight_->execution->milliseconds_to_next_send() : std::numeric_limits<int>::max();
}

}  // namespace libcoll
