// Small collectives from rank to rank: the concatenation of Bruck et al. as a schedule, and run by all ranks.
#include "libcoll/execute/direct_exchange.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "planner/schedule/cost.h"
#include "planner/schedule/verify.h"
#include "planner/topology/generators.h"
#include "tests/unit/exchange_world.h"

namespace libcoll::direct_exchange_test {

using namespace execute;
using namespace schedule;
using namespace test;
using namespace topology;
using namespace transport;

namespace {

/// The allgather it is, where everybody has a link to everybody.
Schedule schedule_of(std::int32_t ranks, std::int32_t ports) {
  Schedule schedule;
  schedule.collective = Collective::allgather;
  schedule.algorithm = "concatenation";
  schedule.topology = generate("complete:" + std::to_string(ranks)).value();
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    for (const ConcatenationMessage& message : concatenation(ranks, rank, ports)) {
      for (std::int32_t block = 0; block < message.blocks; ++block) {
        Transfer transfer;
        transfer.shard = (rank + block) % ranks;
        transfer.chunk_count = 1;
        transfer.from = rank;
        transfer.to = message.to;
        transfer.step = message.round + 1;
        schedule.transfers.push_back(transfer);
        schedule.steps = std::max(schedule.steps, transfer.step);
      }
    }
  }
  sort_transfers(schedule);
  schedule.proof.bandwidth_time = bandwidth_time(schedule);
  schedule.proof.max_link_load = max_link_load(schedule);
  return schedule;
}

TEST(Concatenation, IsAnAllgather) {
  for (const std::int32_t ranks : {2, 3, 4, 5, 8, 9, 13, 16, 17, 27}) {
    for (const std::int32_t ports : {1, 2, 3, ranks - 1}) {
      EXPECT_EQ(verify(schedule_of(ranks, ports)), std::vector<std::string>{}) << ranks << " ranks, " << ports;
    }
  }
}

/// Bruck et al., theorem 4.1 and its bound: ⌈log_(k+1) n⌉ rounds, in which k messages at most leave a rank and n − 1
/// blocks arrive in all.
TEST(Concatenation, TakesTheFewestRoundsAndBlocks) {
  struct Case {
    std::int32_t ranks, ports, rounds;
  };
  for (const Case& each : {Case{2, 1, 1}, Case{8, 1, 3}, Case{9, 1, 4}, Case{9, 2, 2}, Case{64, 3, 3}, Case{5, 4, 1},
                           Case{65, 3, 4}, Case{1, 1, 0}}) {
    EXPECT_EQ(concatenation_rounds(each.ranks, each.ports), each.rounds);
    const std::vector<ConcatenationMessage> messages = concatenation(each.ranks, 0, each.ports);
    std::vector<std::int32_t> sends(static_cast<std::size_t>(each.rounds), 0);
    std::int32_t blocks = 0;
    std::set<std::int32_t> receivers;
    for (const ConcatenationMessage& message : messages) {
      ++sends.at(static_cast<std::size_t>(message.round));
      blocks += message.blocks;
      receivers.insert(message.to);
    }
    for (const std::int32_t count : sends) EXPECT_LE(count, each.ports);
    EXPECT_EQ(blocks, each.ranks - 1);
    EXPECT_EQ(receivers.size(), messages.size());
  }
}

/// What the k-th message of a rank is to its sender it is to its receiver.
TEST(Concatenation, BothEndsNumberMessagesAlike) {
  for (const std::int32_t ranks : {2, 6, 13, 27}) {
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      const std::vector<ConcatenationMessage> mine = concatenation(ranks, rank, 3);
      for (std::size_t k = 0; k < mine.size(); ++k) {
        const ConcatenationMessage theirs = concatenation(ranks, mine[k].to, 3).at(k);
        EXPECT_EQ(theirs.from, rank);
        EXPECT_EQ(theirs.blocks, mine[k].blocks);
        EXPECT_EQ(theirs.round, mine[k].round);
      }
    }
  }
}

/// The sum in the order of ranks, to the bit; and the blocks of all. Calls of several sizes use the same memory.
TEST(DirectExchange, ReducesInTheOrderOfRanksAndGathers) {
  for (const std::int32_t ranks : {2, 3, 4, 5, 8, 9, 13, 27}) {
    for (const unsigned patience : {0U, 4U}) {
      ExchangeWorld<DirectExchange> world(ranks, patience, static_cast<std::uint32_t>(ranks));
      std::uint32_t call = 0;
      for (const std::int64_t elements : {1, 7, 1, 64}) {
        const auto inputs = inputs_of(ranks, elements, ++call);
        const auto start = [&](DirectExchange& exchange, std::size_t rank) {
          exchange.start(std::as_bytes(std::span(inputs[rank])), TagSpace(1, call));
        };
        ASSERT_TRUE(world.run(start)) << ranks << " ranks";
        std::vector<double> sum = inputs.front();
        std::vector<double> all = inputs.front();
        for (std::size_t rank = 1; rank < inputs.size(); ++rank) {
          for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += inputs[rank][i];
          all.insert(all.end(), inputs[rank].begin(), inputs[rank].end());
        }
        for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
          std::vector<double> result = inputs[rank];
          world.rank(rank).reduce_into(reinterpret_cast<std::byte*>(result.data()), reducer_of(Numbers::doubles),
                                       elements);
          EXPECT_EQ(result, sum) << "rank " << rank << " of " << ranks;
          std::vector<double> gathered(all.size());
          world.rank(rank).gather_into(reinterpret_cast<std::byte*>(gathered.data()));
          EXPECT_EQ(gathered, all) << "rank " << rank << " of " << ranks;
        }
      }
    }
  }
}

TEST(DirectExchange, KnowsWhomItTalksTo) {
  for (const std::int32_t ranks : {2, 5, 13, 27}) {
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      const std::vector<bool> mine = DirectExchange::talks_to(ranks, rank);
      EXPECT_FALSE(mine.at(static_cast<std::size_t>(rank)));
      for (std::int32_t other = 0; other < ranks; ++other) {
        EXPECT_EQ(mine.at(static_cast<std::size_t>(other)),
                  DirectExchange::talks_to(ranks, other).at(static_cast<std::size_t>(rank)));
      }
    }
  }
}

/// A transport that loses what it is given.
class FailingTransport final : public Transport {
 public:
  std::string name() const override { return "failing"; }
  const std::string& address() const override { return name_; }
  Result<PeerId> connect(const std::string&, std::int32_t) override { return PeerId{0}; }
  Posted send(PeerId, std::uint64_t, const void*, std::size_t, Completion*) noexcept override { return Posted::failed; }
  Posted receive(std::int32_t, std::uint64_t, void*, std::size_t, Completion*) noexcept override {
    return Posted::pending;
  }
  bool progress() noexcept override { return false; }
  bool flushed(Flush&, std::span<const PeerId>) noexcept override { return true; }
  void block(int) noexcept override {}

 private:
  std::string name_ = "failing";
};

TEST(DirectExchange, AMessageThatCannotBeSentEndsIt) {
  FailingTransport transport;
  DirectExchange exchange(transport, 0, {0, 0, 0});
  const double value = 1;
  exchange.start(std::as_bytes(std::span(&value, 1)), TagSpace(1, 0));
  EXPECT_TRUE(exchange.over());
  EXPECT_TRUE(exchange.failed());
}

}  // namespace
}  // namespace libcoll::direct_exchange_test
