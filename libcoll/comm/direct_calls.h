// A communicator's small calls, which go from rank to rank without a plan.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "libcoll/comm/call_queue.h"
#include "libcoll/comm/connections.h"
#include "libcoll/comm/membership.h"
#include "libcoll/execute/call.h"
#include "libcoll/execute/direct_exchange.h"
#include "libcoll/execute/scattered_reduction.h"
#include "libcoll/plan/plan_links.h"

namespace libcoll::comm {

/// With a hierarchy only sums of nodes go this way, which their first leaders have.
class DirectCalls {
 public:
  DirectCalls(Membership& members, Connections& connections, CallQueue& queue)
      : members_(members), connections_(connections), queue_(queue) {}

  /// Connects the ranks, or the first leaders of nodes, for calls of the collective that need no plan, where that is
  /// possible; collective.
  void wire_up(schedule::Collective collective, HostCommunicator& host);
  /// For a copy: the same ranks are connected.
  void inherit(const DirectCalls& original);
  /// Whether calls of ranks that are short enough can go from rank to rank. The same on all of them.
  [[nodiscard]] bool can_go(schedule::Collective collective) const {
    return members_.hierarchy() == nullptr && exchange_ != nullptr && may_go_[static_cast<std::size_t>(collective)];
  }
  /// Whether this leader moves its part of such a call without a plan, as long as no link has died; the same on every
  /// node.
  [[nodiscard]] bool moves(const execute::Call& part, const PersistentContext* persistent) const;

  // `links`: of the collective's plan. False when the transport failed.
  bool exchange(const execute::Call& call, const plan::PlanLinks& links, ProgressHook hook);
  bool scatter(const execute::Call& call, const plan::PlanLinks& links, ProgressHook hook);
  // After one of them that was good, as Driven has it.
  [[nodiscard]] bool exchanged_lengths_differ() const { return exchange_->lengths_differ(); }
  [[nodiscard]] bool scattered_lengths_differ() const { return scattered_->lengths_differ(); }

  /// For a leader's part of a call, which starts it: there as long as moves() says so; null once it was abandoned.
  [[nodiscard]] execute::DirectExchange* leaders() const { return exchange_.get(); }
  /// Its messages are left behind: some may yet arrive in its memory.
  void abandon_leaders() { static_cast<void>(exchange_.release()); }
  /// Of an exchange that is over. Precondition: there is a record.
  void record(const execute::Call& call, const plan::PlanLinks& links, transport::TagSpace tags, std::int64_t began);

 private:
  /// A message to one rank, and the one that comes from another at the same time.
  struct RankMessage {
    std::int32_t to = 0;
    std::int32_t from = 0;
    std::int64_t bytes = 0;
    std::int32_t step = 1;
  };

  [[nodiscard]] Runtime& runtime() const { return members_.runtime(); }
  /// Which ranks are wired up, by place. Empty where this rank is not among them.
  [[nodiscard]] std::vector<std::int32_t> directly_wired_ranks() const;
  [[nodiscard]] std::int32_t own_place() const {
    return members_.hierarchy() != nullptr ? members_.node() : members_.rank();
  }
  /// What senders that go from rank to rank are numbered from in tags.
  [[nodiscard]] topology::NodeId first_direct_sender() const;
  /// Has what goes from rank to rank started with tags of its own, and waits for its end. The tags; nothing when it
  /// failed.
  template <class Start>
  std::optional<transport::TagSpace> run(schedule::Collective collective, execute::Driven& running, const Start& start,
                                         ProgressHook hook);
  void record_messages(schedule::Collective collective, const std::vector<RankMessage>& messages,
                       const plan::PlanLinks& links, transport::TagSpace tags, std::int64_t began);
  void trace_messages(const std::vector<RankMessage>& messages, transport::TagSpace tags, std::int64_t began);

  Membership& members_;
  Connections& connections_;
  CallQueue& queue_;
  std::unique_ptr<execute::DirectExchange> exchange_;  ///< null where all calls go by plans; with a hierarchy, by node
  std::unique_ptr<execute::ScatteredReduction> scattered_;  ///< goes with it
  bool wired_ = false;                                      ///< it was tried
  std::array<bool, collective_count> may_go_{};
};

}  // namespace libcoll::comm
