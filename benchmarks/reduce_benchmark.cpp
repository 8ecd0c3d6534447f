// Reduction kernels beside memcpy in the same run: bytes per second are those of the destination. In place, a kernel
// reads two streams and writes one; so does memcpy, which fetches the lines it overwrites: expect about the same
// figure.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "libcoll/reduce/kernels.h"

namespace libcoll {

using namespace reduce;

namespace {

void copy(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const std::vector<unsigned char> from(bytes, 1);
  std::vector<unsigned char> to(bytes, 2);
  while (state.KeepRunning()) {
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

// In place, as the executor accumulates. The data are zeros: products and sums stay in range for ever.
void reduce(benchmark::State& state, ReduceOp op, ElementType type, std::size_t element_size, KernelIsa isa) {
  if (!kernel_isa_available(isa)) {
    state.SkipWithError("this machine does not have the instruction set");
    return;
  }
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const std::vector<unsigned char> right(bytes, 0);
  std::vector<unsigned char> left(bytes, 0);
  const ReduceKernel kernel = reduce_kernel(op, type, isa);
  while (state.KeepRunning()) {
    kernel(left.data(), left.data(), right.data(), bytes / element_size);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void sizes(benchmark::internal::Benchmark* benchmark) { benchmark->RangeMultiplier(16)->Range(4096, 16 << 20); }

BENCHMARK(copy)->Apply(sizes);
BENCHMARK_CAPTURE(reduce, sum_float64_baseline, ReduceOp::sum, ElementType::float64, 8, KernelIsa::baseline)
    ->Apply(sizes);
BENCHMARK_CAPTURE(reduce, sum_float64_avx2, ReduceOp::sum, ElementType::float64, 8, KernelIsa::avx2)->Apply(sizes);
BENCHMARK_CAPTURE(reduce, sum_float64_avx512, ReduceOp::sum, ElementType::float64, 8, KernelIsa::avx512)->Apply(sizes);
BENCHMARK_CAPTURE(reduce, sum_float64_sve, ReduceOp::sum, ElementType::float64, 8, KernelIsa::sve)->Apply(sizes);
BENCHMARK_CAPTURE(reduce, sum_float32_avx2, ReduceOp::sum, ElementType::float32, 4, KernelIsa::avx2)->Apply(sizes);
BENCHMARK_CAPTURE(reduce, max_int32_avx2, ReduceOp::max, ElementType::int32, 4, KernelIsa::avx2)->Apply(sizes);
BENCHMARK_CAPTURE(reduce, prod_int64_avx2, ReduceOp::prod, ElementType::int64, 8, KernelIsa::avx2)->Apply(sizes);
BENCHMARK_CAPTURE(reduce, sum_int8_avx2, ReduceOp::sum, ElementType::int8, 1, KernelIsa::avx2)->Apply(sizes);
BENCHMARK_CAPTURE(reduce, land_uint8_avx2, ReduceOp::land, ElementType::uint8, 1, KernelIsa::avx2)->Apply(sizes);
BENCHMARK_CAPTURE(reduce, max_int32_avx512, ReduceOp::max, ElementType::int32, 4, KernelIsa::avx512)->Apply(sizes);
BENCHMARK_CAPTURE(reduce, prod_int64_avx512, ReduceOp::prod, ElementType::int64, 8, KernelIsa::avx512)->Apply(sizes);
BENCHMARK_CAPTURE(reduce, sum_int8_avx512, ReduceOp::sum, ElementType::int8, 1, KernelIsa::avx512)->Apply(sizes);

}  // namespace
}  // namespace libcoll
