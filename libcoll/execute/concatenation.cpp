#include "libcoll/execute/concatenation.h"

#include <algorithm>

#include "planner/base/index.h"

namespace libcoll::execute {

std::vector<ConcatenationMessage> concatenation(std::int32_t ranks, std::int32_t rank, std::int32_t ports) {
  std::vector<ConcatenationMessage> messages;
  std::int32_t round = 0;
  // 64 bits: the product with ports + 1 may pass 31.
  for (std::int64_t held = 1; held < ranks; held *= std::int64_t{ports} + 1, ++round) {
    for (std::int64_t port = 1; port <= ports && port * held < ranks; ++port) {
      const auto distance = static_cast<std::int32_t>(port * held);
      const auto blocks = static_cast<std::int32_t>(std::min<std::int64_t>(held, ranks - distance));
      messages.push_back({round, (rank - distance + ranks) % ranks, (rank + distance) % ranks, distance, blocks});
    }
  }
  return messages;
}

std::vector<bool> partners_in_concatenation(std::int32_t ranks, std::int32_t rank, std::int32_t ports) {
  std::vector<bool> partners(at(ranks), false);
  for (const ConcatenationMessage& message : concatenation(ranks, rank, ports)) {
    partners[at(message.to)] = partners[at(message.from)] = true;
  }
  return partners;
}

std::int32_t concatenation_rounds(std::int32_t ranks, std::int32_t ports) {
  std::int32_t rounds = 0;
  for (std::int64_t held = 1; held < ranks; held *= std::int64_t{ports} + 1) ++rounds;
  return rounds;
}

std::int32_t ports_for_small_blocks(std::int32_t ranks) {
  constexpr std::int32_t few_ranks = 8;
  constexpr std::int32_t ports_of_many = 3;
  return ranks <= few_ranks ? std::max(1, ranks - 1) : ports_of_many;
}

}  // namespace libcoll::execute
