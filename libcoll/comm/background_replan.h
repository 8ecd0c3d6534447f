// New plans for a communicator, agreed on beside its calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "libcoll/comm/membership.h"
#include "libcoll/recover/replan.h"
#include "libcoll/recover/replan_participant.h"
#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::comm {

/// The ranks of a communicator that have messages: those that speak for their nodes first, but rank 0 before them where
/// it is one of them, as it reads the topology file. The same on all ranks.
struct ReplanRanks {
  explicit ReplanRanks(const Membership& members);
  /// Who is below whom, by place in the list; links are those of `fabric`, whose hosts are the communicator's nodes.
  [[nodiscard]] std::vector<int> parents_on(const topology::Topology& fabric) const;
  /// Of this rank, among those with these parents. Error when a neighbour cannot be connected. Under the runtime's
  /// lock.
  [[nodiscard]] Result<std::vector<recover::TreePlace>> places(const Membership& members,
                                                               const std::vector<int>& parents) const;

  std::vector<std::int32_t> ranks;
  std::vector<topology::NodeId> nodes;  ///< by place in the list
  int own = 0;                          ///< this rank's place
};

/// Why there is one. One of each may be under way on a communicator.
enum class ReplanCause : std::uint8_t { links_died, file_changed };

/// Of one order, the same on all ranks.
transport::TagSpace replan_tags(const Membership& members, ReplanCause cause, std::uint32_t order);

/// One at a time. All members are to be called under the runtime's lock.
class BackgroundReplan {
 public:
  explicit BackgroundReplan(Membership& members) : members_(members) {}
  ~BackgroundReplan();
  BackgroundReplan(const BackgroundReplan&) = delete;
  BackgroundReplan& operator=(const BackgroundReplan&) = delete;

  [[nodiscard]] bool is_under_way() const { return replan_ != nullptr; }
  /// `keeper` keeps the communicator for as long as others may need it, though the program may have freed it. `tags`
  /// gives those of one more order, the same on all ranks. `over` is called at the end, and may begin another.
  void begin(std::shared_ptr<void> keeper, recover::ReplanParticipant& party, std::vector<recover::TreePlace> places,
             int own, std::function<transport::TagSpace()> tags, std::function<void()> over);

 private:
  class Running;
  /// False when it is over.
  bool advance() noexcept;

  Membership& members_;
  std::unique_ptr<recover::Replan> replan_;
  std::function<void()> over_;
};

}  // namespace libcoll::comm
