// The recovery group that looks after a communicator's messages, and its nodes as the communicator has them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "libcoll/comm/membership.h"
#include "libcoll/node/bidirectional_link.h"
#include "libcoll/recover/repair.h"

namespace libcoll::comm {

class RecoveryGroupMember {
 public:
  explicit RecoveryGroupMember(Membership& members) : members_(members) {}
  ~RecoveryGroupMember() { leave(); }
  RecoveryGroupMember(const RecoveryGroupMember&) = delete;
  RecoveryGroupMember& operator=(const RecoveryGroupMember&) = delete;

  /// Tells the transport who may pass on messages for whom, where it sends messages again. The listener hears of dead
  /// links until this leaves. Collective.
  void enrol(HostCommunicator& host, recover::FailureListener& listener);
  void leave();
  /// Null on ranks without messages, and where messages are not sent again.
  [[nodiscard]] const recover::Repair* repair() const { return repair_.get(); }

  // Under the runtime's lock.
  /// Verdicts that were seen to, the same on all ranks at the same place among their calls.
  [[nodiscard]] std::uint32_t seen() const { return seen_; }
  void see_next() { ++seen_; }
  /// Cables that so many verdicts have named, as this communicator has nodes; those that others of the fabric have as
  /// one beyond its nodes, where its messages may cross them.
  [[nodiscard]] std::set<node::BidirectionalLink> removed_after(std::uint32_t verdicts) const {
    return cables_here(repair_->removed(verdicts));
  }
  /// What plans can still be made for; nothing when that is not connected, or no cable is gone.
  [[nodiscard]] std::optional<topology::Topology> what_remains(const std::set<node::BidirectionalLink>& removed) const;

 private:
  [[nodiscard]] Runtime& runtime() const { return members_.runtime(); }
  /// A recovery group of all nodes that there is already, which has more ways, passes their messages on as its own.
  /// False on all of them when there is none that all are in. Collective.
  bool join(HostCommunicator& host, recover::FailureListener& listener);
  /// What the senders in this communicator's tags are in the recovery group, of which `of_nodes` are the nodes' places.
  [[nodiscard]] std::vector<topology::NodeId> places_of_senders(std::vector<topology::NodeId> of_nodes) const;
  [[nodiscard]] std::set<node::BidirectionalLink> cables_here(const std::set<node::BidirectionalLink>& cables) const;

  Membership& members_;
  std::shared_ptr<recover::Repair> repair_;
  recover::FailureListener* listener_ = nullptr;
  std::vector<topology::NodeId> place_in_communicator_;  ///< by node of the recovery group, -1: none; empty: the same
  std::uint32_t seen_ = 0;
};

}  // namespace libcoll::comm
