#include "libcoll/runtime/communicator.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <numeric>
#include <thread>
#include <utility>

#include "libcoll/node/placement.h"
#include "libcoll/runtime/clock.h"
#include "libcoll/runtime/figures.h"
#include "libcoll/runtime/hierarchical_collective.h"
#include "libcoll/runtime/hierarchy.h"
#include "libcoll/runtime/log.h"
#include "libcoll/runtime/plan_source.h"
#include "libcoll/runtime/replan.h"
#include "libcoll/runtime/transport_agreement.h"
#include "libcoll/runtime/transport_host.h"
#include "planner/default_plan.h"
#include "planner/index.h"
#include "planner/schedule/packed.h"
#include "planner/schedule/valiant.h"
#include "planner/topology/facts.h"
#include "planner/topology/part.h"

namespace libcoll {
namespace {

constexpr std::size_t cached_scripts = 16;

/// Calls under way at the same time beyond these wait for the oldest.
constexpr std::size_t most_under_way = 64;
/// Their memory is kept for later calls.
constexpr std::size_t most_idle_flights = 4;

/// Of a rank that makes a plan while the others wait.
constexpr std::chrono::milliseconds between_words{20};

/// Transfers of a schedule by way of all nodes grow as their third power.
constexpr std::int32_t most_spread_nodes = 64;
/// Of the load by the usual plan: hosts that forward have to be worth it.
constexpr double most_spread_load = 0.8;

constexpr double nanoseconds_per_second = 1e9;
constexpr std::int64_t microsecond = 1000;  // in nanoseconds

/// Calls at which rank 0 says whether a plan is there yet: soon ones first, then now and then.
bool is_time_to_look(std::uint32_t call) {
  constexpr std::uint32_t interval = 64;
  return call % interval == 0 || (call < interval && std::has_single_bit(call));
}

/// What every rank tells the others before anything is decided.
struct Introduction {
  std::uint64_t settings_digest;
  std::uint32_t obstacle;
  std::uint32_t address_bytes;
  std::uint32_t has_device_memory;  ///< or may have
  std::int32_t world_rank;
  std::int32_t world_size;
  std::int64_t start_nanoseconds;  ///< of the runtime, in the first communicator
  NodeId node;                     ///< as a communicator of the whole world found; negative: none has
  std::array<char, 260> host;
};

/// Hosts by name; empty when the topology has no names.
std::map<std::string, NodeId> named_hosts(const Topology& topology) {
  std::map<std::string, NodeId> node_of_host;
  for (NodeId node = 0; node < topology.host_count(); ++node) {
    if (!topology.node(node).host.empty()) node_of_host.emplace(topology.node(node).host, node);
  }
  return node_of_host;
}

/// The hosts that the ranks are on, numbered in the order of their first ranks in the world.
std::map<std::string, NodeId> hosts_in_world_order(const std::vector<Introduction>& ranks) {
  std::vector<std::pair<std::int32_t, std::string>> order;
  order.reserve(ranks.size());
  for (const Introduction& rank : ranks) order.emplace_back(rank.world_rank, rank.host.data());
  std::sort(order.begin(), order.end());
  std::map<std::string, NodeId> node_of_host;
  for (const auto& [world_rank, host] : order) {
    node_of_host.emplace(host, static_cast<NodeId>(node_of_host.size()));
  }
  return node_of_host;
}

/// Node of every rank; empty when it is not known of all. By host name where the topology names hosts; otherwise rank k
/// of the world is node k or, when the world has more ranks than there are nodes, the k-th host is. Several worlds have
/// several ranks k: there only names tell.
std::vector<NodeId> nodes_of_ranks(const Topology& topology, const std::vector<Introduction>& ranks,
                                   bool several_worlds) {
  const std::int32_t world_size = ranks.front().world_size;
  std::map<std::string, NodeId> node_of_host = named_hosts(topology);
  if (node_of_host.empty() && several_worlds) return {};
  const bool by_world_rank = node_of_host.empty() && world_size == topology.host_count();
  const bool told = node_of_host.empty() && !by_world_rank &&
                    std::all_of(ranks.begin(), ranks.end(), [](const Introduction& rank) { return rank.node >= 0; });
  if (node_of_host.empty() && !by_world_rank && !told) {
    // Part of the world need not see the hosts in the same order.
    if (ranks.size() != static_cast<std::size_t>(world_size)) return {};
    node_of_host = hosts_in_world_order(ranks);
    if (node_of_host.size() != static_cast<std::size_t>(topology.host_count())) return {};
  }
  std::vector<NodeId> nodes;
  for (const Introduction& rank : ranks) {
    NodeId node = told ? rank.node : rank.world_rank;
    if (!node_of_host.empty()) {
      const auto found = node_of_host.find(rank.host.data());
      if (found == node_of_host.end()) return {};
      node = found->second;
    }
    if (node < 0 || node >= topology.host_count()) return {};
    nodes.push_back(node);
  }
  return nodes;
}

bool on_one_host(const std::vector<Introduction>& ranks) { return hosts_in_world_order(ranks).size() == 1; }

/// Whether any of its calls could be: what has to be faster must be tried, or in a table.
bool serves_one_node(const Config& config) {
  if (config.one_node != OneNode::faster) return config.one_node == OneNode::yes;
  return config.cost_model || config.measure || !config.tuning_table.empty();
}

/// Of this process; what hwloc cannot tell matters for speed only.
std::int32_t domain_of_process() {
  const Result<std::int32_t> domain = numa_domain();
  if (!domain) log(LogLevel::info, domain.error().message);
  return domain.ok() ? *domain : -1;
}

/// Takes the route classes away when the fabric cannot follow them. Rank 0 alone looks at this: the classes
/// travel with the plan.
void steer(Schedule& schedule, const RouteBinding& binding, std::int32_t classes) {
  const auto highest = std::max_element(schedule.routes.begin(), schedule.routes.end(),
                                        [](const Route& a, const Route& b) { return a.route_class < b.route_class; });
  if (highest == schedule.routes.end() || highest->route_class == 0) return;
  std::string obstacle;
  if (highest->route_class >= classes) {
    obstacle = "they need route class " + std::to_string(highest->route_class) + " and the route binding ends at " +
               std::to_string(classes - 1);
  } else if (!binding.routes.empty() && binding.routes != route_set_digest(schedule.topology, schedule.routes)) {
    obstacle = "the route binding is for other routes";
  }
  if (obstacle.empty()) return;
  if (!binding.classes.empty()) {
    log(LogLevel::warn, "the routes of " + schedule.algorithm + " are not steered: " + obstacle);
  }
  for (Route& route : schedule.routes) route.route_class = 0;
}

/// Whether an all-to-all's blocks pass through hosts that are neither their source nor their destination.
bool forwards_blocks(const Schedule& schedule) {
  const std::int32_t nodes = schedule.topology.host_count();
  return schedule.collective == Collective::alltoall &&
         std::any_of(schedule.transfers.begin(), schedule.transfers.end(), [nodes](const Transfer& transfer) {
           return transfer.from != transfer.shard / nodes || transfer.to != transfer.shard % nodes;
         });
}

}  // namespace

bool all_agree(HostCommunicator& host, bool mine) {
  const char vote = mine ? 1 : 0;
  std::vector<char> votes(static_cast<std::size_t>(host.size()));
  if (!host.allgather(&vote, 1, votes.data())) return false;
  return std::all_of(votes.begin(), votes.end(), [](char each) { return each != 0; });
}

Communicator::Communicator(Runtime& runtime) : runtime_(runtime), ids_(runtime.communicator_ids()) {}

Communicator::~Communicator() {
  if (repair_ != nullptr) {
    const std::lock_guard guard(runtime_.lock());
    repair_->ignore(*this);
    repair_.reset();
    static_cast<void>(replan_.release());  // messages may yet arrive in its memory
  }
  // What a call that failed has left under way would be taken for another communicator's, and so would what a recovery
  // group sends again.
  if (id_ != 0 && obstacle_ != Reason::transport && !resends_) ids_->give_back(id_);
}

std::unique_ptr<Communicator> Communicator::make(Runtime& runtime, HostCommunicator& host) {
  std::unique_ptr<Communicator> communicator(new Communicator(runtime));
  communicator->name_ = host.name();
  runtime.use_transport();
  agree_on_transport(runtime, host);
  communicator->obstacle_ = communicator->agree(host);
  if (communicator->obstacle_.load() != Reason::count_) runtime.unuse_transport();
  if (host.rank() == 0) {
    log(LogLevel::info,
        host.name() + " (" + std::to_string(host.size()) + " ranks): " +
            (communicator->obstacle_.load() == Reason::count_
                 ? "served over " + communicator->planned_for().name() + " by " + runtime.transport().name() +
                       (communicator->hierarchy_ ? ", " + communicator->hierarchy_->to_string() : "")
                 : "falls through, " + std::string(to_string(communicator->obstacle_.load()))));
  }
  return communicator;
}

Reason Communicator::agree(HostCommunicator& host) {
  const std::int64_t began = steady_nanoseconds();
  Introduction mine{};
  mine.settings_digest = runtime_.settings_digest();
  mine.obstacle = static_cast<std::uint32_t>(runtime_.obstacle());
  mine.world_rank = host.world_rank();
  mine.world_size = host.world_size();
  mine.node = runtime_.node();
  mine.has_device_memory = host.may_have_device_memory() ? 1 : 0;
  mine.start_nanoseconds = runtime_.take_start_nanoseconds();
  if (runtime_.obstacle() == Reason::count_) {
    mine.address_bytes = static_cast<std::uint32_t>(runtime_.transport().address().size());
  }
  const std::string& name = runtime_.config().host;
  (name.empty() ? host.host_name() : name).copy(mine.host.data(), mine.host.size() - 1);
  std::vector<Introduction> all(static_cast<std::size_t>(host.size()));
  if (!host.allgather(&mine, sizeof mine, all.data())) return Reason::settings_differ;

  // From here on every rank looks at the same data and comes to the same end.
  std::size_t longest = 0;
  for (const Introduction& rank : all) {
    if (rank.obstacle < static_cast<std::uint32_t>(Reason::count_)) return static_cast<Reason>(rank.obstacle);
    if (rank.settings_digest != all.front().settings_digest) return Reason::settings_differ;
    longest = std::max<std::size_t>(longest, rank.address_bytes);
    may_have_device_memory_ = may_have_device_memory_ || rank.has_device_memory != 0;
    setup_times_.contexts = std::max(setup_times_.contexts, rank.start_nanoseconds);
  }
  const bool several_worlds = host.spans_worlds();
  std::vector<NodeId> nodes = nodes_of_ranks(runtime_.topology(), all, several_worlds);
  if (nodes.empty() && on_one_host(all)) nodes.assign(all.size(), 0);
  if (nodes.empty()) return Reason::unknown_nodes;
  if (host.size() == host.world_size() && !several_worlds)
    runtime_.set_node(nodes[static_cast<std::size_t>(host.rank())]);
  NodeId node_count = 0;
  const Reason chosen = choose_part(host.rank() == 0, nodes, node_count);
  if (chosen != Reason::count_) return chosen;
  for (const Introduction& rank : all) hosts_.emplace_back(rank.host.data());
  std::vector<RankPlace> places;
  for (std::size_t rank = 0; rank < all.size(); ++rank) places.push_back({nodes[rank], all[rank].world_rank, -1});
  rank_ = host.rank();
  node_ = nodes[static_cast<std::size_t>(rank_)];
  if (places.size() > static_cast<std::size_t>(node_count)) {
    places[static_cast<std::size_t>(rank_)].domain = domain_of_process();
  }
  if (!host.reach_all(runtime_)) return Reason::transport;
  const Reason exchanged = exchange_addresses(host, longest, places);
  const Reason settled = exchanged == Reason::count_ ? settle(host, places, node_count) : exchanged;
  if (settled == Reason::count_) enrol(host);
  // A rank that started sooner has waited for the others here.
  const std::int64_t waited = setup_times_.contexts - mine.start_nanoseconds;
  setup_times_.addresses = std::max<std::int64_t>(0, steady_nanoseconds() - began - waited);
  return settled;
}

Reason Communicator::choose_part(bool keep_part, std::vector<NodeId>& nodes, NodeId& node_count) {
  const Topology& fabric = runtime_.topology();
  std::vector<NodeId> covered = nodes;
  std::sort(covered.begin(), covered.end());
  covered.erase(std::unique(covered.begin(), covered.end()), covered.end());
  node_count = static_cast<NodeId>(covered.size());
  if (node_count == 1) {
    nodes.assign(nodes.size(), 0);
    return serves_one_node(runtime_.config()) ? Reason::count_ : Reason::one_node;
  }
  if (node_count == fabric.host_count()) return Reason::count_;
  const MovedHosts moved = move_hosts(runtime_.translation_group(), covered);
  Result<Topology> part = part_of(fabric, moved.image);
  if (!part || !check_connected(*part)) return Reason::disconnected;
  part_nodes_ = node_ranges(moved.image);
  part_has_routers_ = part->node_count() > part->host_count();
  if (keep_part || runtime_.resilient() != nullptr) part_ = std::move(part).value();
  std::map<NodeId, NodeId> place;
  for (std::size_t i = 0; i < moved.nodes.size(); ++i) place.emplace(moved.nodes[i], static_cast<NodeId>(i));
  for (NodeId& node : nodes) node = place.at(node);
  return Reason::count_;
}

/// Who talks to whom: the nodes' only ranks, or their leaders.
Reason Communicator::settle(HostCommunicator& host, const std::vector<RankPlace>& places, NodeId nodes) {
  tuned_ = ChoicesByCall(runtime_.tuning_table(), size());
  RankLayout layout = arrange(places, nodes, runtime_.config().leaders);
  if (layout.most_ranks == 1) {
    rank_of_node_ = layout.slice(0);
    place_of_shard_ = rank_of_node_;
    return Reason::count_;
  }
  hierarchy_ = Hierarchy::make(runtime_, host, std::move(layout));
  if (!hierarchy_) return Reason::shared_memory;
  if (hierarchy_->leads()) rank_of_node_ = hierarchy_->slice();
  place_of_shard_.resize(static_cast<std::size_t>(nodes));
  std::iota(place_of_shard_.begin(), place_of_shard_.end(), 0);
  return Reason::count_;
}

Reason Communicator::exchange_addresses(HostCommunicator& host, std::size_t longest, std::vector<RankPlace>& places) {
  struct Header {
    std::uint32_t communicator;
    std::uint32_t address_bytes;
    std::int32_t domain;
  };
  const std::size_t slot = sizeof(Header) + longest;
  const std::string& address = runtime_.transport().address();
  const Header header{ids_->next_free(1), static_cast<std::uint32_t>(address.size()),
                      places[static_cast<std::size_t>(host.rank())].domain};
  std::vector<char> mine(slot);
  std::memcpy(mine.data(), &header, sizeof header);
  address.copy(mine.data() + sizeof header, address.size());
  std::vector<char> all(slot * static_cast<std::size_t>(host.size()));
  if (!host.allgather(mine.data(), slot, all.data())) return Reason::transport;
  std::uint32_t candidate = 0;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(host.size()); ++rank) {
    const char* entry = all.data() + rank * slot;
    Header other{};
    std::memcpy(&other, entry, sizeof other);
    candidate = std::max(candidate, other.communicator);
    addresses_.emplace_back(entry + sizeof other, other.address_bytes);
    places[rank].domain = other.domain;
  }
  return agree_on_id(host, candidate, id_);
}

/// The candidate is taken where it is free, and given back unless it was free everywhere. Threads may agree on several
/// communicators at once, in another order on every rank, and take each other's candidates away; then the next ones are
/// a random step apart.
Reason Communicator::agree_on_id(HostCommunicator& host, std::uint32_t candidate, std::uint32_t& id) {
  struct Vote {
    std::uint32_t taken;  ///< the candidate
    std::uint32_t next;   ///< free here; 0: none is
    std::uint32_t step;
  };
  constexpr std::uint32_t most_attempts = 100;
  std::vector<Vote> votes(static_cast<std::size_t>(host.size()));
  for (std::uint32_t attempt = 0; attempt < most_attempts; ++attempt) {
    const bool took = ids_->take(candidate);
    const Vote mine{took ? 1U : 0U, took ? candidate : ids_->next_free(candidate),
                    static_cast<std::uint32_t>(steady_nanoseconds() / microsecond) % (attempt + 1)};
    const bool heard = host.allgather(&mine, sizeof mine, votes.data());
    const bool all_took =
        heard && std::all_of(votes.begin(), votes.end(), [](const Vote& vote) { return vote.taken != 0; });
    if (all_took) {
      id = candidate;
      return Reason::count_;
    }
    if (took) ids_->give_back(candidate);
    if (!heard) return Reason::transport;
    const auto [least, most] =
        std::minmax_element(votes.begin(), votes.end(), [](const Vote& a, const Vote& b) { return a.next < b.next; });
    if (least->next == 0) return Reason::too_many;
    candidate = (most->next + votes.front().step) % (TagSpace::max_communicator + 1);
  }
  return Reason::too_many;
}

Reason Communicator::begins(Collective collective, bool equal_shards) const {
  if (obstacle_ != Reason::count_) return obstacle_;
  if (hierarchy_ && !hierarchy_->serves(collective, equal_shards)) return Reason::several_ranks;
  const Prospect& asked_for = prospect(collective);
  return asked_for.asked ? asked_for.obstacle : Reason::not_agreed;
}

Reason Communicator::ready(Collective collective, bool equal_shards, HostCommunicator& host) {
  if (obstacle_ != Reason::count_) return obstacle_;
  if (hierarchy_ && !hierarchy_->serves(collective, equal_shards)) return Reason::several_ranks;
  sequence(host);
  if (broken_) return Reason::count_;  // run() says so
  Prospect& asked_for = prospect(collective);
  if (!asked_for.asked || (asked_for.obstacle == Reason::planning && is_time_to_look(++asked_for.calls_without))) {
    ask(collective, host);
  }
  return broken_ ? Reason::count_ : asked_for.obstacle;
}

Reason Communicator::persists(Collective collective, bool equal_shards, HostCommunicator& host,
                              std::shared_ptr<PersistentContext>& persistent) {
  if (obstacle_ != Reason::count_) return obstacle_;
  if (hierarchy_ && !hierarchy_->serves(collective, equal_shards)) return Reason::several_ranks;
  sequence(host, Opening::persistent);
  const Reason reason = open_channel(collective, equal_shards, host, persistent);
  const std::lock_guard guard(runtime_.lock());
  if (persistent != nullptr && opening_) persistent_contexts_.push_back(persistent);
  opening_.reset();
  return reason;
}

Reason Communicator::open_channel(Collective collective, bool equal_shards, HostCommunicator& host,
                                  std::shared_ptr<PersistentContext>& persistent) {
  if (broken_) return Reason::transport;
  Prospect& asked_for = prospect(collective);
  if (!asked_for.asked || asked_for.obstacle == Reason::planning) ask(collective, host, Planning::waited_for);
  if (broken_) return Reason::transport;
  if (asked_for.obstacle != Reason::count_) return asked_for.obstacle;
  const std::unique_ptr<TransportHost> around = agree_safely(host);
  HostCommunicator& agreement = around ? *around : host;
  std::shared_ptr<NodeMemory> memory;
  if (hierarchy_) {
    memory = hierarchy_->make_memory(agreement, collective, equal_shards);
    if (!memory) return Reason::shared_memory;
  }
  std::uint32_t id = 0;
  const Reason agreed = agree_on_id(agreement, id_ + 1, id);
  if (agreed != Reason::count_) return agreed;
  persistent = std::make_shared<PersistentContext>(ids_, id, std::move(memory), asked_for.plans,
                                                   opening_.value_or(CallSequence()));
  if (resends_) {
    const std::lock_guard guard(runtime_.lock());
    runtime_.resilient()->annex(id, id_);
    // What a recovery group sends again would be taken for another persistent call's.
    persistent->keep_id();
  }
  return Reason::count_;
}

LoweredPlanPointer Communicator::plan_for(const Call& call, const PersistentContext* persistent) const {
  return chosen_plan(call, persistent != nullptr ? persistent->plans_ : prospect(call.collective).plans);
}

Reason Communicator::adopt_distributed(Collective collective, HostCommunicator& host, Planning planning) {
  auto fresh = std::make_shared<LoweredPlan>();
  const Reason reason = distribute_plan({collective, planning, {}}, host, *fresh);
  if (reason != Reason::count_) return reason;
  {
    const std::lock_guard guard(runtime_.lock());
    prospect(collective).plans = {std::move(fresh), {}, nullptr, 0};
  }
  // What is left of a fabric is not what the table was made for.
  if (!what_is_left_) {
    adopt_small(collective, host);
    adopt_named(collective, host);
  }
  return reason;
}

Reason Communicator::distribute_plan(const Wanted& wanted, HostCommunicator& host, LoweredPlan& plan) {
  const Collective collective = wanted.collective;
  if (algorithm_setting(runtime_.config(), collective) == "native") return Reason::chosen_native;
  if (hierarchy_ && !hierarchy_->has_slices()) return Reason::count_;
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
      offer = {made ? (text.empty() ? none : there) : (what_is_left_ ? under_way : not_yet), text.size()};
    }
    // Around dead links the others wait for so long only without a word.
    if (offer.answer == under_way) std::this_thread::sleep_for(between_words);
    if (!host.broadcast(&offer, sizeof offer)) return Reason::no_plan;
  } while (offer.answer == under_way);
  if (offer.answer != there) return offer.answer == not_yet ? Reason::planning : Reason::no_plan;
  text.resize(offer.bytes);
  const bool received = host.broadcast(text.data(), text.size());
  if (!all_agree(host, received && adopt_plan(text, plan))) return Reason::no_plan;
  const std::int64_t adopted = steady_nanoseconds();
  setup_times_.plan = adopted - began - setup_times_.connections;
  Lanes lanes{plan.peers, node_, rank_of_node_};
  if (!call(host, lanes)) return Reason::transport;
  answer(host, lanes);  // a peer that does not get through will fail the first call
  if (plan.spread != nullptr) plan.spread->peers = plan.peers;
  wire_up_directly(collective, host);
  setup_times_.connections += steady_nanoseconds() - adopted;
  say_setup_times(collective, host);
  return Reason::count_;
}

void Communicator::say_setup_times(Collective collective, const HostCommunicator& host) {
  const SetupTimes times = std::exchange(setup_times_, {});
  if (host.rank() != 0) return;
  log(LogLevel::info, host.name() + ": " + std::string(to_string(collective)) + " was set up in " + to_string(times));
}

std::optional<Result<PlanPair>> Communicator::obtain_plan(const Wanted& wanted) {
  const Collective collective = wanted.collective;
  if (what_is_left_) return obtain_plan_without(collective, *what_is_left_);
  Config config = runtime_.config();
  if (wanted.planning == Planning::waited_for) config.background_planning = false;
  return runtime_.plans().obtain(config,
                                 {planned_for(), part_nodes_, collective, std::string(wanted.algorithm.view())});
}

/// Around dead links hosts forward: nobody has told the fabric of other routes yet.
std::optional<Result<PlanPair>> Communicator::obtain_plan_without(Collective collective, const Topology& left) {
  Config config = runtime_.config();
  config.topology.clear();
  config.allgather = config.allreduce = config.reduce_scatter = "auto";
  config.alltoall = "mcf-link";
  config.background_planning = true;
  return runtime_.plans().obtain(config, {left, "", collective});
}

std::optional<std::string> Communicator::plan_text(const Wanted& wanted, HostCommunicator& host) {
  const Collective collective = wanted.collective;
  if (wanted.planning == Planning::for_small_vectors) return small_plan_text(collective);
  std::optional<Result<PlanPair>> answer = obtain_plan(wanted);
  if (!answer) return std::nullopt;
  Result<PlanPair>& plans = *answer;
  const std::string what = host.name() + ": ";
  if (!plans) {
    // Of parts there are many, and some are odd.
    const bool part = !part_nodes_.empty() && host.size() != host.world_size();
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
    small_ = std::move(plans->small);
    small_up_to_ = small_ ? small_up_to(*small_, plans->usual).value_or(0) : 0;
  }
  return announce(plans->usual);
}

std::string Communicator::small_plan_text(Collective collective) {
  std::optional<Schedule> schedule = std::exchange(small_, std::nullopt);
  if (!schedule) return {};
  log(LogLevel::info, name_ + ": " + std::string(to_string(collective)) + " of up to " + std::to_string(small_up_to_) +
                          " bytes takes the plan of fewest steps");
  return announce(*schedule);
}

std::string Communicator::announce(Schedule& schedule) const {
  steer(schedule, runtime_.route_binding(), runtime_.transport().route_classes());
  log(LogLevel::info, name_ + ": " + std::string(to_string(schedule.collective)) + " by " + schedule.algorithm +
                          " on " + schedule.topology.name() + ", " + std::to_string(schedule.steps) +
                          " steps, T_B = " + schedule.proof.bandwidth_time.to_string() + " M/B");
  return pack_schedule(schedule);
}

bool Communicator::adopt_plan(const std::string& text, LoweredPlan& plan) {
  if (hierarchy_ && !hierarchy_->leads()) return true;
  if (!lower_plan(text, plan)) return false;
  Lanes lanes = lanes_of(plan);
  const std::int64_t began = steady_nanoseconds();
  const Status connected = connect(lanes, Words::call);
  setup_times_.connections += steady_nanoseconds() - began;
  if (!connected) log(LogLevel::warn, connected.error().message);
  return connected.ok();
}

bool Communicator::lower_plan(const std::string& text, LoweredPlan& plan) {
  const Result<Schedule> schedule = unpack_schedule(text);
  if (!schedule) {
    log(LogLevel::warn, "plan of rank 0: " + schedule.error().message);
    return false;
  }
  plan.algorithm = schedule->algorithm;
  plan.program = lower(*schedule, node_);
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

void Communicator::lower_spread(const Schedule& schedule, LoweredPlan& plan) const {
  if (runtime_.config().valiant_threshold == 0 || hierarchy_ || nodes() > most_spread_nodes) return;
  const Result<Schedule> spread = spread_over_nodes(schedule);
  if (!spread) return;
  plan.loads = PairLoads(schedule);
  plan.spread = std::make_shared<LoweredPlan>();
  plan.spread->algorithm = spread->algorithm;
  plan.spread->program = lower(*spread, node_);
  plan.spread->forwards = true;
  plan.spread->through_nics = plan.through_nics;
  if (record_ != nullptr) plan.spread->links = PlanLinks(*spread, node_);
}

LoweredPlanPointer Communicator::plan_for_lengths(const Call& call, const LoweredPlanPointer& usual) const {
  if (usual->spread == nullptr) return usual;
  const std::int32_t nodes = this->nodes();
  std::vector<std::int64_t> bytes(call.counts.size(), 0);
  for (NodeId from = 0; from < nodes; ++from) {
    for (NodeId to = 0; to < nodes; ++to) {
      const std::int64_t block = std::int64_t{place_of_shard_[at(from)]} * nodes + place_of_shard_[at(to)];
      if (from != to) bytes[at(from * nodes + to)] = call.counts[at(block)] * call.element_bytes;
    }
  }
  if (*std::max_element(bytes.begin(), bytes.end()) < runtime_.config().valiant_threshold) return usual;
  const double as_usual = usual->loads.busiest(bytes);
  const double spread = usual->loads.busiest(spread_evenly(bytes, nodes));
  if (spread > most_spread_load * as_usual) return usual;
  if (log_enabled(LogLevel::trace)) {
    log(LogLevel::trace, name_ + ": by way of all nodes, " + std::to_string(static_cast<std::int64_t>(spread)) +
                             " bytes on the busiest link in place of " +
                             std::to_string(static_cast<std::int64_t>(as_usual)));
  }
  return usual->spread;
}

std::shared_ptr<const TaskGraph> Communicator::task_graph_for(const LoweredPlanPointer& plan, const Shape& shape,
                                                              const Tuning& tuning) {
  const auto found = std::find_if(task_graphs_.begin(), task_graphs_.end(), [&](const CachedTaskGraph& cached) {
    return cached.plan == plan && cached.segment_bytes == tuning.segment_bytes && cached.shape == shape;
  });
  if (found != task_graphs_.end()) {
    task_graphs_.splice(task_graphs_.begin(), task_graphs_, found);
  } else {
    task_graphs_.push_front(
        {plan, shape, tuning.segment_bytes,
         std::make_shared<const TaskGraph>(make_task_graph(plan->program, place_of_shard_, shape, tuning))});
    if (task_graphs_.size() > cached_scripts) task_graphs_.pop_back();
  }
  return task_graphs_.front().task_graph;
}

Pace Communicator::pace_of(const LoweredPlan& plan, const Shape& shape) const {
  if (!runtime_.config().pacing || plan.nanoseconds_per_shard_byte <= 0) return {};
  std::int64_t elements = shape.elements;
  if (!shape.counts.empty()) {
    // As if all ranks had as much to send as this one: a lane's share then leaves at the rate of a balanced call.
    const auto ranks = static_cast<std::ptrdiff_t>(rank_of_node_.size());
    const bool matrix = plan.program.collective == Collective::alltoall;
    const auto row = shape.counts.begin() + (matrix ? place_of_shard_[static_cast<std::size_t>(node_)] * ranks : 0);
    elements = std::accumulate(row, row + ranks, std::int64_t{0}) / ranks;
  }
  // Slices share the links.
  const std::int64_t slices = hierarchy_ ? hierarchy_->slices() : 1;
  const auto shard_bytes = static_cast<double>(elements * shape.element_bytes * slices);
  return {static_cast<std::int64_t>(plan.nanoseconds_per_shard_byte * shard_bytes), runtime_.config().segment_bytes,
          &steady_nanoseconds};
}

void Communicator::keep_record(CommunicatorRecord* record) {
  const std::lock_guard guard(runtime_.lock());
  record_ = record;
  if (record_ != nullptr) record_->set_nodes(nodes());
}

void Communicator::record_plan(const Schedule& schedule, LoweredPlan& plan) {
  if (record_ == nullptr) return;
  plan.links = PlanLinks(schedule, node_);
  record_->set_plan(schedule.collective, schedule.algorithm);
}

void Communicator::record_round(const Call& call, const LoweredPlan& plan, const TaskGraph& task_graph) {
  if (record_ == nullptr) return;
  record_->count_round(call.collective, plan.links.ends(), plan.links.bytes_of(task_graph));
}

bool Communicator::agree_counts(Call& call, HostCommunicator& host) {
  const bool matrix = call.collective == Collective::alltoall && !call.counts.empty();
  if (!matrix || hierarchy_) return true;
  const LoweredPlan& plan = *prospect(call.collective).plans.usual;
  if (!plan.forwards && plan.spread == nullptr && !resends_) return true;
  const std::size_t ranks = rank_of_node_.size();
  const auto own_row = call.counts.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rank_) * ranks);
  const std::vector<std::int64_t> mine(own_row, own_row + static_cast<std::ptrdiff_t>(ranks));
  const std::size_t bytes = ranks * sizeof(std::int64_t);
  const std::unique_ptr<TransportHost> around = agree_safely(host);
  HostCommunicator& agreement = around ? *around : host;
  return agreement.allgather(mine.data(), bytes, call.counts.data());
}

bool Communicator::run(Call call, ProgressHook hook, Protocol selected) {
  bool good = false;
  const LoweredPlanPointer plan = chosen_plan(call, prospect(call.collective).plans);
  if (selected == Protocol::chosen) selected = select_protocol(call);
  if (!broken_ && selected == Protocol::directly) {
    good = run_direct(call, hook);
  } else if (!broken_ && selected == Protocol::scattered) {
    good = run_scattered(call, hook);
  } else if (!broken_ && hierarchy_) {
    CallSequence sequence;
    sequence.epochs = adopted_;
    HierarchicalCollective running(*this, std::move(call), plan, sequence);
    good = drive(running, hook);
  } else if (!broken_) {
    FlatCollective running(*this, std::move(call), plan);
    good = drive(running, hook);
  }
  if (good) return true;
  const std::lock_guard guard(runtime_.lock());
  note_failure(nullptr);
  return false;
}

std::unique_ptr<RunningCall> Communicator::make_call(Call call, std::shared_ptr<PersistentContext> persistent) {
  CallSequence sequence;
  LoweredPlanPointer plan;
  if (resends_ && !rank_of_node_.empty()) {
    const std::lock_guard guard(runtime_.lock());
    begin_replan();
    sequence = persistent ? next_start(*persistent) : next_in_sequence();
    plan = plan_for(call, persistent.get());
    if (sequence.settled && persistent)
      plan = settled_plan(call.collective, std::move(plan), sequence, persistent.get());
  } else {
    plan = plan_for(call, persistent.get());
  }
  if (hierarchy_) {
    return std::make_unique<HierarchicalCollective>(*this, std::move(call), std::move(plan), sequence,
                                                    std::move(persistent));
  }
  return std::make_unique<FlatCollective>(*this, std::move(call), std::move(plan), sequence, std::move(persistent));
}

const std::shared_ptr<NodeMemory>& Communicator::memory_of(const PersistentContext* persistent) const {
  return persistent == nullptr ? hierarchy_->memory() : persistent->memory_;
}

bool Communicator::drive(RunningCall& running, ProgressHook hook) {
  {
    const std::lock_guard guard(runtime_.lock());
    running.begin();
  }
  if (running.drive(hook)) return true;
  const std::lock_guard guard(runtime_.lock());
  running.abandon();
  return false;
}

void Communicator::enter(FlatCollective& running) {
  if (running.persistent_) {
    number(running, running.persistent_->calls_);
  } else {
    under_way_.push_back(&running);
    number_calls();
  }
}

void Communicator::number(FlatCollective& running, std::uint32_t& calls) {
  if (running.numbered_ == 0) running.first_number_ = calls;
  calls += static_cast<std::uint32_t>(running.rounds_ - running.numbered_);
  running.numbered_ = running.rounds_;
}

/// In the order of their beginnings, which is the same on every rank; when they come to have so many rounds is not.
void Communicator::number_calls() {
  // One that failed has had nobody know how many it has.
  if (obstacle_ == Reason::transport) return;
  const auto has_numbers = [](const FlatCollective* call) { return call->is_numbered(); };
  auto next = std::partition_point(under_way_.begin(), under_way_.end(), has_numbers);
  for (; next != under_way_.end() && (*next)->sequence_.settled; ++next) {
    number(**next, calls_);
    if (!(*next)->is_numbered()) return;
  }
}

/// The oldest call always has numbers and goes on, on every rank: so nobody waits for ever. Starts of persistent calls
/// wait for no other call, for the ranks may disagree on which is older.
bool Communicator::admits(const FlatCollective& running) const {
  if (running.round_ == running.numbered_) return false;
  if (running.persistent_) return true;
  if (under_way_.front() == &running) return true;
  const auto end = under_way_.begin() + static_cast<std::ptrdiff_t>(std::min(most_under_way, under_way_.size()));
  return std::find(under_way_.begin(), end, &running) != end &&
         running.number() - under_way_.front()->number() < most_rounds_ahead;
}

void Communicator::leave(const FlatCollective& running) noexcept {
  under_way_.erase(std::remove(under_way_.begin(), under_way_.end(), &running), under_way_.end());
  if (running.failed()) note_failure(running.persistent_.get());
}

void Communicator::note_failure(PersistentContext* persistent) noexcept {
  obstacle_ = Reason::transport;
  if (persistent != nullptr) persistent->keep_id();
  ResilientTransport* transport = runtime_.resilient();
  if (transport == nullptr) return;
  transport->forget(id_);
  if (persistent != nullptr) transport->forget(persistent->id_);
  broken_ = resends_;
}

std::unique_ptr<Flight> Communicator::prepare(const Call& call, const LoweredPlanPointer& plan, const Portion& portion,
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
  flight->execution.emplace(*flight->task_graph, node_, Buffers{portion.input, portion.output}, call.reducer,
                            runtime_.transport(), plan->peers, tags, flight->tuning, flight->workspace,
                            pace_of(*plan, portion.shape));
  if (record_ != nullptr && runtime_.trace() != nullptr) {
    flight->execution->observe(
        std::make_unique<MessageTrace>(*runtime_.trace(), *flight->task_graph, node_, tags, record_->number()));
  }
  return flight;
}

void Communicator::keep(std::unique_ptr<Flight> flight) {
  flight->execution.reset();
  if (idle_flights_.size() < most_idle_flights) idle_flights_.push_back(std::move(flight));
}

/// A round moves at most round_bytes of a rank's whole vector; its scratch memory is of that order.
std::int64_t Communicator::elements_per_round(const Call& call) const {
  const auto blocks = static_cast<std::int64_t>(call.collective != Collective::allreduce ? rank_of_node_.size() : 1);
  const std::int64_t bytes = std::max<std::int64_t>(1, runtime_.config().round_bytes / blocks);
  return std::max<std::int64_t>(1, bytes / call.element_bytes);
}

std::int64_t Communicator::rounds_of(const Call& call, const LoweredPlan& plan) const {
  if (!call.counts.empty()) return rounds_of_unequal(call, plan);
  const std::int64_t elements = elements_per_round(call);
  return call.elements / elements + (call.elements % elements != 0 ? 1 : 0);
}

Portion Communicator::portion_of(const Call& call, std::int64_t rounds, std::int64_t index) const {
  if (!call.counts.empty()) return portion_of_unequal(call, rounds, index);
  const std::int64_t elements = elements_per_round(call);
  const std::int64_t begin = index * elements;
  Shape shape = equal_shards(call.elements, call.element_bytes);
  shape.elements = std::min(elements, call.elements - begin);
  const std::int64_t offset = begin * call.element_bytes;
  return {call.input + offset, call.output + offset, std::move(shape)};
}

/// The same on every rank.
std::int64_t Communicator::rounds_of_unequal(const Call& call, const LoweredPlan& plan) const {
  const std::size_t ranks = rank_of_node_.size();
  std::int64_t most = 0;
  if (call.collective != Collective::alltoall) {
    most = std::accumulate(call.counts.begin(), call.counts.end(), std::int64_t{0});
  } else if (plan.forwards) {
    // What hosts keep for others is of the order of what the busiest of them sends or receives.
    std::vector<std::int64_t> sent(ranks, 0);
    std::vector<std::int64_t> received(ranks, 0);
    for (std::size_t block = 0; block < call.counts.size(); ++block) {
      sent[block / ranks] += call.counts[block];
      received[block % ranks] += call.counts[block];
    }
    most = std::max(*std::max_element(sent.begin(), sent.end()), *std::max_element(received.begin(), received.end()));
  }
  // Otherwise nobody knows all blocks; nor is anything kept for others.
  const std::int64_t bytes = most * call.element_bytes;
  return bytes == 0 ? 1 : (bytes - 1) / runtime_.config().round_bytes + 1;
}

/// Round k of K takes elements [n·k/K, n·(k+1)/K) of every shard of n.
Portion Communicator::portion_of_unequal(const Call& call, std::int64_t rounds, std::int64_t index) const {
  const auto ranks = static_cast<std::int64_t>(rank_of_node_.size());
  const auto cut = [rounds](std::int64_t elements, std::int64_t round) {
    __extension__ using Wide = __int128;
    return static_cast<std::int64_t>(Wide{elements} * round / rounds);
  };
  // Where in the shard that a rank owns, or exchanges with this one, the round begins.
  const auto skipped = [&](std::int64_t shard) {
    return cut(call.counts[static_cast<std::size_t>(shard)], index) * call.element_bytes;
  };
  Portion portion{
      call.input, call.output, {0, call.element_bytes, 0, 0, call.counts, call.input_offsets, call.output_offsets}};
  Shape& shape = portion.shape;
  for (std::int64_t& count : shape.counts) count = cut(count, index + 1) - cut(count, index);
  switch (call.collective) {
    case Collective::allgather:
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        shape.output_offsets[static_cast<std::size_t>(rank)] += skipped(rank);
      }
      portion.input += skipped(rank_);
      break;
    case Collective::reduce_scatter:
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        shape.input_offsets[static_cast<std::size_t>(rank)] += skipped(rank);
      }
      portion.output += skipped(rank_);
      break;
    case Collective::alltoall:
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        shape.input_offsets[static_cast<std::size_t>(rank)] += skipped(rank_ * ranks + rank);
        shape.output_offsets[static_cast<std::size_t>(rank)] += skipped(rank * ranks + rank_);
      }
      break;
    case Collective::allreduce:
    case Collective::broadcast:
    case Collective::reduce:
      break;
  }
  return portion;
}

}  // namespace libcoll
