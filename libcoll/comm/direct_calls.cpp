#include "libcoll/comm/direct_calls.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>

#include "libcoll/base/clock.h"
#include "libcoll/base/plan_name.h"
#include "libcoll/observe/trace.h"
#include "libcoll/plan/plan_source.h"
#include "planner/base/index.h"

namespace libcoll::comm {

using namespace execute;
using namespace observe;
using namespace plan;
using namespace schedule;
using namespace topology;
using namespace transport;

std::vector<std::int32_t> DirectCalls::directly_wired_ranks() const {
  if (members_.hierarchy() != nullptr)
    return members_.hierarchy()->speaks() ? members_.rank_of_node() : std::vector<std::int32_t>();
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(members_.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// Where NICs do not forward, nobody is reached but neighbours. The ranks of a node share memory: only
/// sums of nodes, which their first leaders have, go directly.
void DirectCalls::wire_up(Collective collective, HostCommunicator& host) {
  const bool can =
      collective == Collective::allreduce || (collective == Collective::allgather && members_.hierarchy() == nullptr);
  if (!can || !runtime().topology().nics_forward() || runtime().config().planless_max == 0) return;
  if (members_.resends() && !members_.ranks_have_tags()) return;
  // Who names a planner wants its plans.
  if (algorithm_setting(runtime().config(), collective) != automatic_plan) return;
  may_go_[static_cast<std::size_t>(collective)] = true;
  if (std::exchange(wired_, true)) return;
  const std::vector<std::int32_t> ranks = directly_wired_ranks();
  const auto places = static_cast<std::int32_t>(ranks.size());
  const std::int32_t own = own_place();
  std::vector<bool> of_direct(ranks.size());
  std::vector<bool> of_scattered(ranks.size());
  if (!ranks.empty()) of_direct = DirectExchange::talks_to(places, own);
  if (members_.hierarchy() == nullptr) of_scattered = ScatteredReduction::talks_to(places, own);
  std::vector<PeerId> peers(ranks.size(), -1);
  for (std::size_t place = 0; place < peers.size(); ++place) {
    if (of_direct[place] || of_scattered[place]) peers[place] = awaited_peer;
  }
  Lanes lanes{peers, own, ranks, first_direct_sender()};
  if (!connections_.wire_up(host, lanes)) return;
  if (ranks.empty()) return;
  exchange_ = std::make_unique<DirectExchange>(runtime().transport(), own, peers);
  if (members_.hierarchy() == nullptr)
    scattered_ = std::make_unique<ScatteredReduction>(runtime().transport(), own, std::move(peers));
}

void DirectCalls::inherit(const DirectCalls& original) {
  wired_ = original.wired_;
  may_go_ = original.may_go_;
  if (original.exchange_ == nullptr) return;
  const std::span<const PeerId> peers = original.exchange_->peers();
  exchange_ = std::make_unique<DirectExchange>(runtime().transport(), own_place(),
                                               std::vector<PeerId>(peers.begin(), peers.end()));
  if (original.scattered_ == nullptr) return;
  scattered_ = std::make_unique<ScatteredReduction>(runtime().transport(), members_.rank(),
                                                    std::vector<PeerId>(peers.begin(), peers.end()));
}

/// Who sends again what has been lost knows ranks beside nodes.
NodeId DirectCalls::first_direct_sender() const {
  return members_.resends() && members_.hierarchy() == nullptr ? members_.nodes() : 0;
}

/// Calls of persistent calls may be under way beside each other, and the exchange is one at a time.
bool DirectCalls::moves(const Call& part, const PersistentContext* persistent) const {
  return exchange_ != nullptr && persistent == nullptr && part.collective == Collective::allreduce &&
         part.elements * part.element_bytes <= runtime().config().planless_max / members_.nodes();
}

/// The tags must not repeat those of a call that is still under way.
template <class Start>
std::optional<TagSpace> DirectCalls::run(Collective collective, Driven& running, const Start& start,
                                         ProgressHook hook) {
  std::optional<TagSpace> tags;
  const auto try_to_start = [&] {
    const std::optional<std::uint32_t> number = queue_.take_number_in_turn();
    if (!number) return false;
    tags = TagSpace(members_.id(), *number).with_senders_from(first_direct_sender());
    start(*tags);
    return true;
  };
  const auto try_at_once = [&] {
    const std::lock_guard guard(runtime().lock());
    return try_to_start();
  };
  const auto meanwhile = [&] {
    runtime().engine().progress();
    hook();
  };
  if (!try_at_once() && !runtime().engine().wait(try_to_start, meanwhile, [this, collective] {
        return members_.in_words(collective, queue_.next_number()) + "waits for calls before it";
      }))
    return std::nullopt;
  const auto in_words = [this, &running, collective] {
    std::vector<std::int32_t> places;
    running.add_awaited(places);
    // Without a hierarchy they are ranks.
    if (members_.hierarchy() == nullptr)
      std::transform(places.begin(), places.end(), places.begin(), [this](auto r) { return members_.node_of(r); });
    return members_.in_words(collective, queue_.next_number() - 1) + members_.awaited_nodes_in_words(places);
  };
  return runtime().engine().drive(running, hook, in_words) ? tags : std::nullopt;
}

bool DirectCalls::exchange(const Call& call, const PlanLinks& links, ProgressHook hook) {
  const std::int64_t began = members_.record() != nullptr ? steady_nanoseconds() : 0;
  const std::int64_t block_bytes = call.elements * call.element_bytes;
  const auto start = [&](TagSpace tags) {
    exchange_->start({call.input, static_cast<std::size_t>(block_bytes)}, tags);
  };
  const std::optional<TagSpace> tags = run(call.collective, *exchange_, start, hook);
  if (!tags) {
    // Messages may yet arrive in its memory.
    static_cast<void>(exchange_.release());
    return false;
  }
  if (call.collective == Collective::allreduce) {
    exchange_->reduce_into(call.output, call.reducer, call.elements);
  } else {
    exchange_->gather_into(call.output);
  }
  record(call, links, *tags, began);
  return true;
}

void DirectCalls::record(const Call& call, const PlanLinks& links, TagSpace tags, std::int64_t began) {
  if (members_.record() == nullptr) return;
  const std::int64_t block_bytes = call.elements * call.element_bytes;
  const auto rank_at = [this](std::int32_t place) {
    return members_.hierarchy() != nullptr ? members_.rank_of_node()[at(place)] : place;
  };
  std::vector<RankMessage> messages;
  for (const ConcatenationMessage& message : exchange_->messages()) {
    messages.push_back({rank_at(message.to), rank_at(message.from), message.blocks * block_bytes, message.round + 1});
  }
  record_messages(call.collective, messages, links, tags, began);
}

bool DirectCalls::scatter(const Call& call, const PlanLinks& links, ProgressHook hook) {
  const std::int64_t began = members_.record() != nullptr ? steady_nanoseconds() : 0;
  const auto start = [&](TagSpace tags) {
    scattered_->start(call.input, call.elements, call.element_bytes, call.reducer, tags);
  };
  const std::optional<TagSpace> tags = run(call.collective, *scattered_, start, hook);
  if (!tags) {
    static_cast<void>(scattered_.release());  // as above
    return false;
  }
  scattered_->copy_into(call.output);
  if (members_.record() == nullptr) return true;
  const std::span<const ConcatenationMessage> concatenation = scattered_->messages();
  const std::int32_t rounds = concatenation.back().round + 1;
  std::vector<RankMessage> messages;
  for (const ConcatenationMessage& message : concatenation) {
    messages.push_back({message.from, message.to, scattered_->bytes_of(message), rounds - message.round});
  }
  for (const ConcatenationMessage& message : concatenation) {
    messages.push_back({message.to, message.from, scattered_->bytes_of(message), rounds + message.round + 1});
  }
  record_messages(call.collective, messages, links, *tags, began);
  return true;
}

/// In the order of their tags.
void DirectCalls::record_messages(Collective collective, const std::vector<RankMessage>& messages,
                                  const PlanLinks& links, TagSpace tags, std::int64_t began) {
  std::vector<DirectBytes> sent;
  sent.reserve(messages.size());
  for (const RankMessage& message : messages) sent.push_back({members_.node_of(message.to), message.bytes});
  members_.record()->count_round(collective, links.ends(), links.bytes_of(sent));
  if (runtime().trace() != nullptr) trace_messages(messages, tags, began);
}

void DirectCalls::trace_messages(const std::vector<RankMessage>& messages, TagSpace tags, std::int64_t began) {
  // Who sends is told by its place among those that are wired up.
  const auto sender = [this](std::int32_t rank) {
    return members_.hierarchy() != nullptr ? members_.node_of(rank) : rank;
  };
  std::uint32_t index = 0;
  for (const RankMessage& message : messages) {
    TraceEvent event;
    event.communicator = members_.record()->number();
    event.begin = event.posted = began;
    event.end = steady_nanoseconds();
    event.bytes = message.bytes;
    event.step = message.step;
    event.kind = TraceKind::send;
    event.tag = tags.tag(sender(members_.rank()), index);
    event.from = members_.node();
    event.to = members_.node_of(message.to);
    runtime().trace()->add(event);
    event.kind = TraceKind::receive;
    event.tag = tags.tag(sender(message.from), index++);
    event.from = members_.node_of(message.from);
    event.to = members_.node();
    runtime().trace()->add(event);
  }
}

}  // namespace libcoll::comm
