// What rank 0 of a communicator finds in the topology file, and the plans that it has made for that.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "libcoll/comm/communicator_plans.h"
#include "libcoll/comm/membership.h"
#include "libcoll/comm/recovery.h"
#include "libcoll/node/bidirectional_link.h"
#include "libcoll/recover/topology_watch.h"
#include "planner/topology/topology.h"

namespace libcoll::comm {

/// Plans that are there.
struct PlansOfChange {
  std::uint32_t changes = 0;      ///< they are as of so many
  std::uint32_t collectives = 0;  ///< as bits
  bool links_gone = false;        ///< that there were at the start
};

/// Rank 0's. All members but the constructor are to be called under the runtime's lock.
class ChangedFabricPlans {
 public:
  ChangedFabricPlans(Membership& members, CommunicatorPlans& plans, Recovery& recovery)
      : members_(members), plans_(plans), recovery_(recovery) {}

  /// Looks at the file, and has plans made beside the calls where it has changed. What is there, when it is as of more
  /// changes than `known`; nothing as long as it is being made.
  std::optional<PlansOfChange> since(std::uint32_t known);
  /// What calls go by the plans of: hosts are the communicator's nodes.
  [[nodiscard]] const topology::Topology& fabric() const;
  /// Why the last plans were made, for the log.
  [[nodiscard]] std::string cause() const;

 private:
  [[nodiscard]] Runtime& runtime() const { return members_.runtime(); }
  void look();
  /// Has plans made for what the file says. False when these are of no use here.
  bool plan_for(const recover::FabricChange& change);
  /// Whether all plans are there.
  bool make_plans();

  Membership& members_;
  CommunicatorPlans& plans_;
  Recovery& recovery_;
  bool has_looked_ = false;
  std::uint32_t seen_ = 0;                     ///< of the file's changes
  std::set<node::BidirectionalLink> removed_;  ///< as of the last plans
  bool file_has_changed_ = false;              ///< since the plans before the last ones
  bool under_way_ = false;                     ///< plans are being made
  PlansOfChange made_;
};

}  // namespace libcoll::comm
