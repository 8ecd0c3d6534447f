// What one process has once: configuration, topology, transport, statistics, and the loop that waits.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "libcoll/base/config.h"
#include "libcoll/comm/agreed_groups.h"
#include "libcoll/comm/id_pool.h"
#include "libcoll/comm/process_transport.h"
#include "libcoll/comm/rank_nodes.h"
#include "libcoll/comm/running_call.h"
#include "libcoll/comm/runtime_lock.h"
#include "libcoll/comm/unattended_calls.h"
#include "libcoll/execute/task_graph.h"
#include "libcoll/observe/statistics.h"
#include "libcoll/observe/trace.h"
#include "libcoll/observe/watchdog.h"
#include "libcoll/plan/plan_source.h"
#include "libcoll/recover/topology_watch.h"
#include "libcoll/select/tuning_table.h"
#include "libcoll/transport/mpi/mpi_transport.h"
#include "libcoll/transport/resilient_transport.h"
#include "libcoll/transport/transport.h"
#include "libcoll/transport/ucx/ucx_transport.h"
#include "planner/schedule/route_binding.h"
#include "planner/topology/facts.h"
#include "planner/topology/topology.h"

namespace libcoll::recover {
class Repair;
}

namespace libcoll::comm {

/// Moves the program's own MPI along while a rank waits in a collective of ours: a peer may be waiting for a
/// message of the program's that only this progress will send.
struct ProgressHook {
  void (*call)() noexcept = nullptr;
  /// Counted up at every call where other processes want to see that this one lives.
  std::atomic<std::uint32_t>* signs_of_life = nullptr;

  void operator()() const noexcept {
    if (signs_of_life != nullptr) signs_of_life->fetch_add(1, std::memory_order_relaxed);
    call();
  }
};

class ProgressThread;

/// One per process, made at the first collective that could be served.
class Runtime {
 public:
  /// Never fails as a whole: what does not work is kept as the reason why calls fall through.
  /// `library_directory` is where the preloaded library lies; the `libcoll` command is looked for near it.
  /// `host_messages` is what the MPI transport sends by; null: there is none. It must outlive the runtime. `mates`: of
  /// this process.
  Runtime(char* const* environment, const std::string& library_directory, int world_rank,
          transport::mpi::MpiMessages* host_messages = nullptr,
          transport::ucx::HostMates mates = transport::ucx::HostMates::possible);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] const topology::Topology& topology() const { return topology_; }
  /// What making it took, for the first who asks; 0 for others.
  [[nodiscard]] std::int64_t take_start_nanoseconds() { return start_nanoseconds_.exchange(0); }
  /// Of the topology's file.
  [[nodiscard]] recover::TopologyWatch& topology_watch() { return topology_watch_; }
  /// How route classes are reached; without classes when messages are not steered.
  [[nodiscard]] const schedule::RouteBinding& route_binding() const { return route_binding_; }
  [[nodiscard]] const select::TuningTable& tuning_table() const { return tuning_table_; }
  [[nodiscard]] execute::Tuning tuning() const {
    return {config_.segment_bytes, config_.coalesce_max, config_.in_flight};
  }
  [[nodiscard]] observe::Statistics& statistics() { return statistics_; }
  /// Null: nobody wants a trace.
  [[nodiscard]] observe::Trace* trace() { return trace_.get(); }
  /// Somebody wants to know what happens on each communicator.
  [[nodiscard]] bool keeps_records() const { return keeps_records_; }
  /// Nothing when this process could serve; otherwise what is in the way.
  [[nodiscard]] std::optional<observe::Reason> obstacle() const { return obstacle_; }
  /// Hash of everything that has to be equal on all ranks: settings that cut messages or choose plans, topology.
  [[nodiscard]] std::uint64_t settings_digest() const { return settings_digest_; }
  /// Of what the host's own MPI can do, which is part of it. Before the first communicator.
  void set_host_digest(std::uint64_t host);
  /// The lock around posting and progress of the transport.
  [[nodiscard]] RuntimeLock& lock() { return lock_; }
  [[nodiscard]] transport::Transport& transport() { return *transport_; }
  /// The same transport where it sends again what was lost; null elsewhere.
  [[nodiscard]] transport::ResilientTransport* resilient() const { return transport_.resilient(); }
  /// Which of those by availability it is; negative: it was named, or there is none.
  [[nodiscard]] std::int32_t transport_choice() const { return transport_.choice(); }
  /// A communicator that is being agreed on, or served, has the transport; one that is not any more.
  void use_transport();
  void unuse_transport() { --transport_users_; }
  /// Only one communicator has it.
  [[nodiscard]] bool may_change_transport() const { return transport_users_ == 1; }
  /// Takes a later one by availability instead, or one after that. Nothing changes when none works, or when another
  /// communicator has come to have the transport meanwhile. Precondition: transport_choice() is not negative.
  void fall_back_to(std::int32_t choice);
  /// Whether the transport is the host's own MPI, or may yet become that.
  [[nodiscard]] bool may_use_host_messages() const { return over_host_messages() || transport_choice() >= 0; }
  /// What looks after the first recovery group of all nodes that this process is in, null: there is none yet, and the
  /// place of a process in it, -1: none. It stays until the end. Under lock().
  void know_recovery_group(std::shared_ptr<recover::Repair> repair, std::vector<std::string> addresses);
  [[nodiscard]] const std::shared_ptr<recover::Repair>& known_recovery_group() const { return known_recovery_group_; }
  [[nodiscard]] topology::NodeId place_in_known_recovery_group(const std::string& address) const;
  /// The transport is the host's own MPI.
  [[nodiscard]] bool over_host_messages() const { return transport_.over_host_messages(); }

  /// Of the communicators this process serves; shared with them, for some go after this.
  [[nodiscard]] const std::shared_ptr<IdPool>& communicator_ids() const { return communicator_ids_; }
  /// What this process's communicators were agreed on.
  [[nodiscard]] const std::shared_ptr<AgreedGroups>& agreed_groups() const { return agreed_groups_; }
  [[nodiscard]] plan::PlanSource& plans() { return plans_; }
  /// translations() of the topology, of which translations of a set of nodes are told; none for large fabrics.
  [[nodiscard]] const std::vector<topology::Automorphism>& translation_group();
  /// This process's node, once a communicator of the whole world has found it; negative before. Where neither names nor
  /// the size of the world tell, only the whole world can.
  [[nodiscard]] topology::NodeId node() const { return node_; }
  void set_node(topology::NodeId node) { node_ = node; }
  /// What this process says of itself where ranks look for their nodes; `host` is the name that MPI gives.
  [[nodiscard]] RankIdentity identity(const std::string& host, std::int32_t world_rank, std::int32_t world_size);
  /// Once per host; all ranks of a communicator call it, and one of them has a voice.
  void tell_of_unknown_host(const RankIdentity& rank, bool aloud);

  /// Somebody will call progress_in_passing() while this process is in MPI. `how` (null: nothing can be changed about
  /// it) has that done at every look that MPI takes at its messages, or only at some; it is called under lock().
  void set_background_progress(void (*how)(bool closely) noexcept);
  [[nodiscard]] bool has_background_progress() const { return background_progress_; }
  /// Nobody will: a thread of ours moves calls along that nobody waits for.
  void use_progress_thread() { runs_progress_thread_ = true; }
  /// Whether calls that nobody waits for go on while the program is in MPI, those of reductions that MPI does
  /// (`calls_mpi`) included.
  [[nodiscard]] bool progresses_unattended(bool calls_mpi) const {
    return background_progress_ ||
           (runs_progress_thread_ && (threads_may_call_mpi_ || (!over_host_messages() && !calls_mpi)));
  }
  /// Any thread may call MPI at any time.
  void set_threads_may_call_mpi() { threads_may_call_mpi_ = true; }
  [[nodiscard]] bool threads_may_call_mpi() const { return threads_may_call_mpi_; }
  /// Moves our messages along from within the program's MPI; whether anything moved. Does nothing when a call of ours
  /// is at it.
  bool progress() noexcept;
  /// The same from where MPI makes progress over and over: seldom, unless somebody waits for what this may move.
  bool progress_in_passing() noexcept;

  /// Calls that nobody waits for: from now on they go on whenever progress is made here. Under lock().
  void look_after(Unattended& call);
  /// Those that have come to their end, in the order in which they did, and are no longer looked after. Nothing when a
  /// call of ours is at it.
  std::vector<Unattended*> take_ended();
  /// Has it done from now on. Under lock().
  void run_beside(std::shared_ptr<Errand> errand) {
    unattended_.run_beside(std::move(errand));
    wake_progress_thread();
  }
  /// For the progress thread, under lock(): whether there are any, whether a blocking call makes progress, progress for
  /// them (whether anything moved), and how soon there is something to do although no message comes.
  [[nodiscard]] bool has_unattended() const {
    return !unattended_.empty() || unattended_.have_errands() || !lingering_.empty();
  }
  /// For the progress thread: whether the program has looked for progress over and over since this was last asked, so
  /// that it waits in MPI.
  bool program_makes_progress();
  [[nodiscard]] bool somebody_waits() const { return waiting_.load(std::memory_order_relaxed) > 0; }
  bool step_unattended() noexcept;
  [[nodiscard]] int milliseconds_to_next_unattended_advance(int most) const {
    return unattended_.milliseconds_to_next_advance(most);
  }
  /// Ends the thread, if there is one. Not under lock().
  void stop_progress_thread();
  /// A core that the application leaves free is still to be found for the thread that the user asked for.
  [[nodiscard]] bool seeks_core_for_progress_thread() const { return seeks_core_; }
  /// It has been sought: processors ("4-5"), empty where there are none. Threads may have sought it at the same time;
  /// the first one's stays. Not under lock().
  void give_core_to_progress_thread(const std::string& processors);
  /// Whether all of them were taken.
  [[nodiscard]] bool idle() {
    const std::lock_guard guard(lock_);
    return unattended_.idle();
  }
  /// Whether something is still done for others beside calls.
  [[nodiscard]] bool has_errands() {
    const std::lock_guard guard(lock_);
    return unattended_.have_errands();
  }

  /// Runs a call that has begun until it rests: polls, then blocks on the transport's descriptor. What is still held
  /// back for its peers then goes out too; with background progress, or a progress thread, that is waited for a short
  /// time only. False when the transport failed or nothing moved for the configured time.
  /// `in_words` says for a person which call it is and whom it waits for; it is asked under the lock.
  bool drive(execute::Driven& running, ProgressHook hook, const std::function<std::string()>& in_words);
  /// Says once that nothing has moved for so long, as LIBCOLL_WATCHDOG_SECONDS has it; whether it has been said.
  bool warn_of_silence(std::chrono::steady_clock::duration still, const std::function<std::string()>& in_words) const {
    return observe::warn_of_silence(config_, still, in_words);
  }
  /// Moves messages along until `done`, asked under the lock, is true, and calls `meanwhile`. False when nothing moved
  /// for the configured time.
  /// `in_words` as for drive().
  bool wait(const std::function<bool()>& done, const std::function<void()>& meanwhile,
            const std::function<std::string()>& in_words);

 private:
  void read_topology();
  void read_placement_of(int world_rank);
  void read_route_binding();
  void read_tuning_table();
  void open_transport();
  [[nodiscard]] std::uint64_t digest() const;
  /// Transport::arm() under the lock.
  bool arm();
  /// Under the lock; whether anything moved.
  bool progress_transport() noexcept;
  /// One round of progress under the lock; whether anything moved. `lost` becomes true when a connection is gone that
  /// the call goes over.
  bool step(execute::Driven& running, bool& rests, bool& lost);
  /// How soon step() has something to do although no message comes. Under the lock.
  [[nodiscard]] int milliseconds_to_next_advance(const execute::Driven& running);
  /// Has MPI ask for progress as often as there is something to do here. Under the lock.
  void attend(bool closely) noexcept;
  /// False when it gave up: nothing moved for the configured time.
  bool wait_for_rest(execute::Driven& running, ProgressHook hook, const std::function<std::string()>& in_words);
  bool polling_pays() noexcept;
  void flush(std::span<const transport::PeerId> peers, ProgressHook hook);
  /// Whether it need not be waited for, because something else makes progress. Under the lock.
  bool leave_to_others(transport::Flush& flush);
  [[nodiscard]] bool has_progress_thread() const {
    return runs_progress_thread_ && (!over_host_messages() || threads_may_call_mpi_);
  }
  /// Starts it if need be. Under the lock.
  void wake_progress_thread();

  Config config_;
  topology::Topology topology_;
  recover::TopologyWatch topology_watch_;
  schedule::RouteBinding route_binding_;
  select::TuningTable tuning_table_;
  ProcessTransport transport_;
  std::shared_ptr<recover::Repair> known_recovery_group_;
  std::vector<std::string> recovery_group_addresses_;  ///< by node
  observe::Statistics statistics_;
  std::unique_ptr<observe::Trace> trace_;
  std::uint64_t settings_digest_ = 0;
  std::uint64_t host_digest_ = 0;
  RuntimeLock lock_;
  std::shared_ptr<IdPool> communicator_ids_ = std::make_shared<IdPool>(transport::TagSpace::max_communicator);
  plan::PlanSource plans_;
  std::once_flag translations_once_;
  std::vector<topology::Automorphism> translations_;
  UnattendedCalls unattended_;
  std::vector<transport::Flush> lingering_;  ///< left to the progress thread
  std::atomic<unsigned> looks_ = 0;          ///< by the program's threads; some may be lost
  unsigned looks_seen_ = 0;                  ///< by the progress thread
  bool runs_progress_thread_ = false;
  std::atomic<bool> seeks_core_ = false;
  std::string progress_processors_;  ///< empty: those that it is started on
  std::unique_ptr<ProgressThread> progress_thread_;
  std::atomic<topology::NodeId> node_{-1};
  topology::NodeId placed_ = not_placed;  ///< by the placement file
  std::once_flag aliases_once_;
  std::vector<std::string> aliases_;  ///< of this host
  std::set<std::string> unknown_hosts_;
  std::atomic<std::int64_t> start_nanoseconds_{0};
  std::atomic<int> waiting_{0};          ///< blocking calls under way
  std::atomic<int> transport_users_{0};  ///< communicators
  void (*attend_)(bool closely) noexcept = nullptr;
  std::atomic<bool> closely_{false};          ///< as attend() was told last
  std::atomic<unsigned> looks_in_vain_{0};    ///< of progress_in_passing() in a row; not exact
  std::atomic<unsigned> fruitless_polls_{0};  ///< waits in a row that polling did not end
  std::optional<observe::Reason> obstacle_;
  bool keeps_records_ = false;
  bool background_progress_ = false;
  bool threads_may_call_mpi_ = false;
  std::shared_ptr<AgreedGroups> agreed_groups_ =
      std::make_shared<AgreedGroups>();  ///< goes first: its communicators know all the rest
};

}  // namespace libcoll::comm
