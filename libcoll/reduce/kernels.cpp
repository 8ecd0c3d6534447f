#include "libcoll/reduce/kernels.h"

#if defined(LIBCOLL_KERNELS_SVE)
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

#include <cstdint>

namespace libcoll::reduce {

// One per build of kernels_isa.cpp; libcoll/CMakeLists.txt says which there are on which processor.
namespace baseline {
ReduceKernel kernel(ReduceOp op, ElementType type) noexcept;
}
#if defined(LIBCOLL_KERNELS_AVX)
namespace avx2 {
ReduceKernel kernel(ReduceOp op, ElementType type) noexcept;
}
namespace avx512 {
ReduceKernel kernel(ReduceOp op, ElementType type) noexcept;
}
#endif
#if defined(LIBCOLL_KERNELS_SVE)
namespace sve {
ReduceKernel kernel(ReduceOp op, ElementType type) noexcept;
}
#endif

namespace {

struct Build {
  KernelIsa isa;
  bool (*available)() noexcept;
  // Whether it is worth having where it is available.
  bool (*faster)() noexcept;
  ReduceKernel (*kernel)(ReduceOp, ElementType) noexcept;
};

bool always() noexcept { return true; }

#if defined(LIBCOLL_KERNELS_AVX)
bool has_avx2() noexcept {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") != 0;
}

bool has_avx512() noexcept {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}
#endif

#if defined(LIBCOLL_KERNELS_SVE)
bool has_sve() noexcept { return (getauxval(AT_HWCAP) & HWCAP_SVE) != 0; }

// Vectors of 16 bytes are NEON's as well, without the predicate of each load and store.
bool has_long_sve() noexcept {
  const int answer = prctl(PR_SVE_GET_VL);
  return answer > 0 && (answer & PR_SVE_VL_LEN_MASK) > 16;
}
#endif

// From the least to the best.
constexpr Build builds[] = {
    {KernelIsa::baseline, always, always, baseline::kernel},
#if defined(LIBCOLL_KERNELS_AVX)
    {KernelIsa::avx2, has_avx2, always, avx2::kernel},
    {KernelIsa::avx512, has_avx512, always, avx512::kernel},
#endif
#if defined(LIBCOLL_KERNELS_SVE)
    {KernelIsa::sve, has_sve, has_long_sve, sve::kernel},
#endif
};

}  // namespace

bool kernel_isa_available(KernelIsa isa) noexcept {
  for (const Build& build : builds) {
    if (build.isa == isa) return build.available();
  }
  return false;
}

KernelIsa best_kernel_isa() noexcept {
  KernelIsa best = KernelIsa::baseline;
  for (const Build& build : builds) {
    if (build.available() && build.faster()) best = build.isa;
  }
  return best;
}

ReduceKernel reduce_kernel(ReduceOp op, ElementType type, KernelIsa isa) noexcept {
  for (const Build& build : builds) {
    if (build.isa == isa) return build.kernel(op, type);
  }
  return nullptr;
}

ReduceKernel reduce_kernel(ReduceOp op, ElementType type) noexcept {
  static const KernelIsa isa = best_kernel_isa();
  return reduce_kernel(op, type, isa);
}

}  // namespace libcoll::reduce
