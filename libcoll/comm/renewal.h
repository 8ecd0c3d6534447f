// New plans for a communicator whose topology file has changed, from a call on that all of its ranks agree on.
#pragma once

#include <cstdint>
#include <limits>
#include <set>

#include "libcoll/comm/communicator_plans.h"
#include "libcoll/comm/host_communicator.h"
#include "libcoll/comm/membership.h"
#include "libcoll/comm/recovery.h"
#include "libcoll/node/bidirectional_link.h"
#include "libcoll/recover/topology_watch.h"

namespace libcoll {

/// Rank 0 looks at the file about once a second, at a call that all wait for: at every look it tells the others what it
/// has found, and how many calls it is to the next one. Between looks a call costs the counting. When the new plans are
/// made, which goes on beside the calls, all ranks change to them at such a look.
class Renewal {
 public:
  Renewal(Membership& members, CommunicatorPlans& plans, Recovery& recovery)
      : members_(members), plans_(plans), recovery_(recovery) {}

  /// When the ranks have agreed on the communicator.
  void begin();
  /// Its plans are not those of the start. The same on all ranks.
  [[nodiscard]] bool has_renewed() const { return changes_ > 0; }
  /// At every call that waits for the others and is served, once it has its place among them. Collective.
  void at_call(HostCommunicator& host) {
    if (--calls_to_look_ <= 0) look(host);
  }

 private:
  /// What rank 0 says at a look.
  struct Finding {
    std::int64_t calls_to_look = 0;
    std::uint32_t changes = 0;      ///< that the plans are as of
    std::uint32_t collectives = 0;  ///< that have new plans, as bits
    std::uint32_t links_gone = 0;   ///< that there were at the start
    std::uint32_t reserved = 0;
  };
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] Runtime& runtime() const { return members_.runtime(); }
  /// Collective.
  void look(HostCommunicator& host);
  void follow(const Finding& found, HostCommunicator& agreement);
  // Rank 0's.
  Finding find();
  /// Calls to the next look: those of about a second, by what calls took since the last one.
  std::int64_t pace(std::int64_t now);
  /// Has plans made for what the file says. False when these are of no use here.
  bool plan_for(const FabricChange& change);
  /// Whether all plans are there, and which.
  bool make_plans(std::uint32_t& collectives);

  Membership& members_;
  CommunicatorPlans& plans_;
  Recovery& recovery_;
  std::int64_t calls_to_look_ = never;
  std::uint32_t changes_ = 0;  ///< seen to; the same on all ranks

  // Rank 0's.
  std::int64_t interval_ = 0;  ///< calls between the last look and the one before
  std::int64_t last_look_ = 0;
  std::uint32_t seen_ = 0;               ///< of the file's changes
  std::set<BidirectionalLink> removed_;  ///< as of the last plans
  bool has_changed_ = false;             ///< the plans are not those of the start
  bool under_way_ = false;               ///< plans are being made
  bool links_gone_ = false;
};

}  // namespace libcoll
