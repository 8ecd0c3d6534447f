// The kernels of one instruction set: compiled once for each, with LIBCOLL_ISA naming the namespace.
//
// Everything but the entry point has internal linkage, and no inline function of the standard library is called:
// the linker keeps one copy of an inline function, and it might be the copy built for a newer processor.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "libcoll/reduce/kernels.h"

namespace libcoll::reduce::LIBCOLL_ISA {
namespace {

// Unsigned and at least 32 bits wide: narrower operands would be promoted to int, whose overflow is undefined.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

struct Sum {
  template <class T>
  static T apply(T left, T right) noexcept {
    if constexpr (std::is_floating_point_v<T>) {
      return left + right;
    } else {
      return static_cast<T>(static_cast<Wrapping<T>>(left) + static_cast<Wrapping<T>>(right));
    }
  }
};

struct Prod {
  template <class T>
  static T apply(T left, T right) noexcept {
    if constexpr (std::is_floating_point_v<T>) {
      return left * right;
    } else {
      return static_cast<T>(static_cast<Wrapping<T>>(left) * static_cast<Wrapping<T>>(right));
    }
  }
};

struct Min {
  template <class T>
  static T apply(T left, T right) noexcept {
    return left < right ? left : right;
  }
};

struct Max {
  template <class T>
  static T apply(T left, T right) noexcept {
    return left > right ? left : right;
  }
};

struct Band {
  template <class T>
  static T apply(T left, T right) noexcept {
    return static_cast<T>(left & right);
  }
};

struct Bor {
  template <class T>
  static T apply(T left, T right) noexcept {
    return static_cast<T>(left | right);
  }
};

struct Bxor {
  template <class T>
  static T apply(T left, T right) noexcept {
    return static_cast<T>(left ^ right);
  }
};

// Without short circuits, so that the loops have no branches.
struct Land {
  template <class T>
  static T apply(T left, T right) noexcept {
    return static_cast<T>(static_cast<T>(left != 0) & static_cast<T>(right != 0));
  }
};

struct Lor {
  template <class T>
  static T apply(T left, T right) noexcept {
    return static_cast<T>((left | right) != 0);
  }
};

struct Lxor {
  template <class T>
  static T apply(T left, T right) noexcept {
    return static_cast<T>(static_cast<T>(left != 0) ^ static_cast<T>(right != 0));
  }
};

template <class T>
struct __attribute__((packed, may_alias)) Unaligned {
  T value;
};

template <class Op, class T>
void run(void* destination, const void* left, const void* right, std::size_t elements) noexcept {
  auto* to = static_cast<Unaligned<T>*>(destination);
  const auto* a = static_cast<const Unaligned<T>*>(left);
  const auto* b = static_cast<const Unaligned<T>*>(right);
  // True for disjoint and for equal buffers; without it equal buffers would take a scalar path.
#ifndef __clang__
#pragma GCC ivdep
#endif
  for (std::size_t i = 0; i < elements; ++i) to[i].value = Op::apply(a[i].value, b[i].value);
}

template <class Op>
ReduceKernel integer_kernel(ElementType type) noexcept {
  switch (type) {
    case ElementType::int8:
      return run<Op, std::int8_t>;
    case ElementType::int16:
      return run<Op, std::int16_t>;
    case ElementType::int32:
      return run<Op, std::int32_t>;
    case ElementType::int64:
      return run<Op, std::int64_t>;
    case ElementType::uint8:
      return run<Op, std::uint8_t>;
    case ElementType::uint16:
      return run<Op, std::uint16_t>;
    case ElementType::uint32:
      return run<Op, std::uint32_t>;
    case ElementType::uint64:
      return run<Op, std::uint64_t>;
    case ElementType::float32:
    case ElementType::float64:
      break;
  }
  return nullptr;
}

template <class Op>
ReduceKernel arithmetic_kernel(ElementType type) noexcept {
  if (type == ElementType::float32) return run<Op, float>;
  if (type == ElementType::float64) return run<Op, double>;
  return integer_kernel<Op>(type);
}

}  // namespace

// Declared in kernels.cpp only: nobody else may call one instruction set's kernels by name.
ReduceKernel kernel(ReduceOp op, ElementType type) noexcept;

ReduceKernel kernel(ReduceOp op, ElementType type) noexcept {
  switch (op) {
    case ReduceOp::sum:
      return arithmetic_kernel<Sum>(type);
    case ReduceOp::prod:
      return arithmetic_kernel<Prod>(type);
    case ReduceOp::min:
      return arithmetic_kernel<Min>(type);
    case ReduceOp::max:
      return arithmetic_kernel<Max>(type);
    case ReduceOp::band:
      return integer_kernel<Band>(type);
    case ReduceOp::bor:
      return integer_kernel<Bor>(type);
    case ReduceOp::bxor:
      return integer_kernel<Bxor>(type);
    case ReduceOp::land:
      return integer_kernel<Land>(type);
    case ReduceOp::lor:
      return integer_kernel<Lor>(type);
    case ReduceOp::lxor:
      return integer_kernel<Lxor>(type);
  }
  return nullptr;
}

}  // namespace libcoll::reduce::LIBCOLL_ISA
