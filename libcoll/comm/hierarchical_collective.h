// A call of ranks of which several share a node: its rounds one after the other, each in stages that go through the
// node's memory, and a leader's part of it over the transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "libcoll/comm/call_memory.h"
#include "libcoll/comm/flat_collective.h"
#include "libcoll/comm/hierarchy.h"
#include "libcoll/comm/running_call.h"
#include "libcoll/comm/slice_exchange.h"
#include "libcoll/node/node_rounds.h"
#include "libcoll/node/stages.h"

namespace libcoll::comm {

/// Calls that share a memory go on one after the other.
class HierarchicalCollective final : public RunningCall {
 public:
  /// `parts` of a communicator and its `hierarchy`, which serves the call, must outlive this, and the call's buffers
  /// its end. `plan`, as of `sequence`, is the same on every rank. `persistent`: of a persistent call, which has memory
  /// of its own.
  HierarchicalCollective(CommunicatorParts& parts, const Hierarchy& hierarchy, execute::Call call,
                         plan::LoweredPlanPointer plan, CallSequence sequence = {},
                         std::shared_ptr<PersistentContext> persistent = nullptr);

  void begin() override;
  void advance() noexcept override;
  [[nodiscard]] bool over() const override { return failed_ || round_ == rounds_->count(); }
  [[nodiscard]] bool failed() const override { return failed_; }
  [[nodiscard]] bool lengths_differ() const override { return lengths_differ_; }
  /// The other processes of the node are told.
  void abandon() noexcept override;
  /// Waits in the node's memory or for the transport, whichever has to bring the next thing.
  bool drive(ProgressHook hook) override;
  [[nodiscard]] std::string in_words() const override;
  [[nodiscard]] bool calls_mpi() const override { return calls_mpi_; }
  [[nodiscard]] std::span<const transport::PeerId> peers() const override;
  [[nodiscard]] std::int64_t largest_message_bytes() const override { return largest_message_bytes_; }
  [[nodiscard]] int milliseconds_to_next_advance() const override;
  [[nodiscard]] bool rests() const override;
  bool exchange_signs_of_life() noexcept override;

 private:
  /// Its turn among the memory's calls has come.
  [[nodiscard]] bool has_turn() const { return memory_->calls().front() == this; }
  [[nodiscard]] const node::Stage& stage() const { return stages_[stage_]; }
  /// Those before it as well.
  void advance_all_to_this() noexcept;
  /// Does the next thing if it need not be waited for; whether it has.
  bool go_on();
  void begin_round();
  void list_stages_of_round();
  /// In the first round every rank shows the length of its call to the others of its node, and what they read. Where
  /// lengths differ, ranks of one node would go through rounds of different numbers, and wait for ever.
  void show_call();
  /// What the node's ranks have shown, by local rank. Precondition: all have begun the first round.
  [[nodiscard]] std::vector<node::Phases::Note> shown() const;
  /// Whether another rank has shown another length. Precondition as of shown().
  [[nodiscard]] bool sees_other_length() const;
  /// Ends the call without a result, as all other ranks do.
  void end_without_result();
  /// Where lengths differ within a node that has others to talk to: all of its ranks go on with one length, to no
  /// result. Other nodes get as many messages as they wait for, and see that they are of another length.
  void go_on_with_another_length();
  /// That which most ranks of the node have shown. Precondition as of shown().
  [[nodiscard]] std::int64_t most_common_length() const;
  /// Whether it is known by now what plan it goes by.
  bool settle();
  /// False: there is nothing to move between nodes.
  bool begin_slice();
  bool end_slice();
  void end_stage();
  /// What can be done without others. False: what was to be read cannot be.
  bool perform(node::Work work);
  bool read_neighbours();
  void record_end();
  void leave() noexcept;
  /// Until the call is over, or what comes next has to come by the transport. False when an awaited process gave no
  /// sign of life for the configured time, or one of the node has given up.
  bool wait_for_neighbours(ProgressHook hook);

  CommunicatorParts& parts_;
  const Hierarchy& hierarchy_;
  plan::LoweredPlanPointer plan_;
  CallSequence sequence_;
  const std::shared_ptr<PersistentContext> persistent_;  ///< as a rule null
  const std::shared_ptr<CallMemory> memory_;
  const schedule::Collective collective_;
  const bool calls_mpi_;
  const execute::Tuning tuning_;     ///< as of the call's beginning, which all ranks make at one place in their calls
  const std::int64_t vector_bytes_;  ///< of this rank
  const std::int64_t length_bytes_;  ///< equal on all ranks; 0 where that need not be
  const bool can_go_on_;             ///< with another length
  std::unique_ptr<node::NodeRounds> rounds_;
  std::vector<std::byte> scratch_;  ///< in place of the program's buffers, of a call without a result
  std::int64_t round_ = 0;
  std::uint32_t round_number_ = 0;   ///< among the memory's rounds
  std::vector<node::Stage> stages_;  ///< of the round
  std::size_t stage_ = 0;
  std::uint32_t stages_done_ = 0;  ///< of all rounds
  std::uint32_t signs_seen_ = 0;   ///< of stages_done_, and of whom it waited for
  std::optional<FlatCollective> planned_slice_;
  std::optional<SliceExchange> direct_slice_;
  RunningCall* slice_ = nullptr;  ///< one of these, while this rank moves its part between nodes
  bool slices_begun_ = false;     ///< since drive() last waited for the transport
  std::int64_t largest_message_bytes_ = 0;
  std::int64_t memory_bytes_ = 0;  ///< read and written in stages
  bool failed_ = false;
  bool lengths_differ_ = false;  ///< of messages between nodes
};

}  // namespace libcoll::comm
