#include "libcoll/comm/communicator_plans.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "libcoll/base/clock.h"
#include "libcoll/base/log.h"
#include "libcoll/plan/pair_loads.h"
#include "libcoll/plan/plan_links.h"
#include "libcoll/plan/plan_source.h"
#include "libcoll/plan/steering.h"
#include "planner/plan/default_plan.h"
#include "planner/schedule/packed.h"
#include "planner/schedule/valiant.h"

namespace libcoll::comm {

using namespace default_plan;
using namespace execute;
using namespace observe;
using namespace plan;
using namespace schedule;
using namespace select;
using namespace topology;

namespace {

/// Of a rank that makes a plan while the others wait.
constexpr std::chrono::milliseconds between_words{20};

/// Transfers of a schedule by way of all nodes grow as their third power.
constexpr std::int32_t most_spread_nodes = 64;

/// Making a plan for one root takes a time that grows as the cube of the nodes (switches, too): up to seconds with so
/// many. These are planned in this process, without a limit of time, so that every run has the same plan.
constexpr std::int32_t most_one_root_nodes = 64;
constexpr std::string_view one_root_planner = "blink";

constexpr double nanoseconds_per_second = 1e9;

/// Whether an all-to-all's blocks pass through hosts that are neither their source nor their destination.
bool forwards_blocks(const Schedule& schedule) {
  const std::int32_t nodes = schedule.topology.host_count();
  return schedule.collective == Collective::alltoall &&
         std::any_of(schedule.transfers.begin(), schedule.transfers.end(), [nodes](const Transfer& transfer) {
           return transfer.from != transfer.shard / nodes || transfer.to != transfer.shard % nodes;
         });
}

}  // namespace

std::optional<Reason> CommunicatorPlans::adopt(Collective collective, HostCommunicator& host, Planning planning) {
  auto fresh = std::make_shared<LoweredPlan>();
  const std::optional<Reason> reason = distribute({collective, planning, {}}, host, *fresh);
  if (reason) return reason;
  {
    const std::lock_guard guard(runtime().lock());
    prospect(collective).plans = {std::move(fresh), {}, nullptr, 0, nullptr, 0};
  }
  // What is left of a fabric is not what the table was made for.
  if (!plans_only()) {
    adopt_small(collective, host);
    adopt_named(collective, host);
  }
  return reason;
}

std::uint32_t CommunicatorPlans::asked_for() const {
  std::uint32_t collectives = 0;
  for (std::size_t each = 0; each < collective_count; ++each) {
    if (prospects_[each].asked && prospects_[each].obstacle != Reason::chosen_native) collectives |= 1U << each;
  }
  return collectives;
}

void CommunicatorPlans::switch_to(const NewPlans& plans) {
  for (std::size_t each = 0; each < collective_count; ++each) {
    if (plans[each] == nullptr || prospects_[each].obstacle) continue;
    prospects_[each].plans = {plans[each], {}, nullptr, 0, nullptr, 0};
  }
}

std::optional<Reason> CommunicatorPlans::distribute(const Wanted& wanted, HostCommunicator& host, LoweredPlan& plan) {
  const Collective collective = wanted.collective;
  if (algorithm_setting(runtime().config(), collective) == "native") return Reason::chosen_native;
  if (members_.hierarchy() != nullptr && !members_.hierarchy()->has_slices()) return std::nullopt;
  enum Answer : std::uint64_t { none, not_yet, under_way, there };
  struct Offer {
    std::uint64_t answer;
    std::uint64_t bytes;
  };
  const std::int64_t began = steady_nanoseconds();
  std::string text;
  Offer offer{none, 0};
  do {
    if (host.rank() == 0) {
      std::optional<std::string> made = plan_text(wanted, host);
      if (made) text = std::move(*made);
      offer = {made ? (text.empty() ? none : there) : (hosts_forward() ? under_way : not_yet), text.size()};
    }
    // Around dead links the others wait for so long only without a word.
    if (offer.answer == under_way) std::this_thread::sleep_for(between_words);
    if (!host.broadcast(&offer, sizeof offer)) return Reason::no_plan;
  } while (offer.answer == under_way);
  if (offer.answer != there) return offer.answer == not_yet ? Reason::planning : Reason::no_plan;
  text.resize(offer.bytes);
  const bool received = host.broadcast(text.data(), text.size());
  if (!all_agree(host, received && take(text, plan))) return Reason::no_plan;
  const std::int64_t adopted = steady_nanoseconds();
  times_.plan = adopted - began - times_.connections;
  Lanes lanes{plan.peers, members_.node(), members_.rank_of_node()};
  if (!connections_.call(host, lanes)) return Reason::transport;
  connections_.answer(host, lanes);  // a peer that does not get through will fail the first call
  if (plan.spread != nullptr) plan.spread->peers = plan.peers;
  // Once links have died, calls go by plans that do without them.
  if (!plans_only()) direct_.wire_up(collective, host);
  times_.connections += steady_nanoseconds() - adopted;
  say_setup_times(collective, host);
  return std::nullopt;
}

bool CommunicatorPlans::hosts_forward() const {
  const std::lock_guard guard(runtime().lock());
  return left_ || (changed_ && changed_->hosts_forward);
}

void CommunicatorPlans::say_setup_times(Collective collective, const HostCommunicator& host) {
  const SetupTimes times = std::exchange(times_, {});
  if (host.rank() != 0) return;
  log(LogLevel::info, host.name() + ": " + std::string(to_string(collective)) + " was set up in " + to_string(times));
}

void CommunicatorPlans::adopt_small(Collective collective, HostCommunicator& host) {
  if (collective == Collective::alltoall) return;
  auto fresh = std::make_shared<LoweredPlan>();
  if (distribute({collective, Planning::for_small_vectors, {}}, host, *fresh)) return;
  std::int64_t up_to = small_up_to_;
  if (!host.broadcast(&up_to, sizeof up_to)) return;
  const std::lock_guard guard(runtime().lock());
  prospect(collective).plans.small = std::move(fresh);
  prospect(collective).plans.small_up_to = up_to;
}

void CommunicatorPlans::adopt_one_root(Collective collective, HostCommunicator& host) {
  // A planner that is named is to plan everything. Two nodes have one link.
  const bool is_automatic = algorithm_setting(runtime().config(), collective) == automatic_plan;
  const std::int32_t nodes = members_.planned_for().node_count();
  if (!is_automatic || plans_only() || members_.nodes() < 3 || nodes > most_one_root_nodes) return;
  auto fresh = std::make_shared<LoweredPlan>();
  if (distribute({collective, Planning::for_one_root, PlannerName(one_root_planner)}, host, *fresh)) return;
  static_assert(std::is_trivially_copyable_v<OneRoot>);
  OneRoot one_root = one_root_;
  if (!host.broadcast(&one_root, sizeof one_root)) return;
  fresh->one_root = one_root.time;
  const std::lock_guard guard(runtime().lock());
  prospect(collective).plans.one_root = std::move(fresh);
  prospect(collective).plans.one_root_from = one_root.from_bytes;
}

void CommunicatorPlans::adopt_named(Collective collective, HostCommunicator& host) {
  // The table is equal on all ranks.
  for (const PlannerName& algorithm : choices_.table().planners(call_of(collective))) {
    auto fresh = std::make_shared<LoweredPlan>();
    const std::optional<Reason> reason = distribute({collective, Planning::waited_for, algorithm}, host, *fresh);
    if (reason) continue;
    const std::lock_guard guard(runtime().lock());
    prospect(collective).plans.named.emplace_back(algorithm, std::move(fresh));
  }
}

std::optional<Result<PlanPair>> CommunicatorPlans::obtain(const Wanted& wanted) {
  std::optional<ChangedFabric> changed;
  {
    const std::lock_guard guard(runtime().lock());
    std::optional<PlanPair>& made = made_[static_cast<std::size_t>(wanted.collective)];
    if (made && wanted.algorithm.empty()) {
      return std::optional<Result<PlanPair>>(std::in_place, *std::exchange(made, std::nullopt));
    }
    changed = changed_;
  }
  return obtain_on(changed, wanted);
}

std::optional<Result<PlanPair>> CommunicatorPlans::obtain_on(const std::optional<ChangedFabric>& changed,
                                                             const Wanted& wanted) {
  const Collective collective = wanted.collective;
  if (changed) return obtain_changed(wanted, *changed);
  if (left_) return obtain_without(collective, *left_);
  Config config = runtime().config();
  if (wanted.planning != Planning::as_configured)
    config.background_planning = wanted.planning == Planning::beside_calls;
  return runtime().plans().obtain(
      config, {members_.planned_for(), members_.part_nodes(), collective, std::string(wanted.algorithm.view())});
}

std::optional<Result<PlanPair>> CommunicatorPlans::obtain_changed(const Wanted& wanted, const ChangedFabric& changed) {
  if (changed.hosts_forward) return obtain_without(wanted.collective, changed.topology);
  Config config = runtime().config();
  config.topology.clear();
  if (wanted.planning != Planning::as_configured)
    config.background_planning = wanted.planning == Planning::beside_calls;
  return runtime().plans().obtain(config,
                                  {changed.topology, "", wanted.collective, std::string(wanted.algorithm.view())});
}

void CommunicatorPlans::set_changed(std::optional<ChangedFabric> changed) {
  changed_ = std::move(changed);
  made_ = {};
}

std::uint32_t CommunicatorPlans::served() const {
  std::uint32_t collectives = 0;
  for (std::size_t each = 0; each < collective_count; ++each) {
    if (prospects_[each].asked && !prospects_[each].obstacle) collectives |= 1U << each;
  }
  return collectives;
}

std::optional<bool> CommunicatorPlans::make(Collective collective) {
  std::optional<PlanPair>& made = made_[static_cast<std::size_t>(collective)];
  if (made) return true;
  std::optional<Result<PlanPair>> plans = obtain_on(changed_, {collective, Planning::beside_calls, {}});
  if (!plans) return std::nullopt;
  if (!*plans) {
    log(LogLevel::warn, members_.name() + ": no new plan for " + std::string(to_string(collective)) + " (" +
                            plans->error().message + "); it keeps the one it has");
    return false;
  }
  made = std::move(**plans);
  return true;
}

/// Around dead links hosts forward: nobody has told the fabric of other routes yet.
std::optional<Result<PlanPair>> CommunicatorPlans::obtain_without(Collective collective, const Topology& left) {
  Config config = runtime().config();
  config.topology.clear();
  config.allgather = config.allreduce = config.reduce_scatter = "auto";
  config.alltoall = "mcf-link";
  config.background_planning = true;
  return runtime().plans().obtain(config, {left, "", collective});
}

std::optional<std::string> CommunicatorPlans::plan_text(const Wanted& wanted, HostCommunicator& host) {
  const Collective collective = wanted.collective;
  if (wanted.planning == Planning::for_small_vectors) return small_plan_text(collective);
  std::optional<Result<PlanPair>> answer = obtain(wanted);
  if (!answer) return std::nullopt;
  Result<PlanPair>& plans = *answer;
  if (wanted.planning == Planning::for_one_root) return one_root_plan_text(collective, std::move(plans));
  const std::string what = host.name() + ": ";
  if (!plans) {
    // Of parts there are many, and some are odd.
    const bool part = !members_.part_nodes().empty() && host.size() != host.world_size();
    std::string effect = "its calls fall through";
    if (!wanted.algorithm.empty()) {
      effect = "sizes for which the tuning table names " + std::string(wanted.algorithm.view()) + " go by another";
    }
    log(part ? LogLevel::info : LogLevel::warn,
        what + "no plan for " + std::string(to_string(collective)) + " (" + plans.error().message + "); " + effect);
    return std::string();
  }
  if (wanted.algorithm.empty()) {
    prospect(collective).cost = plan_cost(plans->usual);
    prospect(collective).one_root_time = one_root_time(plans->usual);
    small_ = std::move(plans->small);
    small_up_to_ = small_ ? small_up_to(*small_, plans->usual).value_or(0) : 0;
  }
  return announce(plans->usual);
}

std::string CommunicatorPlans::one_root_plan_text(Collective collective, Result<PlanPair> plans) {
  if (!plans) {
    log(LogLevel::info, members_.name() + ": " + std::string(to_string(collective)) +
                            " has no plan of its own for one root (" + plans.error().message + ")");
    return {};
  }
  const OneRootTime time = one_root_time(plans->usual);
  const std::optional<std::int64_t> from =
      one_root_from(time, prospect(collective).one_root_time, runtime().config().segment_bytes);
  if (!from) return {};
  one_root_ = {*from, time};
  log(LogLevel::info, members_.name() + ": " + std::string(to_string(collective)) + " from " + std::to_string(*from) +
                          " bytes on takes a plan of its own where one rank has everything");
  return announce(plans->usual);
}

std::string CommunicatorPlans::small_plan_text(Collective collective) {
  std::optional<Schedule> schedule = std::exchange(small_, std::nullopt);
  if (!schedule) return {};
  log(LogLevel::info, members_.name() + ": " + std::string(to_string(collective)) + " of up to " +
                          std::to_string(small_up_to_) + " bytes takes the plan of fewest steps");
  return announce(*schedule);
}

std::string CommunicatorPlans::announce(Schedule& schedule) const {
  const Status steered = steer(schedule, runtime().route_binding(), runtime().transport().route_classes());
  if (!steered && !runtime().route_binding().classes.empty()) {
    log(LogLevel::warn, "the routes of " + schedule.algorithm + " are not steered: " + steered.error().message);
  }
  log(LogLevel::info, members_.name() + ": " + std::string(to_string(schedule.collective)) + " by " +
                          schedule.algorithm + " on " + schedule.topology.name() + ", " +
                          std::to_string(schedule.steps) +
                          " steps, T_B = " + schedule.proof.bandwidth_time.to_string() + " M/B");
  return pack_schedule(schedule);
}

std::string CommunicatorPlans::announce_made(Collective collective) const {
  Schedule schedule = made_[static_cast<std::size_t>(collective)]->usual;
  return announce(schedule);
}

LoweredPlanPointer CommunicatorPlans::take_beside(const std::string& text) {
  auto fresh = std::make_shared<LoweredPlan>();
  if (!lower_text(text, *fresh) || !connections_.connect_awaited(connections_.lanes_of(*fresh))) return nullptr;
  if (fresh->spread != nullptr) fresh->spread->peers = fresh->peers;
  return fresh;
}

bool CommunicatorPlans::take(const std::string& text, LoweredPlan& plan) {
  if (members_.hierarchy() != nullptr && !members_.hierarchy()->leads()) return true;
  if (!lower_text(text, plan)) return false;
  Lanes lanes = connections_.lanes_of(plan);
  const std::int64_t began = steady_nanoseconds();
  const Status connected = connections_.connect(lanes, Words::call);
  times_.connections += steady_nanoseconds() - began;
  if (!connected) log(LogLevel::warn, connected.error().message);
  return connected.ok();
}

bool CommunicatorPlans::lower_text(const std::string& text, LoweredPlan& plan) const {
  const Result<Schedule> schedule = unpack_schedule(text);
  if (!schedule) {
    log(LogLevel::warn, "plan of rank 0: " + schedule.error().message);
    return false;
  }
  plan.algorithm = schedule->algorithm;
  plan.program = lower(*schedule, members_.node());
  plan.forwards = forwards_blocks(*schedule);
  plan.through_nics = std::any_of(schedule->routes.begin(), schedule->routes.end(),
                                  [](const Route& route) { return route.links.size() > 1; });
  if (route_classes(plan.program) > 1) {
    plan.nanoseconds_per_shard_byte = schedule->proof.max_link_load.to_double() * nanoseconds_per_second /
                                      static_cast<double>(schedule->topology.unit_bandwidth_bytes_per_second());
  }
  record_plan(*schedule, plan);
  lower_spread(*schedule, plan);
  return true;
}

void CommunicatorPlans::lower_spread(const Schedule& schedule, LoweredPlan& plan) const {
  if (runtime().config().valiant_threshold == 0 || members_.hierarchy() != nullptr ||
      members_.nodes() > most_spread_nodes)
    return;
  const Result<Schedule> spread = spread_over_nodes(schedule);
  if (!spread) return;
  plan.loads = PairLoads(schedule);
  plan.spread = std::make_shared<LoweredPlan>();
  plan.spread->algorithm = spread->algorithm;
  plan.spread->program = lower(*spread, members_.node());
  plan.spread->forwards = true;
  plan.spread->through_nics = plan.through_nics;
  if (members_.record() != nullptr) plan.spread->links = PlanLinks(*spread, members_.node());
}

void CommunicatorPlans::record_inherited() const {
  if (members_.record() == nullptr) return;
  for (std::size_t each = 0; each < collective_count; ++each) {
    const Plans& plans = prospects_[each].plans;
    std::vector<LoweredPlanPointer> all{plans.usual, plans.small, plans.one_root};
    for (const auto& [name, plan] : plans.named) all.push_back(plan);
    for (const LoweredPlanPointer& plan : all) {
      if (plan != nullptr) members_.record()->set_plan(static_cast<Collective>(each), plan->algorithm);
    }
  }
}

void CommunicatorPlans::record_plan(const Schedule& schedule, LoweredPlan& plan) const {
  if (members_.record() == nullptr) return;
  plan.links = PlanLinks(schedule, members_.node());
  members_.record()->set_plan(schedule.collective, schedule.algorithm);
}

}  // namespace libcoll::comm
