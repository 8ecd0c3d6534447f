#include "libcoll/comm/changed_fabric_plans.h"

#include <string>
#include <utility>

#include "libcoll/base/clock.h"
#include "libcoll/base/log.h"
#include "libcoll/recover/changed_fabric.h"
#include "libcoll/recover/repair.h"

namespace libcoll::comm {

using namespace node;
using namespace recover;
using namespace schedule;
using namespace topology;

std::optional<PlansOfChange> ChangedFabricPlans::since(std::uint32_t known) {
  look();
  if (under_way_ || made_.changes <= known) return std::nullopt;
  return made_;
}

const Topology& ChangedFabricPlans::fabric() const {
  return plans_.changed() ? plans_.changed()->topology : members_.planned_for();
}

std::string ChangedFabricPlans::cause() const {
  return file_has_changed_ ? "the topology file has changed" : "links have died since the topology file changed";
}

void ChangedFabricPlans::look() {
  TopologyWatch& watch = runtime().topology_watch();
  const bool at_once = !std::exchange(has_looked_, true) && members_.fabric_has_changed();
  const FabricChange change = at_once ? watch.look_at_once() : watch.look(steady_nanoseconds());
  const bool is_new = change.number != seen_ || (made_.changes > 0 && recovery_.removed() != removed_);
  if (is_new) {
    file_has_changed_ = change.number != seen_ || (under_way_ && file_has_changed_);
    under_way_ = plan_for(change);
  }
  if (!under_way_ || !make_plans()) return;
  under_way_ = false;
  ++made_.changes;
}

bool ChangedFabricPlans::plan_for(const FabricChange& change) {
  seen_ = change.number;
  removed_ = recovery_.removed();
  const Topology& start = runtime().topology();
  const auto keep_plans = [this](const std::string& why) {
    log(members_.part_nodes().empty() ? LogLevel::warn : LogLevel::info,
        members_.name() + ": the topology file has changed, and the plans stay as they are: " + why);
    return false;
  };
  if (change.fabric == nullptr) {
    // Plans of the start may have been agreed on before links were found dead.
    const bool has_changed = plans_.changed() || made_.changes > 0;
    plans_.set_changed(std::nullopt);
    made_.links_gone = false;
    return has_changed;
  }
  const Result<Topology> fabric = fabric_of(*change.fabric, start, members_.fabric_nodes());
  if (!fabric) return keep_plans(fabric.error().message);
  std::optional<Topology> left = without_dead(*fabric, removed_, members_.nodes());
  if (!left) return keep_plans("without the links that have died, it is not connected");
  const WiringChange wiring = wiring_change(start, *change.fabric);
  const bool has_switches = left->node_count() > left->host_count();
  made_.links_gone = wiring == WiringChange::fewer;
  plans_.set_changed(ChangedFabric{std::move(*left), !has_switches && wiring != WiringChange::none});
  return true;
}

bool ChangedFabricPlans::make_plans() {
  std::uint32_t made = 0;
  for (std::size_t each = 0; each < collective_count; ++each) {
    if ((plans_.served() >> each & 1U) == 0) continue;
    const std::optional<bool> there = plans_.make(static_cast<Collective>(each));
    if (!there) return false;
    if (*there) made |= 1U << each;
  }
  made_.collectives = made;
  return true;
}

}  // namespace libcoll::comm
