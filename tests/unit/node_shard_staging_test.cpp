// Shards of any length staged in a node's shared memory, all ranks in one process; what leaders move is moved here as
// the shape of their part says.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "libcoll/node/shard_staging.h"

namespace libcoll::node_shard_staging_test {

using namespace execute;
using namespace node;
using namespace schedule;
using namespace topology;

namespace {

using Counts = std::vector<std::int64_t>;
using Vector = std::vector<std::uint32_t>;

constexpr std::int64_t element = 4;
constexpr std::uint32_t untouched = 0x5a5a5a5a;

std::uint32_t value(std::size_t rank, std::size_t shard, std::int64_t i) {
  return static_cast<std::uint32_t>(rank * 1000003 + shard * 10007) + static_cast<std::uint32_t>(i) * 31 + 1;
}

void add(const void*, void* destination, const void* left, const void* right, std::int64_t elements) noexcept {
  for (std::int64_t i = 0; i < elements; ++i) {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::memcpy(&a, static_cast<const std::byte*>(left) + element * i, element);
    std::memcpy(&b, static_cast<const std::byte*>(right) + element * i, element);
    a += b;
    std::memcpy(static_cast<std::byte*>(destination) + element * i, &a, element);
  }
}
constexpr Reducer adder{&add, nullptr};

/// All ranks of a communicator and the memories of its nodes.
struct Job {
  Job(const std::vector<NodeId>& node_of_rank, std::int64_t leaders, std::int64_t memory_bytes,
      std::int32_t domains = 2)
      : bytes(memory_bytes) {
    std::vector<RankPlace> places;
    NodeId nodes = 0;
    for (const NodeId node : node_of_rank) {
      const auto rank = static_cast<std::int32_t>(places.size());
      places.push_back({node, rank, rank % domains});
      nodes = std::max(nodes, node + 1);
    }
    layout = arrange(places, nodes, leaders);
    memories.assign(static_cast<std::size_t>(nodes), std::vector<std::byte>(static_cast<std::size_t>(bytes)));
  }

  [[nodiscard]] std::size_t ranks() const { return layout.node_of_rank.size(); }
  [[nodiscard]] std::size_t node_of(std::size_t rank) const {
    return static_cast<std::size_t>(layout.node_of_rank[rank]);
  }
  [[nodiscard]] bool has_domains() const { return adds_up_by_domain(layout.nodes.front()); }

  std::int64_t bytes;
  RankLayout layout;
  std::vector<std::vector<std::byte>> memories;
  std::int64_t moved = 0;  ///< bytes that the ranks have read and written
};

/// Every slice's part of a round, between the nodes' memories.
void move_between_nodes(const Job& job, Collective collective, const std::vector<ShardPart>& parts) {
  const std::size_t nodes = job.memories.size();
  for (std::size_t to = 0; to < nodes; ++to) {
    EXPECT_EQ(parts[to].shape.counts, parts[0].shape.counts);
    EXPECT_EQ(parts[to].empty, parts[0].empty);
  }
  for (std::size_t owner = 0; owner < nodes; ++owner) {
    const std::int64_t elements = parts[0].shape.counts[owner];
    const auto length = static_cast<std::size_t>(elements * element);
    if (collective == Collective::allgather) {
      for (const ShardPart& part : parts) {
        std::memmove(part.output + part.shape.output_offsets[owner], parts[owner].input, length);
      }
      continue;
    }
    std::vector<std::byte> sum(length);
    for (const ShardPart& part : parts) {
      add(nullptr, sum.data(), sum.data(), part.input + part.shape.input_offsets[owner], elements);
    }
    if (length > 0) std::memcpy(parts[owner].output, sum.data(), length);
  }
}

/// A round in which every rank adds up its own shard.
void add_up_own(Job& job, const std::vector<ShardStaging>& stagings, const std::vector<Vector>& inputs,
                std::vector<Vector>& outputs) {
  for (std::size_t rank = 0; rank < job.ranks(); ++rank) {
    job.moved += stagings[rank].copy_in_for_others(reinterpret_cast<const std::byte*>(inputs[rank].data()),
                                                   reinterpret_cast<const std::byte*>(outputs[rank].data()));
  }
  for (std::size_t rank = 0; job.has_domains() && rank < job.ranks(); ++rank) {
    job.moved += stagings[rank].add_up_domain(reinterpret_cast<const std::byte*>(inputs[rank].data()), adder);
  }
  for (std::size_t rank = 0; rank < job.ranks(); ++rank) {
    job.moved += stagings[rank].add_up_own(reinterpret_cast<const std::byte*>(inputs[rank].data()),
                                           reinterpret_cast<std::byte*>(outputs[rank].data()), adder);
  }
}

/// Runs a call on all ranks; returns their outputs.
std::vector<Vector> run(Job& job, const Shards& shards, const std::vector<Vector>& inputs,
                        std::size_t output_elements) {
  std::vector<Vector> outputs(job.ranks(), Vector(output_elements, untouched));
  std::vector<ShardStaging> stagings;
  std::vector<NodeStaging> reducers;
  for (std::size_t rank = 0; rank < job.ranks(); ++rank) {
    stagings.emplace_back(job.layout, static_cast<std::int32_t>(rank), job.bytes, shards);
    reducers.emplace_back(job.layout, static_cast<std::int32_t>(rank), job.bytes);
  }
  const auto input_of = [&](std::size_t rank) { return reinterpret_cast<const std::byte*>(inputs[rank].data()); };
  const auto row_of = [&](std::size_t rank) { return stagings[rank].row_in(input_of(rank)); };
  for (std::int64_t round = 0; round < stagings.front().rounds(); ++round) {
    for (std::size_t rank = 0; rank < job.ranks(); ++rank) {
      stagings[rank].begin_round(round, {job.memories[job.node_of(rank)].data(), 0});
    }
    if (stagings.front().adds_up_own()) {
      add_up_own(job, stagings, inputs, outputs);
      continue;
    }
    for (std::size_t rank = 0; rank < job.ranks(); ++rank) {
      const std::byte* const row = row_of(rank);
      job.moved +=
          row == nullptr ? stagings[rank].copy_in(input_of(rank)) : reducers[rank].copy_in(stagings[rank].row(), row);
    }
    if (shards.collective == Collective::reduce_scatter) {
      for (std::size_t rank = 0; rank < job.ranks(); ++rank) {
        if (!reducers[rank].has_domains()) continue;
        job.moved += reducers[rank].reduce_domain(stagings[rank].row(), adder, row_of(rank));
      }
      for (std::size_t rank = 0; rank < job.ranks(); ++rank) {
        job.moved += reducers[rank].reduce_node(stagings[rank].row(), adder, row_of(rank));
      }
    }
    const std::int32_t leaders = stagings.front().leaders();
    for (std::int32_t leader = 0; leader < leaders; ++leader) {
      std::vector<ShardPart> parts;
      for (const std::int32_t rank : job.layout.slice(leader)) {
        EXPECT_EQ(stagings[static_cast<std::size_t>(rank)].leaders(), leaders);
        parts.push_back(stagings[static_cast<std::size_t>(rank)].part_of(leader));
      }
      move_between_nodes(job, shards.collective, parts);
    }
    for (std::size_t rank = 0; rank < job.ranks(); ++rank) {
      job.moved += stagings[rank].copy_out(reinterpret_cast<std::byte*>(outputs[rank].data()), input_of(rank));
    }
  }
  return outputs;
}

/// Shards one after the other with gaps of so many elements between them.
Counts offsets_of(const Counts& counts, std::int64_t gap = 1) {
  Counts offsets;
  std::int64_t begin = 0;
  for (const std::int64_t count : counts) {
    offsets.push_back(begin * element);
    begin += count + gap;
  }
  return offsets;
}

std::size_t length_of(const Counts& counts) {
  return static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0})) + counts.size();
}

void check_allgather(Job& job, const Counts& counts) {
  const Shards shards{Collective::allgather, element, counts, offsets_of(counts)};
  std::vector<Vector> inputs(job.ranks());
  Vector expected(length_of(counts), untouched);
  for (std::size_t rank = 0; rank < job.ranks(); ++rank) {
    for (std::int64_t i = 0; i < counts[rank]; ++i) {
      inputs[rank].push_back(value(rank, 0, i));
      expected[static_cast<std::size_t>(shards.offsets[rank] / element + i)] = value(rank, 0, i);
    }
  }
  const std::vector<Vector> outputs = run(job, shards, inputs, expected.size());
  for (std::size_t rank = 0; rank < job.ranks(); ++rank) EXPECT_EQ(outputs[rank], expected) << "rank " << rank;
}

void check_reduce_scatter(Job& job, const Counts& counts, std::int64_t gap) {
  const Shards shards{Collective::reduce_scatter, element, counts, offsets_of(counts, gap)};
  std::vector<Vector> inputs(job.ranks(), Vector(length_of(counts), untouched));
  for (std::size_t rank = 0; rank < job.ranks(); ++rank) {
    for (std::size_t shard = 0; shard < job.ranks(); ++shard) {
      for (std::int64_t i = 0; i < counts[shard]; ++i) {
        inputs[rank][static_cast<std::size_t>(shards.offsets[shard] / element + i)] = value(rank, shard, i);
      }
    }
  }
  const std::vector<Vector> outputs = run(job, shards, inputs, length_of(counts));
  for (std::size_t shard = 0; shard < job.ranks(); ++shard) {
    Vector expected(length_of(counts), untouched);
    for (std::int64_t i = 0; i < counts[shard]; ++i) {
      std::uint32_t sum = 0;
      for (std::size_t rank = 0; rank < job.ranks(); ++rank) sum += value(rank, shard, i);
      expected[static_cast<std::size_t>(i)] = sum;
    }
    EXPECT_EQ(outputs[shard], expected) << "rank " << shard;
  }
}

TEST(ShardStaging, AnyCountsOnAnyNodes) {
  std::mt19937 random(3);
  const std::vector<std::vector<NodeId>> places = {
      {0, 0, 1, 1}, {0, 1, 0, 1, 2}, {2, 1, 0, 1, 2, 1, 1}, {0, 0, 0}, {1, 0, 0, 0, 2, 3}};
  for (const std::vector<NodeId>& node_of_rank : places) {
    for (const std::int64_t bytes : {std::int64_t{1024}, std::int64_t{1} << 18}) {
      const auto leaders = static_cast<std::int64_t>(random() % 3);
      Job job(node_of_rank, leaders, bytes, static_cast<std::int32_t>(1 + random() % 2));
      ASSERT_TRUE(ShardStaging::fits(job.layout, bytes, element));
      for (int turn = 0; turn < 6; ++turn) {
        Counts counts;
        for (std::size_t rank = 0; rank < job.ranks(); ++rank) {
          counts.push_back(random() % 3 == 0 ? 0 : static_cast<std::int64_t>(random() % 3000));
        }
        check_allgather(job, counts);
        check_reduce_scatter(job, counts, 1);
        check_reduce_scatter(job, counts, 0);
      }
    }
  }
}

TEST(ShardStaging, RowsThatLieInTheInputAreFound) {
  const Job job({0, 0, 1, 1}, 0, 1 << 16);
  const Vector input(1000);
  const auto* const data = reinterpret_cast<const std::byte*>(input.data());
  const auto row_of = [&](const Counts& counts, const Counts& offsets) {
    const Shards shards{Collective::reduce_scatter, element, counts, offsets};
    ShardStaging staging(job.layout, 0, job.bytes, shards);
    std::vector<std::byte> memory(static_cast<std::size_t>(job.bytes));
    staging.begin_round(0, {memory.data(), 0});
    return staging.row_in(data);
  };
  EXPECT_EQ(row_of({5, 6, 7, 8}, offsets_of({5, 6, 7, 8}, 0)), data);
  EXPECT_EQ(row_of({5, 6, 7, 8}, {40, 60, 84, 112}), data + 40);
  EXPECT_EQ(row_of({5, 0, 7, 8}, {0, 999, 20, 48}), data) << "nothing is read of a shard without length";
  EXPECT_EQ(row_of({0, 0, 7, 0}, {0, 0, 0, 0}), data);
  EXPECT_EQ(row_of({5, 6, 7, 8}, offsets_of({5, 6, 7, 8}, 1)), nullptr);
  EXPECT_EQ(row_of({9999, 9999, 9999, 9999}, offsets_of({9999, 9999, 9999, 9999}, 0)), nullptr) << "in several rounds";
}

TEST(ShardStaging, LongRowsAreReadInTheInput) {
  for (const std::vector<NodeId>& node_of_rank : {std::vector<NodeId>{0, 0, 0}, {0, 0, 1, 1}, {0, 1, 0, 1}}) {
    Job job(node_of_rank, 0, std::int64_t{8} << 20);
    for (const std::int64_t gap : {0, 1}) check_reduce_scatter(job, Counts(job.ranks(), 60'001), gap);
  }
}

/// Of a reduce-scatter on N nodes of L ranks in D NUMA domains, per byte of a rank's vector: all but what its rank
/// adds up itself is copied in (2(L-D)/L), all of it is read once to be added (1), the domains' sums are written (D/L
/// of a rank's). Of several domains these are read and the node's sum is written ((D+1)/L). The rank's shard is copied
/// out (2/(N·L)); on one node the sum is written where the rank's shard belongs. Where every rank has a domain
/// of its own, D = 1.
TEST(ShardStaging, NoMoreBytesAreMovedThanHaveToBe) {
  struct Case {
    int nodes;
    int locals;
    int domains = 1;
  };
  for (const auto& [nodes, locals, domains] : {Case{8, 4}, Case{2, 16}, Case{1, 2}, Case{1, 16}, Case{8, 4, 2},
                                               Case{1, 2, 2}, Case{1, 4, 2}, Case{1, 16, 2}}) {
    std::vector<NodeId> node_of_rank(static_cast<std::size_t>(nodes * locals));
    for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank)
      node_of_rank[rank] = static_cast<NodeId>(rank) / locals;
    const auto ranks = static_cast<std::int64_t>(node_of_rank.size());
    Job job(node_of_rank, 0, std::int64_t{16} << 20, domains);
    const Counts counts(job.ranks(), 40'001 * locals / ranks);
    check_reduce_scatter(job, counts, 0);
    const double moved = static_cast<double>(job.moved) / static_cast<double>(ranks * counts.front() * ranks * element);
    const double local_ranks = locals;
    const double out = nodes == 1 ? 0 : 2 / static_cast<double>(ranks);
    const bool by_domain = domains > 1 && domains < locals;
    const double sums = by_domain ? domains : 1;
    const double of_node = by_domain ? (sums + 1) / local_ranks : 0;
    const double least = 2 * (local_ranks - sums) / local_ranks + 1 + sums / local_ranks + of_node + out;
    EXPECT_GE(moved, least * (1 - 1e-9)) << "the bound is wrong";
    EXPECT_LE(moved, least * 1.1) << nodes << " nodes of " << locals << " in " << domains;
  }
}

TEST(ShardStaging, OneRankAloneHasAShard) {
  for (std::size_t root = 0; root < 5; ++root) {
    Job job({0, 1, 0, 1, 2}, 0, 1 << 16);
    Counts counts(5, 0);
    counts[root] = 20000;
    check_allgather(job, counts);
    check_reduce_scatter(job, counts, 1);
    check_reduce_scatter(job, counts, 0);
  }
}

TEST(ShardStaging, WithinANodeRanksAddUpTheirOwnShards) {
  const auto add_up_own = [](const std::vector<NodeId>& node_of_rank, std::int32_t domains, const Counts& counts) {
    const Job job(node_of_rank, 0, 1 << 20, domains);
    const Shards shards{Collective::reduce_scatter, element, counts, offsets_of(counts)};
    return ShardStaging(job.layout, 0, job.bytes, shards).adds_up_own();
  };
  const std::vector<NodeId> five(5, 0);
  EXPECT_TRUE(add_up_own(five, 1, Counts(5, 10'000)));
  EXPECT_TRUE(add_up_own({0, 0, 0, 0}, 1, {0, 0, 10'000, 0})) << "a root among four";
  EXPECT_TRUE(add_up_own(five, 1, {0, 0, 400, 0, 0})) << "too little to share";
  EXPECT_FALSE(add_up_own(five, 1, {0, 0, 10'000, 0, 0})) << "the root alone would add up for too long";
  EXPECT_TRUE(add_up_own(five, 2, Counts(5, 10'000))) << "domains first";
  EXPECT_FALSE(add_up_own(five, 2, {0, 0, 400, 0, 0})) << "one rank does it all";
  EXPECT_FALSE(add_up_own({0, 0, 1, 1}, 1, Counts(4, 10'000))) << "of several nodes";
}

/// As MPI_Reduce and MPI_Reduce_scatter have it in place: the root's own vector, or the first rank's own shard, lies
/// where its sum is to be.
TEST(ShardStaging, OwnShardsAreAddedUpInPlace) {
  for (const bool is_rooted : {true, false}) {
    for (std::size_t root = 0; root < (is_rooted ? 4 : 1); ++root) {
      const Job job(std::vector<NodeId>(4, 0), 0, 1 << 20, 1);
      Counts counts(4, is_rooted ? 0 : 50'001);
      counts[root] = 50'001;
      const Shards shards{Collective::reduce_scatter, element, counts,
                          is_rooted ? Counts(4, 0) : offsets_of(counts, 0)};
      std::vector<Vector> inputs(4);
      for (std::size_t rank = 0; rank < 4; ++rank) {
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(length_of(counts)); ++i)
          inputs[rank].push_back(value(rank, 0, i));
      }
      Vector expected(static_cast<std::size_t>(counts[root]));
      for (std::size_t i = 0; i < expected.size(); ++i) {
        for (const Vector& input : inputs) expected[i] += input[i];
      }
      auto* const output = reinterpret_cast<std::byte*>(inputs[root].data());
      std::vector<ShardStaging> stagings;
      stagings.reserve(4);
      for (std::int32_t rank = 0; rank < 4; ++rank) stagings.emplace_back(job.layout, rank, job.bytes, shards);
      ASSERT_TRUE(stagings.front().adds_up_own());
      ASSERT_GT(stagings.front().rounds(), 1);
      std::vector<std::byte> memory(static_cast<std::size_t>(job.bytes));
      const std::vector<std::vector<std::byte>> results(4, std::vector<std::byte>(element * 50'001));
      for (std::int64_t round = 0; round < stagings.front().rounds(); ++round) {
        for (std::size_t rank = 0; rank < 4; ++rank) {
          stagings[rank].begin_round(round, {memory.data(), 0});
          const auto* const input = reinterpret_cast<const std::byte*>(inputs[rank].data());
          const std::byte* const elsewhere = is_rooted ? nullptr : results[rank].data();
          stagings[rank].copy_in_for_others(input, rank == root ? output : elsewhere);
        }
        stagings[root].add_up_own(output, output, adder);
      }
      EXPECT_EQ(Vector(inputs[root].begin(), inputs[root].begin() + counts[root]), expected) << "root " << root;
    }
  }
}

TEST(ShardStaging, LongShardsAreMovedByAllLeaders) {
  const Job job({0, 0, 0, 1, 1, 1}, 0, 1 << 20);
  const auto leaders = [&](std::int64_t count) {
    const Shards shards{Collective::allgather, element, Counts(6, count), offsets_of(Counts(6, count))};
    ShardStaging staging(job.layout, 0, job.bytes, shards);
    std::vector<std::byte> memory(static_cast<std::size_t>(job.bytes));
    staging.begin_round(0, {memory.data(), 0});
    return staging.leaders();
  };
  EXPECT_EQ(leaders(1), 1);
  EXPECT_EQ(leaders(10000), 3);
}

TEST(ShardStaging, TooLittleMemoryIsSaidBeforehand) {
  const Job job({0, 0, 1, 1}, 0, 1024);
  EXPECT_TRUE(ShardStaging::fits(job.layout, 1024, 32));
  EXPECT_FALSE(ShardStaging::fits(job.layout, 128, 32));
  EXPECT_FALSE(ShardStaging::fits(job.layout, 0, 4));
}

}  // namespace
}  // namespace libcoll::node_shard_staging_test
