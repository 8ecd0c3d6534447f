// Reductions of Fortran's REAL*16 and COMPLEX*32. Ours, because Debian's Open MPI 4.1.4 leaves the second operand as it
// is for these types and reports success.
#pragma once

#include <cstddef>

#include "libcoll/reduce/kernels.h"

namespace libcoll::serve {

using QuadKernel = void (*)(void* destination, const void* left, const void* right, std::size_t elements) noexcept;

/// destination = left op right on 16-byte real numbers (IEEE binary128); null when there is no such operation on them.
QuadKernel quad_kernel(reduce::ReduceOp op);

/// The same on complex numbers: sum and product.
QuadKernel quad_complex_kernel(reduce::ReduceOp op);

}  // namespace libcoll::serve
