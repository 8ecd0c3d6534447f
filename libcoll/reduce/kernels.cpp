#include "libcoll/reduce/kernels.h"

namespace libcoll {

// One per build of kernels_isa.cpp.
namespace baseline {
ReduceKernel kernel(ReduceOp op, ElementType type) noexcept;
}
namespace avx2 {
ReduceKernel kernel(ReduceOp op, ElementType type) noexcept;
}
namespace avx512 {
ReduceKernel kernel(ReduceOp op, ElementType type) noexcept;
}

namespace {

KernelIsa best_isa() noexcept {
  if (kernel_isa_available(KernelIsa::avx512)) return KernelIsa::avx512;
  if (kernel_isa_available(KernelIsa::avx2)) return KernelIsa::avx2;
  return KernelIsa::baseline;
}

}  // namespace

bool kernel_isa_available(KernelIsa isa) noexcept {
  __builtin_cpu_init();
  switch (isa) {
    case KernelIsa::baseline:
      return true;
    case KernelIsa::avx2:
      return __builtin_cpu_supports("avx2") != 0;
    case KernelIsa::avx512:
      return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
             __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  }
  return false;
}

ReduceKernel reduce_kernel(ReduceOp op, ElementType type, KernelIsa isa) noexcept {
  switch (isa) {
    case KernelIsa::avx512:
      return avx512::kernel(op, type);
    case KernelIsa::avx2:
      return avx2::kernel(op, type);
    case KernelIsa::baseline:
      break;
  }
  return baseline::kernel(op, type);
}

ReduceKernel reduce_kernel(ReduceOp op, ElementType type) noexcept {
  static const KernelIsa isa = best_isa();
  return reduce_kernel(op, type, isa);
}

}  // namespace libcoll
