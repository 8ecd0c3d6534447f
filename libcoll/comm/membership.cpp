#include "libcoll/comm/membership.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "libcoll/base/clock.h"
#include "libcoll/base/log.h"
#include "libcoll/comm/transport_agreement.h"
#include "libcoll/node/placement.h"
#include "planner/base/index.h"
#include "planner/topology/facts.h"
#include "planner/topology/part.h"

namespace libcoll::comm {

using namespace node;
using namespace observe;
using namespace schedule;
using namespace topology;
using namespace transport;

namespace {

constexpr std::int64_t microsecond = 1000;  // in nanoseconds
constexpr std::uint32_t no_id = 0;

/// What every rank tells the others before anything is decided.
struct Introduction {
  std::uint64_t settings_digest;
  std::uint32_t obstacle;           ///< pack_reason()
  std::uint32_t has_device_memory;  ///< or may have
  std::uint32_t seeks_core;         ///< for its progress thread
  std::uint32_t wants_thread;       ///< for progress
  std::uint32_t fabric_is_watched;
  std::uint32_t fabric_has_changed;
  std::int64_t start_nanoseconds;  ///< of the runtime, in the first communicator
  RankIdentity identity;
};

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

/// Of this process; empty: it has all, or hwloc cannot tell.
std::string binding_of_process() {
  const Result<std::string> processors = bound_processors();
  if (!processors) log(LogLevel::info, processors.error().message);
  return processors.ok() ? *processors : std::string();
}

}  // namespace

Membership::Membership(Runtime& runtime, std::string name)
    : runtime_(runtime),
      name_(std::move(name)),
      ids_(runtime.communicator_ids()),
      groups_(runtime.agreed_groups()),
      way_questions_(runtime.way_questions()) {}

Membership::Membership(const Membership& original)
    : runtime_(original.runtime_),
      name_(original.name_),
      ids_(original.ids_),
      groups_(original.groups_),
      way_questions_(original.way_questions_),
      rank_(original.rank_),
      node_(original.node_),
      facts_(original.facts_),
      uses_transport_(original.uses_transport_),
      may_have_device_memory_(original.may_have_device_memory_),
      obstacle_(original.obstacle_.load()) {
  if (original.hierarchy_ != nullptr) hierarchy_ = std::make_unique<Hierarchy>(*original.hierarchy_);
  if (original.host_hierarchy_ != nullptr) host_hierarchy_ = std::make_unique<Hierarchy>(*original.host_hierarchy_);
}

Membership::~Membership() {
  if (asks_about_ways_) way_questions_->remove(number_among_all());
  // What a call that failed has left under way would be taken for another communicator's, and so would what a recovery
  // group sends again.
  if (id_ == 0 || obstacle() == Reason::transport || resends_ || keeps_id_) return;
  ids_->give_back(id_);
  const std::shared_ptr<CallMemory> memory = neighbourhood() != nullptr ? neighbourhood()->memory() : nullptr;
  if (memory == nullptr || stamp_.communicator == 0 || !memory->calls().empty() || memory->ways().left()) return;
  if (const std::shared_ptr<AgreedGroups> groups = groups_.lock()) {
    groups->give_back(world_ranks(), {{stamp_.communicator, memory->rounds()}, memory});
  }
}

std::optional<Reason> Membership::agree(HostCommunicator& host, std::int64_t start_nanoseconds) {
  Introduction mine{};
  mine.settings_digest = runtime_.settings_digest();
  mine.obstacle = pack_reason(runtime_.obstacle());
  mine.has_device_memory = host.may_have_device_memory() ? 1 : 0;
  mine.wants_thread = runtime_.config().progress_thread ? 1 : 0;
  mine.fabric_is_watched = runtime_.topology_watch().is_file() ? 1 : 0;
  mine.fabric_has_changed = runtime_.topology_watch().knows_of_change() ? 1 : 0;
  mine.start_nanoseconds = start_nanoseconds;
  const bool several_worlds = host.spans_worlds();
  const bool is_world = host.size() == host.world_size() && !several_worlds;
  mine.seeks_core = is_world && runtime_.engine().seeks_core_for_progress_thread() ? 1 : 0;
  mine.identity = runtime_.identity(host.host_name(), host.world_rank(), host.world_size());
  std::vector<Introduction> all(static_cast<std::size_t>(host.size()));
  if (!host.allgather(&mine, sizeof mine, all.data())) return Reason::settings_differ;

  // From here on every rank looks at the same data and comes to the same end.
  facts_->fabric_is_watched = all.front().fabric_is_watched != 0;
  facts_->want_threads =
      std::all_of(all.begin(), all.end(), [](const Introduction& rank) { return rank.wants_thread != 0; });
  bool seeks_core = false;
  std::vector<RankIdentity> ranks;
  for (const Introduction& rank : all) {
    ranks.push_back(rank.identity);
    if (const std::optional<Reason> obstacle = unpack_reason(rank.obstacle)) return obstacle;
    if (rank.settings_digest != all.front().settings_digest) return Reason::settings_differ;
    may_have_device_memory_ = may_have_device_memory_ || rank.has_device_memory != 0;
    facts_->fabric_has_changed = facts_->fabric_has_changed || rank.fabric_has_changed != 0;
    seeks_core = seeks_core || rank.seeks_core != 0;
    longest_start_nanoseconds_ = std::max(longest_start_nanoseconds_, rank.start_nanoseconds);
  }
  RankNodes found = nodes_of_ranks(runtime_.topology(), ranks, several_worlds);
  std::vector<NodeId> nodes = std::move(found.nodes);
  if (nodes.empty() && on_one_host(ranks)) nodes.assign(all.size(), 0);
  if (nodes.empty()) {
    if (found.unknown) runtime_.tell_of_unknown_host(ranks[*found.unknown], host.rank() == 0);
    return Reason::unknown_nodes;
  }
  if (is_world) runtime_.set_node(nodes[static_cast<std::size_t>(host.rank())]);
  TransportAgreement transport;
  uses_transport_ = std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) { return node != nodes.front(); });
  if (uses_transport_) {
    runtime_.use_transport();
    transport = agree_on_transport(runtime_, host);
    longest_start_nanoseconds_ += transport.longest_opening_nanoseconds;
    if (transport.obstacle) return transport.obstacle;
  }
  NodeId node_count = 0;
  const std::optional<Reason> chosen = choose_part(host.rank() == 0, nodes, node_count);
  if (chosen) return chosen;
  for (const RankIdentity& rank : ranks) facts_->hosts.emplace_back(rank.host.data());
  std::vector<RankPlace> places;
  for (std::size_t rank = 0; rank < all.size(); ++rank) places.push_back({nodes[rank], ranks[rank].world_rank, -1});
  rank_ = host.rank();
  node_ = nodes[static_cast<std::size_t>(rank_)];
  if (places.size() > static_cast<std::size_t>(node_count)) {
    places[static_cast<std::size_t>(rank_)].domain = domain_of_process();
  }
  if (uses_transport_ && !host.reach_all(runtime_)) return Reason::transport;
  const std::optional<Reason> exchanged = exchange_addresses(host, transport.longest_address_bytes, places);
  if (exchanged) return exchanged;
  if (seeks_core && !seek_core_for_progress_thread(host)) return Reason::transport;
  const std::optional<Reason> settled = settle(host, places, node_count);
  if (!settled) show_ways_elsewhere();
  return settled;
}

bool Membership::seek_core_for_progress_thread(HostCommunicator& host) {
  using List = std::array<char, 512>;  // where it is longer, the rank counts as bound to nothing
  List mine{};
  const std::string binding = binding_of_process();
  if (binding.size() < mine.size()) binding.copy(mine.data(), binding.size());
  std::vector<List> all(static_cast<std::size_t>(host.size()));
  if (!host.allgather(mine.data(), mine.size(), all.data())) return false;
  if (!runtime_.engine().seeks_core_for_progress_thread()) return true;
  std::vector<std::string> here;
  std::size_t place = 0;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (facts_->hosts[rank] != facts_->hosts[static_cast<std::size_t>(rank_)]) continue;
    if (rank == static_cast<std::size_t>(rank_)) place = here.size();
    here.emplace_back(all[rank].data());
  }
  const Result<std::string> core = free_core(here, place);
  if (!core) log(LogLevel::info, core.error().message);
  runtime_.engine().give_core_to_progress_thread(core.ok() ? *core : std::string());
  return true;
}

std::optional<Reason> Membership::choose_part(bool keep_part, std::vector<NodeId>& nodes, NodeId& node_count) {
  const Topology& fabric = runtime_.topology();
  std::vector<NodeId> covered = nodes;
  std::sort(covered.begin(), covered.end());
  covered.erase(std::unique(covered.begin(), covered.end()), covered.end());
  node_count = static_cast<NodeId>(covered.size());
  if (node_count == 1) {
    nodes.assign(nodes.size(), 0);
    if (!serves_one_node(runtime_.config())) return Reason::one_node;
    return std::nullopt;
  }
  if (node_count == fabric.host_count()) {
    facts_->fabric_nodes = std::move(covered);
    return std::nullopt;
  }
  MovedHosts moved = move_hosts(runtime_.translation_group(), covered);
  Result<Topology> part = part_of(fabric, moved.image);
  if (!part || !check_connected(*part)) return Reason::disconnected;
  facts_->part_nodes = node_ranges(moved.image);
  facts_->part_has_routers = part->node_count() > part->host_count();
  if (keep_part || runtime_.resilient() != nullptr) facts_->part = std::move(part).value();
  std::map<NodeId, NodeId> place;
  for (std::size_t i = 0; i < moved.nodes.size(); ++i) place.emplace(moved.nodes[i], static_cast<NodeId>(i));
  for (NodeId& node : nodes) node = place.at(node);
  facts_->fabric_nodes = std::move(moved.nodes);
  return std::nullopt;
}

std::optional<Reason> Membership::settle(HostCommunicator& host, const std::vector<RankPlace>& places, NodeId nodes) {
  RankLayout layout = arrange(places, nodes, runtime_.config().leaders);
  if (layout.most_ranks == 1) {
    facts_->rank_of_node = layout.slice(0);
    facts_->place_of_shard = facts_->rank_of_node;
    share_host_memory(host);
    return std::nullopt;
  }
  hierarchy_ = std::make_unique<Hierarchy>(runtime_, std::move(layout), host.rank());
  if (!hierarchy_->open(host)) {
    hierarchy_ = nullptr;
    return Reason::shared_memory;
  }
  if (hierarchy_->leads()) facts_->rank_of_node = hierarchy_->slice();
  facts_->place_of_shard.resize(static_cast<std::size_t>(nodes));
  std::iota(facts_->place_of_shard.begin(), facts_->place_of_shard.end(), 0);
  return std::nullopt;
}

std::optional<Reason> Membership::exchange_addresses(HostCommunicator& host, std::size_t longest,
                                                     std::vector<RankPlace>& places) {
  struct Header {
    std::uint32_t communicator;
    std::uint32_t address_bytes;
    std::int32_t domain;
  };
  const std::size_t slot = sizeof(Header) + longest;
  const std::string address = uses_transport_ ? runtime_.transport().address() : std::string();
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
    facts_->addresses.emplace_back(entry + sizeof other, other.address_bytes);
    places[rank].domain = other.domain;
  }
  facts_->share_memory = !uses_transport_ ||
                         std::all_of(facts_->addresses.begin(), facts_->addresses.end(), [&](const std::string& other) {
                           return runtime_.transport().share_memory(facts_->addresses.front(), other);
                         });
  return agree_on_id(host, candidate, id_);
}

/// The candidate is taken where it is free, and given back unless all ranks have taken it. Threads may agree on several
/// communicators at once, in another order on every rank, and take each other's candidates away; then the next ones are
/// a random step apart.
std::optional<Reason> Membership::agree_on_id(HostCommunicator& host, std::uint32_t candidate, std::uint32_t& id) {
  struct Vote {
    std::uint32_t taken;  ///< the candidate
    std::uint32_t next;   ///< free here; no_id: none is
    std::uint32_t step;
  };
  constexpr std::uint32_t most_attempts = 100;
  std::vector<Vote> votes(static_cast<std::size_t>(host.size()));
  for (std::uint32_t attempt = 0; attempt < most_attempts; ++attempt) {
    const bool took = ids_->take(candidate);
    const std::uint32_t next = candidate == no_id ? no_id : ids_->next_free(candidate);
    const Vote mine{took ? 1U : 0U, took ? candidate : next,
                    static_cast<std::uint32_t>(steady_nanoseconds() / microsecond) % (attempt + 1)};
    const bool heard = host.allgather(&mine, sizeof mine, votes.data());
    const bool all_took = heard && std::all_of(votes.begin(), votes.end(), [&](const Vote& vote) {
                            return vote.taken != 0 && vote.next == votes.front().next;
                          });
    if (all_took) {
      id = candidate;
      return std::nullopt;
    }
    if (took) ids_->give_back(candidate);
    if (!heard) return Reason::transport;
    const auto [least, most] =
        std::minmax_element(votes.begin(), votes.end(), [](const Vote& a, const Vote& b) { return a.next < b.next; });
    if (least->next == no_id) return Reason::too_many;
    candidate = (most->next + votes.front().step) % (TagSpace::max_communicator + 1);
  }
  return Reason::too_many;
}

std::optional<Reason> Membership::take_over(HostCommunicator& host, const GroupMeeting& meeting, SpareMemory spare) {
  stamp_ = {meeting.number, 0};
  may_have_device_memory_ = meeting.may_have_device_memory;
  name_ = host.name();
  id_ = meeting.id;
  std::optional<Reason> reason = obstacle();
  if (!reason && id_ == no_id) reason = agree_on_id(host, ids_->next_free(1), id_);
  if (reason) return reason;
  if (meeting.same_memory && neighbourhood() != nullptr) {
    (hierarchy_ != nullptr ? hierarchy_ : host_hierarchy_)->open(std::move(spare.memory));
  } else if (host_hierarchy_ != nullptr) {
    share_host_memory(host);
  } else if (hierarchy_ != nullptr && !hierarchy_->open(host)) {
    return Reason::shared_memory;
  }
  show_ways_elsewhere();
  return std::nullopt;
}

/// What they have to agree on before every call, or look for together, would take longer than a short call.
void Membership::share_host_memory(HostCommunicator& host) {
  const bool is_of_use = runtime_.config().cost_model && facts_->share_memory && !facts_->fabric_is_watched &&
                         runtime_.resilient() == nullptr && size() <= node::ShortExchange::most_ranks;
  host_hierarchy_ = is_of_use ? Hierarchy::of_host(runtime_, size(), rank_) : nullptr;
  if (host_hierarchy_ != nullptr && !host_hierarchy_->open(host, LogLevel::info)) host_hierarchy_ = nullptr;
  if (host_hierarchy_ != nullptr || !facts_->share_memory) return;
  memory_of_ways_ = Hierarchy::of_host(runtime_, size(), rank_)->make_memory_of_ways(host);
}

std::uint64_t Membership::number_among_all() const {
  constexpr unsigned number_bits = 40;
  const std::uint64_t number = stamp_.communicator & ((std::uint64_t{1} << number_bits) - 1);
  return static_cast<std::uint64_t>(world_ranks().front()) << number_bits | number;
}

void Membership::show_ways_elsewhere() {
  const bool all_see = hierarchy_ != nullptr ? nodes() == 1 : facts_->share_memory;
  if (all_see || !way_questions_->is_open() || world_ranks().empty()) return;
  if (hierarchy_ == nullptr) own_ways_ = std::make_unique<CallWays>();
  way_questions_->add(number_among_all(), *ways(), world_ranks(), rank_);
  asks_about_ways_ = true;
}

void Membership::keep_record(CommunicatorRecord* record) {
  const std::lock_guard guard(runtime_.lock());
  record_ = record;
  if (record_ != nullptr) record_->set_nodes(nodes());
}

void Membership::note_failure(PersistentContext* persistent) noexcept {
  set_obstacle(Reason::transport);
  facts_->has_failed = true;
  if (persistent != nullptr) persistent->keep_id();
  ResilientTransport* transport = runtime_.resilient();
  if (transport == nullptr) return;
  transport->forget(id_);
  if (persistent != nullptr) transport->forget(persistent->id());
  broken_ = resends_;
}

void Membership::note_other_way() noexcept {
  note_failure(nullptr);
  keeps_id_ = true;
  set_obstacle(Reason::lengths_differ);
}

void Membership::note_other_length(PersistentContext* persistent) noexcept {
  keeps_id_ = true;
  if (persistent != nullptr) persistent->keep_id();
}

std::string Membership::in_words(Collective collective, std::uint32_t number) const {
  return name_ + ": " + std::string(to_string(collective)) + ", call " + std::to_string(number) + ": rank " +
         std::to_string(rank_) + " ";
}

std::string Membership::awaited_nodes_in_words(const std::vector<NodeId>& nodes) const {
  constexpr std::size_t most_named = 8;
  if (nodes.empty()) return "waits for its messages to be taken";
  std::string text;
  for (std::size_t i = 0; i < nodes.size() && i < most_named; ++i) {
    const auto rank = static_cast<std::size_t>(facts_->rank_of_node[at(nodes[i])]);
    text.append(i == 0 ? "waits for rank " : ", rank ")
        .append(std::to_string(rank))
        .append(" on ")
        .append(facts_->hosts[rank]);
    text.append(" over ").append(std::to_string(nodes[i])).append("->").append(std::to_string(node_));
  }
  return text.append(nodes.size() > most_named ? ", ..." : "");
}

NodeId Membership::node_of(std::int32_t rank) const {
  return static_cast<NodeId>(std::find(facts_->rank_of_node.begin(), facts_->rank_of_node.end(), rank) -
                             facts_->rank_of_node.begin());
}

}  // namespace libcoll::comm
