// Every rank's block to every rank in few rounds: the concatenation of Bruck, Ho, Kipnis, Upfal and Weathersby,
// "Efficient Algorithms for All-to-All Communications in Multiport Message-Passing Systems" (IEEE TPDS 8(11), 1997,
// section 4).
#pragma once

#include <cstdint>
#include <vector>

namespace libcoll::execute {

/// What a rank sends and what it receives at the same place in its list of messages. It keeps the blocks of ranks
/// (rank + j) mod ranks at places j = 0, 1, …, begins with its own, and always sends its first ones.
struct ConcatenationMessage {
  std::int32_t round = 0;   ///< from 0 on; it may leave when all messages of earlier rounds are there
  std::int32_t to = 0;      ///< rank that gets places [0, blocks)
  std::int32_t from = 0;    ///< rank whose places [0, blocks) come …
  std::int32_t place = 0;   ///< … to [place, place + blocks)
  std::int32_t blocks = 1;  ///< 1 at least
  friend bool operator==(const ConcatenationMessage&, const ConcatenationMessage&) = default;
};

/// Messages of `rank`, by ascending round. In a round a rank sends to `ports` others at most, none of which it sends to
/// again, and its blocks grow (ports + 1)-fold. The k-th message is the k-th one on all ranks: what its sender lists
/// under k is what its receiver does. Precondition: 0 ≤ rank < ranks, ports ≥ 1.
std::vector<ConcatenationMessage> concatenation(std::int32_t ranks, std::int32_t rank, std::int32_t ports);

/// Whether `rank` sends to or receives from another one, by rank.
std::vector<bool> partners_in_concatenation(std::int32_t ranks, std::int32_t rank, std::int32_t ports);

/// ⌈log_(ports + 1) ranks⌉.
std::int32_t concatenation_rounds(std::int32_t ranks, std::int32_t ports);

/// As many as pay for messages of a few bytes, where a round waits for the slowest of all and another message costs
/// only its posting: everybody at once among few ranks, three at a time among many.
std::int32_t ports_for_small_blocks(std::int32_t ranks);

}  // namespace libcoll::execute
