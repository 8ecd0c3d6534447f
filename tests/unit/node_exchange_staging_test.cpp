// Blocks of any length staged in nodes' shared memories, all ranks in one process; what leaders move is moved here as
// the shape of their part says.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "libcoll/node/exchange_staging.h"

namespace libcoll::node_exchange_staging_test {

using namespace execute;
using namespace node;
using namespace topology;

namespace {

constexpr std::int64_t element = 4;
constexpr std::int64_t gap = 3;  ///< elements between blocks in the buffers, which nobody may touch
constexpr std::uint32_t untouched = 0x5a5a5a5a;

using Vector = std::vector<std::uint32_t>;

std::uint32_t value(std::size_t source, std::size_t destination, std::int64_t i) {
  return static_cast<std::uint32_t>(source * 1000003 + destination * 10007) + static_cast<std::uint32_t>(i) * 31 + 1;
}

/// A rank with its buffers, which know nothing of other ranks' counts.
struct Rank {
  ExchangedBlocks blocks;
  Vector input;
  Vector output;
  std::unique_ptr<ExchangeStaging> staging;
};

/// All ranks of a communicator and the memories of its nodes.
class Job {
 public:
  /// `counts`: elements by source · N + destination.
  Job(const std::vector<NodeId>& node_of_rank, std::int64_t leaders, std::int64_t bytes,
      const std::vector<std::int64_t>& counts, std::int64_t least_bytes_read = 0)
      : bytes_(bytes), least_bytes_read_(least_bytes_read), counts_(counts) {
    std::vector<RankPlace> places;
    NodeId nodes = 0;
    for (const NodeId node : node_of_rank) {
      const auto rank = static_cast<std::int32_t>(places.size());
      places.push_back({node, rank, rank % 2});
      nodes = std::max(nodes, node + 1);
    }
    layout_ = arrange(places, nodes, leaders);
    memories_.assign(static_cast<std::size_t>(nodes), std::vector<std::int64_t>(static_cast<std::size_t>(bytes) / 8));
    ranks_.resize(places.size());
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) make_rank(rank);
  }

  [[nodiscard]] bool fits() const { return ExchangeStaging::fits(layout_, bytes_, element); }

  void run() {
    for (Rank& rank : ranks_) rank.staging->begin_lengths(memory_of(rank));
    for (Rank& rank : ranks_) rank.staging->copy_lengths_in(reinterpret_cast<const std::byte*>(rank.input.data()));
    move_lengths();
    for (Rank& rank : ranks_) rank.staging->read_lengths();
    for (const Rank& rank : ranks_) ASSERT_EQ(rank.staging->rounds(), ranks_.front().staging->rounds());
    for (std::int64_t round = 0; round < ranks_.front().staging->rounds(); ++round) {
      for (Rank& rank : ranks_) rank.staging->begin_round(round, {memory_of(rank), 0});
      for (Rank& rank : ranks_) staged_ += rank.staging->copy_in(reinterpret_cast<const std::byte*>(rank.input.data()));
      if (round == 0) read_neighbours();
      for (std::int32_t leader = 0; leader < ranks_.front().staging->leaders(); ++leader) move_part(leader);
      for (Rank& rank : ranks_) rank.staging->copy_out(reinterpret_cast<std::byte*>(rank.output.data()));
    }
  }

  /// By the definition of MPI_Alltoallv.
  void check() const {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      Vector expected;
      for (std::size_t source = 0; source < ranks_.size(); ++source) {
        for (std::int64_t i = 0; i < count(source, rank); ++i) expected.push_back(value(source, rank, i));
        expected.insert(expected.end(), gap, untouched);
      }
      ASSERT_EQ(ranks_[rank].output, expected) << "rank " << rank;
    }
  }

  [[nodiscard]] std::int64_t rounds() const { return ranks_.front().staging->rounds(); }
  /// Nodes whose ranks read each other's blocks, and bytes that all ranks read and write in copying in.
  [[nodiscard]] std::size_t readers() const { return readers_.size(); }
  [[nodiscard]] std::int64_t staged() const { return staged_; }

 private:
  [[nodiscard]] std::int64_t count(std::size_t source, std::size_t destination) const {
    return counts_[source * ranks_.size() + destination];
  }
  [[nodiscard]] std::size_t index_of(const Rank& rank) const { return static_cast<std::size_t>(&rank - ranks_.data()); }
  std::byte* memory_of(const Rank& rank) {
    const auto node = static_cast<std::size_t>(layout_.node_of_rank[index_of(rank)]);
    return reinterpret_cast<std::byte*>(memories_[node].data());
  }

  void make_rank(std::size_t rank) {
    Rank& made = ranks_[rank];
    const std::size_t ranks = ranks_.size();
    made.blocks.element_bytes = element;
    made.blocks.counts.assign(ranks * ranks, -1);
    for (std::size_t other = 0; other < ranks; ++other) {
      made.blocks.counts[rank * ranks + other] = count(rank, other);
      made.blocks.counts[other * ranks + rank] = count(other, rank);
      made.blocks.input_offsets.push_back(static_cast<std::int64_t>(made.input.size()) * element);
      for (std::int64_t i = 0; i < count(rank, other); ++i) made.input.push_back(value(rank, other, i));
      made.input.insert(made.input.end(), gap, 0);
      made.blocks.output_offsets.push_back(static_cast<std::int64_t>(made.output.size()) * element);
      made.output.insert(made.output.end(), static_cast<std::size_t>(count(other, rank) + gap), untouched);
    }
    made.staging = std::make_unique<ExchangeStaging>(layout_, static_cast<std::int32_t>(rank), bytes_, made.blocks,
                                                     least_bytes_read_);
  }

  Rank& leader_of(std::size_t node, std::int32_t leader) {
    return ranks_[static_cast<std::size_t>(layout_.nodes[node].ranks[static_cast<std::size_t>(leader)])];
  }

  void read_neighbours() {
    std::atomic<std::uint32_t> signs_of_life = 0;
    const NeighbourMemory neighbours(std::vector<pid_t>(ranks_.size(), getpid()));
    for (Rank& rank : ranks_) {
      if (!rank.staging->reads_neighbours()) continue;
      readers_.insert(layout_.node_of_rank[index_of(rank)]);
      ASSERT_TRUE(rank.staging->read_neighbours(reinterpret_cast<const std::byte*>(rank.input.data()),
                                                reinterpret_cast<std::byte*>(rank.output.data()), neighbours,
                                                signs_of_life));
    }
  }

  void move_lengths() {
    const std::size_t nodes = memories_.size();
    if (nodes == 1) return;
    std::vector<ShardPart> parts;
    for (std::size_t node = 0; node < nodes; ++node) parts.push_back(leader_of(node, 0).staging->lengths_part());
    for (std::size_t from = 0; from < nodes; ++from) {
      for (std::size_t to = 0; to < nodes; ++to) {
        const Shape& shape = parts[from].shape;
        std::memcpy(parts[to].output + static_cast<std::int64_t>(from) * parts[to].shape.output_stride_bytes,
                    parts[from].input + static_cast<std::int64_t>(to) * shape.input_stride_bytes,
                    static_cast<std::size_t>(shape.elements * shape.element_bytes));
      }
    }
  }

  void move_part(std::int32_t leader) {
    const std::size_t nodes = memories_.size();
    if (nodes == 1) return;
    std::vector<ShardPart> parts;
    for (std::size_t node = 0; node < nodes; ++node) parts.push_back(leader_of(node, leader).staging->part_of(leader));
    for (std::size_t from = 0; from < nodes; ++from) {
      ASSERT_EQ(parts[from].shape.counts, parts[0].shape.counts);
      ASSERT_EQ(parts[from].empty, parts[0].empty);
      for (std::size_t to = 0; to < nodes; ++to) {
        const std::int64_t elements = parts[0].shape.counts[from * nodes + to];
        ASSERT_TRUE(from != to || elements == 0);
        std::memcpy(parts[to].output + parts[to].shape.output_offsets[from],
                    parts[from].input + parts[from].shape.input_offsets[to],
                    static_cast<std::size_t>(elements * element));
      }
    }
  }

  std::int64_t bytes_;
  std::int64_t least_bytes_read_;
  std::vector<std::int64_t> counts_;
  std::set<NodeId> readers_;
  std::int64_t staged_ = 0;
  RankLayout layout_;
  std::vector<std::vector<std::int64_t>> memories_;  ///< exactly as long as they may be
  std::vector<Rank> ranks_;
};

const std::vector<std::vector<NodeId>> arrangements = {
    {0, 0, 1, 1}, {0, 1, 0, 1, 2, 2}, {2, 1, 0, 1, 2, 1, 1}, {0, 0, 0}, {0, 0, 0, 1}};

TEST(ExchangeStaging, BlocksOfAnyLengthArriveWhereTheyBelong) {
  std::mt19937 random(3);
  for (const std::vector<NodeId>& nodes : arrangements) {
    for (const std::int64_t leaders : {0, 1}) {
      for (const std::int64_t bytes : {2048, 65536}) {
        std::vector<std::int64_t> counts(nodes.size() * nodes.size());
        for (std::int64_t& count : counts) count = random() % 3 == 0 ? 0 : static_cast<std::int64_t>(random() % 400);
        Job job(nodes, leaders, bytes, counts);
        ASSERT_TRUE(job.fits());
        job.run();
        job.check();
      }
    }
  }
}

TEST(ExchangeStaging, OneRankSendsAllOrReceivesAll) {
  for (const std::vector<NodeId>& nodes : arrangements) {
    const std::size_t ranks = nodes.size();
    for (const bool sends : {false, true}) {
      std::vector<std::int64_t> counts(ranks * ranks, 0);
      for (std::size_t other = 0; other < ranks; ++other) {
        counts[sends ? (ranks - 1) * ranks + other : other * ranks + ranks - 1] = 5000;
      }
      Job job(nodes, 0, 16384, counts);
      job.run();
      job.check();
    }
  }
}

TEST(ExchangeStaging, NeighboursAreReadWhereverTheirBlocksAreLongEnough) {
  std::mt19937 random(9);
  for (const std::vector<NodeId>& nodes : arrangements) {
    for (const std::int64_t bytes : {2048, 65536}) {
      std::vector<std::int64_t> counts(nodes.size() * nodes.size());
      for (std::int64_t& count : counts) count = random() % 3 == 0 ? 0 : static_cast<std::int64_t>(random() % 400);
      for (const std::int64_t least : {4, 500, 530, 560}) {
        Job job(nodes, 0, bytes, counts, least);
        job.run();
        job.check();
        EXPECT_TRUE(least > 4 || job.readers() > 0);
      }
    }
  }
}

/// Of two nodes with two ranks each, one has blocks of 100 elements for itself, and the other of 99; between the nodes
/// there is nothing, or a block of 7 elements.
TEST(ExchangeStaging, NeighboursAreReadByOneNodeAndNotByTheOther) {
  for (const std::int64_t between : {0, 7}) {
    std::vector<std::int64_t> counts(16, 0);
    for (const std::size_t source : {0, 1}) {
      for (const std::size_t destination : {0, 1}) {
        counts[source * 4 + destination] = 100;
        counts[(source + 2) * 4 + destination + 2] = 99;
      }
    }
    counts[1 * 4 + 3] = between;
    Job job({0, 0, 1, 1}, 0, 65536, counts, 100 * element);
    job.run();
    job.check();
    EXPECT_EQ(job.readers(), 1U);
    EXPECT_EQ(job.rounds(), 1);
    EXPECT_EQ(job.staged(), 2 * element * (4 * 99 + between)) << "a byte is read and written";
    Job alone({0, 0, 1, 1}, 0, 65536, counts, 99 * element);
    alone.run();
    alone.check();
    EXPECT_EQ(alone.readers(), 2U);
    EXPECT_EQ(alone.rounds(), 1) << "in which neighbours are read";
    EXPECT_EQ(alone.staged(), 2 * element * between);
  }
}

TEST(ExchangeStaging, NothingToSendIsNoRound) {
  Job job({0, 0, 1, 1}, 0, 4096, std::vector<std::int64_t>(16, 0));
  job.run();
  job.check();
  EXPECT_EQ(job.rounds(), 0);
}

/// The fullest node has 1000 elements to send, none to receive, and room for 512 less one for each of four streams.
TEST(ExchangeStaging, AsManyRoundsAsTheFullestNodeNeeds) {
  std::vector<std::int64_t> counts(16, 0);
  counts[0 * 4 + 2] = 400;
  counts[1 * 4 + 3] = 600;
  Job job({0, 0, 1, 1}, 0, 512 * element, counts);
  job.run();
  job.check();
  EXPECT_EQ(job.rounds(), 2);
}

TEST(ExchangeStaging, LittleMemoryDoesNotFit) {
  const Job job({0, 0, 1, 1}, 0, 128, std::vector<std::int64_t>(16, 0));
  EXPECT_FALSE(job.fits()) << "the lengths alone take 2 * 3 * 4 + 2 + 4 words of 8 bytes";
}

}  // namespace
}  // namespace libcoll::node_exchange_staging_test
