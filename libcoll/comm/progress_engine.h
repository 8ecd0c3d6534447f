// What moves messages along in a process: calls that wait, MPI's own progress, and a thread where neither does.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libcoll/base/config.h"
#include "libcoll/comm/poll_history.h"
#include "libcoll/comm/process_transport.h"
#include "libcoll/comm/running_call.h"
#include "libcoll/comm/runtime_lock.h"
#include "libcoll/comm/unattended_calls.h"
#include "libcoll/comm/way_questions.h"
#include "libcoll/node/call_ways.h"
#include "libcoll/observe/watchdog.h"
#include "libcoll/transport/transport.h"

namespace libcoll::comm {

class ProgressThread;

/// Whoever has waited for so long looks whether it waits in vain.
inline constexpr std::chrono::milliseconds shortest_doubt{100};

/// Moves the program's own MPI along while a rank waits in a collective of ours: a peer may be waiting for a
/// message of the program's that only this progress will send.
struct ProgressHook {
  void (*call)() noexcept = nullptr;
  /// Counted up at every call where other processes want to see that this one lives.
  std::atomic<std::uint32_t>* signs_of_life = nullptr;
  /// Where ranks show which way the communicator's calls go; null: this one does not.
  const node::CallWays* ways = nullptr;
  /// What others are asked by; null: all see it.
  WayQuestions* questions = nullptr;
  std::uint64_t communicator = 0;   ///< as WayQuestions has it
  bool peers_share_memory = false;  ///< all ranks that the call may wait for run beside this one

  void operator()() const noexcept {
    if (signs_of_life != nullptr) signs_of_life->fetch_add(1, std::memory_order_relaxed);
    call();
  }
  /// Whether the call waits in vain, for its ranks have taken different ways.
  [[nodiscard]] bool waits_in_vain() const noexcept {
    if (questions != nullptr) questions->ask(communicator);
    return ways != nullptr && ways->differ();
  }
};

/// One per process. "The lock" is the runtime's.
class ProgressEngine {
 public:
  /// All must outlive it; what is configured may become known later, before the first call.
  ProgressEngine(const Config& config, ProcessTransport& transport, RuntimeLock& lock);
  ~ProgressEngine();
  ProgressEngine(const ProgressEngine&) = delete;
  ProgressEngine& operator=(const ProgressEngine&) = delete;

  [[nodiscard]] RuntimeLock& lock() { return lock_; }
  [[nodiscard]] ProcessTransport& transport() { return transport_; }

  // Who makes progress for calls that nobody waits for.
  /// Somebody will call progress_in_passing() while this process is in MPI. `how` (null: nothing can be changed about
  /// it) has that done at every look that MPI takes at its messages, or only at some; it is called under the lock.
  void set_background_progress(void (*how)(bool closely) noexcept);
  /// The transport was opened. Under the lock.
  void take_up_transport() {
    if (transport_.resilient() != nullptr) attend(true);
  }
  /// Nobody will: a thread of ours moves calls along that nobody waits for.
  void use_progress_thread() { needs_progress_thread_ = true; }
  /// Whether such calls go on while the program is in MPI, those of reductions that MPI does (`calls_mpi`) included.
  [[nodiscard]] bool progresses_unattended(bool calls_mpi) const {
    return background_progress_ ||
           (runs_progress_thread() && (threads_may_call_mpi_ || (!transport_.over_host_messages() && !calls_mpi)));
  }
  /// Any thread may call MPI at any time.
  void set_threads_may_call_mpi() { threads_may_call_mpi_ = true; }
  [[nodiscard]] bool threads_may_call_mpi() const { return threads_may_call_mpi_; }
  /// Moves our messages along from within the program's MPI; whether anything moved. Does nothing when a call of ours
  /// is at it.
  bool progress() noexcept;
  /// The same from where MPI makes progress over and over: seldom, unless somebody waits for what this may move.
  bool progress_in_passing() noexcept;

  // Calls that nobody waits for, and errands.
  /// From now on it goes on whenever progress is made here. Under the lock.
  void look_after(Unattended& call);
  /// Those that have come to their end, in the order in which they did, and are no longer looked after. Nothing when a
  /// call of ours is at it.
  std::vector<Unattended*> take_ended();
  /// Has it done from now on. Under the lock.
  void run_beside(std::shared_ptr<Errand> errand);
  /// Whether all calls were taken.
  [[nodiscard]] bool idle();
  /// Whether something is still done for others beside calls.
  [[nodiscard]] bool has_errands();
  /// Ends the thread, and gives up what is not done. Not under the lock.
  void stop();

  // The progress thread.
  /// Ends the thread, if there is one. Not under the lock.
  void stop_progress_thread();
  /// A core that the application leaves free is still to be found for the thread that the user asked for.
  [[nodiscard]] bool seeks_core_for_progress_thread() const { return config_.progress_thread && !core_sought_; }
  /// It has been sought: processors ("4-5"), empty where there are none. Threads may have sought it at the same time;
  /// the first one's stays. Not under the lock.
  void give_core_to_progress_thread(const std::string& processors);
  /// For that thread, under the lock: whether there is something to do, whether a blocking call makes progress,
  /// progress for calls that nobody waits for (whether anything moved), and how soon there is something to do although
  /// no message comes.
  [[nodiscard]] bool has_unattended() const {
    return !unattended_.empty() || unattended_.have_errands() || !lingering_.empty();
  }
  [[nodiscard]] bool somebody_waits() const { return waiting_.load(std::memory_order_relaxed) > 0; }
  bool step_unattended() noexcept;
  [[nodiscard]] int milliseconds_to_next_unattended_advance(int most) const {
    return unattended_.milliseconds_to_next_advance(most);
  }
  /// For that thread: whether the program has looked for progress over and over since this was last asked, so that it
  /// waits in MPI.
  bool program_makes_progress();

  // Calls that are waited for.
  /// Runs a call that has begun until it rests: polls, then blocks on the transport's descriptor. What is still held
  /// back for its peers then goes out too; with background progress, or a progress thread, that is waited for a short
  /// time only. False when the transport failed or nothing moved for the configured time.
  /// `in_words` says for a person which call it is and whom it waits for; it is asked under the lock.
  bool drive(execute::Driven& running, ProgressHook hook, const std::function<std::string()>& in_words);
  /// Moves messages along until `done`, asked under the lock, is true, and calls `meanwhile`. False when nothing moved
  /// for the configured time. `in_words` as for drive().
  bool wait(const std::function<bool()>& done, const std::function<void()>& meanwhile,
            const std::function<std::string()>& in_words);
  /// Says once that nothing has moved for so long, as LIBCOLL_WATCHDOG_SECONDS has it; whether it has been said.
  bool warn_of_silence(std::chrono::steady_clock::duration still, const std::function<std::string()>& in_words) const {
    return observe::warn_of_silence(config_, still, in_words);
  }

 private:
  [[nodiscard]] bool runs_progress_thread() const {
    return (config_.progress_thread || needs_progress_thread_) && !progress_thread_failed_;
  }
  [[nodiscard]] bool has_progress_thread() const {
    return runs_progress_thread() && (!transport_.over_host_messages() || threads_may_call_mpi_);
  }
  /// Starts it if need be. Under the lock.
  void wake_progress_thread();
  /// Has MPI ask for progress as often as there is something to do here. Under the lock.
  void attend(bool closely) noexcept;
  void block_or_yield(int milliseconds);
  /// Transport::arm() under the lock.
  bool arm();
  /// Under the lock; whether anything moved.
  bool progress_transport() noexcept;
  /// One round of progress under the lock; whether anything moved. `lost` becomes true when a connection is gone that
  /// the call goes over.
  bool step(execute::Driven& running, bool& rests, bool& lost);
  /// How soon step() has something to do although no message comes. Under the lock.
  [[nodiscard]] int milliseconds_to_next_advance(const execute::Driven& running);
  /// False when it gave up: nothing moved for the configured time.
  bool wait_for_rest(execute::Driven& running, ProgressHook hook, const std::function<std::string()>& in_words);
  void flush(std::span<const transport::PeerId> peers, ProgressHook hook);
  /// Whether it need not be waited for, because something else makes progress. Under the lock.
  bool leave_to_others(transport::Flush& flush);

  const Config& config_;
  ProcessTransport& transport_;
  RuntimeLock& lock_;
  UnattendedCalls unattended_;
  std::vector<transport::Flush> lingering_;  ///< left to the progress thread
  bool background_progress_ = false;
  bool threads_may_call_mpi_ = false;
  bool needs_progress_thread_ = false;
  bool progress_thread_failed_ = false;
  std::atomic<bool> core_sought_ = false;
  std::string progress_processors_;  ///< empty: those that it is started on
  std::unique_ptr<ProgressThread> progress_thread_;
  std::atomic<unsigned> looks_ = 0;  ///< by the program's threads; some may be lost
  unsigned looks_seen_ = 0;          ///< by the progress thread
  void (*attend_)(bool closely) noexcept = nullptr;
  std::atomic<bool> closely_ = false;        ///< as attend() was told last
  std::atomic<unsigned> looks_in_vain_ = 0;  ///< of progress_in_passing() in a row; not exact
  std::atomic<int> waiting_ = 0;             ///< blocking calls under way
  PollHistory polls_;
  PollHistory polls_in_memory_;
};

}  // namespace libcoll::comm
