// What a communicator's calls may take: measured for the cost model, and chosen by it.
#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <numeric>

#include "libcoll/execute/wire_up.h"
#include "libcoll/runtime/clock.h"
#include "libcoll/runtime/communicator.h"
#include "libcoll/runtime/hierarchy.h"
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

/// All shards together, which is the same on all ranks. Rooted calls are planned as vectors of one shard.
std::int64_t vector_bytes(const Call& call, std::int32_t ranks) {
  if (!call.counts.empty()) {
    return std::accumulate(call.counts.begin(), call.counts.end(), std::int64_t{0}) * call.element_bytes;
  }
  const bool whole = call.collective == Collective::allreduce;
  return call.elements * call.element_bytes * (whole ? 1 : ranks);
}

}  // namespace

void Communicator::add_choices(const std::vector<TuningChoice>& choices, bool order_matters) {
  Modelled& modelled = order_matters ? by_facts_ : by_measurement_;
  modelled.table.add(choices);
  modelled.chosen = ChoicesByCall(modelled.table, size());
}

const TuningChoice* Communicator::choice_for(const Call& call) const {
  if (!call.counts.empty()) return nullptr;
  const CallKind kind = kind_of(call.collective);
  const std::int64_t bytes = call.elements * call.element_bytes;
  const TuningChoice* choice = tuned(kind, bytes);
  return choice != nullptr ? choice : modelled(kind, bytes, call.order_matters);
}

Protocol Communicator::select_protocol(const Call& call) const {
  if (!can_go_direct(call.collective) || !call.counts.empty()) return Protocol::planned;
  const std::int64_t bytes = call.elements * call.element_bytes;
  if (bytes <= 0) return Protocol::planned;
  const CallKind kind = kind_of(call.collective);
  const TuningChoice* in_table = tuned(kind, bytes);
  const TuningChoice* choice = in_table != nullptr ? in_table : modelled(kind, bytes, call.order_matters);
  if (choice != nullptr && choice->scattered && can_be_scattered(call.collective) &&
      bytes <= ScatteredReduction::most_bytes) {
    return Protocol::scattered;
  }
  // A table says "plan" for what goes direct by itself, too; the cost model has tried both. Who names a planner wants
  // its plans.
  const bool is_said = choice != nullptr && !choice->native && (in_table == nullptr || !in_table->algorithm.empty());
  const bool is_small = !is_said && bytes <= runtime_.config().planless_max / size();
  const bool fits = bytes <= DirectExchange::most_bytes / size();
  return fits && (is_small || (choice != nullptr && choice->direct)) ? Protocol::directly : Protocol::planned;
}

CallProtocol Communicator::protocol_of(CallKind kind, const Call& call, std::int64_t bytes) const {
  const Protocol selected = is_nonblocking(kind) ? Protocol::planned : select_protocol(call);
  CallProtocol protocol{"plan", "", "configuration"};
  if (selected == Protocol::directly) protocol = {"direct", "", "LIBCOLL_PLANLESS_MAX"};
  if (selected == Protocol::scattered) protocol.use = "scattered";
  if (selected == Protocol::planned) {
    const LoweredPlanPointer plan = plan_for(call, nullptr);
    if (plan != nullptr) protocol.algorithm = plan->algorithm;
  }
  const TuningChoice* in_table = tuned(blocking_variant(kind), bytes);
  const TuningChoice* choice =
      in_table != nullptr ? in_table : modelled(blocking_variant(kind), bytes, call.order_matters);
  if (choice != nullptr && way_name(*choice) == protocol.use) {
    protocol.chosen_by = in_table != nullptr ? "tuning table" : "cost model";
  }
  return protocol;
}

std::string Communicator::way_in_words(const Call& call) const {
  const Protocol selected = select_protocol(call);
  if (selected == Protocol::directly) return "directly";
  if (selected == Protocol::scattered) return "in parts";
  const LoweredPlanPointer plan = plan_for(call, nullptr);
  // Who leads no node does not know the plan.
  return plan == nullptr || plan->algorithm.empty() ? "by the plan" : "by " + plan->algorithm;
}

Tuning Communicator::tuning_for(const Call& call) const {
  Tuning tuning = runtime_.tuning();
  const TuningChoice* choice = choice_for(call);
  // Transports have made room for segments as configured.
  if (choice != nullptr && choice->segment_bytes > 0) {
    tuning.segment_bytes = std::min(tuning.segment_bytes, choice->segment_bytes);
  }
  if (choice != nullptr && choice->in_flight > 0) tuning.in_flight = choice->in_flight;
  return tuning;
}

const LoweredPlanPointer& Communicator::chosen_plan(const Call& call, const Plans& plans) const {
  const TuningChoice* choice = plans.named.empty() ? nullptr : choice_for(call);
  if (choice != nullptr && !choice->algorithm.empty()) return plans.by(choice->algorithm);
  return plans.small != nullptr && vector_bytes(call, size()) <= plans.small_up_to ? plans.small : plans.usual;
}

void Communicator::adopt_small(Collective collective, HostCommunicator& host) {
  if (collective == Collective::alltoall) return;
  auto fresh = std::make_shared<LoweredPlan>();
  if (distribute_plan({collective, Planning::for_small_vectors, {}}, host, *fresh) != Reason::count_) return;
  std::int64_t up_to = small_up_to_;
  if (!host.broadcast(&up_to, sizeof up_to)) return;
  const std::lock_guard guard(runtime_.lock());
  prospect(collective).plans.small = std::move(fresh);
  prospect(collective).plans.small_up_to = up_to;
}

void Communicator::adopt_named(Collective collective, HostCommunicator& host) {
  // The table is equal on all ranks.
  for (const PlannerName& algorithm : tuned_.algorithms(kind_of(collective))) {
    auto fresh = std::make_shared<LoweredPlan>();
    const Reason reason = distribute_plan({collective, Planning::waited_for, algorithm}, host, *fresh);
    if (reason != Reason::count_) continue;
    const std::lock_guard guard(runtime_.lock());
    prospect(collective).plans.named.emplace_back(algorithm, std::move(fresh));
  }
}

/// All neighbours exchange at once, as in a step of a plan.
std::optional<LinkFigures> Communicator::measure_links(HostCommunicator& host, ProgressHook hook) {
  if (!part_nodes_.empty() || nodes() < 2) return std::nullopt;
  std::vector<PeerId> peers(rank_of_node_.size(), -1);
  if (!peers.empty()) {
    const std::vector<std::vector<NodeId>> neighbours = neighbouring_hosts(runtime_.topology());
    for (const NodeId node : neighbours[at(node_)]) peers[at(node)] = awaited_peer;
  }
  Lanes lanes{peers, node_, rank_of_node_};
  if (!wire_up(host, lanes)) return std::nullopt;
  const auto exchange = [&](std::int64_t bytes, int times) {
    auto wire = std::make_unique<WireUp>(runtime_.transport(), node_, nodes(), peers, at(bytes));
    for (int i = 0; i < times; ++i) {
      {
        const std::lock_guard guard(runtime_.lock());
        wire->start(TagSpace(id_, wire_ups_++));
      }
      if (runtime_.drive(*wire, hook, [this] { return name_ + ": measuring links"; })) continue;
      // Messages may yet arrive in its memory.
      static_cast<void>(wire.release());
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
