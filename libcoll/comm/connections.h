// How a communicator's processes get connected.
#pragma once

#include <cstdint>
#include <span>

#include "libcoll/comm/membership.h"
#include "libcoll/execute/wire_up.h"
#include "libcoll/plan/lowered_plan.h"
#include "libcoll/transport/tag_space.h"

namespace libcoll::comm {

/// Whom this process talks to.
struct Lanes {
  std::span<transport::PeerId> peers;   ///< by route class and place
  std::int32_t self = 0;                ///< this process's place
  std::span<const std::int32_t> ranks;  ///< by place
  topology::NodeId first_sender = 0;    ///< in tags: the first place's number
};

class Connections {
 public:
  explicit Connections(Membership& members) : members_(members) {}

  /// Of the plan, all of them awaited.
  Lanes lanes_of(plan::LoweredPlan& plan);
  /// To awaited peers: those whom this process calls, or those whom it answers.
  Status connect(Lanes& lanes, execute::Words words);
  /// To all awaited peers, whoever calls. False when that failed. Under the runtime's lock.
  bool connect_awaited(const Lanes& lanes);
  /// Collective: calls those to whom it is connected, and connects to those who have called. The same on all ranks:
  /// false when one failed.
  bool call(HostCommunicator& host, Lanes& lanes);
  /// Collective, after that: answers them. Whether all were heard.
  bool answer(HostCommunicator& host, const Lanes& lanes);
  /// All of it; the same on all ranks.
  bool wire_up(HostCommunicator& host, Lanes& lanes);
  /// Of a word to everybody. Under the runtime's lock.
  transport::TagSpace next_tags() { return {members_.id(), wire_ups_++}; }

 private:
  [[nodiscard]] Runtime& runtime() const { return members_.runtime(); }
  /// Says these words and waits for those of others. Whether all got through.
  bool greet(HostCommunicator& host, const Lanes& lanes, execute::Words words);
  /// Collective: until all ranks are here. The others' connections may need messages of this process to come about, and
  /// MPI need not move ours along while it waits. False when nothing moved for the configured time.
  bool meet(HostCommunicator& host);

  Membership& members_;
  /// Words to everybody so far. Not among the rounds of calls: where a node's ranks take turns, these are numbered as
  /// they begin, which may be before such a word here and after it elsewhere.
  std::uint32_t wire_ups_ = 0;
};

}  // namespace libcoll::comm
