#include "libcoll/runtime/running_call.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "libcoll/runtime/communicator.h"

namespace libcoll {

RunningCall::RunningCall(Communicator& communicator, Call call, std::shared_ptr<Channel> channel)
    : communicator_(communicator),
      call_(std::move(call)),
      channel_(std::move(channel)),
      rounds_(communicator.rounds_of(call_)),
      tuning_(communicator.tuning_for(call_)) {}

RunningCall::RunningCall(Communicator& communicator, Call call, Shape shape)
    : communicator_(communicator),
      call_(std::move(call)),
      shape_(std::move(shape)),
      rounds_(1),
      tuning_(communicator.tuning_for(call_)) {}

RunningCall::~RunningCall() = default;

void RunningCall::begin() {
  if (over()) return;
  communicator_.enter(*this);
  advance();
}

void RunningCall::advance() noexcept {
  try {
    while (!over()) {
      if (flight_) {
        flight_->execution->advance();
      } else {
        if (!communicator_.admits(*this)) return;
        launch();
      }
      const Execution& execution = *flight_->execution;
      if (execution.failed()) return abandon();
      if (!execution.finished()) return;
      communicator_.record_round(call_, *flight_->script);
      communicator_.keep(std::move(flight_));
      ++round_;
      if (over()) communicator_.leave(*this);
    }
  } catch (...) {
    abandon();  // no memory for the next round
  }
}

void RunningCall::launch() {
  const Portion portion =
      shape_ ? Portion{call_.input, call_.output, *shape_} : communicator_.portion_of(call_, rounds_, round_);
  flight_ = communicator_.prepare(call_, portion, tuning_, tags());
  largest_message_bytes_ = std::max(largest_message_bytes_, flight_->execution->largest_message_bytes());
  flight_->execution->start();
}

TagSpace RunningCall::tags() const { return {channel_ ? channel_->id_ : communicator_.id_, number()}; }

void RunningCall::abandon() noexcept {
  if (over()) return;
  failed_ = true;
  static_cast<void>(flight_.release());
  communicator_.leave(*this);
}

std::span<const PeerId> RunningCall::peers() const { return communicator_.peers_of(call_.collective); }

int RunningCall::milliseconds_to_next_send() const {
  return flight_ ? flight_->execution->milliseconds_to_next_send() : std::numeric_limits<int>::max();
}

}  // namespace libcoll
