// What one process has once: configuration, topology, transport, statistics.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libcoll/base/config.h"
#include "libcoll/comm/agreed_groups.h"
#include "libcoll/comm/id_pool.h"
#include "libcoll/comm/process_transport.h"
#include "libcoll/comm/progress_engine.h"
#include "libcoll/comm/rank_nodes.h"
#include "libcoll/comm/runtime_lock.h"
#include "libcoll/comm/way_questions.h"
#include "libcoll/execute/task_graph.h"
#include "libcoll/observe/statistics.h"
#include "libcoll/observe/trace.h"
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
  /// Hash of everything that has to be equal on all ranks but the transport: settings that cut messages or choose
  /// plans, topology.
  [[nodiscard]] std::uint64_t settings_digest() const { return settings_digest_; }
  /// Of what the host's own MPI can do, which is part of it. Before the first communicator.
  void set_host_digest(std::uint64_t host);
  /// The lock around posting and progress of the transport.
  [[nodiscard]] RuntimeLock& lock() { return lock_; }
  /// What moves its messages along.
  [[nodiscard]] ProgressEngine& engine() { return engine_; }
  [[nodiscard]] const ProgressEngine& engine() const { return engine_; }
  /// Opens the transport, unless it is open: not before it is needed, for it takes most of the time of the start, and
  /// ranks of one node do without. False: there is none.
  bool open_transport();
  [[nodiscard]] transport::Transport& transport() { return *transport_; }
  /// Hash of what has to be equal of it on all ranks.
  [[nodiscard]] std::uint64_t transport_digest() const;
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
  [[nodiscard]] bool may_use_host_messages() const { return transport_.may_be_host_messages(); }
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
  /// Shared with them, too.
  [[nodiscard]] const std::shared_ptr<WayQuestions>& way_questions() const { return way_questions_; }
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

 private:
  void read_topology();
  void read_placement_of(int world_rank);
  void read_route_binding();
  void read_tuning_table();
  [[nodiscard]] std::uint64_t digest() const;

  Config config_;
  topology::Topology topology_;
  recover::TopologyWatch topology_watch_;
  schedule::RouteBinding route_binding_;
  select::TuningTable tuning_table_;
  ProcessTransport transport_;
  bool has_no_transport_ = false;  ///< it could not be opened
  std::shared_ptr<recover::Repair> known_recovery_group_;
  std::vector<std::string> recovery_group_addresses_;  ///< by node
  observe::Statistics statistics_;
  std::unique_ptr<observe::Trace> trace_;
  std::uint64_t settings_digest_ = 0;
  std::uint64_t host_digest_ = 0;
  RuntimeLock lock_;
  ProgressEngine engine_{config_, transport_, lock_};
  std::shared_ptr<IdPool> communicator_ids_ = std::make_shared<IdPool>(transport::TagSpace::max_communicator);
  std::shared_ptr<WayQuestions> way_questions_ = std::make_shared<WayQuestions>();
  plan::PlanSource plans_;
  std::once_flag translations_once_;
  std::vector<topology::Automorphism> translations_;
  std::atomic<topology::NodeId> node_{-1};
  topology::NodeId placed_ = not_placed;  ///< by the placement file
  std::once_flag aliases_once_;
  std::vector<std::string> aliases_;  ///< of this host
  std::set<std::string> unknown_hosts_;
  std::atomic<std::int64_t> start_nanoseconds_{0};
  std::atomic<int> transport_users_{0};  ///< communicators
  std::optional<observe::Reason> obstacle_;
  bool keeps_records_ = false;
  std::shared_ptr<AgreedGroups> agreed_groups_ =
      std::make_shared<AgreedGroups>();  ///< goes first: its communicators know all the rest
};

}  // namespace libcoll::comm
