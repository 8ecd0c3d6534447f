// A communicator's small calls, which go from rank to rank without a plan.
#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "libcoll/execute/wire_up.h"
#include "libcoll/runtime/clock.h"
#include "libcoll/runtime/communicator.h"
#include "libcoll/runtime/figures.h"
#include "libcoll/runtime/hierarchy.h"
#include "libcoll/runtime/plan_cache.h"
#include "libcoll/runtime/plan_source.h"
#include "libcoll/runtime/trace.h"
#include "planner/index.h"

namespace libcoll {

std::vector<std::int32_t> Communicator::directly_wired_ranks() const {
  if (hierarchy_) return hierarchy_->speaks() ? rank_of_node_ : std::vector<std::int32_t>();
  std::vector<std::int32_t> ranks(addresses_.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// Once links have died, calls go by plans that do without them; and where NICs do not forward, nobody is reached but
/// neighbours. The ranks of a node share memory: only sums of nodes, which their first leaders have, go directly.
void Communicator::wire_up_directly(Collective collective, HostCommunicator& host) {
  const bool can = collective == Collective::allreduce || (collective == Collective::allgather && !hierarchy_);
  if (!can || what_is_left_ || !runtime_.topology().nics_forward() || runtime_.config().planless_max == 0) return;
  if (resends_ && nodes() + size() > TagSpace::max_sender) return;
  // Who names a planner wants its plans.
  if (algorithm_setting(runtime_.config(), collective) != automatic_plan) return;
  may_go_direct_[static_cast<std::size_t>(collective)] = true;
  if (std::exchange(wired_directly_, true)) return;
  const std::vector<std::int32_t> ranks = directly_wired_ranks();
  const auto places = static_cast<std::int32_t>(ranks.size());
  const std::int32_t own = hierarchy_ ? node_ : rank_;
  std::vector<bool> of_direct(ranks.size());
  std::vector<bool> of_scattered(ranks.size());
  if (!ranks.empty()) of_direct = DirectExchange::talks_to(places, own);
  if (!hierarchy_) of_scattered = ScatteredReduction::talks_to(places, own);
  std::vector<PeerId> peers(ranks.size(), -1);
  for (std::size_t place = 0; place < peers.size(); ++place) {
    if (of_direct[place] || of_scattered[place]) peers[place] = awaited_peer;
  }
  Lanes lanes{peers, own, ranks, first_direct_sender()};
  if (!wire_up(host, lanes)) return;
  if (ranks.empty()) return;
  direct_ = std::make_unique<DirectExchange>(runtime_.transport(), own, peers);
  if (!hierarchy_) scattered_ = std::make_unique<ScatteredReduction>(runtime_.transport(), own, std::move(peers));
}

bool Communicator::can_go_direct(Collective collective) const {
  return !hierarchy_ && !what_is_left_ && direct_ != nullptr && may_go_direct_[static_cast<std::size_t>(collective)];
}

/// Who sends again what has been lost knows ranks beside nodes.
NodeId Communicator::first_direct_sender() const { return resends_ && !hierarchy_ ? nodes() : 0; }

/// Calls of persistent calls may be under way beside each other, and the exchange is one at a time.
bool Communicator::moves_directly(const Call& part, const CallSequence& sequence,
                                  const PersistentContext* persistent) const {
  const bool is_mended =
      sequence.epochs > 0 || std::any_of(epochs_.begin(), epochs_.end(), [&sequence](const PlanEpoch& epoch) {
        return epoch.from.call <= sequence.number;
      });
  return direct_ != nullptr && !is_mended && persistent == nullptr && part.collective == Collective::allreduce &&
         part.elements * part.element_bytes <= runtime_.config().planless_max / nodes();
}

/// The tags must not repeat those of a call that is still under way.
template <class Start>
std::optional<TagSpace> Communicator::exchange(Collective collective, Driven& running, const Start& start,
                                               ProgressHook hook) {
  std::optional<TagSpace> tags;
  const auto try_to_start = [&] {
    if (!under_way_.empty() &&
        (!under_way_.back()->is_numbered() || calls_ - under_way_.front()->number() >= most_rounds_ahead)) {
      return false;
    }
    tags = TagSpace(id_, calls_++).with_senders_from(first_direct_sender());
    start(*tags);
    return true;
  };
  const auto try_at_once = [&] {
    const std::lock_guard guard(runtime_.lock());
    return try_to_start();
  };
  const auto meanwhile = [&] {
    runtime_.progress();
    hook();
  };
  if (!try_at_once() && !runtime_.wait(try_to_start, meanwhile, [this, collective] {
        return this->in_words(collective, calls_) + "waits for calls before it";
      }))
    return std::nullopt;
  const auto in_words = [this, &running, collective] {
    std::vector<std::int32_t> places;
    running.add_awaited(places);
    // Without a hierarchy they are ranks.
    if (!hierarchy_)
      std::transform(places.begin(), places.end(), places.begin(), [this](auto r) { return node_of(r); });
    return this->in_words(collective, calls_ - 1) + awaited_nodes_in_words(places);
  };
  return runtime_.drive(running, hook, in_words) ? tags : std::nullopt;
}

struct Communicator::RankMessage {
  std::int32_t to = 0;
  std::int32_t from = 0;
  std::int64_t bytes = 0;
  std::int32_t step = 1;
};

bool Communicator::run_direct(const Call& call, ProgressHook hook) {
  const std::int64_t began = record_ != nullptr ? steady_nanoseconds() : 0;
  const std::int64_t block_bytes = call.elements * call.element_bytes;
  const auto start = [&](TagSpace tags) { direct_->start({call.input, static_cast<std::size_t>(block_bytes)}, tags); };
  const std::optional<TagSpace> tags = exchange(call.collective, *direct_, start, hook);
  if (!tags) {
    // Messages may yet arrive in its memory.
    static_cast<void>(direct_.release());
    return false;
  }
  if (call.collective == Collective::allreduce) {
    direct_->reduce_into(call.output, call.reducer, call.elements);
  } else {
    direct_->gather_into(call.output);
  }
  record_direct(call, *tags, began);
  return true;
}

void Communicator::record_direct(const Call& call, TagSpace tags, std::int64_t began) {
  if (record_ == nullptr) return;
  const std::int64_t block_bytes = call.elements * call.element_bytes;
  const auto rank_at = [this](std::int32_t place) { return hierarchy_ ? rank_of_node_[at(place)] : place; };
  std::vector<RankMessage> messages;
  for (const ConcatenationMessage& message : direct_->messages()) {
    messages.push_back({rank_at(message.to), rank_at(message.from), message.blocks * block_bytes, message.round + 1});
  }
  record_exchange(call.collective, messages, tags, began);
}

bool Communicator::run_scattered(const Call& call, ProgressHook hook) {
  const std::int64_t began = record_ != nullptr ? steady_nanoseconds() : 0;
  const auto start = [&](TagSpace tags) {
    scattered_->start(call.input, call.elements, call.element_bytes, call.reducer, tags);
  };
  const std::optional<TagSpace> tags = exchange(call.collective, *scattered_, start, hook);
  if (!tags) {
    static_cast<void>(scattered_.release());  // as above
    return false;
  }
  scattered_->copy_into(call.output);
  if (record_ == nullptr) return true;
  const std::span<const ConcatenationMessage> concatenation = scattered_->messages();
  const std::int32_t rounds = concatenation.back().round + 1;
  std::vector<RankMessage> messages;
  for (const ConcatenationMessage& message : concatenation) {
    messages.push_back({message.from, message.to, scattered_->bytes_of(message), rounds - message.round});
  }
  for (const ConcatenationMessage& message : concatenation) {
    messages.push_back({message.to, message.from, scattered_->bytes_of(message), rounds + message.round + 1});
  }
  record_exchange(call.collective, messages, *tags, began);
  return true;
}

std::string Communicator::in_words(Collective collective, std::uint32_t number) const {
  return name_ + ": " + std::string(to_string(collective)) + ", call " + std::to_string(number) + ": rank " +
         std::to_string(rank_) + " ";
}

std::string Communicator::awaited_nodes_in_words(const std::vector<NodeId>& nodes) const {
  constexpr std::size_t most_named = 8;
  if (nodes.empty()) return "waits for its messages to be taken";
  std::string text;
  for (std::size_t i = 0; i < nodes.size() && i < most_named; ++i) {
    const auto rank = static_cast<std::size_t>(rank_of_node_[at(nodes[i])]);
    text.append(i == 0 ? "waits for rank " : ", rank ")
        .append(std::to_string(rank))
        .append(" on ")
        .append(hosts_[rank]);
    text.append(" over ").append(std::to_string(nodes[i])).append("->").append(std::to_string(node_));
  }
  return text.append(nodes.size() > most_named ? ", ..." : "");
}

NodeId Communicator::node_of(std::int32_t rank) const {
  return static_cast<NodeId>(std::find(rank_of_node_.begin(), rank_of_node_.end(), rank) - rank_of_node_.begin());
}

/// In the order of their tags.
void Communicator::record_exchange(Collective collective, const std::vector<RankMessage>& messages, TagSpace tags,
                                   std::int64_t began) {
  std::vector<DirectBytes> sent;
  sent.reserve(messages.size());
  for (const RankMessage& message : messages) sent.push_back({node_of(message.to), message.bytes});
  const PlanLinks& links = prospect(collective).plans.usual->links;
  record_->count_round(collective, links.ends(), links.bytes_of(sent));
  if (runtime_.trace() != nullptr) trace_exchange(messages, tags, began);
}

void Communicator::trace_exchange(const std::vector<RankMessage>& messages, TagSpace tags, std::int64_t began) {
  // Who sends is told by its place among those that are wired up.
  const auto sender = [this](std::int32_t rank) { return hierarchy_ ? node_of(rank) : rank; };
  std::uint32_t index = 0;
  for (const RankMessage& message : messages) {
    TraceEvent event;
    event.communicator = record_->number();
    event.begin = event.posted = began;
    event.end = steady_nanoseconds();
    event.bytes = message.bytes;
    event.step = message.step;
    event.kind = TraceKind::send;
    event.tag = tags.tag(sender(rank_), index);
    event.from = node_;
    event.to = node_of(message.to);
    runtime_.trace()->add(event);
    event.kind = TraceKind::receive;
    event.tag = tags.tag(sender(message.from), index++);
    event.from = node_of(message.from);
    event.to = node_;
    runtime_.trace()->add(event);
  }
}

}  // namespace libcoll
