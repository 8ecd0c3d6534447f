#include "libcoll/comm/slice_exchange.h"

#include <cstddef>

#include "libcoll/base/clock.h"
#include "libcoll/comm/communicator_parts.h"

namespace libcoll::comm {

using namespace execute;
using namespace topology;
using namespace transport;

SliceExchange::SliceExchange(CommunicatorParts& parts, const Call& call) : parts_(parts), call_(call) {}

void SliceExchange::begin() {
  if (parts_.members.record() != nullptr) began_ = steady_nanoseconds();
  number_ = parts_.queue.take_number();
  DirectExchange& exchange = *parts_.direct.leaders();
  const auto bytes = static_cast<std::size_t>(call_.elements * call_.element_bytes);
  exchange.start({call_.input, bytes}, tags());
  largest_message_bytes_ = exchange.largest_message_bytes();
  advance();
}

void SliceExchange::advance() noexcept {
  if (over()) return;
  try {
    DirectExchange& exchange = *parts_.direct.leaders();
    exchange.advance();
    if (exchange.failed()) return abandon();
    if (!exchange.over()) return;
    exchange.reduce_into(call_.output, call_.reducer, call_.elements);
    reduced_ = true;
    lengths_differ_ = exchange.lengths_differ();
    parts_.direct.record(call_, parts_.plans.of(call_.collective).usual->links, tags(), began_);
  } catch (...) {
    abandon();  // no memory for the record
  }
}

void SliceExchange::abandon() noexcept {
  if (over()) return;
  failed_ = true;
  parts_.direct.abandon_leaders();
  parts_.members.note_failure(nullptr);
}

bool SliceExchange::drive(ProgressHook hook) {
  return parts_.members.runtime().engine().drive(*this, hook, [this] { return in_words(); });
}

std::string SliceExchange::in_words() const {
  std::vector<NodeId> nodes;
  if (parts_.direct.leaders() != nullptr) parts_.direct.leaders()->add_awaited(nodes);
  return parts_.members.in_words(call_.collective, number_) + parts_.members.awaited_nodes_in_words(nodes);
}

std::span<const PeerId> SliceExchange::peers() const {
  const DirectExchange* exchange = parts_.direct.leaders();
  return exchange == nullptr ? std::span<const PeerId>() : exchange->peers();
}

TagSpace SliceExchange::tags() const { return {parts_.members.id(), number_}; }

}  // namespace libcoll::comm
