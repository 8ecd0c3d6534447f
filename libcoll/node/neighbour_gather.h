// An allgather within one node, whose ranks read each other's blocks where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "libcoll/execute/call.h"
#include "libcoll/node/neighbour_memory.h"
#include "libcoll/node/node_rounds.h"
#include "libcoll/node/rank_layout.h"

namespace libcoll::node {

/// One round, in which nothing is staged.
class NeighbourGather final : public NodeRounds {
 public:
  /// Whether a call goes so; the same on all ranks. Not a broadcast, whose root would do nothing meanwhile.
  static bool serves(const RankLayout& layout, const execute::Call& call);

  /// Precondition: serves(). `layout` and `neighbours` must outlive this.
  NeighbourGather(const RankLayout& layout, const NeighbourMemory& neighbours, std::int32_t rank, execute::Call call);

  [[nodiscard]] std::int64_t count() const override { return 1; }
  void begin(std::int64_t, const RoundMemory&) override {}
  [[nodiscard]] RoundOutline outline() const override;
  std::int64_t copy_in() const override { return 0; }
  std::int64_t reduce_domain() const override { return 0; }
  std::int64_t reduce_node() const override { return 0; }
  std::int64_t reduce_alone() const override { return 0; }
  [[nodiscard]] SliceMove move() const override { return {}; }
  void show(Phases::Note& note) override;
  std::optional<std::int64_t> read_neighbours(std::span<const Phases::Note> shown,
                                              std::atomic<std::uint32_t>& signs_of_life) override;
  std::int64_t copy_out() override;

 private:
  [[nodiscard]] std::int64_t bytes_of(std::int32_t rank) const;
  [[nodiscard]] std::byte* place_of(std::int32_t rank) const;

  const RankLayout& layout_;
  const NeighbourMemory& neighbours_;
  const std::int32_t rank_;
  const execute::Call call_;
};

}  // namespace libcoll::node
