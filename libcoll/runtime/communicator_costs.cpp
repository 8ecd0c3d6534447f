// What a communicator's calls may take: measured for the cost model, and chosen by it.
#include <algorithm>
#include <array>
#include <memory>

#include "libcoll/execute/greeting.h"
#include "libcoll/runtime/clock.h"
#include "libcoll/runtime/communicator.h"
#include "libcoll/runtime/hierarchy.h"
#include "libcoll/runtime/log.h"
#include "libcoll/runtime/measured_costs.h"
#include "libcoll/transport/detours.h"
#include "planner/index.h"

namespace libcoll {

namespace {

/// Of equal blocks.
CallKind kind_of(Collective collective) {
  constexpr std::array kinds{CallKind::allgather, CallKind::reduce_scatter_block, CallKind::allreduce,
                             CallKind::alltoall};
  return kinds[static_cast<std::size_t>(collective)];
}

}  // namespace

void Communicator::add_choices(const std::vector<TuningChoice>& choices) {
  choices_.add(choices);
  modelled_ = ChoicesByCall(choices_, size());
}

const TuningChoice* Communicator::choice_for(const Call& call) const {
  if (!call.counts.empty()) return nullptr;
  const CallKind kind = kind_of(call.collective);
  const std::int64_t bytes = call.elements * call.element_bytes;
  const TuningChoice* choice = tuned(kind, bytes);
  return choice != nullptr ? choice : modelled(kind, bytes);
}

Course Communicator::course_of(const Call& call) const {
  if (!can_go_direct(call.collective) || !call.counts.empty()) return Course::planned;
  const std::int64_t bytes = call.elements * call.element_bytes;
  if (bytes <= 0) return Course::planned;
  const CallKind kind = kind_of(call.collective);
  const TuningChoice* in_table = tuned(kind, bytes);
  const TuningChoice* choice = in_table != nullptr ? in_table : modelled(kind, bytes);
  if (choice != nullptr && choice->scattered && can_be_scattered(call.collective) &&
      bytes <= ScatteredReduction::most_bytes) {
    return Course::scattered;
  }
  // A table says "plan" for what goes direct by itself, too; the cost model has tried both.
  const bool is_said = choice != nullptr && !choice->native && in_table == nullptr;
  const bool is_small = !is_said && bytes <= runtime_.config().direct_bytes / size();
  const bool fits = bytes <= DirectExchange::most_bytes / size();
  return fits && (is_small || (choice != nullptr && choice->direct)) ? Course::directly : Course::planned;
}

Tuning Communicator::tuning_for(const Call& call) const {
  Tuning tuning = runtime_.tuning();
  const TuningChoice* choice = choice_for(call);
  // Transports have made room for segments as configured.
  if (choice != nullptr && choice->segment_bytes > 0) {
    tuning.segment_bytes = std::min(tuning.segment_bytes, choice->segment_bytes);
  }
  return tuning;
}

Result<std::vector<PeerId>> Communicator::connect_neighbours() {
  std::vector<PeerId> peers(rank_of_node_.size(), -1);
  if (rank_of_node_.empty()) return peers;
  const std::vector<std::vector<NodeId>> neighbours = neighbouring_hosts(runtime_.topology());
  const std::lock_guard guard(runtime_.lock());
  for (const NodeId node : neighbours[static_cast<std::size_t>(node_)]) {
    const auto rank = static_cast<std::size_t>(rank_of_node_[static_cast<std::size_t>(node)]);
    const Result<PeerId> peer = runtime_.transport().connect(addresses_[rank], 0);
    if (!peer) return peer.error();
    peers[static_cast<std::size_t>(node)] = *peer;
  }
  return peers;
}

/// All neighbours exchange at once, as in a step of a plan.
std::optional<LinkFigures> Communicator::measure_links(HostCommunicator& host, ProgressHook hook) {
  if (resends_ || !part_nodes_.empty() || nodes() < 2) return std::nullopt;
  const Result<std::vector<PeerId>> peers = connect_neighbours();
  if (!peers) log(LogLevel::info, peers.error().message);
  if (!all_agree(host, peers.ok())) return std::nullopt;
  if (!all_agree(host, wire_up(host, *peers, node_, nodes()))) return std::nullopt;
  const auto exchange = [&](std::int64_t bytes, int times) {
    auto greeting = std::make_unique<Greeting>(runtime_.transport(), node_, nodes(), *peers, at(bytes));
    for (int i = 0; i < times; ++i) {
      {
        const std::lock_guard guard(runtime_.lock());
        greeting->start(TagSpace(id_, greetings_++));
      }
      if (runtime_.drive(*greeting, hook)) continue;
      // Messages may yet arrive in its memory.
      static_cast<void>(greeting.release());
      return false;
    }
    return true;
  };
  std::optional<LinkFigures> figures = find_link_figures(host, exchange, &steady_nanoseconds);
  // Slices share the links.
  if (figures && hierarchy_) figures->bytes_per_second *= hierarchy_->slices();
  return figures;
}

}  // namespace libcoll
