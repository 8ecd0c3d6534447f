// Short calls of a node, whose ranks are threads here.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "libcoll/execute/call.h"
#include "libcoll/node/short_exchange.h"
#include "tests/unit/calls_of_ranks.h"

namespace libcoll::short_exchange_threads_test {

using namespace calls_of_ranks;
using namespace execute;
using namespace node;
using namespace schedule;

namespace {

constexpr int calls = 400;

/// Of the vector or block in that call.
std::int64_t elements_of(int call, std::int32_t ranks) {
  std::mt19937 random(static_cast<unsigned>(call));
  const std::int64_t most = ShortExchange::most_bytes_of(ranks) / static_cast<std::int64_t>(sizeof(double));
  if (call % 7 == 0) return 1;
  return call % 5 == 0 ? most : std::uniform_int_distribution<std::int64_t>(1, most)(random);
}

/// What is wrong with the call's way; empty: nothing.
std::string go(ShortExchange& exchange, const Call& call) {
  if (!exchange.fits(call)) return "does not fit";
  exchange.begin(call);
  if (!wait_for_all(exchange.phases())) return "gave up";
  return exchange.finish(call) ? "" : "another length";
}

std::int64_t elements_of_one_root(int number, std::int64_t most_bytes) {
  const std::int64_t most = most_bytes / static_cast<std::int64_t>(sizeof(double));
  std::mt19937 random(static_cast<unsigned>(number));
  if (number % 3 == 0) return number % 4;
  return number % 5 == 0 ? most : std::uniform_int_distribution<std::int64_t>(0, most)(random);
}

/// From another root each time. The others' buffers are full of something else.
std::string broadcast(ShortExchange& exchange, int number, std::int32_t ranks, std::int32_t rank) {
  const std::int64_t elements = elements_of_one_root(number, ShortExchange::most_broadcast_bytes);
  std::vector<double> buffer(static_cast<std::size_t>(elements), -1);
  Call call;
  call.collective = Collective::allgather;
  call.is_rooted = true;
  call.root = number % ranks;
  call.elements = elements;
  call.element_bytes = sizeof(double);
  call.output = reinterpret_cast<std::byte*>(buffer.data());
  call.input = call.output;
  for (std::size_t i = 0; rank == call.root && i < buffer.size(); ++i) {
    buffer[i] = value(call.root, number, static_cast<std::int64_t>(i));
  }
  const std::string what = "broadcast " + std::to_string(number) + ", rank " + std::to_string(rank) + ": ";
  if (const std::string fault = go(exchange, call); !fault.empty()) return what + fault;
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    if (buffer[i] != value(call.root, number, static_cast<std::int64_t>(i))) return what + std::to_string(i);
  }
  return "";
}

/// An allreduce whose result one rank gets; the others give memory where nothing may be written.
std::string reduce(ShortExchange& exchange, int number, std::int32_t ranks, std::int32_t rank) {
  const std::int64_t elements = elements_of_one_root(number, ShortExchange::most_bytes_to_root(ranks));
  const RankCall mine(Collective::allreduce, number, elements, ranks, rank, number % 2 == 0);
  Call call = mine.call;
  call.collective = Collective::reduce_scatter;
  call.is_rooted = true;
  call.root = number % ranks;
  if (rank != call.root) call.output = nullptr;
  const std::string fault = go(exchange, call);
  if (!fault.empty()) return mine.complaint("reduction: " + fault);
  return rank == call.root ? mine.fault() : "";
}

std::string run_short_calls(Shared& memory, std::int32_t ranks, std::int32_t rank) {
  ShortExchange exchange(memory.data(), one_domain(ranks), rank);
  for (int number = 0; number < calls; ++number) {
    const Collective collective = all_collectives[static_cast<std::size_t>(number) % all_collectives.size()];
    const bool in_place = collective == Collective::allreduce && number % 3 == 0;
    const RankCall mine(collective, number, elements_of(number, ranks), ranks, rank, in_place);
    if (const std::string fault = go(exchange, mine.call); !fault.empty()) return mine.complaint(fault);
    if (!mine.fault().empty()) return mine.fault();
    for (int each = 0; each < number % 4; ++each) {
      std::string fault = broadcast(exchange, number + each, ranks, rank);
      if (fault.empty() && each < 2) fault = reduce(exchange, number + each, ranks, rank);
      if (!fault.empty()) return fault;
    }
  }
  return "";
}

class ShortExchangeOf : public testing::TestWithParam<std::int32_t> {};

TEST_P(ShortExchangeOf, RanksGetWhatTheyShow) {
  const std::int32_t ranks = GetParam();
  Shared memory(ShortExchange::bytes(ranks));
  std::vector<std::string> wrong(static_cast<std::size_t>(ranks));
  on_all_ranks(
      ranks, [&](std::int32_t rank) { wrong[static_cast<std::size_t>(rank)] = run_short_calls(memory, ranks, rank); });
  EXPECT_EQ(wrong, std::vector<std::string>(wrong.size()));
}

INSTANTIATE_TEST_SUITE_P(Ranks, ShortExchangeOf, testing::Values(2, 3, 5, 16, ShortExchange::most_ranks));

Call bytes_for_all(const std::byte* input, std::byte* output, std::int64_t bytes) {
  Call call;
  call.collective = Collective::allgather;
  call.input = input;
  call.output = output;
  call.elements = bytes;
  return call;
}

TEST(ShortExchange, OtherLengthsAreSeenAndTheNextCallIsRight) {
  Shared memory(ShortExchange::bytes(2));
  ShortExchange first(memory.data(), one_domain(2), 0);
  ShortExchange second(memory.data(), one_domain(2), 1);
  std::array<std::byte, 8> input{};
  std::array<std::byte, 16> output{};
  first.begin(bytes_for_all(input.data(), output.data(), 8));
  EXPECT_FALSE(first.phases().all_came_soon());
  second.begin(bytes_for_all(input.data(), output.data(), 4));
  ASSERT_TRUE(first.phases().all_came_soon());
  EXPECT_FALSE(first.finish(bytes_for_all(input.data(), output.data(), 8)));
  EXPECT_FALSE(second.finish(bytes_for_all(input.data(), output.data(), 4)));
  input.fill(std::byte{7});
  first.begin(bytes_for_all(input.data(), output.data(), 8));
  second.begin(bytes_for_all(input.data(), output.data(), 8));
  EXPECT_TRUE(first.finish(bytes_for_all(input.data(), output.data(), 8)));
  EXPECT_EQ(output.front(), std::byte{7});
  EXPECT_EQ(output.back(), std::byte{7});
  EXPECT_EQ(first.phases().number(), 2U);
}

/// (a + c) + b, which rounds otherwise than (a + b) + c.
TEST(ShortExchange, SumsGoDomainByDomain) {
  const std::vector<std::vector<std::int32_t>> domains{{0, 2}, {1}};
  const std::array<double, 3> values{0.1, 0.2, 0.9};
  ASSERT_NE((values[0] + values[2]) + values[1], (values[0] + values[1]) + values[2]);
  Shared memory(ShortExchange::bytes(3));
  std::vector<ShortExchange> ranks;
  ranks.reserve(values.size());
  std::vector<Call> sum_calls(values.size());
  std::array<double, 3> sums{};
  for (std::size_t rank = 0; rank < values.size(); ++rank) {
    ranks.emplace_back(memory.data(), domains, static_cast<std::int32_t>(rank));
    sum_calls[rank].input = reinterpret_cast<const std::byte*>(&values[rank]);
    sum_calls[rank].output = reinterpret_cast<std::byte*>(&sums[rank]);
    sum_calls[rank].elements = 1;
    sum_calls[rank].element_bytes = sizeof(double);
    sum_calls[rank].reducer.apply = &add_doubles;
    ranks[rank].begin(sum_calls[rank]);
  }
  for (std::size_t rank = 0; rank < values.size(); ++rank) {
    ASSERT_TRUE(ranks[rank].phases().all_came_soon());
    ASSERT_TRUE(ranks[rank].finish(sum_calls[rank]));
    EXPECT_EQ(sums[rank], (values[0] + values[2]) + values[1]);
  }
}

TEST(ShortExchange, LongOnesAndThoseOfMpiDoNotFit) {
  Shared memory(ShortExchange::bytes(4));
  const ShortExchange exchange(memory.data(), one_domain(4), 0);
  Call call = bytes_for_all(nullptr, nullptr, 4096);
  EXPECT_TRUE(exchange.fits(call));
  call.elements = 4097;
  EXPECT_FALSE(exchange.fits(call));
  call.elements = std::int64_t{1} << 62;
  EXPECT_FALSE(exchange.fits(call));
  call.elements = 8;
  call.reducer.calls_mpi = true;
  EXPECT_TRUE(exchange.fits(call)) << "nothing is reduced";
  call.collective = Collective::allreduce;
  EXPECT_FALSE(exchange.fits(call));
  call.reducer.calls_mpi = false;
  EXPECT_TRUE(exchange.fits(call));
  call.counts = {8, 0, 0, 0};
  EXPECT_FALSE(exchange.fits(call));
  EXPECT_EQ(ShortExchange::most_bytes_of(ShortExchange::most_ranks + 1), 0);
  EXPECT_EQ(ShortExchange::most_bytes_to_root(ShortExchange::most_ranks + 1), 0);
  call.is_rooted = true;
  call.collective = Collective::reduce_scatter;
  EXPECT_TRUE(exchange.fits(call)) << "MPI_Reduce";
  call.reducer.calls_mpi = true;
  EXPECT_FALSE(exchange.fits(call));
  call.collective = Collective::allgather;
  EXPECT_TRUE(exchange.fits(call)) << "MPI_Bcast";
  call.elements = ShortExchange::most_broadcast_bytes;
  EXPECT_TRUE(exchange.fits(call));
  call.elements = ShortExchange::most_broadcast_bytes + 1;
  EXPECT_FALSE(exchange.fits(call));
  call.reducer.calls_mpi = false;
  call.collective = Collective::reduce_scatter;
  call.elements = ShortExchange::most_bytes_to_root(4);
  EXPECT_TRUE(exchange.fits(call));
  call.elements = ShortExchange::most_bytes_to_root(4) + 1;
  EXPECT_FALSE(exchange.fits(call));
}

}  // namespace

}  // namespace libcoll::short_exchange_threads_test
