#include "libcoll/comm/call_queue.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "libcoll/base/clock.h"
#include "libcoll/observe/trace.h"

namespace libcoll::comm {

using namespace execute;
using namespace observe;
using namespace plan;
using namespace schedule;
using namespace transport;

namespace {

constexpr std::size_t cached_task_graphs = 16;

/// Tags repeat after 4096 rounds, so that none is further ahead of the oldest call under way than half of that.
constexpr std::uint32_t most_rounds_ahead = 2048;

/// Calls under way at the same time beyond these wait for the oldest.
constexpr std::size_t most_under_way = 64;
/// Their memory is kept for later calls.
constexpr std::size_t most_idle_flights = 4;

}  // namespace

void CallQueue::enter(QueuedCall& call) {
  if (PersistentContext* const persistent = call.persistent(); persistent != nullptr) {
    call.take_numbers(persistent->rounds());
  } else {
    under_way_.push_back(&call);
    number_calls();
  }
}

/// In the order of their beginnings, which is the same on every rank; when they come to have so many rounds is not.
void CallQueue::number_calls() {
  // One that failed has had nobody know how many it has.
  if (members_.obstacle() == Reason::transport) return;
  const auto has_numbers = [](const QueuedCall* call) { return call->is_numbered(); };
  auto next = std::partition_point(under_way_.begin(), under_way_.end(), has_numbers);
  for (; next != under_way_.end() && (*next)->is_settled(); ++next) {
    (*next)->take_numbers(next_);
    if (!(*next)->is_numbered()) return;
  }
}

/// The oldest call always has numbers and goes on, on every rank: so nobody waits for ever. Starts of persistent calls
/// wait for no other call, for the ranks may disagree on which is older.
bool CallQueue::admits(const QueuedCall& call) const {
  if (!call.has_number()) return false;
  if (call.persistent() != nullptr) return true;
  if (under_way_.front() == &call) return true;
  const auto end = under_way_.begin() + static_cast<std::ptrdiff_t>(std::min(most_under_way, under_way_.size()));
  return std::find(under_way_.begin(), end, &call) != end &&
         call.number() - under_way_.front()->number() < most_rounds_ahead;
}

void CallQueue::leave(const QueuedCall& call) noexcept {
  under_way_.erase(std::remove(under_way_.begin(), under_way_.end(), &call), under_way_.end());
}

std::optional<std::uint32_t> CallQueue::take_number_in_turn() {
  if (!under_way_.empty() &&
      (!under_way_.back()->is_numbered() || next_ - under_way_.front()->number() >= most_rounds_ahead)) {
    return std::nullopt;
  }
  return next_++;
}

std::shared_ptr<const TaskGraph> CallQueue::task_graph_for(const LoweredPlanPointer& plan, const Shape& shape,
                                                           const Tuning& tuning) {
  const auto found = std::find_if(task_graphs_.begin(), task_graphs_.end(), [&](const CachedTaskGraph& cached) {
    return cached.plan == plan && cached.segment_bytes == tuning.segment_bytes && cached.shape == shape;
  });
  if (found != task_graphs_.end()) {
    task_graphs_.splice(task_graphs_.begin(), task_graphs_, found);
  } else {
    task_graphs_.push_front(
        {plan, shape, tuning.segment_bytes,
         std::make_shared<const TaskGraph>(make_task_graph(plan->program, members_.place_of_shard(), shape, tuning))});
    if (task_graphs_.size() > cached_task_graphs) task_graphs_.pop_back();
  }
  return task_graphs_.front().task_graph;
}

Pace CallQueue::pace_of(const LoweredPlan& plan, const Shape& shape) const {
  if (!members_.runtime().config().pacing || plan.nanoseconds_per_shard_byte <= 0) return {};
  std::int64_t elements = shape.elements;
  if (!shape.counts.empty()) {
    // As if all ranks had as much to send as this one: a lane's share then leaves at the rate of a balanced call.
    const auto ranks = static_cast<std::ptrdiff_t>(members_.rank_of_node().size());
    const bool matrix = plan.program.collective == Collective::alltoall;
    const auto row = shape.counts.begin() +
                     (matrix ? members_.place_of_shard()[static_cast<std::size_t>(members_.node())] * ranks : 0);
    elements = std::accumulate(row, row + ranks, std::int64_t{0}) / ranks;
  }
  // Slices share the links.
  const std::int64_t slices = members_.hierarchy() != nullptr ? members_.hierarchy()->slices() : 1;
  const auto shard_bytes = static_cast<double>(elements * shape.element_bytes * slices);
  return {static_cast<std::int64_t>(plan.nanoseconds_per_shard_byte * shard_bytes),
          members_.runtime().config().segment_bytes, &steady_nanoseconds};
}

std::unique_ptr<Flight> CallQueue::prepare(const Call& call, const LoweredPlanPointer& plan, const Portion& portion,
                                           const Tuning& tuning, TagSpace tags) {
  std::unique_ptr<Flight> flight;
  if (idle_flights_.empty()) {
    flight = std::make_unique<Flight>();
  } else {
    flight = std::move(idle_flights_.back());
    idle_flights_.pop_back();
  }
  flight->tuning = tuning;
  flight->task_graph = task_graph_for(plan, portion.shape, tuning);
  flight->execution.emplace(*flight->task_graph, members_.node(), Buffers{portion.input, portion.output}, call.reducer,
                            members_.runtime().transport(), plan->peers, tags, flight->tuning, flight->workspace,
                            pace_of(*plan, portion.shape));
  if (members_.record() != nullptr && members_.runtime().trace() != nullptr) {
    flight->execution->observe(std::make_unique<MessageTrace>(*members_.runtime().trace(), *flight->task_graph,
                                                              members_.node(), tags, members_.record()->number()));
  }
  return flight;
}

void CallQueue::keep(std::unique_ptr<Flight> flight) {
  flight->execution.reset();
  if (idle_flights_.size() < most_idle_flights) idle_flights_.push_back(std::move(flight));
}

}  // namespace libcoll::comm
