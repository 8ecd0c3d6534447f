#include "libcoll/comm/renewal.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "libcoll/base/clock.h"
#include "libcoll/base/log.h"
#include "libcoll/recover/changed_fabric.h"
#include "planner/topology/facts.h"
#include "planner/topology/part.h"

namespace libcoll {
namespace {

constexpr std::int64_t between_looks = 1'000'000'000;  // nanoseconds
constexpr std::int64_t calls_to_first_look = 4;
/// Calls that take long may follow on short ones, and a look costs no more than one of these.
constexpr std::int64_t most_calls_between_looks = 256;

std::string names_of(std::uint32_t collectives) {
  std::string names;
  for (std::size_t each = 0; each < collective_count; ++each) {
    if ((collectives >> each & 1U) == 0) continue;
    names += (names.empty() ? "" : ", ") + std::string(to_string(static_cast<Collective>(each)));
  }
  return names.empty() ? "no collective" : names;
}

/// Without cables that were found dead; nothing when that is not connected.
std::optional<Topology> without_dead(const Topology& fabric, std::set<BidirectionalLink> cables, NodeId nodes) {
  cables.erase({nodes, nodes});  // those beyond the communicator's nodes
  if (cables.empty()) return fabric;
  Topology left = without(without_switches(fabric), cables);
  if (!check_connected(left)) return std::nullopt;
  return left;
}

}  // namespace

void Renewal::begin() {
  if (!members_.fabric_is_watched() || members_.nodes() < 2) return;
  interval_ = calls_to_look_ = members_.fabric_has_changed() ? 1 : calls_to_first_look;
}

void Renewal::look(HostCommunicator& host) {
  const std::unique_ptr<TransportHost> around = recovery_.agree_safely(host);
  HostCommunicator& agreement = around ? *around : host;
  Finding found;
  if (host.rank() == 0) found = find();
  const bool heard = agreement.broadcast(&found, sizeof found);
  calls_to_look_ = heard ? found.calls_to_look : never;
  if (heard && found.changes != changes_) follow(found, agreement);
  if (around == nullptr || around->good()) return;
  // As for a plan: the ranks are no longer at the same place.
  const std::lock_guard guard(runtime().lock());
  members_.note_failure(nullptr);
}

void Renewal::follow(const Finding& found, HostCommunicator& agreement) {
  changes_ = found.changes;
  runtime().topology_watch().hear_of_change();
  {
    const std::lock_guard guard(runtime().lock());
    plans_.set_links_gone(found.links_gone != 0);
  }
  std::uint32_t adopted = 0;
  for (std::size_t each = 0; each < collective_count; ++each) {
    if ((found.collectives >> each & 1U) == 0) continue;
    const std::optional<Reason> reason = plans_.adopt(static_cast<Collective>(each), agreement, Planning::waited_for);
    if (!reason) adopted |= 1U << each;
  }
  if (agreement.rank() == 0) {
    log(LogLevel::info, members_.name() + ": the topology file has changed; from now on " + names_of(adopted) +
                            " by new plans" + (found.links_gone != 0 ? ", without links that are gone" : ""));
  }
}

// ---- rank 0 -----------------------------------------------------------------------------------------------------

std::int64_t Renewal::pace(std::int64_t now) {
  const std::int64_t took = now - std::exchange(last_look_, now);
  std::int64_t wanted = 2 * interval_;
  if (took < now) wanted = std::min(wanted, interval_ * between_looks / std::max<std::int64_t>(1, took));
  return interval_ = std::clamp<std::int64_t>(wanted, 1, most_calls_between_looks);
}

Renewal::Finding Renewal::find() {
  TopologyWatch& watch = runtime().topology_watch();
  const bool is_first = last_look_ == 0;
  const std::int64_t now = steady_nanoseconds();
  Finding found{pace(now), changes_, 0, links_gone_ ? 1U : 0U, 0};
  const FabricChange change = is_first && members_.fabric_has_changed() ? watch.look_at_once() : watch.look(now);
  const bool is_new = change.number != seen_ || (has_changed_ && recovery_.removed() != removed_);
  if (is_new) under_way_ = plan_for(change);
  if (!under_way_ || !make_plans(found.collectives)) return found;
  under_way_ = false;
  found.changes = changes_ + 1;
  found.links_gone = links_gone_ ? 1 : 0;
  return found;
}

bool Renewal::plan_for(const FabricChange& change) {
  seen_ = change.number;
  removed_ = recovery_.removed();
  const Topology& start = runtime().topology();
  const auto keep_plans = [this](const std::string& why) {
    log(members_.part_nodes().empty() ? LogLevel::warn : LogLevel::info,
        members_.name() + ": the topology file has changed, and the plans stay as they are: " + why);
    return false;
  };
  if (change.fabric == nullptr) {
    plans_.set_changed(std::nullopt);
    links_gone_ = false;
    return std::exchange(has_changed_, false);
  }
  const Result<Topology> fabric = fabric_of(*change.fabric, start, members_.fabric_nodes());
  if (!fabric) return keep_plans(fabric.error().message);
  std::optional<Topology> left = without_dead(*fabric, removed_, members_.nodes());
  if (!left) return keep_plans("without the links that have died, it is not connected");
  const WiringChange wiring = wiring_change(start, *change.fabric);
  const bool has_switches = left->node_count() > left->host_count();
  has_changed_ = true;
  links_gone_ = wiring == WiringChange::fewer;
  plans_.set_changed(ChangedFabric{std::move(*left), !has_switches && wiring != WiringChange::none});
  return true;
}

bool Renewal::make_plans(std::uint32_t& collectives) {
  std::uint32_t made = 0;
  for (std::size_t each = 0; each < collective_count; ++each) {
    if ((plans_.served() >> each & 1U) == 0) continue;
    const std::optional<bool> there = plans_.make(static_cast<Collective>(each));
    if (!there) return false;
    if (*there) made |= 1U << each;
  }
  collectives = made;
  return true;
}

}  // namespace libcoll
