#include "libcoll/comm/communicator.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <optional>
#include <utility>

#include "libcoll/base/clock.h"
#include "libcoll/base/log.h"
#include "libcoll/comm/flat_collective.h"
#include "libcoll/comm/hierarchical_collective.h"
#include "libcoll/execute/wire_up.h"
#include "libcoll/select/measured_costs.h"
#include "libcoll/transport/detours.h"
#include "planner/base/index.h"

namespace libcoll::comm {

using namespace execute;
using namespace observe;
using namespace plan;
using namespace schedule;
using namespace select;
using namespace topology;
using namespace transport;

namespace {

/// Calls at which rank 0 says whether a plan is there yet: soon ones first, then now and then.
bool is_time_to_look(std::uint32_t call) {
  constexpr std::uint32_t interval = 64;
  return call % interval == 0 || (call < interval && std::has_single_bit(call));
}

/// Whether another communicator of the same ranks would have the same obstacle.
bool follows_from_ranks(std::optional<Reason> obstacle) {
  return obstacle == Reason::one_node || obstacle == Reason::disconnected;
}

}  // namespace

Communicator::Communicator(Runtime& runtime, const HostCommunicator& host)
    : parts_(runtime, host.name(), [this]() -> std::shared_ptr<void> { return weak_from_this().lock(); }) {}

Communicator::Communicator(const CommunicatorParts& original)
    : parts_(original, [this]() -> std::shared_ptr<void> { return weak_from_this().lock(); }) {}

std::unique_ptr<Communicator> Communicator::copy() const {
  if (parts_.members.resends() || parts_.renewal.has_renewed()) return nullptr;
  const std::lock_guard guard(runtime().lock());
  return std::unique_ptr<Communicator>(new Communicator(parts_));
}

void Communicator::keep_agreement() {
  Membership& members = parts_.members;
  if (members.stamp().communicator == 0 || members.world_ranks().empty()) return;
  ++members.stamp().revision;
  std::unique_ptr<Communicator> kept = copy();
  if (kept == nullptr) return runtime().agreed_groups()->forget(members.world_ranks());
  kept->parts_.members.stamp() = members.stamp();
  runtime().agreed_groups()->keep(members.world_ranks(), std::move(kept));
}

std::unique_ptr<Communicator> Communicator::copy_of_group(Runtime& runtime, const std::vector<int>& world_ranks) {
  // For a changed fabric there are other plans.
  if (world_ranks.empty() || runtime.topology_watch().knows_of_change()) return nullptr;
  const std::shared_ptr<const Communicator> kept = runtime.agreed_groups()->find(world_ranks);
  if (kept == nullptr || kept->parts_.members.has_failed()) return nullptr;
  std::unique_ptr<Communicator> copy = kept->copy();
  if (copy != nullptr) copy->parts_.members.stamp() = kept->parts_.members.stamp();
  return copy;
}

void Communicator::take_over(HostCommunicator& host, const GroupMeeting& meeting, SpareMemory spare) {
  const std::optional<Reason> obstacle = parts_.members.take_over(host, meeting, std::move(spare));
  parts_.members.set_obstacle(obstacle);
  if (!obstacle) parts_.renewal.begin();
  if (host.rank() != 0) return;
  log(LogLevel::info, host.name() + " (" + std::to_string(host.size()) + " ranks): " +
                          (obstacle ? "falls through, " + std::string(to_string(*obstacle))
                                    : "served as an earlier communicator of the same ranks"));
}

std::unique_ptr<Communicator> Communicator::make(Runtime& runtime, HostCommunicator& host) {
  std::vector<int> world_ranks = host.world_ranks();
  std::unique_ptr<Communicator> known = copy_of_group(runtime, world_ranks);
  AgreedGroups& groups = *runtime.agreed_groups();
  SpareMemory spare = known != nullptr ? groups.take_memory(world_ranks) : SpareMemory();
  const AgreementStamp stamp = known != nullptr ? known->parts_.members.stamp() : AgreementStamp();
  const GroupMeeting meeting = meet(host, *runtime.communicator_ids(), stamp, spare.stamp, groups.next_number());
  if (meeting.all_know) {
    known->take_over(host, meeting, std::move(spare));
    return known;
  }
  std::unique_ptr<Communicator> communicator(new Communicator(runtime, host));
  Membership& members = communicator->parts_.members;
  members.set_world_ranks(std::move(world_ranks));
  members.stamp().communicator = meeting.number;
  const std::optional<Reason> obstacle = meeting.heard ? communicator->agree(host) : Reason::settings_differ;
  members.set_obstacle(obstacle);
  if (obstacle && members.uses_transport()) runtime.unuse_transport();
  if (follows_from_ranks(obstacle)) communicator->keep_agreement();
  if (host.rank() == 0) {
    log(LogLevel::info,
        host.name() + " (" + std::to_string(host.size()) + " ranks): " +
            (!obstacle ? "served over " + members.planned_for().name() +
                             (members.uses_transport() ? " by " + runtime.transport().name() : "") +
                             (members.hierarchy() != nullptr ? ", " + members.hierarchy()->to_string() : "")
                       : "falls through, " + std::string(to_string(*obstacle))));
  }
  return communicator;
}

std::optional<Reason> Communicator::agree(HostCommunicator& host) {
  Membership& members = parts_.members;
  const std::int64_t began = steady_nanoseconds();
  const std::int64_t start = members.runtime().take_start_nanoseconds();
  const std::optional<Reason> obstacle = members.agree(host, start);
  if (!obstacle) {
    parts_.choices.learn_settings();
    parts_.shared_memory.learn_settings();
    parts_.recovery.enrol(host);
    parts_.renewal.begin();
  }
  SetupTimes times;
  times.contexts = members.longest_start_nanoseconds();
  // A rank that started sooner has waited for the others here.
  times.addresses = std::max<std::int64_t>(0, steady_nanoseconds() - began - (times.contexts - start));
  parts_.plans.set_times(times);
  return obstacle;
}

std::optional<Reason> Communicator::obstacle_of(Collective collective, bool equal_shards) const {
  if (const std::optional<Reason> obstacle = parts_.members.obstacle()) return obstacle;
  if (leaves_to_mpi()) return Reason::lengths_differ;
  const Hierarchy* const hierarchy = parts_.members.hierarchy();
  if (hierarchy != nullptr && !hierarchy->serves(collective, equal_shards)) return Reason::several_ranks;
  return std::nullopt;
}

std::optional<Reason> Communicator::begins(Collective collective, bool equal_shards) const {
  const std::optional<Reason> obstacle = obstacle_of(collective, equal_shards);
  if (obstacle) return obstacle;
  const Prospect& asked_for = parts_.plans.prospect(collective);
  return asked_for.asked ? asked_for.obstacle : Reason::not_agreed;
}

std::optional<Reason> Communicator::ready(Collective collective, bool equal_shards, HostCommunicator& host) {
  const std::optional<Reason> obstacle = obstacle_of(collective, equal_shards);
  if (obstacle) return obstacle;
  parts_.recovery.sequence(host);
  if (parts_.members.is_broken()) return std::nullopt;  // run() says so
  Prospect& asked_for = parts_.plans.prospect(collective);
  if (!asked_for.asked || (asked_for.obstacle == Reason::planning && is_time_to_look(++asked_for.calls_without))) {
    ask(collective, host);
  }
  return parts_.members.is_broken() ? std::nullopt : asked_for.obstacle;
}

void Communicator::prepare_one_root(Collective collective, HostCommunicator& host) {
  Prospect& asked_for = parts_.plans.prospect(collective);
  if (parts_.members.is_broken() || asked_for.obstacle || std::exchange(asked_for.asked_for_one_root, true)) return;
  parts_.plans.adopt_one_root(collective, host);
  keep_agreement();
}

void Communicator::before_served_call(HostCommunicator& host) {
  if (!parts_.members.is_broken()) parts_.renewal.at_call(host);
}

std::optional<Reason> Communicator::persists(Collective collective, bool equal_shards, HostCommunicator& host,
                                             std::shared_ptr<PersistentContext>& persistent) {
  const std::optional<Reason> obstacle = obstacle_of(collective, equal_shards);
  if (obstacle) return obstacle;
  parts_.recovery.sequence(host, Opening::persistent);
  parts_.renewal.open(host);
  const std::optional<Reason> reason = open_channel(collective, equal_shards, host, persistent);
  const std::lock_guard guard(runtime().lock());
  parts_.sequence.end_opening(persistent);
  return reason;
}

std::optional<Reason> Communicator::open_channel(Collective collective, bool equal_shards, HostCommunicator& host,
                                                 std::shared_ptr<PersistentContext>& persistent) {
  if (!parts_.members.is_broken()) parts_.renewal.at_call(host);
  if (parts_.members.is_broken()) return Reason::transport;
  Prospect& asked_for = parts_.plans.prospect(collective);
  if (!asked_for.asked || asked_for.obstacle == Reason::planning) ask(collective, host, Planning::waited_for);
  if (parts_.members.is_broken()) return Reason::transport;
  if (asked_for.obstacle) return asked_for.obstacle;
  const std::unique_ptr<TransportHost> around = parts_.recovery.agree_safely(host);
  HostCommunicator& agreement = around ? *around : host;
  std::shared_ptr<CallMemory> memory;
  if (parts_.members.hierarchy() != nullptr) {
    memory = parts_.members.hierarchy()->make_memory(agreement, collective, equal_shards);
    if (!memory) return Reason::shared_memory;
  }
  std::uint32_t id = 0;
  const std::optional<Reason> obstacle = parts_.members.agree_on_id(agreement, parts_.members.id() + 1, id);
  if (obstacle) return obstacle;
  CallSequence opening = parts_.sequence.opening();
  opening.changes = parts_.renewal.changes();
  opening.plans_only = parts_.plans.plans_only();
  persistent =
      std::make_shared<PersistentContext>(parts_.members.ids(), id, std::move(memory), asked_for.plans, opening);
  if (parts_.members.resends()) {
    const std::lock_guard guard(runtime().lock());
    runtime().resilient()->annex(id, parts_.members.id());
    // What a recovery group sends again would be taken for another persistent call's.
    persistent->keep_id();
  }
  return std::nullopt;
}

LoweredPlanPointer Communicator::plan_for(const Call& call, const PersistentContext* persistent) const {
  return parts_.choices.chosen_plan(
      call, persistent != nullptr ? persistent->plans() : parts_.plans.prospect(call.collective).plans);
}

/// A rank that is not heard in time has died: the communicator's calls fail then, as they would without a new plan, and
/// none of them goes to MPI on some ranks alone.
std::optional<Reason> Communicator::ask(Collective collective, HostCommunicator& host, Planning planning) {
  // From which call on there is a plan must not decide a sum's bits.
  if (collective == Collective::allreduce || collective == Collective::reduce_scatter) planning = Planning::waited_for;
  Prospect& asked_for = parts_.plans.prospect(collective);
  {
    const std::lock_guard guard(runtime().lock());
    asked_for.asked = true;
  }
  std::optional<Reason> reason;
  bool heard = true;
  if (parts_.plans.left()) {
    const std::unique_ptr<TransportHost> around = parts_.recovery.agree_around(host);
    reason = parts_.plans.adopt(collective, *around, planning);
    heard = around->good();
  } else {
    reason = parts_.plans.adopt(collective, host, planning);
  }
  {
    const std::lock_guard guard(runtime().lock());
    if (!heard) parts_.members.note_failure(nullptr);
    asked_for.obstacle = reason;
  }
  if (!reason) keep_agreement();
  return reason;
}

void Communicator::keep_record(CommunicatorRecord* record) {
  parts_.members.keep_record(record);
  parts_.plans.record_inherited();
}

bool Communicator::agree_counts(Call& call, HostCommunicator& host) {
  const bool matrix = call.collective == Collective::alltoall && !call.counts.empty();
  if (!matrix || parts_.members.hierarchy() != nullptr) return true;
  const LoweredPlan& plan = *parts_.plans.prospect(call.collective).plans.usual;
  if (!plan.forwards && plan.spread == nullptr && !parts_.members.resends() && !parts_.renewal.looks_beside()) {
    return true;
  }
  const std::size_t ranks = parts_.members.rank_of_node().size();
  const auto own_row =
      call.counts.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(parts_.members.rank()) * ranks);
  const std::vector<std::int64_t> mine(own_row, own_row + static_cast<std::ptrdiff_t>(ranks));
  const std::size_t bytes = ranks * sizeof(std::int64_t);
  const std::unique_ptr<TransportHost> around = parts_.recovery.agree_safely(host);
  HostCommunicator& agreement = around ? *around : host;
  return agreement.allgather(mine.data(), bytes, call.counts.data());
}

bool Communicator::ends_well(bool good, bool lengths_differ) {
  if (good && !lengths_differ) return true;
  const std::lock_guard guard(runtime().lock());
  if (good) {
    parts_.members.note_other_length(nullptr);
  } else if (ways() != nullptr && ways()->differ()) {
    leave_to_mpi();
  } else {
    parts_.members.note_failure(nullptr);
  }
  return false;
}

void Communicator::leave_to_mpi() {
  const bool is_first = ways()->leave();
  parts_.members.note_other_way();
  if (!is_first) return;
  log(LogLevel::warn, parts_.members.name() +
                          ": ranks passed different lengths, and so their calls went different ways; " +
                          "MPI has the communicator's calls from this one on");
}

void Communicator::note_native(Collective collective) noexcept {
  if (ways() != nullptr) ways()->begin(static_cast<std::uint8_t>(collective), static_cast<std::uint8_t>(Way::native));
}

bool Communicator::begin(const Call& call, Way way, ProgressHook& hook) {
  hook.ways = ways();
  hook.peers_share_memory = share_memory();
  hook.questions = parts_.members.way_questions();
  if (hook.questions != nullptr) hook.communicator = parts_.members.number_among_all();
  return ways() == nullptr || ways()->begin(static_cast<std::uint8_t>(call.collective), static_cast<std::uint8_t>(way));
}

Communicator::Way Communicator::way_of(const Call& call, Protocol selected) const {
  if (selected == Protocol::directly) return Way::directly;
  if (selected == Protocol::scattered) return Way::scattered;
  return hierarchy_for(call) != nullptr ? Way::stages : Way::planned;
}

bool Communicator::run_through_memory(const Call& call, ProgressHook hook) {
  const bool good =
      !parts_.members.is_broken() && begin(call, Way::memory, hook) && parts_.shared_memory.run(call, hook);
  return ends_well(good, good && parts_.shared_memory.lengths_differ());
}

const Hierarchy* Communicator::hierarchy_for(const Call& call) const {
  const Membership& members = parts_.members;
  return parts_.shared_memory.serves_in_stages(call) ? members.neighbourhood() : members.hierarchy();
}

bool Communicator::run(Call call, ProgressHook hook, Protocol selected) {
  if (parts_.members.is_broken()) return ends_well(false, false);
  if (selected == Protocol::chosen) selected = select_protocol(call);
  node::CopyChoice* const choice = selected == Protocol::planned ? parts_.shared_memory.choice_for(call) : nullptr;
  if (choice == nullptr) return run_by(std::move(call), hook, selected);
  parts_.shared_memory.begin_choice(*choice, call);
  const std::int64_t began = choice->decides() ? steady_nanoseconds() : 0;
  const bool good = run_by(call, hook, selected);
  if (good && choice->decides()) choice->end(call, steady_nanoseconds() - began);
  return good;
}

bool Communicator::run_by(Call call, ProgressHook hook, Protocol selected) {
  if (selected == Protocol::planned && parts_.shared_memory.serves(call)) return run_through_memory(call, hook);
  if (!begin(call, way_of(call, selected), hook)) return ends_well(false, false);
  bool good = false;
  bool lengths_differ = false;
  const LoweredPlanPointer plan = parts_.choices.chosen_plan(call, parts_.plans.prospect(call.collective).plans);
  if (selected == Protocol::directly) {
    good = parts_.direct.exchange(call, parts_.plans.of(call.collective).usual->links, hook);
    lengths_differ = good && parts_.direct.exchanged_lengths_differ();
  } else if (selected == Protocol::scattered) {
    good = parts_.direct.scatter(call, parts_.plans.of(call.collective).usual->links, hook);
    lengths_differ = good && parts_.direct.scattered_lengths_differ();
  } else if (const Hierarchy* const hierarchy = hierarchy_for(call); hierarchy != nullptr) {
    CallSequence sequence;
    sequence.epochs = parts_.sequence.adopted();
    sequence.plans_only = parts_.plans.plans_only();
    // Where there is a choice, this is the other way.
    sequence.may_read = parts_.shared_memory.choice_for(call) == nullptr;
    HierarchicalCollective running(parts_, *hierarchy, std::move(call), plan, sequence);
    good = drive(running, hook);
    lengths_differ = running.lengths_differ();
  } else {
    FlatCollective running(parts_, std::move(call), plan);
    good = drive(running, hook);
    lengths_differ = running.lengths_differ();
  }
  return ends_well(good, lengths_differ);
}

std::unique_ptr<RunningCall> Communicator::make_call(Call call, std::shared_ptr<PersistentContext> persistent) {
  CallSequence sequence;
  LoweredPlanPointer plan;
  const bool is_counted = !parts_.members.rank_of_node().empty();
  // The ranks may start persistent calls anywhere among the others.
  const bool plans_only = persistent != nullptr ? persistent->sequence().plans_only : parts_.plans.plans_only();
  if (is_counted && (parts_.members.resends() || parts_.renewal.looks_beside())) {
    const std::lock_guard guard(runtime().lock());
    sequence =
        parts_.members.resends() ? parts_.recovery.begin(persistent.get()) : parts_.sequence.next(persistent.get());
    if (persistent == nullptr) sequence.changes = parts_.renewal.changes();
    if (parts_.renewal.looks_beside()) parts_.renewal.begin_beside();
    sequence.plans_only = plans_only;
    plan = plan_for(call, persistent.get());
    if (sequence.settled) parts_.sequence.settle(call.collective, sequence, plan, persistent.get());
  } else {
    plan = plan_for(call, persistent.get());
    sequence.plans_only = plans_only;
  }
  if (parts_.members.hierarchy() != nullptr) {
    return std::make_unique<HierarchicalCollective>(parts_, *parts_.members.hierarchy(), std::move(call),
                                                    std::move(plan), sequence, std::move(persistent));
  }
  return std::make_unique<FlatCollective>(parts_, std::move(call), std::move(plan), sequence, std::move(persistent));
}

bool Communicator::drive(RunningCall& running, ProgressHook hook) {
  {
    const std::lock_guard guard(runtime().lock());
    running.begin();
  }
  if (running.drive(hook)) return true;
  const std::lock_guard guard(runtime().lock());
  running.abandon();
  return false;
}

CallProtocol Communicator::protocol_of(CallKind kind, const Call& call, std::int64_t bytes) const {
  const Protocol selected = is_nonblocking(kind) ? Protocol::planned : select_protocol(call);
  CallProtocol protocol{"plan", "", "configuration"};
  if (selected == Protocol::directly) protocol = {"direct", "", "LIBCOLL_PLANLESS_MAX"};
  if (selected == Protocol::scattered) protocol.use = "scattered";
  const bool has_plan = selected == Protocol::planned && !goes_through_memory(kind, call);
  if (has_plan) {
    const LoweredPlanPointer plan = plan_for(call, nullptr);
    if (plan != nullptr) protocol.algorithm = plan->algorithm;
  }
  const SelectionRow* row = selection().find(blocking_variant(kind), bytes, call.order_matters);
  if (row != nullptr && row->source != RowSource::built_in && way_name(row->choice) == protocol.use) {
    protocol.chosen_by = to_string(row->source);
  }
  if (selected == Protocol::planned && !has_plan) protocol.use = "memory";
  return protocol;
}

bool Communicator::goes_through_memory(CallKind kind, const Call& call) const {
  const bool waits = !is_nonblocking(kind);
  const Hierarchy* const hierarchy = waits ? hierarchy_for(call) : parts_.members.hierarchy();
  return (waits && parts_.shared_memory.serves(call)) || (hierarchy != nullptr && !hierarchy->has_slices());
}

std::string Communicator::way_in_words(CallKind kind, const Call& call) const {
  const Protocol selected = is_nonblocking(kind) ? Protocol::planned : select_protocol(call);
  if (selected == Protocol::directly) return "directly";
  if (selected == Protocol::scattered) return "in parts";
  if (goes_through_memory(kind, call)) return "through memory";
  const LoweredPlanPointer plan = plan_for(call, nullptr);
  // Who leads no node does not know the plan.
  return plan == nullptr || plan->algorithm.empty() ? "by the plan" : "by " + plan->algorithm;
}

/// All neighbours exchange at once, as in a step of a plan.
std::optional<LinkFigures> Communicator::measure_links(HostCommunicator& host, ProgressHook hook) {
  if (!parts_.members.part_nodes().empty() || nodes() < 2) return std::nullopt;
  std::vector<PeerId> peers(parts_.members.rank_of_node().size(), -1);
  if (!peers.empty()) {
    const std::vector<std::vector<NodeId>> neighbours = neighbouring_hosts(runtime().topology());
    for (const NodeId node : neighbours[at(parts_.members.node())]) peers[at(node)] = awaited_peer;
  }
  Lanes lanes{peers, parts_.members.node(), parts_.members.rank_of_node()};
  if (!parts_.connections.wire_up(host, lanes)) return std::nullopt;
  const auto exchange = [&](std::int64_t bytes, int times) {
    auto wire = std::make_unique<WireUp>(runtime().transport(), parts_.members.node(), nodes(), peers, at(bytes));
    for (int i = 0; i < times; ++i) {
      {
        const std::lock_guard guard(runtime().lock());
        wire->start(parts_.connections.next_tags());
      }
      if (runtime().engine().drive(*wire, hook, [this] { return parts_.members.name() + ": measuring links"; }))
        continue;
      // Messages may yet arrive in its memory.
      static_cast<void>(wire.release());
      return false;
    }
    return true;
  };
  std::optional<LinkFigures> figures = find_link_figures(host, exchange, &steady_nanoseconds);
  // Slices share the links.
  if (figures && parts_.members.hierarchy() != nullptr)
    figures->bytes_per_second *= parts_.members.hierarchy()->slices();
  return figures;
}

}  // namespace libcoll::comm
