// Communicators with several ranks per node: the ranks of a node work through shared memory, and its leaders move the
// node's data over the fabric, each in a slice that has one rank per node.
#pragma once

#include <functional>
#include <memory>

#include "libcoll/node/arrangement.h"
#include "libcoll/node/phases.h"
#include "libcoll/node/segment.h"
#include "libcoll/node/shard_staging.h"
#include "libcoll/node/staging.h"
#include "libcoll/runtime/communicator.h"

namespace libcoll {

class Hierarchy {
 public:
  /// Moves a part between the nodes of this rank's slice, as Communicator does where ranks are nodes; false when the
  /// transport failed.
  using RunSlice = std::function<bool(const Call& call, const Shape& shape, ProgressHook hook)>;

  /// Collective over the communicator. Null on every rank when the ranks of some node cannot share memory.
  static std::unique_ptr<Hierarchy> make(Runtime& runtime, HostCommunicator& host, Arrangement arrangement);

  /// The same on every rank. `equal_shards`: no rank's part of the data is longer than another's, which is all that an
  /// all-to-all can serve.
  [[nodiscard]] bool serves(Collective collective, bool equal_shards) const;
  /// Whether there is anything to move between nodes.
  [[nodiscard]] bool has_slices() const { return arrangement_.nodes.size() > 1; }
  /// Whether this rank is in a slice.
  [[nodiscard]] bool leads() const { return has_slices() && staging_.local() < arrangement_.leaders; }
  /// This rank's slice: the rank on every node. Precondition: leads().
  [[nodiscard]] std::vector<std::int32_t> slice() const { return arrangement_.slice(staging_.local()); }
  /// How many share the links of a node.
  [[nodiscard]] std::int32_t slices() const { return arrangement_.leaders; }
  /// "4 nodes of 2 ranks, 2 leaders", for log lines.
  [[nodiscard]] std::string to_string() const;

  /// Runs one call; precondition serves(). Calls with counts are allgathers and reduce-scatters. A reduction is done in
  /// an order that depends on the arrangement alone: domain by domain, then node, then as the slices' plan says. False
  /// when something failed: the result is then undefined, nothing more can be run, and the other ranks of the node are
  /// told.
  bool run(const Call& call, ProgressHook hook, const RunSlice& run_slice);

 private:
  Hierarchy(Runtime& runtime, Arrangement arrangement, std::int32_t rank);

  /// Collective; false on every rank when it failed on one.
  bool share_memory(HostCommunicator& host);
  [[nodiscard]] std::byte* half(std::uint32_t number) const;
  bool reduce(const Round& round, std::int32_t leaders, const Reducer& reducer, std::uint32_t base,
              const Patience& patience);
  bool run_round(const Round& round, const Call& call, ProgressHook hook, const Patience& patience,
                 const RunSlice& run_slice);
  bool run_rounds(const Call& call, ProgressHook hook, const Patience& patience, const RunSlice& run_slice);
  bool run_shards(const Call& call, ProgressHook hook, const Patience& patience, const RunSlice& run_slice);
  bool run_shard_round(const ShardStaging& shards, const Call& call, ProgressHook hook, const Patience& patience,
                       const RunSlice& run_slice);

  Runtime& runtime_;
  const Arrangement arrangement_;
  const std::int32_t rank_;
  const std::int64_t half_bytes_;  ///< rounds take turns with two halves of the memory
  const Staging staging_;
  Segment segment_;
  std::unique_ptr<Phases> phases_;
  std::uint32_t rounds_ = 0;  ///< equal on all ranks
};

}  // namespace libcoll
