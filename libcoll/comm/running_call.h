// One call of a communicator from its start to its end, whether somebody waits for it or not.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "libcoll/comm/id_pool.h"
#include "libcoll/execute/driven.h"
#include "libcoll/plan/lowered_plan.h"
#include "libcoll/transport/transport.h"

namespace libcoll::comm {

class CallMemory;
struct ProgressHook;

/// Where a call stands among those that are counted on all ranks alike, by which it is settled what plan it goes by.
struct CallSequence {
  std::uint64_t number = 0;   ///< of the communicator's calls, or of the persistent call's starts
  std::size_t epochs = 0;     ///< of plans that its plan is as of
  bool settled = true;        ///< no later epoch matters
  std::uint32_t changes = 0;  ///< of the topology file that its plan is as of
  bool plans_only = false;    ///< nothing of it goes without a plan, for the topology has lost links
  bool may_read = true;       ///< ranks of a node may read each other's blocks where they lie
};

/// Tags of one persistent call. Its starts are numbered by themselves: the ranks may start several such calls in any
/// order, and anywhere among the communicator's others.
class PersistentContext {
 public:
  /// `id` is taken by all ranks of the communicator, and given back at the end of each. `memory`: of the call's own,
  /// where nodes have several ranks. `plans`: as of the init, which is `sequence` among the communicator's calls.
  PersistentContext(std::shared_ptr<IdPool> ids, std::uint32_t id, std::shared_ptr<CallMemory> memory,
                    plan::Plans plans, CallSequence sequence)
      : ids_(std::move(ids)), id_(id), memory_(std::move(memory)), plans_(std::move(plans)), sequence_(sequence) {}
  ~PersistentContext() {
    if (!keeps_id_) ids_->give_back(id_);
  }
  /// It is never given back: what is still under way would be taken for another's. After a call that failed.
  void keep_id() { keeps_id_ = true; }
  PersistentContext(const PersistentContext&) = delete;
  PersistentContext& operator=(const PersistentContext&) = delete;

  [[nodiscard]] std::uint32_t id() const { return id_; }
  [[nodiscard]] const std::shared_ptr<CallMemory>& memory() const { return memory_; }
  [[nodiscard]] const plan::Plans& plans() const { return plans_; }
  /// Of the init.
  [[nodiscard]] const CallSequence& sequence() const { return sequence_; }

  // Under the runtime's lock.
  /// Starts that have begun; numbers the next one.
  [[nodiscard]] std::uint64_t starts() const { return starts_; }
  std::uint64_t begin_start() { return starts_++; }
  /// Starts from here on are held up, while the communicator holds up what begins.
  [[nodiscard]] std::uint64_t held_from() const { return held_from_; }
  void hold() { held_from_ = starts_; }
  /// Numbers the starts' rounds.
  [[nodiscard]] std::uint32_t& rounds() { return rounds_; }

 private:
  std::shared_ptr<IdPool> ids_;
  const std::uint32_t id_;
  const std::shared_ptr<CallMemory> memory_;
  const plan::Plans plans_;
  const CallSequence sequence_;
  std::uint64_t starts_ = 0;
  std::uint64_t held_from_ = 0;
  std::uint32_t rounds_ = 0;  ///< that were numbered so far
  bool keeps_id_ = false;
};

/// A call under way. Several may be under way on a communicator; all ranks begin them in the same order. All members
/// but the constructors are to be called under the runtime's lock.
class RunningCall : public execute::Driven {
 public:
  RunningCall() = default;
  /// Precondition: not begun, over, or abandoned.
  virtual ~RunningCall() = default;
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

  /// Takes its place among the communicator's calls, and starts when there is room.
  virtual void begin() = 0;
  /// Gives up. Messages still under way may yet report to what this leaves behind, and arrive in the call's buffers.
  virtual void abandon() noexcept = 0;

  /// Runs the call, which has begun, to its end. Not under the lock. False when something failed, or nothing moved for
  /// the configured time; then it is to be abandoned.
  virtual bool drive(ProgressHook hook) = 0;

  /// Which call it is and whom it waits for, for a person.
  [[nodiscard]] virtual std::string in_words() const = 0;
  /// Whether advance() may call MPI.
  [[nodiscard]] virtual bool calls_mpi() const = 0;
  /// Tells the other processes of the node that this one lives, and returns whether one that is waited for has since
  /// done so, or the call gone on in a way that the transport does not tell of.
  virtual bool exchange_signs_of_life() noexcept { return false; }
};

/// A call that nobody waits for here: what is done at its end is the owner's.
class Unattended {
 public:
  explicit Unattended(std::unique_ptr<RunningCall> running) : running_(std::move(running)) {}
  virtual ~Unattended() = default;
  Unattended(const Unattended&) = delete;
  Unattended& operator=(const Unattended&) = delete;

  [[nodiscard]] RunningCall& running() const { return *running_; }
  /// That it has stood still was said.
  [[nodiscard]] bool is_told_of() const { return told_of_; }
  void set_told_of(bool told) { told_of_ = told; }

 private:
  std::unique_ptr<RunningCall> running_;
  bool told_of_ = false;
};

}  // namespace libcoll::comm
