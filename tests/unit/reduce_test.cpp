// Every operation, type and instruction set against a scalar reference written from MPI's definitions
// (MPI 3.1, section 5.9.2, and C's own operators); wrapping integers are computed in 128 bits and cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "libcoll/reduce/kernels.h"

namespace libcoll::reduce_test {

using namespace reduce;

namespace {

constexpr std::size_t margin_bytes = 64;
constexpr unsigned char guard = 0xa5;
constexpr std::size_t largest = 600;

// All up to two vectors of 64 bytes, and around the multiples of SVE's longest, which has 256.
std::vector<std::size_t> sizes() {
  std::vector<std::size_t> list = {255, 256, 257, 511, 512, 513, largest};
  for (std::size_t elements = 0; elements <= 130; ++elements) list.push_back(elements);
  return list;
}

template <class T>
T reference(ReduceOp op, T left, T right) {
  if constexpr (std::is_floating_point_v<T>) {
    if (op == ReduceOp::sum) return left + right;
    if (op == ReduceOp::prod) return left * right;
    if (op == ReduceOp::min) return left < right ? left : right;
    return left > right ? left : right;
  } else {
    __extension__ using Wide = __int128;
    __extension__ using UnsignedWide = unsigned __int128;
    const auto a = static_cast<Wide>(left);   // NOLINT(bugprone-signed-char-misuse): the sign is meant
    const auto b = static_cast<Wide>(right);  // NOLINT(bugprone-signed-char-misuse)
    switch (op) {
      case ReduceOp::sum:
        return static_cast<T>(a + b);
      case ReduceOp::prod:
        // Two 64-bit factors fit: |a·b| <= (2^64 - 1)^2 < 2^128, cut in unsigned arithmetic.
        return static_cast<T>(static_cast<UnsignedWide>(a) * static_cast<UnsignedWide>(b));
      case ReduceOp::min:
        return a < b ? left : right;
      case ReduceOp::max:
        return a > b ? left : right;
      case ReduceOp::band:
        return static_cast<T>(a & b);
      case ReduceOp::bor:
        return static_cast<T>(a | b);
      case ReduceOp::bxor:
        return static_cast<T>(a ^ b);
      case ReduceOp::land:
        return static_cast<T>(a != 0 && b != 0);
      case ReduceOp::lor:
        return static_cast<T>(a != 0 || b != 0);
      case ReduceOp::lxor:
        return static_cast<T>((a != 0) != (b != 0));
    }
    return T{};
  }
}

std::vector<KernelIsa> available() {
  std::vector<KernelIsa> list;
  for (std::size_t i = 0; i < kernel_isa_count; ++i) {
    if (kernel_isa_available(static_cast<KernelIsa>(i))) list.push_back(static_cast<KernelIsa>(i));
  }
  return list;
}

// Zeros, extremes and anything between; no two NaNs meet, for their payloads may differ (see the header).
template <class T>
T sample(std::mt19937_64& random, bool may_be_nan) {
  using Limits = std::numeric_limits<T>;
  const std::uint64_t bits = random();
  switch (bits % 8) {
    case 0:
      return T{};
    case 1:
      return Limits::max();
    case 2:
      return Limits::lowest();
    case 3:
      if constexpr (std::is_floating_point_v<T>) return -T{};
      return T{1};
    case 4:
      if constexpr (std::is_floating_point_v<T>) return may_be_nan ? Limits::quiet_NaN() : Limits::infinity();
      [[fallthrough]];
    default:
      if constexpr (std::is_floating_point_v<T>) {
        return std::uniform_real_distribution<T>(-1000, 1000)(random);
      } else {
        return static_cast<T>(bits >> 8);
      }
  }
}

template <class T>
std::vector<T> samples(std::uint64_t seed, bool may_be_nan) {
  std::mt19937_64 random(seed);
  std::vector<T> values;
  for (std::size_t i = 0; i < largest; ++i) values.push_back(sample<T>(random, may_be_nan));
  return values;
}

// Bytes between two guards, at any distance from an aligned address.
class Buffer {
 public:
  Buffer(const void* data, std::size_t bytes, std::size_t offset)
      : bytes_(bytes), start_(margin_bytes + offset), memory_(start_ + bytes + margin_bytes, guard) {
    if (data != nullptr) std::memcpy(memory_.data() + start_, data, bytes);
  }
  void* data() { return memory_.data() + start_; }
  [[nodiscard]] bool guarded() const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if ((i < start_ || i >= start_ + bytes_) && memory_[i] != guard) return false;
    }
    return true;
  }
  [[nodiscard]] bool holds(const void* expected) const {
    return bytes_ == 0 || std::memcmp(memory_.data() + start_, expected, bytes_) == 0;
  }

 private:
  std::size_t bytes_;
  std::size_t start_;
  std::vector<unsigned char> memory_;
};

template <class T>
class ReduceKernels : public testing::Test {};

template <class T>
constexpr ElementType element_type() {
  if constexpr (std::is_same_v<T, float>) {
    return ElementType::float32;
  } else if constexpr (std::is_same_v<T, double>) {
    return ElementType::float64;
  } else {
    constexpr auto first = std::is_signed_v<T> ? ElementType::int8 : ElementType::uint8;
    constexpr int log_size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<ElementType>(static_cast<int>(first) + log_size);
  }
}

using Elements = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                                std::uint32_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(ReduceKernels, Elements);

template <class T>
struct Case {
  ReduceOp op;
  KernelIsa isa;
  ReduceKernel kernel;
  std::vector<T> left = samples<T>(1, true);
  std::vector<T> right = samples<T>(2, false);
  std::vector<T> expected;

  Case(ReduceOp op_in, KernelIsa isa_in)
      : op(op_in), isa(isa_in), kernel(reduce_kernel(op_in, element_type<T>(), isa_in)) {
    for (std::size_t i = 0; i < largest; ++i) expected.push_back(reference(op, left[i], right[i]));
  }

  [[nodiscard]] std::string name(std::size_t elements, std::size_t offset) const {
    return "op " + std::to_string(static_cast<int>(op)) + ", isa " + std::to_string(static_cast<int>(isa)) + ", " +
           std::to_string(elements) + " elements, offset " + std::to_string(offset);
  }

  void check_apart(std::size_t elements, std::size_t offset) const {
    const std::size_t bytes = elements * sizeof(T);
    Buffer a(left.data(), bytes, offset);
    Buffer b(right.data(), bytes, offset / 2);
    Buffer result(nullptr, bytes, offset / 3);
    kernel(result.data(), a.data(), b.data(), elements);
    EXPECT_TRUE(result.holds(expected.data()) && result.guarded()) << name(elements, offset);
    EXPECT_TRUE(a.holds(left.data()) && b.holds(right.data())) << name(elements, offset);
  }

  void check_in_place(std::size_t elements, std::size_t offset) const {
    const std::size_t bytes = elements * sizeof(T);
    Buffer a(left.data(), bytes, offset);
    Buffer b(right.data(), bytes, offset / 2);
    kernel(a.data(), a.data(), b.data(), elements);
    EXPECT_TRUE(a.holds(expected.data()) && a.guarded()) << "into left: " << name(elements, offset);
    Buffer again(left.data(), bytes, offset);
    kernel(b.data(), again.data(), b.data(), elements);
    EXPECT_TRUE(b.holds(expected.data()) && b.guarded()) << "into right: " << name(elements, offset);
  }

  void check_all_the_same(std::size_t elements, std::size_t offset) const {
    std::vector<T> doubled;
    for (std::size_t i = 0; i < elements; ++i) doubled.push_back(reference(op, right[i], right[i]));
    Buffer b(right.data(), elements * sizeof(T), offset);
    kernel(b.data(), b.data(), b.data(), elements);
    EXPECT_TRUE(b.holds(doubled.data()) && b.guarded()) << "all three the same: " << name(elements, offset);
  }
};

TYPED_TEST(ReduceKernels, EqualTheReferenceAtEverySizeOffsetAndIsa) {
  for (std::size_t o = 0; o < reduce_op_count; ++o) {
    const auto op = static_cast<ReduceOp>(o);
    if (std::is_floating_point_v<TypeParam> && op >= ReduceOp::band) continue;
    for (const KernelIsa isa : available()) {
      const Case<TypeParam> test(op, isa);
      ASSERT_NE(test.kernel, nullptr) << test.name(0, 0);
      for (const std::size_t elements : sizes()) {
        for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{7}, elements % 64}) {
          test.check_apart(elements, offset);
          test.check_in_place(elements, offset);
          test.check_all_the_same(elements, offset);
        }
      }
    }
  }
}

TYPED_TEST(ReduceKernels, TheDispatchedKernelIsTheBest) {
  for (std::size_t o = 0; o < reduce_op_count; ++o) {
    const auto op = static_cast<ReduceOp>(o);
    EXPECT_EQ(reduce_kernel(op, element_type<TypeParam>()),
              reduce_kernel(op, element_type<TypeParam>(), best_kernel_isa()));
  }
}

// On x86 the widest vectors. SVE only where its vectors are longer than NEON's: Arm's Neoverse V2 has both at 16 bytes.
TEST(ReduceKernelTable, TheBestIsTheWidestThatIsAvailable) {
  const std::vector<KernelIsa> isas = available();
  if (isas.back() != KernelIsa::sve) {
    EXPECT_EQ(best_kernel_isa(), isas.back());
  }
  EXPECT_NE(std::find(isas.begin(), isas.end(), best_kernel_isa()), isas.end());
}

TEST(ReduceKernelTable, BitwiseAndLogicalOnFloatingPointDoNotExist) {
  for (const ElementType type : {ElementType::float32, ElementType::float64}) {
    for (std::size_t o = 0; o < reduce_op_count; ++o) {
      const bool expected = o <= static_cast<std::size_t>(ReduceOp::max);
      EXPECT_EQ(reduce_kernel(static_cast<ReduceOp>(o), type) != nullptr, expected) << o;
    }
  }
}

TEST(ReduceKernelTable, InstructionSetsAreDistinctBuilds) {
  std::set<ReduceKernel> kernels;
  for (const KernelIsa isa : available()) kernels.insert(reduce_kernel(ReduceOp::sum, ElementType::float64, isa));
  EXPECT_EQ(kernels.size(), available().size());
  EXPECT_FALSE(kernels.contains(nullptr));
  EXPECT_TRUE(kernel_isa_available(KernelIsa::baseline));
}

// Neither is built for the other's processors.
TEST(ReduceKernelTable, OtherProcessorsHaveNoKernels) {
  const auto sum = [](KernelIsa isa) { return reduce_kernel(ReduceOp::sum, ElementType::float64, isa); };
  EXPECT_TRUE(sum(KernelIsa::sve) == nullptr || sum(KernelIsa::avx2) == nullptr);
  for (std::size_t i = 0; i < kernel_isa_count; ++i) {
    const auto isa = static_cast<KernelIsa>(i);
    EXPECT_TRUE(sum(isa) != nullptr || !kernel_isa_available(isa)) << i;
  }
}

// The values of shared notes on Open MPI's op/avx, which saturates: 100 + 100 in int8, 30000 + 30000 in int16.
TEST(ReduceKernelTable, NarrowIntegersWrap) {
  const std::vector<std::int8_t> small(67, 100);
  std::vector<std::int8_t> small_sum(67);
  reduce_kernel(ReduceOp::sum, ElementType::int8)(small_sum.data(), small.data(), small.data(), 67);
  EXPECT_EQ(small_sum, std::vector<std::int8_t>(67, -56));  // 200 - 256

  const std::vector<std::int16_t> wide(67, 30000);
  std::vector<std::int16_t> wide_sum(67);
  reduce_kernel(ReduceOp::sum, ElementType::int16)(wide_sum.data(), wide.data(), wide.data(), 67);
  EXPECT_EQ(wide_sum, std::vector<std::int16_t>(67, -5536));  // 60000 - 65536

  const std::vector<std::uint16_t> factor(67, 65535);
  std::vector<std::uint16_t> product(67);
  reduce_kernel(ReduceOp::prod, ElementType::uint16)(product.data(), factor.data(), factor.data(), 67);
  EXPECT_EQ(product, std::vector<std::uint16_t>(67, 1));  // (-1)·(-1) modulo 2^16
}

// MPI leaves minima of NaNs open; ours are `left < right ? left : right`, so a NaN on the left gives the right one.
TEST(ReduceKernelTable, MinimumKeepsTheOrderOfItsOperands) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> nans(9, nan);
  const std::vector<double> ones(9, 1.0);
  std::vector<double> result(9);
  const ReduceKernel minimum = reduce_kernel(ReduceOp::min, ElementType::float64);
  minimum(result.data(), nans.data(), ones.data(), 9);
  EXPECT_EQ(result, ones);
  minimum(result.data(), ones.data(), nans.data(), 9);
  for (const double value : result) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace libcoll::reduce_test
