// All ranks of an exchange from rank to rank in one process, and numbers for it.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "libcoll/execute/execution.h"
#include "tests/unit/execution_harness.h"

namespace libcoll::test {

/// Every rank of a communicator in one process; messages keep others waiting.
template <class Exchange>
class ExchangeWorld {
 public:
  ExchangeWorld(std::int32_t ranks, unsigned patience, std::uint32_t seed) : random_(seed) {
    auto inner = make_memory_transports(ranks);
    std::vector<transport::PeerId> peers;
    peers.reserve(inner.size());
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      peers.push_back(inner.front()->connect(std::to_string(rank), 0).value());
    }
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      transports_.push_back(
          std::make_unique<LateTransport>(std::move(inner[static_cast<std::size_t>(rank)]), patience, random_()));
      exchanges_.push_back(std::make_unique<Exchange>(*transports_.back(), rank, peers));
    }
  }

  /// Every rank starts when it likes, by start(exchange, rank); false when nothing moves any more before all have
  /// ended.
  template <class Start>
  bool run(const Start& start) {
    std::vector<bool> started(exchanges_.size(), false);
    constexpr int most_idle_rounds = 1000;
    for (int idle = 0; idle < most_idle_rounds; ++idle) {
      bool all = true;
      for (std::size_t rank = 0; rank < exchanges_.size(); ++rank) {
        if (!started[rank] && random_() % 3 == 0) {
          start(*exchanges_[rank], rank);
          started[rank] = true;
        }
        if (!started[rank]) {
          all = false;
          continue;
        }
        transports_[rank]->progress();
        exchanges_[rank]->advance();
        all = all && exchanges_[rank]->over();
      }
      if (all) return true;
    }
    return false;
  }

  const Exchange& rank(std::size_t rank) const { return *exchanges_[rank]; }

 private:
  std::mt19937 random_;
  std::vector<std::unique_ptr<LateTransport>> transports_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
};

inline std::vector<std::vector<double>> inputs_of(std::int32_t ranks, std::int64_t elements, std::uint32_t salt) {
  std::vector<std::vector<double>> inputs(static_cast<std::size_t>(ranks));
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    for (std::int64_t i = 0; i < elements; ++i) {
      // Fractions of both signs: their sum depends on the order.
      const std::uint64_t bits = mix(mix(salt) + static_cast<std::uint64_t>(rank * 1000 + i));
      inputs[static_cast<std::size_t>(rank)].push_back(static_cast<double>(static_cast<std::int64_t>(bits)) * 0x1p-63);
    }
  }
  return inputs;
}

}  // namespace libcoll::test
