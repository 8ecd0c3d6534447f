// The stages of a round: what one rank of a node does, once the others have come how far, and what it then tells them.
// Whoever runs a round goes through them in order, and need never wait inside one.
#pragma once

#include <cstdint>
#include <vector>

#include "libcoll/node/phases.h"

namespace libcoll::node {

enum class Work : std::uint8_t {
  copy_in,
  compare,  ///< what the ranks have shown; not in every round
  reduce_domain,
  reduce_node,
  reduce_alone,
  move,
  copy_own_sum,  ///< out; while the others come
  read_neighbours,
  copy_out,
  end  ///< nothing is left to do
};

struct Stage {
  Awaited awaited;  ///< before the work
  Work work = Work::copy_in;
  std::uint32_t published = 0;  ///< phase to post after the work; 0: none
};

/// A round as one rank sees it; equal on the ranks of a node but for `local`.
struct RoundOutline {
  bool reduces = false;
  bool has_domains = false;  ///< a node's reduction goes by domains first
  std::int32_t locals = 1;   ///< ranks of the node
  std::int32_t local = 0;    ///< this one
  std::int32_t leaders = 0;  ///< the first so many move something between nodes; 0: there is one node
  /// What a leader moves is what it has reduced itself.
  bool leaders_move_own = false;
  /// Local rank 0 does the whole reduction, which is too small to be worth more waiting; it is the only leader.
  bool reduces_alone = false;
  /// What follows on the domains' sums each rank does for itself, as it copies out.
  bool adds_up_own = false;
  /// What a rank has added up itself is a part of its result.
  bool copies_own_sum = false;
  /// Every rank reads something where the others of the node have it.
  bool reads_neighbours = false;
  bool is_last = true;  ///< of its call: then nobody leaves before the others have read
};

/// What a rank posts in a round number n is n · phases_per_round and a little more.
inline constexpr std::uint32_t phases_per_round = 8;

/// The first is a copy_in, the last a copy_out or what waits for the readers. Nobody overwrites what another still
/// reads when rounds take turns with two memories: that all have copied in, which everybody waits for, means that all
/// have copied out of the round before, and the round after uses that round's memory.
void list_stages(const RoundOutline& outline, std::uint32_t round, std::vector<Stage>& stages);

}  // namespace libcoll::node
