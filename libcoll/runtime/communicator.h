// libcoll's side of one MPI communicator: agreed once by all its ranks, then plans and calls.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libcoll/execute/execution.h"
#include "libcoll/node/arrangement.h"
#include "libcoll/runtime/runtime.h"
#include "planner/schedule/program.h"

namespace libcoll {

class Hierarchy;
class Repair;

/// The program's own MPI on the communicator, for agreement. Every function is collective; false when MPI
/// reported an error.
class HostCommunicator {
 public:
  virtual ~HostCommunicator() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual int world_rank() const = 0;
  [[nodiscard]] virtual int world_size() const = 0;
  [[nodiscard]] virtual std::string host_name() const = 0;
  [[nodiscard]] virtual std::string name() const = 0;  ///< for log lines
  /// Every rank's `bytes` bytes, in rank order, into `all` (size() · bytes).
  virtual bool allgather(const void* mine, std::size_t bytes, void* all) = 0;
  /// Rank 0's bytes to everybody.
  virtual bool broadcast(void* data, std::size_t bytes) = 0;
  /// A barrier in two halves, so that a rank can look after other things until all have begun it.
  virtual bool begin_barrier() = 0;
  virtual bool barrier_passed() = 0;
  /// Lets the runtime's transport reach all ranks, where it needs the host's help for that. Called when all ranks have
  /// agreed on everything else; equal on all of them.
  virtual bool reach_all(Runtime& runtime) = 0;
  /// Lets the program's own messages move.
  virtual void progress() = 0;
};

/// Agreement without a reduction: every rank's verdict is seen by every rank. False when one is, or MPI reported an
/// error. Collective.
bool all_agree(HostCommunicator& host, bool mine);

/// One collective call whose data is contiguous in memory.
struct Call {
  Collective collective = Collective::allreduce;
  const std::byte* input = nullptr;  ///< in place: where this rank's data lies in `output`
  std::byte* output = nullptr;
  /// allreduce: elements of the vector; others: of one block, the blocks of a buffer lying one after the other.
  std::int64_t elements = 0;
  std::int64_t element_bytes = 1;
  Reducer reducer;
  /// Blocks of unequal length, as in Shape; `elements` then means nothing. alltoall: this rank's own row and column
  /// are enough, agree_counts() has the others.
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> input_offsets;
  std::vector<std::int64_t> output_offsets;
};

class Communicator {
 public:
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Collective over the communicator: agrees whether and how it can be served. Never null.
  static std::unique_ptr<Communicator> make(Runtime& runtime, HostCommunicator& host);

  /// count_ when calls of this collective are served; otherwise why they fall through. The first call for a
  /// collective is itself collective (the plan is made and distributed).
  /// `equal_shards`: no rank's part of the data is longer than another's, which is all that several ranks per node can
  /// serve so far.
  Reason ready(Collective collective, bool equal_shards, HostCommunicator& host);

  /// Ranks of the communicator.
  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(addresses_.size()); }

  /// Completes the counts of an all-to-all of unequal blocks where hosts forward blocks of others: collective then, and
  /// one allgather of MPI's. False when MPI reported an error.
  bool agree_counts(Call& call, HostCommunicator& host);

  /// Runs one call; precondition ready() == count_. False when the transport failed: the result is then undefined
  /// and the communicator serves no further calls.
  bool run(const Call& call, ProgressHook hook);

 private:
  /// A collective's plan, lowered for this rank.
  struct Plan {
    bool asked = false;
    Reason obstacle = Reason::no_plan;
    Program program;
    std::vector<PeerId> peers;  ///< by route class and node
    bool forwards = false;      ///< all-to-all: blocks pass through ranks that are neither source nor destination
    /// Predicted time of one byte of every shard, where messages are steered; 0 elsewhere.
    double nanoseconds_per_shard_byte = 0;
  };
  struct CachedScript {
    Collective collective;
    Shape shape;
    Script script;
  };

  explicit Communicator(Runtime& runtime);

  // What is done about failures, where messages are sent again.
  /// Tells the transport who may pass on messages for whom.
  void enrol(const std::string& name);
  /// At the beginning of every call: waits while the ranks agree on dead links, and goes by new plans from the call on
  /// that they agreed on.
  void turn(HostCommunicator& host);
  void plan_again(HostCommunicator& host);
  /// The same ranks over our own transport.
  std::unique_ptr<HostCommunicator> agree_without(HostCommunicator& host);
  [[nodiscard]] Result<Schedule> make_plan(Collective collective) const;

  Reason agree(HostCommunicator& host);
  Reason exchange_addresses(HostCommunicator& host, std::size_t longest, std::vector<RankPlace>& places);
  Reason settle(HostCommunicator& host, const std::vector<RankPlace>& places, NodeId nodes);
  [[nodiscard]] std::uint32_t propose_id();
  /// Sets id_ to one that no other communicator of any of its processes has; false when there are none left.
  bool choose_id(HostCommunicator& host, const std::vector<std::uint32_t>& proposals,
                 const std::vector<RankPlace>& places);
  Reason distribute_plan(Collective collective, HostCommunicator& host, Plan& plan);
  bool adopt_plan(const std::string& text, Plan& plan);
  Status connect_peers(Plan& plan);
  void wire_up(HostCommunicator& host, const Plan& plan);
  const Script& script_for(Collective collective, const Shape& shape);
  [[nodiscard]] Pace pace_of(const Plan& plan, const Shape& shape) const;
  bool run_round(const Call& call, const Shape& shape, ProgressHook hook);
  bool run_whole(const Call& call, ProgressHook hook);
  bool run_equal(const Call& call, ProgressHook hook);
  bool run_unequal(const Call& call, ProgressHook hook);
  [[nodiscard]] std::int64_t rounds_of_unequal(const Call& call) const;

  Runtime& runtime_;
  Reason obstacle_ = Reason::count_;
  std::uint32_t id_ = 0;
  std::uint32_t calls_ = 0;
  NodeId node_ = 0;                           ///< of this rank
  std::int32_t rank_ = 0;                     ///< in the communicator
  std::unique_ptr<Hierarchy> hierarchy_;      ///< null where every node has one rank
  std::vector<std::int32_t> rank_of_node_;    ///< with a hierarchy: of this rank's slice; empty when it is in none
  std::vector<std::int32_t> place_of_shard_;  ///< in the buffers: the node's rank, with a hierarchy the node
  std::vector<std::string> addresses_;        ///< by communicator rank
  std::array<Plan, collective_count> plans_;
  std::list<CachedScript> scripts_;  ///< most recently used first
  Workspace workspace_;
  std::unique_ptr<Repair> repair_;        ///< null where nothing is agreed on dead links
  std::optional<Topology> what_is_left_;  ///< of the runtime's topology, when links have died
  bool broken_ = false;                   ///< calls fail: agreement on dead links did
};

}  // namespace libcoll
