#include "libcoll/runtime/slice_exchange.h"

#include <cstddef>

#include "libcoll/runtime/clock.h"
#include "libcoll/runtime/communicator.h"

namespace libcoll {

SliceExchange::SliceExchange(Communicator& communicator, const Call& call) : communicator_(communicator), call_(call) {}

void SliceExchange::begin() {
  if (communicator_.record_ != nullptr) began_ = steady_nanoseconds();
  number_ = communicator_.calls_++;
  DirectExchange& exchange = *communicator_.direct_;
  const auto bytes = static_cast<std::size_t>(call_.elements * call_.element_bytes);
  exchange.start({call_.input, bytes}, TagSpace(communicator_.id_, number_));
  largest_message_bytes_ = exchange.largest_message_bytes();
  advance();
}

void SliceExchange::advance() noexcept {
  if (over()) return;
  try {
    DirectExchange& exchange = *communicator_.direct_;
    exchange.advance();
    if (exchange.failed()) return abandon();
    if (!exchange.over()) return;
    exchange.reduce_into(call_.output, call_.reducer, call_.elements);
    reduced_ = true;
    communicator_.record_direct(call_, TagSpace(communicator_.id_, number_), began_);
  } catch (...) {
    abandon();  // no memory for the record
  }
}

void SliceExchange::abandon() noexcept {
  if (over()) return;
  failed_ = true;
  // Messages may yet arrive in its memory.
  static_cast<void>(communicator_.direct_.release());
  communicator_.note_failure(nullptr);
}

bool SliceExchange::drive(ProgressHook hook) {
  return communicator_.runtime_.drive(*this, hook, [this] { return in_words(); });
}

std::string SliceExchange::in_words() const {
  std::vector<NodeId> nodes;
  if (communicator_.direct_ != nullptr) communicator_.direct_->add_awaited(nodes);
  return communicator_.in_words(call_.collective, number_) + communicator_.awaited_nodes_in_words(nodes);
}

std::span<const PeerId> SliceExchange::peers() const {
  const DirectExchange* exchange = communicator_.direct_.get();
  return exchange == nullptr ? std::span<const PeerId>() : exchange->peers();
}

}  // namespace libcoll
