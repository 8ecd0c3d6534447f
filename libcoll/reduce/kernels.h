// Reduction kernels: element-wise `destination = left op right`, vectorised, one build per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace libcoll::reduce {

/// The operations, with MPI's meaning. Integer sums and products wrap (modulo 2^bits), also those of 8 and 16
/// bits. Minimum is `left < right ? left : right` and maximum `left > right ? left : right`, which settles zeros
/// of both signs and NaNs. Logical operations give 0 or 1.
enum class ReduceOp : std::uint8_t { sum, prod, min, max, band, bor, bxor, land, lor, lxor };

enum class ElementType : std::uint8_t { int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64 };

inline constexpr std::size_t reduce_op_count = 10;
inline constexpr std::size_t element_type_count = 10;

/// destination[i] = left[i] op right[i] for i in [0, elements). The order left, right is kept. `destination` may be
/// exactly `left` or `right` (or both); any other overlap is not allowed. No pointer needs any alignment.
using ReduceKernel = void (*)(void* destination, const void* left, const void* right, std::size_t elements) noexcept;

/// The kernel for this machine's best instruction set; nullptr when MPI defines no such reduction (bitwise and
/// logical operations on floating point). The bits of a result do not depend on the instruction set; only the
/// payload of a NaN made from two NaNs may.
ReduceKernel reduce_kernel(ReduceOp op, ElementType type) noexcept;

/// Instruction sets the kernels are built for. `baseline` is what every processor of the architecture has: SSE2 on
/// x86-64, NEON on aarch64, and elsewhere whatever the compiler assumes.
enum class KernelIsa : std::uint8_t { baseline, avx2, avx512, sve };

inline constexpr std::size_t kernel_isa_count = 4;

/// Whether there are kernels of that instruction set and this machine (processor and operating system) can run them.
bool kernel_isa_available(KernelIsa isa) noexcept;

/// The instruction set of reduce_kernel(op, type).
KernelIsa best_kernel_isa() noexcept;

/// The kernel of one given instruction set, for tests and measurements; nullptr also where there is no build for it.
/// Calling it when the instruction set is not available is undefined.
ReduceKernel reduce_kernel(ReduceOp op, ElementType type, KernelIsa isa) noexcept;

}  // namespace libcoll::reduce
