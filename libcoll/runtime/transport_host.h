// What agreement needs of a communicator, over our own transport: where the program's MPI may have lost its way.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libcoll/runtime/communicator.h"

namespace libcoll {

/// One rank per node, which all know each other.
class TransportHost final : public HostCommunicator {
 public:
  /// `peers` and `nodes` are by rank; of the peer at this rank's own place nothing is needed. `tags` gives those of one
  /// more exchange, the same on all ranks.
  TransportHost(Runtime& runtime, HostCommunicator& host, std::vector<PeerId> peers, std::vector<NodeId> nodes,
                std::function<TagSpace()> tags)
      : runtime_(runtime), host_(host), peers_(std::move(peers)), nodes_(std::move(nodes)), tags_(std::move(tags)) {}

  [[nodiscard]] int rank() const override { return host_.rank(); }
  [[nodiscard]] int size() const override { return static_cast<int>(nodes_.size()); }
  [[nodiscard]] int world_rank() const override { return host_.world_rank(); }
  [[nodiscard]] int world_size() const override { return host_.world_size(); }
  [[nodiscard]] std::string host_name() const override { return host_.host_name(); }
  [[nodiscard]] std::string name() const override { return host_.name(); }
  bool allgather(const void* mine, std::size_t bytes, void* all) override;
  bool broadcast(void* data, std::size_t bytes) override;
  /// Comes back when all have begun it.
  bool begin_barrier() override;
  bool barrier_passed() override { return true; }
  bool reach_all(Runtime&) override { return true; }
  void progress() override { host_.progress(); }

 private:
  Runtime& runtime_;
  HostCommunicator& host_;
  std::vector<PeerId> peers_;
  std::vector<NodeId> nodes_;
  std::function<TagSpace()> tags_;
};

}  // namespace libcoll
