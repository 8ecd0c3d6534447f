// Memory of a node's ranks for one sequence of calls: how far each of them has come, and two halves that rounds take
// turns with. Where all ranks are on that node, room for their short calls besides.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libcoll/node/call_order.h"
#include "libcoll/node/call_ways.h"
#include "libcoll/node/copy_choice.h"
#include "libcoll/node/neighbour_memory.h"
#include "libcoll/node/phases.h"
#include "libcoll/node/rank_layout.h"
#include "libcoll/node/segment.h"
#include "libcoll/node/short_exchange.h"
#include "libcoll/node/single_copy.h"
#include "libcoll/node/staging.h"
#include "planner/base/result.h"

namespace libcoll::node {

class NodeMemory {
 public:
  /// Nothing is shared yet. `layout` must outlive this. `for_short_calls`: wants a ShortExchange, where the layout can
  /// have one.
  NodeMemory(const RankLayout& layout, std::int32_t rank, std::int64_t half_bytes, bool for_short_calls = false);

  // In this order: local rank 0 creates it, the others of the node open it by its name, all touch their parts, and when
  // all of them have, all settle.
  Result<std::string> create();
  [[nodiscard]] Status open(const std::string& name);
  /// Memory comes to lie near the rank that reserves it: its own vectors.
  [[nodiscard]] Status reserve_own();
  /// Nobody else can open it from now on, and nothing is left of it when the processes have ended. What nobody has
  /// reserved comes to lie near local rank 0.
  [[nodiscard]] Status settle();
  /// Once settled, where the ranks of every node can read each other's memory.
  void read_directly(std::unique_ptr<NeighbourMemory> neighbours);
  /// Stays mapped until the process ends: a transport may still have messages under way to and from it.
  void abandon() { segment_.abandon(); }

  [[nodiscard]] const NodeStaging& staging() const { return staging_; }
  /// Precondition of what follows: settled.
  [[nodiscard]] Phases& phases() { return *phases_; }
  [[nodiscard]] CallOrder& turns() { return *call_order_; }
  /// The same for what is found out about links, whose turns are the verdicts.
  [[nodiscard]] CallOrder& verdicts() { return *verdicts_; }
  /// Of this node's ranks.
  [[nodiscard]] CallWays& ways() { return *ways_; }
  /// Null: there is none.
  [[nodiscard]] ShortExchange* short_exchange() const { return short_exchange_.get(); }
  /// Null: it cannot be read.
  [[nodiscard]] const NeighbourMemory* neighbours() const { return neighbours_.get(); }
  /// Null: there is none.
  [[nodiscard]] SingleCopy* single_copy() const { return single_copy_.get(); }
  /// Null: there is but one way.
  [[nodiscard]] CopyChoice* copy_choice() const { return copy_choice_.get(); }
  /// This process gives up, and with it everybody who waits here.
  void fail();
  /// Numbers a round, equally on all ranks of the node, which go through the same rounds in the same order.
  std::uint32_t next_round();
  /// Numbered so far, and phases of other calls.
  [[nodiscard]] std::uint32_t rounds() const {
    return rounds_ + (short_exchange_ != nullptr ? short_exchange_->phases().number() : 0);
  }
  /// The half that the round of that number works in.
  [[nodiscard]] RoundMemory half(std::uint32_t round) const;

 private:
  [[nodiscard]] std::size_t bytes() const;
  /// All but the vectors of ranks. To reserve those once more would take longer than the first time.
  [[nodiscard]] Status reserve_rest();
  /// The bytes of a half, from its beginning on, that rounds of blocks go through turn by turn.
  [[nodiscard]] std::int64_t block_bytes_in_turn() const;
  /// For this process to use, what this rank is to clear: its part of what rounds go through turn by turn.
  void map_own_turns() const;
  /// Precondition: the node's ranks have cleared their parts; otherwise it takes longer.
  void map_all_turns() const;

  /// Of what lies before the halves.
  [[nodiscard]] std::int64_t header_bytes() const;

  const NodeStaging staging_;
  const std::int32_t rank_;
  const std::vector<std::vector<std::int32_t>> short_domains_;  ///< as ShortExchange has them; empty: no short calls
  const std::int64_t half_bytes_;
  Segment segment_;
  std::unique_ptr<Phases> phases_;
  std::unique_ptr<CallOrder> call_order_;
  std::unique_ptr<CallOrder> verdicts_;
  std::unique_ptr<CallWays> ways_;
  std::unique_ptr<ShortExchange> short_exchange_;
  std::unique_ptr<NeighbourMemory> neighbours_;
  std::unique_ptr<SingleCopy> single_copy_;  ///< goes through the phases of short_exchange_
  std::unique_ptr<CopyChoice> copy_choice_;  ///< between that and stages
  std::uint32_t rounds_ = 0;
};

}  // namespace libcoll::node
