// A call of ranks that talk to each other over the transport alone: its rounds one after the other. Where hosts forward
// blocks of unequal length, a first round tells all ranks how much each of them has for each other: as blocks of equal
// length, which the same plan moves.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "libcoll/comm/call_queue.h"
#include "libcoll/comm/running_call.h"
#include "libcoll/execute/call.h"
#include "libcoll/execute/execution.h"
#include "libcoll/plan/lowered_plan.h"

namespace libcoll::comm {

struct CommunicatorParts;

/// Each of the communicator's goes on as its own messages come.
class FlatCollective final : public RunningCall, public QueuedCall {
 public:
  /// The communicator's `parts` must outlive this, and the call's buffers its end. `plan`, as of `sequence`, is the
  /// same on every rank. `persistent`: of a persistent call, which is to be over before its next start.
  FlatCollective(CommunicatorParts& parts, execute::Call call, plan::LoweredPlanPointer plan,
                 CallSequence sequence = {}, std::shared_ptr<PersistentContext> persistent = nullptr);
  /// A call of one round whose data lies as in `shape`; `tuning` is the same on every rank.
  FlatCollective(CommunicatorParts& parts, execute::Call call, plan::LoweredPlanPointer plan, execute::Shape shape,
                 const execute::Tuning& tuning, std::shared_ptr<PersistentContext> persistent);

  void begin() override;
  void advance() noexcept override;
  [[nodiscard]] bool over() const override { return failed_ || round_ == rounds_; }
  [[nodiscard]] bool failed() const override { return failed_; }
  [[nodiscard]] bool lengths_differ() const override { return lengths_differ_; }
  void abandon() noexcept override;
  bool drive(ProgressHook hook) override;
  [[nodiscard]] std::string in_words() const override;
  [[nodiscard]] bool calls_mpi() const override { return call_.reducer.calls_mpi; }
  [[nodiscard]] std::span<const transport::PeerId> peers() const override { return plan_->peers; }
  [[nodiscard]] std::int64_t largest_message_bytes() const override { return largest_message_bytes_; }
  [[nodiscard]] int milliseconds_to_next_advance() const override;

  /// Number of the round it is at among all rounds of the communicator's calls, or of the persistent call's.
  [[nodiscard]] std::uint32_t number() const override { return first_number_ + static_cast<std::uint32_t>(round_); }
  [[nodiscard]] bool is_numbered() const override { return numbered_ == rounds_ && !awaits_lengths(); }
  [[nodiscard]] bool is_settled() const override { return sequence_.settled; }
  [[nodiscard]] bool has_number() const override { return round_ != numbered_; }
  void take_numbers(std::uint32_t& next) override;
  [[nodiscard]] PersistentContext* persistent() const override { return persistent_.get(); }

 private:
  /// Whether it is known by now what plan it goes by.
  bool settle();
  /// As far as the plan says it.
  void count_rounds();
  /// It is yet to be told how long the blocks are that hosts forward, and hence how many rounds there are.
  [[nodiscard]] bool awaits_lengths() const { return tells_lengths_ && round_ == 0; }
  void end_round();
  /// What the round moves.
  [[nodiscard]] Portion portion();
  [[nodiscard]] Portion lengths();
  /// Counts a round that is over.
  void record_round();
  void launch();
  [[nodiscard]] transport::TagSpace tags() const;

  CommunicatorParts& parts_;
  execute::Call call_;
  plan::LoweredPlanPointer plan_;
  CallSequence sequence_;
  std::optional<execute::Shape> shape_;
  std::shared_ptr<PersistentContext> persistent_;  ///< as a rule null
  std::int64_t rounds_ = 1;                        ///< as far as they are known
  std::int64_t round_ = 0;
  bool tells_lengths_ = false;  ///< in the first round, which moves nothing else
  std::int64_t numbered_ = 0;   ///< rounds that have numbers
  std::uint32_t first_number_ = 0;
  std::int64_t largest_message_bytes_ = 0;
  bool failed_ = false;
  bool lengths_differ_ = false;
  execute::Tuning tuning_;
  std::unique_ptr<Flight> flight_;  ///< while a round is under way
};

}  // namespace libcoll::comm
