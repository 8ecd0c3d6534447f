// Allreduces in parts from rank to rank: the concatenation backwards and forwards as a schedule, and run by all ranks.
#include "libcoll/execute/scattered_reduction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/schedule/cost.h"
#include "planner/schedule/verify.h"
#include "planner/topology/generators.h"
#include "tests/unit/exchange_world.h"

namespace libcoll::scattered_reduction_test {

using namespace execute;
using namespace schedule;
using namespace test;
using namespace topology;
using namespace transport;

namespace {

void add(Schedule& schedule, std::int32_t shard, std::int32_t from, std::int32_t to, std::int32_t step,
         TransferKind kind) {
  Transfer transfer;
  transfer.shard = shard;
  transfer.chunk_count = 1;
  transfer.from = from;
  transfer.to = to;
  transfer.step = step;
  transfer.kind = kind;
  schedule.transfers.push_back(transfer);
  schedule.steps = std::max(schedule.steps, step);
}

/// Where everybody has a link to everybody.
Schedule schedule_of(std::int32_t ranks, std::int32_t ports) {
  Schedule schedule;
  schedule.collective = Collective::allreduce;
  schedule.algorithm = "concatenation backwards and forwards";
  schedule.topology = generate("complete:" + std::to_string(ranks)).value();
  const std::int32_t rounds = concatenation_rounds(ranks, ports);
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    for (const ConcatenationMessage& message : concatenation(ranks, rank, ports)) {
      for (std::int32_t block = 0; block < message.blocks; ++block) {
        add(schedule, (rank + message.place + block) % ranks, rank, message.from, rounds - message.round,
            TransferKind::reduce);
        add(schedule, (rank + block) % ranks, rank, message.to, rounds + message.round + 1, TransferKind::copy);
      }
    }
  }
  sort_transfers(schedule);
  schedule.proof.bandwidth_time = bandwidth_time(schedule);
  schedule.proof.max_link_load = max_link_load(schedule);
  return schedule;
}

TEST(ScatteredReduction, IsAnAllreduce) {
  for (const std::int32_t ranks : {2, 3, 4, 5, 8, 9, 13, 16, 17, 27}) {
    for (const std::int32_t ports : {1, 2, 3, ranks - 1}) {
      EXPECT_EQ(verify(schedule_of(ranks, ports)), std::vector<std::string>{}) << ranks << " ranks, " << ports;
    }
  }
}

/// The same bits on all ranks, which are the sum but for rounding, whatever comes in first; calls of several sizes,
/// also with fewer elements than ranks, use the same memory.
TEST(ScatteredReduction, ReducesToTheSameBitsEverywhere) {
  for (const std::int32_t ranks : {2, 3, 4, 5, 8, 9, 13, 27}) {
    std::vector<std::vector<double>> results;  // by size, of the patient world
    for (const unsigned patience : {0U, 4U}) {
      ExchangeWorld<ScatteredReduction> world(ranks, patience, static_cast<std::uint32_t>(ranks) + patience);
      std::uint32_t call = 0;
      for (const std::int64_t elements : {1, 7, 64, 1000}) {
        const auto inputs = inputs_of(ranks, elements, ++call);
        const auto start = [&](ScatteredReduction& reduction, std::size_t rank) {
          reduction.start(reinterpret_cast<const std::byte*>(inputs[rank].data()), elements, sizeof(double),
                          reducer_of(Numbers::doubles), TagSpace(1, call));
        };
        ASSERT_TRUE(world.run(start)) << ranks << " ranks";
        std::vector<double> first(static_cast<std::size_t>(elements));
        world.rank(0).copy_into(reinterpret_cast<std::byte*>(first.data()));
        for (std::size_t rank = 1; rank < inputs.size(); ++rank) {
          std::vector<double> result(first.size());
          world.rank(rank).copy_into(reinterpret_cast<std::byte*>(result.data()));
          EXPECT_EQ(result, first) << "rank " << rank << " of " << ranks;
        }
        for (std::size_t i = 0; i < first.size(); ++i) {
          double sum = 0;
          for (const std::vector<double>& input : inputs) sum += input[i];
          EXPECT_NEAR(first[i], sum, 1e-13) << "element " << i << " of " << elements << ", " << ranks << " ranks";
        }
        if (patience == 0) {
          results.push_back(first);
        } else {
          EXPECT_EQ(first, results[call - 1]) << ranks << " ranks";
        }
      }
    }
  }
}

/// Thakur et al., section 4.4: 2·log2(p) messages, and a rank sends 2·(p − 1)/p of the vector.
TEST(ScatteredReduction, SendsFewMessagesAndLittle) {
  ExchangeWorld<ScatteredReduction> world(8, 0, 1);
  const auto inputs = inputs_of(8, 64, 1);
  const auto start = [&](ScatteredReduction& reduction, std::size_t rank) {
    reduction.start(reinterpret_cast<const std::byte*>(inputs[rank].data()), 64, sizeof(double),
                    reducer_of(Numbers::doubles), TagSpace(1, 1));
  };
  ASSERT_TRUE(world.run(start));
  EXPECT_EQ(world.rank(0).messages().size(), 3U);  // once each way
  std::int64_t bytes = 0;
  for (const ConcatenationMessage& message : world.rank(0).messages()) bytes += 2 * world.rank(0).bytes_of(message);
  EXPECT_EQ(bytes, 2 * 7 * 64);
}

TEST(ScatteredReduction, KnowsWhomItTalksTo) {
  for (const std::int32_t ranks : {2, 5, 13, 27}) {
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      const std::vector<bool> mine = ScatteredReduction::talks_to(ranks, rank);
      for (const ConcatenationMessage& message : concatenation(ranks, rank, 1)) {
        EXPECT_TRUE(mine.at(static_cast<std::size_t>(message.to)));
        EXPECT_TRUE(mine.at(static_cast<std::size_t>(message.from)));
      }
      EXPECT_FALSE(mine.at(static_cast<std::size_t>(rank)));
    }
  }
}

}  // namespace
}  // namespace libcoll::scattered_reduction_test
