// Collectives staged in a node's shared memory, all ranks in one process; what leaders move is moved by assignment.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "libcoll/node/staging.h"

namespace libcoll::node_staging_test {

using namespace execute;
using namespace node;
using namespace schedule;
using namespace topology;

namespace {

constexpr std::byte untouched{0x5a};

/// All ranks of a communicator and the memories of its nodes.
struct Job {
  RankLayout layout;
  std::int64_t memory_bytes = 0;
  std::vector<std::vector<std::byte>> memories;        // by node
  std::vector<std::unique_ptr<NodeStaging>> stagings;  // by rank
  std::int64_t nodes() const { return static_cast<std::int64_t>(layout.nodes.size()); }
  std::int64_t ranks() const { return static_cast<std::int64_t>(stagings.size()); }
};

std::unique_ptr<Job> make_job(const std::vector<NodeId>& node_of_rank, std::int32_t domains, std::int64_t leaders,
                              std::int64_t memory_bytes) {
  auto job = std::make_unique<Job>();
  std::vector<RankPlace> places;
  NodeId nodes = 0;
  for (const NodeId node : node_of_rank) {
    const auto rank = static_cast<std::int32_t>(places.size());
    places.push_back({node, rank, rank / 2 % domains});
    nodes = std::max(nodes, node + 1);
  }
  job->layout = arrange(places, nodes, leaders);
  job->memory_bytes = memory_bytes;
  job->memories.resize(static_cast<std::size_t>(nodes));
  for (auto& memory : job->memories) memory.resize(static_cast<std::size_t>(memory_bytes), untouched);
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    job->stagings.push_back(std::make_unique<NodeStaging>(job->layout, static_cast<std::int32_t>(rank), memory_bytes));
  }
  return job;
}

/// x, y → 5x + 3y modulo 2^32: neither commutative nor associative, so every other order gives another result.
void combine(const void*, void* destination, const void* left, const void* right, std::int64_t elements) noexcept {
  for (std::int64_t i = 0; i < elements; ++i) {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::memcpy(&a, static_cast<const std::byte*>(left) + 4 * i, 4);
    std::memcpy(&b, static_cast<const std::byte*>(right) + 4 * i, 4);
    const std::uint32_t c = 5 * a + 3 * b;
    std::memcpy(static_cast<std::byte*>(destination) + 4 * i, &c, 4);
  }
}
constexpr Reducer reducer{&combine, nullptr};

std::uint32_t fold(const std::vector<std::uint32_t>& values) {
  std::uint32_t result = values.front();
  for (std::size_t i = 1; i < values.size(); ++i) result = 5 * result + 3 * values[i];
  return result;
}

std::uint32_t value(std::int64_t rank, std::int64_t block, std::int64_t i) {
  return static_cast<std::uint32_t>(rank * 1000003 + block * 10007 + i * 31 + 1);
}

using Vectors = std::vector<std::vector<std::uint32_t>>;

/// What a call gives, and the bytes of memory that all ranks read and write for it.
struct Result {
  Vectors outputs;
  std::int64_t moved = 0;
};

Round round_for(const Job& job, Collective collective, std::int64_t begin, std::int64_t elements, std::size_t rank) {
  const std::int64_t most = job.stagings.front()->capacity(collective, 4);
  const auto node = static_cast<std::size_t>(job.layout.node_of_rank[rank]);
  return {collective, begin, std::min(most, elements - begin),
          elements,   4,     const_cast<std::byte*>(job.memories[node].data())};
}

/// What the slices of a round do to the nodes' memories: `leader`'s parts on all nodes.
void move_between_nodes(const Job& job, Collective collective, const std::vector<SlicePart>& parts) {
  const auto bytes = static_cast<std::size_t>(parts.front().elements * 4);
  if (collective == Collective::allreduce) {
    for (std::int64_t i = 0; i < parts.front().elements; ++i) {
      std::vector<std::uint32_t> values(parts.size());
      for (std::size_t node = 0; node < parts.size(); ++node) std::memcpy(&values[node], parts[node].input + 4 * i, 4);
      const std::uint32_t all = fold(values);
      for (const SlicePart& part : parts) std::memcpy(part.output + 4 * i, &all, 4);
    }
    return;
  }
  for (std::int64_t to = 0; to < job.nodes(); ++to) {
    for (std::int64_t from = 0; from < job.nodes(); ++from) {
      const SlicePart& source = parts[static_cast<std::size_t>(from)];
      const SlicePart& destination = parts[static_cast<std::size_t>(to)];
      const std::int64_t input = collective == Collective::alltoall ? to * source.stride_bytes : 0;
      std::memmove(destination.output + from * destination.stride_bytes, source.input + input, bytes);
    }
  }
}

Result run(const Job& job, Collective collective, const Vectors& inputs, std::int64_t elements,
           std::size_t output_elements) {
  Vectors outputs(inputs.size(), std::vector<std::uint32_t>(output_elements));
  std::int64_t moved = 0;
  const std::int64_t most = job.stagings.front()->capacity(collective, 4);
  const auto bytes_in = [&](std::size_t rank) { return reinterpret_cast<const std::byte*>(inputs[rank].data()); };
  for (std::int64_t begin = 0; begin < elements; begin += most) {
    const auto each = [&](auto action) {
      for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
        action(*job.stagings[rank], round_for(job, collective, begin, elements, rank), rank);
      }
    };
    each([&](const NodeStaging& staging, const Round& round, std::size_t rank) {
      moved += staging.copy_in(round, bytes_in(rank));
    });
    if (collective == Collective::allreduce) {
      each([&](const NodeStaging& staging, const Round& round, std::size_t rank) {
        if (staging.is_small(round)) {
          if (staging.local() == 0) moved += staging.reduce_alone(round, reducer);
        } else if (staging.has_domains()) {
          moved += staging.reduce_domain(round, reducer, bytes_in(rank));
        }
      });
      each([&](const NodeStaging& staging, const Round& round, std::size_t rank) {
        if (!staging.is_small(round)) moved += staging.reduce_node(round, reducer, bytes_in(rank));
        if (staging.copies_own_sum(round)) {
          moved += staging.copy_own_sum(round, reinterpret_cast<std::byte*>(outputs[rank].data()));
        }
      });
    }
    const std::int32_t leaders = job.stagings.front()->leaders(round_for(job, collective, begin, elements, 0));
    for (std::int32_t leader = 0; leader < leaders && job.nodes() > 1; ++leader) {
      std::vector<SlicePart> parts;
      for (const std::int32_t rank : job.layout.slice(leader)) {
        const auto index = static_cast<std::size_t>(rank);
        parts.push_back(job.stagings[index]->part_of(round_for(job, collective, begin, elements, index), leader));
      }
      move_between_nodes(job, collective, parts);
    }
    each([&](const NodeStaging& staging, const Round& round, std::size_t rank) {
      moved += staging.copy_out(round, reinterpret_cast<std::byte*>(outputs[rank].data()), bytes_in(rank));
    });
  }
  return {std::move(outputs), moved};
}

void check_allreduce(const Job& job, std::int64_t elements) {
  Vectors inputs;
  for (std::int64_t rank = 0; rank < job.ranks(); ++rank) {
    inputs.emplace_back();
    for (std::int64_t i = 0; i < elements; ++i) inputs.back().push_back(value(rank, 0, i));
  }
  const Vectors outputs = run(job, Collective::allreduce, inputs, elements, static_cast<std::size_t>(elements)).outputs;
  for (std::int64_t i = 0; i < elements; ++i) {
    // The order that NodeRounds documents: domain by domain, then node, then slices.
    std::vector<std::uint32_t> of_nodes;
    for (const NodeRanks& node : job.layout.nodes) {
      std::vector<std::uint32_t> of_domains;
      for (const auto& domain : node.domains) {
        std::vector<std::uint32_t> values;
        values.reserve(domain.size());
        for (const std::int32_t local : domain) {
          values.push_back(value(node.ranks[static_cast<std::size_t>(local)], 0, i));
        }
        of_domains.push_back(fold(values));
      }
      of_nodes.push_back(fold(of_domains));
    }
    const std::uint32_t expected = fold(of_nodes);
    for (const auto& output : outputs) ASSERT_EQ(output[static_cast<std::size_t>(i)], expected) << "element " << i;
  }
}

void check_allgather(const Job& job, std::int64_t elements) {
  Vectors inputs;
  std::vector<std::uint32_t> expected;
  for (std::int64_t rank = 0; rank < job.ranks(); ++rank) {
    inputs.emplace_back();
    for (std::int64_t i = 0; i < elements; ++i) inputs.back().push_back(value(rank, 0, i));
    expected.insert(expected.end(), inputs.back().begin(), inputs.back().end());
  }
  for (const auto& output : run(job, Collective::allgather, inputs, elements, expected.size()).outputs) {
    ASSERT_EQ(output, expected);
  }
}

void check_alltoall(const Job& job, std::int64_t elements) {
  Vectors inputs;
  Vectors expected;
  for (std::int64_t rank = 0; rank < job.ranks(); ++rank) {
    inputs.emplace_back();
    expected.emplace_back();
    for (std::int64_t peer = 0; peer < job.ranks(); ++peer) {
      for (std::int64_t i = 0; i < elements; ++i) inputs.back().push_back(value(rank, peer, i));
      for (std::int64_t i = 0; i < elements; ++i) expected.back().push_back(value(peer, rank, i));
    }
  }
  EXPECT_EQ(run(job, Collective::alltoall, inputs, elements, expected.front().size()).outputs, expected);
}

void check_all(const Job& job, const std::vector<std::int64_t>& counts) {
  for (const std::int64_t elements : counts) {
    SCOPED_TRACE(std::to_string(elements) + " elements on " + std::to_string(job.nodes()) + " nodes");
    check_allreduce(job, elements);
    check_allgather(job, elements);
    check_alltoall(job, elements);
  }
}

const std::vector<std::vector<NodeId>>& placements() {
  static const std::vector<std::vector<NodeId>> all{
      {0, 0, 1, 1, 2, 2, 3, 3},           // by slot
      {0, 1, 2, 3, 0, 1, 2, 3},           // round robin
      {0, 0, 1, 1, 1, 2},                 // uneven
      {2, 1, 1, 0, 2, 1, 2, 2},           // uneven, in no order
      {0, 0, 0, 0, 0},                    // one node
      {0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0},  // two large ones
  };
  return all;
}

TEST(NodeStaging, EveryPlacementCountAndNumberOfLeaders) {
  for (const auto& placement : placements()) {
    for (const std::int64_t leaders : {0, 1, 2}) {
      check_all(*make_job(placement, 1, leaders, 1 << 20), {1, 2, 3, 17, 1023, 5000});
    }
  }
}

TEST(NodeStaging, SeveralDomains) {
  for (const auto& placement : placements()) {
    for (const std::int32_t domains : {2, 3}) check_all(*make_job(placement, domains, 0, 1 << 20), {1, 5, 4097});
  }
}

TEST(NodeStaging, ManyRounds) {
  for (const auto& placement : placements()) check_all(*make_job(placement, 2, 0, 16384), {1, 4099, 20011});
}

/// In the first round ranks leave in their own vectors what only they read, in the second they do not.
TEST(NodeStaging, LongVectors) {
  const std::vector<std::vector<NodeId>> long_placements{{0, 0, 0, 0}, {0, 0, 0, 1, 1, 1}, {0, 1, 1, 0, 1, 1}};
  for (const auto& placement : long_placements) {
    for (const std::int32_t domains : {1, 2, 3}) {
      check_allreduce(*make_job(placement, domains, 0, std::int64_t{3} << 20), 200'001);
    }
  }
}

/// Bytes that all ranks have to read and write when those of a node know of each other only what lies in the memory
/// that they share, per byte of a vector (allreduce) or block, for N nodes of L ranks in one NUMA domain:
///   allreduce  of each vector all but what its rank adds up itself is copied in (2(L-1)/L); all of it is read once to
///   be
///              added (1); a node's sum is written (1/L of a rank's) and copied out by all (2)
///   allgather  a block is copied in (2), and all N·L are copied out (2·N·L)
///   alltoall   a rank's own block is copied (2), all others are copied in and out (4·(N·L-1))
double least_moved(Collective collective, double nodes, double locals) {
  const double ranks = nodes * locals;
  if (collective == Collective::allreduce) return ranks * (2 * (locals - 1) / locals + 1 + 1 / locals + 2);
  return collective == Collective::allgather ? ranks * (2 + 2 * ranks) : ranks * (2 + 4 * (ranks - 1));
}

TEST(NodeStaging, NoMoreBytesAreMovedThanHaveToBe) {
  for (const auto& [nodes, locals] : {std::pair{8, 4}, {2, 16}, {1, 2}, {1, 16}}) {
    std::vector<NodeId> node_of_rank(static_cast<std::size_t>(nodes * locals));
    for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank)
      node_of_rank[rank] = static_cast<NodeId>(rank) / locals;
    for (const Collective collective : {Collective::allreduce, Collective::allgather, Collective::alltoall}) {
      const bool is_vector = collective == Collective::allreduce;
      const std::int64_t elements = is_vector ? locals * 40'001 : 2003;
      const auto job = make_job(node_of_rank, 1, 0, std::int64_t{8} << 20);
      const auto ranks = static_cast<std::size_t>(job->ranks());
      const std::size_t blocks = is_vector ? 1 : ranks;
      const std::size_t shown = collective == Collective::alltoall ? ranks : 1;
      const Vectors inputs(ranks, std::vector<std::uint32_t>(shown * static_cast<std::size_t>(elements)));
      const Result result = run(*job, collective, inputs, elements, blocks * static_cast<std::size_t>(elements));
      const double moved = static_cast<double>(result.moved) / static_cast<double>(4 * elements);
      const double least = least_moved(collective, nodes, locals);
      EXPECT_GE(moved, least * (1 - 1e-9)) << "the bound is wrong";
      EXPECT_LE(moved, least * 1.1) << nodes << " nodes of " << locals << ", " << to_string(collective);
    }
  }
}

TEST(NodeStaging, WhatARoundUsesIsInItsMemory) {
  for (const auto& placement : placements()) {
    const auto job = make_job(placement, 1, 0, 12345);
    const std::int64_t nodes = job->nodes();
    const std::int64_t most = job->layout.most_ranks;
    const NodeStaging& staging = *job->stagings.front();
    EXPECT_LE(staging.capacity(Collective::allreduce, 8) * 8 * most, 12345);
    EXPECT_LE(staging.capacity(Collective::allgather, 8) * 8 * most * nodes, 12345);
    EXPECT_LE(staging.capacity(Collective::alltoall, 8) * 8 * most * most * nodes * 2, 12345);
    EXPECT_GT(staging.capacity(Collective::alltoall, 8), 0);
  }
}

TEST(NodeStaging, TooLittleMemoryIsSaid) {
  const auto job = make_job({0, 0, 1, 1}, 1, 0, 127);
  EXPECT_EQ(job->stagings.front()->capacity(Collective::alltoall, 8), 0);
  EXPECT_EQ(job->stagings.front()->capacity(Collective::allgather, 8), 3);
}

TEST(NodeStaging, SmallRoundsHaveOneLeader) {
  const auto job = make_job({0, 0, 0, 0, 1, 1, 1, 1}, 1, 0, 1 << 20);
  const auto leaders = [&](std::int64_t elements) {
    return job->stagings.front()->leaders({Collective::allreduce, 0, elements, elements, 4, nullptr});
  };
  EXPECT_EQ(leaders(1), 1);
  EXPECT_EQ(leaders(2 * 2 * 1024), 2);
  EXPECT_EQ(leaders(1 << 17), 4);
}

}  // namespace
}  // namespace libcoll::node_staging_test
