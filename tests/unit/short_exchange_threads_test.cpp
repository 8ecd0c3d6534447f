// Short calls of a node, whose ranks are threads here.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "libcoll/execute/call.h"
#include "libcoll/node/short_exchange.h"

namespace libcoll::short_exchange_threads_test {

using namespace execute;
using namespace node;
using namespace schedule;

namespace {

constexpr std::array<Collective, 4> collectives{Collective::allreduce, Collective::reduce_scatter,
                                                Collective::allgather, Collective::alltoall};
constexpr int calls = 400;

void add_doubles(const void*, void* destination, const void* left, const void* right, std::int64_t elements) noexcept {
  auto* to = static_cast<double*>(destination);
  for (std::int64_t i = 0; i < elements; ++i) {
    to[i] = static_cast<const double*>(left)[i] + static_cast<const double*>(right)[i];
  }
}

/// All ranks in one NUMA domain, in their order.
std::vector<std::vector<std::int32_t>> one_domain(std::int32_t ranks) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return {all};
}

/// Memory of all ranks.
class Shared {
 public:
  explicit Shared(std::int32_t ranks) : memory_(ShortExchange::bytes(ranks) / sizeof(Line)) {}
  [[nodiscard]] std::byte* data() { return reinterpret_cast<std::byte*>(memory_.data()); }

 private:
  struct alignas(128) Line {
    std::array<std::byte, 64> bytes{};
  };
  std::vector<Line> memory_;
};

/// Fractions, so that sums depend on the order.
double value(int rank, int call, std::int64_t i) {
  return 1.0 / (1 + rank * 7 + call * 3 + static_cast<double>(i % 1000) * 11);
}

/// Of the vector or block in that call.
std::int64_t elements_of(int call, std::int32_t ranks) {
  std::mt19937 random(static_cast<unsigned>(call));
  const std::int64_t most = ShortExchange::most_bytes_of(ranks) / static_cast<std::int64_t>(sizeof(double));
  if (call % 7 == 0) return 1;
  return call % 5 == 0 ? most : std::uniform_int_distribution<std::int64_t>(1, most)(random);
}

class ShortRank {
 public:
  ShortRank(Shared& memory, std::int32_t ranks, std::int32_t rank)
      : exchange_(memory.data(), one_domain(ranks), rank), ranks_(ranks), rank_(rank) {}

  void run() {
    for (int number = 0; number < calls && wrong.empty(); ++number) run_one(number);
  }

  std::string wrong;

 private:
  void run_one(int number) {
    const Collective collective = collectives[static_cast<std::size_t>(number) % collectives.size()];
    const std::int64_t elements = elements_of(number, ranks_);
    const bool in_place = collective == Collective::allreduce && number % 3 == 0;
    const bool shows_all = collective == Collective::alltoall || collective == Collective::reduce_scatter;
    const bool gets_all = collective == Collective::alltoall || collective == Collective::allgather;
    std::vector<double> input(static_cast<std::size_t>(elements * (shows_all ? ranks_ : 1)));
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = value(rank_, number, static_cast<std::int64_t>(i));
    std::vector<double> output(static_cast<std::size_t>(elements * (gets_all ? ranks_ : 1)));
    if (in_place) output = input;
    Call call;
    call.collective = collective;
    call.input = reinterpret_cast<const std::byte*>(in_place ? output.data() : input.data());
    call.output = reinterpret_cast<std::byte*>(output.data());
    call.elements = elements;
    call.element_bytes = sizeof(double);
    call.reducer.apply = &add_doubles;
    if (!exchange_.fits(call)) return complain(number, "does not fit");
    exchange_.begin(call);
    if (!exchange_.all_came_soon() && !exchange_.phases().wait(exchange_.awaited(), {})) {
      return complain(number, "gave up");
    }
    if (!exchange_.finish(call)) return complain(number, "another length");
    for (std::size_t i = 0; i < output.size(); ++i) {
      if (output[i] != expected(collective, number, elements, static_cast<std::int64_t>(i))) {
        return complain(number, "element " + std::to_string(i));
      }
    }
  }

  [[nodiscard]] double expected(Collective collective, int number, std::int64_t elements, std::int64_t i) const {
    if (collective == Collective::allgather) return value(static_cast<int>(i / elements), number, i % elements);
    const std::int64_t own = rank_ * elements;
    if (collective == Collective::alltoall) {
      return value(static_cast<int>(i / elements), number, own + i % elements);
    }
    const std::int64_t place = collective == Collective::reduce_scatter ? own + i : i;
    double sum = value(0, number, place);
    for (int rank = 1; rank < ranks_; ++rank) sum += value(rank, number, place);
    return sum;
  }

  void complain(int number, const std::string& what) {
    wrong = "rank " + std::to_string(rank_) + ", call " + std::to_string(number) + ": " + what;
  }

  ShortExchange exchange_;
  std::int32_t ranks_;
  std::int32_t rank_;
};

class ShortExchangeOf : public testing::TestWithParam<std::int32_t> {};

TEST_P(ShortExchangeOf, RanksGetWhatTheyShow) {
  const std::int32_t ranks = GetParam();
  Shared memory(ranks);
  std::vector<std::unique_ptr<ShortRank>> all;
  all.reserve(static_cast<std::size_t>(ranks));
  for (std::int32_t rank = 0; rank < ranks; ++rank) all.push_back(std::make_unique<ShortRank>(memory, ranks, rank));
  std::vector<std::thread> threads;
  threads.reserve(all.size());
  for (const auto& rank : all) threads.emplace_back([&rank] { rank->run(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& rank : all) EXPECT_EQ(rank->wrong, "");
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
  Shared memory(2);
  ShortExchange first(memory.data(), one_domain(2), 0);
  ShortExchange second(memory.data(), one_domain(2), 1);
  std::array<std::byte, 8> input{};
  std::array<std::byte, 16> output{};
  first.begin(bytes_for_all(input.data(), output.data(), 8));
  EXPECT_FALSE(first.all_came_soon());
  second.begin(bytes_for_all(input.data(), output.data(), 4));
  ASSERT_TRUE(first.all_came_soon());
  EXPECT_FALSE(first.finish(bytes_for_all(input.data(), output.data(), 8)));
  EXPECT_FALSE(second.finish(bytes_for_all(input.data(), output.data(), 4)));
  input.fill(std::byte{7});
  first.begin(bytes_for_all(input.data(), output.data(), 8));
  second.begin(bytes_for_all(input.data(), output.data(), 8));
  EXPECT_TRUE(first.finish(bytes_for_all(input.data(), output.data(), 8)));
  EXPECT_EQ(output.front(), std::byte{7});
  EXPECT_EQ(output.back(), std::byte{7});
  EXPECT_EQ(first.calls(), 2U);
}

/// (a + c) + b, which rounds otherwise than (a + b) + c.
TEST(ShortExchange, SumsGoDomainByDomain) {
  const std::vector<std::vector<std::int32_t>> domains{{0, 2}, {1}};
  const std::array<double, 3> values{0.1, 0.2, 0.9};
  ASSERT_NE((values[0] + values[2]) + values[1], (values[0] + values[1]) + values[2]);
  Shared memory(3);
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
    ASSERT_TRUE(ranks[rank].all_came_soon());
    ASSERT_TRUE(ranks[rank].finish(sum_calls[rank]));
    EXPECT_EQ(sums[rank], (values[0] + values[2]) + values[1]);
  }
}

TEST(ShortExchange, LongOnesAndThoseOfMpiDoNotFit) {
  Shared memory(4);
  const ShortExchange exchange(memory.data(), one_domain(4), 0);
  Call call = bytes_for_all(nullptr, nullptr, 4096);
  EXPECT_TRUE(exchange.fits(call));
  call.elements = 4097;
  EXPECT_FALSE(exchange.fits(call));
  call.elements = std::int64_t{1} << 62;
  EXPECT_FALSE(exchange.fits(call));
  call.elements = 8;
  call.reducer.calls_mpi = true;
  EXPECT_FALSE(exchange.fits(call));
  call.reducer.calls_mpi = false;
  call.counts = {8, 0, 0, 0};
  EXPECT_FALSE(exchange.fits(call));
  EXPECT_EQ(ShortExchange::most_bytes_of(ShortExchange::most_ranks + 1), 0);
}

}  // namespace

}  // namespace libcoll::short_exchange_threads_test
