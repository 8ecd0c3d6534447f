// libcoll's side of one MPI communicator: agreed once by all its ranks, then plans and calls.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "libcoll/execute/execution.h"
#include "libcoll/node/arrangement.h"
#include "libcoll/runtime/runtime.h"
#include "planner/schedule/program.h"

namespace libcoll {

class Hierarchy;

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
  /// allreduce: elements of the vector; allgather, alltoall: bytes of one block (element_bytes is then 1).
  std::int64_t elements = 0;
  std::int64_t element_bytes = 1;
  Reducer reducer;
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
  Reason ready(Collective collective, HostCommunicator& host);

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
    /// Predicted time of one byte of every shard, where messages are steered; 0 elsewhere.
    double nanoseconds_per_shard_byte = 0;
  };
  struct CachedScript {
    Collective collective;
    Shape shape;
    Script script;
  };

  explicit Communicator(Runtime& runtime);

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

  Runtime& runtime_;
  Reason obstacle_ = Reason::count_;
  std::uint32_t id_ = 0;
  std::uint32_t calls_ = 0;
  NodeId node_ = 0;                           ///< of this rank
  std::unique_ptr<Hierarchy> hierarchy_;      ///< null where every node has one rank
  std::vector<std::int32_t> rank_of_node_;    ///< with a hierarchy: of this rank's slice; empty when it is in none
  std::vector<std::int32_t> place_of_shard_;  ///< in the buffers: the node's rank, with a hierarchy the node
  std::vector<std::string> addresses_;        ///< by communicator rank
  std::array<Plan, collective_count> plans_;
  std::list<CachedScript> scripts_;  ///< most recently used first
  Workspace workspace_;
};

}  // namespace libcoll
