// What agreement needs of a communicator, over our own transport: where the program's MPI may have lost its way.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libcoll/comm/host_communicator.h"
#include "libcoll/comm/runtime.h"
#include "libcoll/recover/agreement_tree.h"
#include "libcoll/transport/tag_space.h"

namespace libcoll::comm {

/// Messages go along a tree of links that are known to work, from rank to rank: on other ways, connections might have
/// to be made where there is no way any more.
class TransportHost final : public HostCommunicator {
 public:
  /// `places` is by rank, on so many nodes. `tags` gives those of one more exchange, the same on all ranks.
  TransportHost(Runtime& runtime, HostCommunicator& host, std::vector<recover::TreePlace> places,
                topology::NodeId nodes, std::function<transport::TagSpace()> tags)
      : runtime_(runtime), host_(host), places_(std::move(places)), nodes_(nodes), tags_(std::move(tags)) {}

  [[nodiscard]] int rank() const override { return host_.rank(); }
  [[nodiscard]] int size() const override { return static_cast<int>(places_.size()); }
  [[nodiscard]] int world_rank() const override { return host_.world_rank(); }
  [[nodiscard]] int world_size() const override { return host_.world_size(); }
  [[nodiscard]] bool spans_worlds() const override { return host_.spans_worlds(); }
  [[nodiscard]] std::string host_name() const override { return host_.host_name(); }
  [[nodiscard]] std::string name() const override { return host_.name(); }
  bool allgather(const void* mine, std::size_t bytes, void* all) override;
  bool broadcast(void* data, std::size_t bytes) override;
  /// Comes back when all have begun it.
  bool begin_barrier() override;
  bool barrier_passed() override { return true; }
  bool reach_all(Runtime&) override { return true; }
  void progress() override { host_.progress(); }

  /// Everybody was heard so far. After the first one who was not nothing else is tried: the ranks are no longer at the
  /// same place.
  [[nodiscard]] bool good() const { return good_; }

 private:
  [[nodiscard]] const recover::TreePlace& place(int which) const { return places_[static_cast<std::size_t>(which)]; }
  /// Whether the way from `which` to rank 0 leads through `through`.
  [[nodiscard]] bool is_below(int which, int through) const;
  /// Whether this rank has a way to those next to it in the tree.
  [[nodiscard]] bool is_joined() const;
  /// Of a message's piece. Between nodes the sender is the node, as the recovery group has it; no recovery group has a
  /// node's other ranks.
  [[nodiscard]] std::uint64_t tag(transport::TagSpace tags, int from, int to, std::uint32_t number) const;
  bool pass_down(std::vector<std::byte>& memory);
  bool pass_up(std::vector<std::byte>& memory, std::size_t bytes_per_rank);

  Runtime& runtime_;
  HostCommunicator& host_;
  std::vector<recover::TreePlace> places_;
  topology::NodeId nodes_;
  std::function<transport::TagSpace()> tags_;
  bool good_ = true;
};

}  // namespace libcoll::comm
