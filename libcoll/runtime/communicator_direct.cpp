// A communicator's small calls, which go from rank to rank without a plan.
#include <algorithm>
#include <utility>

#include "libcoll/runtime/clock.h"
#include "libcoll/runtime/communicator.h"
#include "libcoll/runtime/figures.h"
#include "libcoll/runtime/log.h"
#include "libcoll/runtime/plan_cache.h"
#include "libcoll/runtime/plan_source.h"
#include "libcoll/runtime/trace.h"

namespace libcoll {

/// Where links may die, messages go by ways that are looked after; the ranks of a node share memory; and where NICs do
/// not forward, nobody is reached but neighbours.
void Communicator::wire_up_directly(Collective collective, HostCommunicator& host) {
  const bool can = collective == Collective::allreduce || collective == Collective::allgather;
  if (!can || hierarchy_ || repair_ || !runtime_.topology().nics_forward() || runtime_.config().direct_bytes == 0) {
    return;
  }
  // Who names a planner wants its plans.
  if (algorithm_setting(runtime_.config(), collective) != automatic_plan) return;
  may_go_direct_[static_cast<std::size_t>(collective)] = true;
  if (std::exchange(wired_directly_, true)) return;
  const std::vector<bool> talks_to = DirectExchange::talks_to(size(), rank_);
  std::vector<PeerId> peers(talks_to.size(), -1);
  Status connected;
  {
    const std::lock_guard guard(runtime_.lock());
    for (std::size_t rank = 0; rank < peers.size() && connected.ok(); ++rank) {
      if (!talks_to[rank]) continue;
      const Result<PeerId> peer = runtime_.transport().connect(addresses_[rank], 0);
      if (peer) {
        peers[rank] = *peer;
      } else {
        connected = peer.error();
      }
    }
  }
  if (!connected) log(LogLevel::info, connected.error().message);
  if (!all_agree(host, connected.ok())) return;
  if (!all_agree(host, wire_up(host, peers, rank_, size()))) return;
  direct_ = std::make_unique<DirectExchange>(runtime_.transport(), rank_, std::move(peers));
}

bool Communicator::can_go_direct(Collective collective) const {
  return direct_ != nullptr && may_go_direct_[static_cast<std::size_t>(collective)];
}

bool Communicator::goes_direct(const Call& call) const {
  if (!can_go_direct(call.collective) || !call.counts.empty()) return false;
  const std::int64_t bytes = call.elements * call.element_bytes;
  if (bytes <= 0 || bytes > DirectExchange::most_bytes / size()) return false;
  if (bytes <= runtime_.config().direct_bytes / size()) return true;
  const TuningChoice* choice = choice_for(call);
  return choice != nullptr && choice->direct;
}

bool Communicator::await_tags(ProgressHook hook) {
  const auto free = [this] { return under_way_.empty() || calls_ - under_way_.front()->number() < most_rounds_ahead; };
  {
    const std::lock_guard guard(runtime_.lock());
    if (free()) return true;
  }
  return runtime_.wait(free, [&] {
    runtime_.progress();
    hook();
  });
}

bool Communicator::run_direct(const Call& call, ProgressHook hook) {
  if (!await_tags(hook)) return false;
  const std::int64_t began = record_ != nullptr ? steady_nanoseconds() : 0;
  TagSpace tags(0, 0);
  {
    const std::lock_guard guard(runtime_.lock());
    tags = TagSpace(id_, calls_++);
    direct_->start({call.input, static_cast<std::size_t>(call.elements * call.element_bytes)}, tags);
  }
  if (!runtime_.drive(*direct_, hook)) {
    // Messages may yet arrive in its memory.
    static_cast<void>(direct_.release());
    return false;
  }
  if (call.collective == Collective::allreduce) {
    direct_->reduce_into(call.output, call.reducer, call.elements);
  } else {
    direct_->gather_into(call.output);
  }
  record_direct(call, tags, began);
  return true;
}

/// What crossed which link only the fabric's routing knows.
void Communicator::record_direct(const Call& call, TagSpace tags, std::int64_t began) {
  if (record_ == nullptr) return;
  record_->count_round(call.collective, {}, {});
  Trace* trace = runtime_.trace();
  if (trace == nullptr) return;
  const std::int64_t block_bytes = call.elements * call.element_bytes;
  const auto node_of = [this](std::int32_t rank) {
    return static_cast<NodeId>(std::find(rank_of_node_.begin(), rank_of_node_.end(), rank) - rank_of_node_.begin());
  };
  std::uint32_t index = 0;
  for (const ConcatenationMessage& message : direct_->messages()) {
    TraceEvent event;
    event.communicator = record_->number();
    event.begin = event.posted = began;
    event.end = steady_nanoseconds();
    event.bytes = message.blocks * block_bytes;
    event.step = message.round + 1;
    event.kind = TraceKind::send;
    event.tag = tags.tag(rank_, index);
    event.from = node_;
    event.to = node_of(message.to);
    trace->add(event);
    event.kind = TraceKind::receive;
    event.tag = tags.tag(message.from, index++);
    event.from = node_of(message.from);
    event.to = node_;
    trace->add(event);
  }
}

}  // namespace libcoll
