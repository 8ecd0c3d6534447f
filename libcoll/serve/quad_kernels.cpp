#include "libcoll/serve/quad_kernels.h"

namespace libcoll::serve {

using namespace reduce;

namespace {

// IEEE binary128 is long double on aarch64, and a type of its own on x86.
#if __LDBL_MANT_DIG__ == 113
using Quad = long double;
#else
__extension__ using Quad = __float128;
#endif

struct QuadComplex {
  Quad real;
  Quad imaginary;
};

Quad add(Quad a, Quad b) { return a + b; }
Quad multiply(Quad a, Quad b) { return a * b; }
Quad larger(Quad a, Quad b) { return a > b ? a : b; }
Quad smaller(Quad a, Quad b) { return a < b ? a : b; }
QuadComplex add(QuadComplex a, QuadComplex b) { return {a.real + b.real, a.imaginary + b.imaginary}; }
QuadComplex multiply(QuadComplex a, QuadComplex b) {
  return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}

/// Elements go through memcpy: Fortran aligns them to 16 bytes, chunks of a message need not be.
template <class Number, Number (*Combine)(Number, Number)>
void apply(void* destination, const void* left, const void* right, std::size_t elements) noexcept {
  for (std::size_t i = 0; i < elements; ++i) {
    const std::size_t offset = i * sizeof(Number);
    Number a;
    Number b;
    __builtin_memcpy(&a, static_cast<const std::byte*>(left) + offset, sizeof a);
    __builtin_memcpy(&b, static_cast<const std::byte*>(right) + offset, sizeof b);
    const Number result = Combine(a, b);
    __builtin_memcpy(static_cast<std::byte*>(destination) + offset, &result, sizeof result);
  }
}

}  // namespace

QuadKernel quad_kernel(ReduceOp op) {
  if (op == ReduceOp::sum) return &apply<Quad, &add>;
  if (op == ReduceOp::prod) return &apply<Quad, &multiply>;
  if (op == ReduceOp::max) return &apply<Quad, &larger>;
  if (op == ReduceOp::min) return &apply<Quad, &smaller>;
  return nullptr;
}

QuadKernel quad_complex_kernel(ReduceOp op) {
  if (op == ReduceOp::sum) return &apply<QuadComplex, &add>;
  if (op == ReduceOp::prod) return &apply<QuadComplex, &multiply>;
  return nullptr;
}

}  // namespace libcoll::serve
