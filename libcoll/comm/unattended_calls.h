// What goes on in a process although nobody waits for it: calls, and errands beside them.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "libcoll/base/config.h"
#include "libcoll/comm/process_transport.h"
#include "libcoll/comm/running_call.h"

namespace libcoll::comm {

/// Something that goes on beside the calls as long as it takes.
class Errand {
 public:
  Errand() = default;
  virtual ~Errand() = default;
  Errand(const Errand&) = delete;
  Errand& operator=(const Errand&) = delete;

  /// Does what need not be waited for; false when all is done. Whenever progress is made, under the runtime's lock, but
  /// not from within the transport's progress().
  virtual bool advance() noexcept = 0;
};

/// All members but have_ended() are to be called under the runtime's lock.
class UnattendedCalls {
 public:
  /// Both must outlive it.
  UnattendedCalls(const Config& config, const ProcessTransport& transport) : config_(config), transport_(transport) {}

  void look_after(Unattended& call);
  void run_beside(std::shared_ptr<Errand> errand) { errands_.push_back(std::move(errand)); }
  /// No calls are under way; and none has ended that was not taken either.
  [[nodiscard]] bool empty() const { return calls_.empty(); }
  [[nodiscard]] bool idle() const { return calls_.empty() && ended_.empty(); }
  [[nodiscard]] bool have_errands() const { return !errands_.empty(); }
  /// Whether there is something to take.
  [[nodiscard]] bool have_ended() const { return some_ended_.load(std::memory_order_acquire); }
  /// Calls in the order in which they came to their end, and errands that are done, to be destroyed without the lock.
  std::vector<Unattended*> take_ended(std::vector<std::shared_ptr<Errand>>& done);
  void drop_errands();

  void advance(bool may_call_mpi = true) noexcept;
  void advance_errands() noexcept;
  /// How soon advance() has something to do although no message comes, `most` at most.
  [[nodiscard]] int milliseconds_to_next_advance(int most) const;
  /// Now and then; what the others of the node show is movement as well.
  void exchange_signs_of_life(std::chrono::steady_clock::time_point now) noexcept;
  void note_movement() noexcept;
  /// Gives calls up when nothing moved for the configured time, in which MPI kept asking for progress.
  void give_up() noexcept;

 private:
  void warn_of_silent(std::chrono::steady_clock::duration still) noexcept;

  const Config& config_;
  const ProcessTransport& transport_;
  std::vector<Unattended*> calls_;
  std::vector<Unattended*> ended_;
  std::vector<std::shared_ptr<Errand>> errands_;
  std::vector<std::shared_ptr<Errand>> errands_done_;
  std::chrono::steady_clock::time_point exchanged_at_;
  std::chrono::steady_clock::time_point asked_at_;  ///< by give_up()
  std::chrono::steady_clock::time_point still_since_;
  std::atomic<bool> some_ended_{false};
};

}  // namespace libcoll::comm
