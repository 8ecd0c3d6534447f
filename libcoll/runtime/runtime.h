// What one process has once: configuration, topology, transport, statistics, and the loop that waits.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "libcoll/execute/execution.h"
#include "libcoll/runtime/config.h"
#include "libcoll/runtime/statistics.h"
#include "libcoll/runtime/tuning_table.h"
#include "libcoll/transport/mpi_transport.h"
#include "libcoll/transport/resilient_transport.h"
#include "libcoll/transport/transport.h"
#include "planner/route/route_binding.h"
#include "planner/topology/topology.h"

namespace libcoll {

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

/// One per process, made at the first collective that could be served.
class Runtime {
 public:
  /// Never fails as a whole: what does not work is kept as the reason why calls fall through.
  /// `library_directory` is where the preloaded library lies; the `libcoll` command is looked for near it.
  /// `host_messages` is what the MPI transport sends by; null: there is none. It must outlive the runtime.
  Runtime(char* const* environment, const std::string& library_directory, int world_rank,
          MpiMessages* host_messages = nullptr);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] const Topology& topology() const { return topology_; }
  /// How route classes are reached; without classes when messages are not steered.
  [[nodiscard]] const RouteBinding& route_binding() const { return route_binding_; }
  [[nodiscard]] const TuningTable& tuning_table() const { return tuning_table_; }
  [[nodiscard]] Tuning tuning() const { return {config_.segment_bytes, config_.bundle_bytes, config_.in_flight}; }
  [[nodiscard]] Statistics& statistics() { return statistics_; }
  /// count_ when this process could serve; otherwise what is in the way.
  [[nodiscard]] Reason obstacle() const { return obstacle_; }
  /// Hash of everything that has to be equal on all ranks: settings that cut messages or choose plans, topology.
  [[nodiscard]] std::uint64_t settings_digest() const { return settings_digest_; }
  /// The lock around posting and progress of the transport.
  [[nodiscard]] std::mutex& lock() { return lock_; }
  [[nodiscard]] Transport& transport() { return *transport_; }
  /// The same transport where it sends again what was lost; null elsewhere.
  [[nodiscard]] ResilientTransport* resilient() { return resilient_; }
  /// The transport is the host's own MPI.
  [[nodiscard]] bool over_host_messages() const { return over_host_messages_; }

  /// Communicator ids: larger than any this process has taken part in or proposed so far. Under lock().
  [[nodiscard]] std::uint32_t propose_communicator() { return next_communicator_++; }
  void use_communicator(std::uint32_t id) { next_communicator_ = std::max(next_communicator_, id + 1); }

  /// Somebody will call progress() while this process is in MPI.
  void set_background_progress() { background_progress_ = true; }
  /// Moves our messages along from within the program's MPI; whether anything moved. Does nothing when a call of ours
  /// is at it.
  bool progress() noexcept;

  /// Runs a started execution to its end: polls, then blocks on the transport's descriptor. What is still held back for
  /// its peers then goes out too; with background progress that is waited for a short time only. False when the
  /// transport failed or nothing moved for the configured time.
  bool drive(Execution& execution, std::span<const PeerId> peers, ProgressHook hook);
  /// Moves messages along until `done`, asked under the lock, is true, and calls `meanwhile`. False when nothing moved
  /// for the configured time.
  bool wait(const std::function<bool()>& done, const std::function<void()>& meanwhile);

 private:
  void read_topology();
  void read_route_binding();
  void read_tuning_table();
  void open_transport(MpiMessages* host_messages);
  /// The transport of that name, "ucx", "ofi" or "mpi".
  Result<std::unique_ptr<Transport>> make_transport(std::string_view name, MpiMessages* host_messages);
  /// After which a missing message is asked for; 0: never. MPI's own messages are not lost.
  [[nodiscard]] std::int64_t patience_nanoseconds() const;
  void make_resilient();
  void find_command(const std::string& library_directory);
  [[nodiscard]] std::uint64_t digest() const;
  /// Transport::arm() under the lock.
  bool arm();
  /// One round of progress under the lock; whether anything moved.
  bool step(Execution& execution, bool& done);
  /// False when it gave up: nothing moved for the configured time.
  bool wait_for_end(Execution& execution, ProgressHook hook);
  bool polling_pays() noexcept;
  void flush(std::span<const PeerId> peers, ProgressHook hook);

  Config config_;
  Topology topology_;
  RouteBinding route_binding_;
  TuningTable tuning_table_;
  std::unique_ptr<Transport> transport_;
  ResilientTransport* resilient_ = nullptr;  ///< transport_, or null
  bool over_host_messages_ = false;
  Statistics statistics_;
  Reason obstacle_ = Reason::count_;
  std::uint64_t settings_digest_ = 0;
  std::mutex lock_;
  std::uint32_t next_communicator_ = 1;
  bool background_progress_ = false;
  std::atomic<unsigned> fruitless_polls_{0};  ///< waits in a row that polling did not end
};

}  // namespace libcoll
