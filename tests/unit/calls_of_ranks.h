// Calls of a node's ranks with what is right for each, for tests in which the ranks are threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "libcoll/execute/call.h"
#include "libcoll/node/call_phases.h"

namespace libcoll::calls_of_ranks {

inline constexpr std::array<schedule::Collective, 4> all_collectives{
    schedule::Collective::allreduce, schedule::Collective::reduce_scatter, schedule::Collective::allgather,
    schedule::Collective::alltoall};

inline void add_doubles(const void*, void* destination, const void* left, const void* right,
                        std::int64_t elements) noexcept {
  auto* to = static_cast<double*>(destination);
  for (std::int64_t i = 0; i < elements; ++i) {
    to[i] = static_cast<const double*>(left)[i] + static_cast<const double*>(right)[i];
  }
}

/// All ranks in one NUMA domain, in their order.
inline std::vector<std::vector<std::int32_t>> one_domain(std::int32_t ranks) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return {all};
}

/// Memory of all ranks.
class Shared {
 public:
  explicit Shared(std::size_t bytes) : memory_((bytes + sizeof(Line) - 1) / sizeof(Line)) {}
  [[nodiscard]] std::byte* data() { return reinterpret_cast<std::byte*>(memory_.data()); }

 private:
  struct alignas(128) Line {
    std::array<std::byte, 64> bytes{};
  };
  std::vector<Line> memory_;
};

/// Fractions, so that sums depend on the order.
inline double value(int rank, int call, std::int64_t i) {
  return 1.0 / (1 + rank * 7 + call * 3 + static_cast<double>(i % 1000) * 11);
}

/// One rank's call of doubles, with its buffers.
class RankCall {
 public:
  /// `in_place`: the input lies where MPI_IN_PLACE would have it.
  RankCall(schedule::Collective collective, int number, std::int64_t elements, std::int32_t ranks, std::int32_t rank,
           bool in_place)
      : number_(number), ranks_(ranks), rank_(rank) {
    const bool gets_all = collective == schedule::Collective::alltoall || collective == schedule::Collective::allgather;
    const bool shows_all =
        collective == schedule::Collective::alltoall || collective == schedule::Collective::reduce_scatter;
    const auto all = static_cast<std::size_t>(elements * ranks);
    const auto one = static_cast<std::size_t>(elements);
    input_.resize(shows_all ? all : one);
    for (std::size_t i = 0; i < input_.size(); ++i) input_[i] = value(rank, number, static_cast<std::int64_t>(i));
    output_.resize(gets_all || (in_place && shows_all) ? all : one);
    result_ = gets_all ? all : one;
    call.collective = collective;
    call.elements = elements;
    call.element_bytes = sizeof(double);
    call.reducer.apply = &add_doubles;
    const std::size_t place =
        in_place && collective == schedule::Collective::allgather ? static_cast<std::size_t>(rank * elements) : 0;
    if (in_place) std::copy(input_.begin(), input_.end(), output_.begin() + static_cast<std::ptrdiff_t>(place));
    call.input = reinterpret_cast<const std::byte*>(in_place ? output_.data() + place : input_.data());
    call.output = reinterpret_cast<std::byte*>(output_.data());
  }

  /// What is wrong in the result; empty: nothing.
  [[nodiscard]] std::string fault() const {
    for (std::size_t i = 0; i < result_; ++i) {
      if (output_[i] != expected(static_cast<std::int64_t>(i))) return complaint("element " + std::to_string(i));
    }
    return "";
  }
  [[nodiscard]] std::string complaint(const std::string& what) const {
    return "rank " + std::to_string(rank_) + ", call " + std::to_string(number_) + ": " + what;
  }

  execute::Call call;

 private:
  [[nodiscard]] double expected(std::int64_t i) const {
    const std::int64_t elements = call.elements;
    if (call.collective == schedule::Collective::allgather) {
      return value(static_cast<int>(i / elements), number_, i % elements);
    }
    const std::int64_t own = rank_ * elements;
    if (call.collective == schedule::Collective::alltoall) {
      return value(static_cast<int>(i / elements), number_, own + i % elements);
    }
    const std::int64_t place = call.collective == schedule::Collective::reduce_scatter ? own + i : i;
    double sum = value(0, number_, place);
    for (int rank = 1; rank < ranks_; ++rank) sum += value(rank, number_, place);
    return sum;
  }

  int number_;
  std::int32_t ranks_;
  std::int32_t rank_;
  std::size_t result_ = 0;  ///< elements
  std::vector<double> input_;
  std::vector<double> output_;
};

/// Until all ranks have come to the phase. False: one gave up.
inline bool wait_for_all(node::CallPhases& phases) {
  return phases.all_came_soon() || phases.phases().wait(phases.awaited(), {});
}

/// Has each rank's work done by a thread.
template <class Work>
void on_all_ranks(std::int32_t ranks, const Work& work) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  for (std::int32_t rank = 0; rank < ranks; ++rank) threads.emplace_back([&work, rank] { work(rank); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace libcoll::calls_of_ranks
