// Arrays of counts and displacements, whose width depends on the function that has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace libcoll::serve {

/// An array argument of MPI's: of ints or, in functions of large counts (MPI-4.0, section 2.5.8), of std::int64_t or
/// std::int64_t, which have 64 bits. Refers to the program's memory.
class Integers {
 public:
  Integers() = default;
  // NOLINTBEGIN(google-explicit-constructor): arguments become what they are
  Integers(const int* data) : data_(data), width_(sizeof(int)) {}
  Integers(const long* data) : data_(data), width_(sizeof(long)) {}
  Integers(const long long* data) : data_(data), width_(sizeof(long long)) {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] bool given() const { return data_ != nullptr; }
  [[nodiscard]] std::int64_t operator[](std::int64_t place) const {
    const std::byte* at = static_cast<const std::byte*>(data_) + static_cast<std::size_t>(place) * width_;
    if (width_ == sizeof(int)) {
      int value = 0;
      std::memcpy(&value, at, sizeof value);
      return value;
    }
    std::int64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }

 private:
  const void* data_ = nullptr;
  std::size_t width_ = sizeof(int);
};
static_assert(sizeof(long) == sizeof(std::int64_t) && sizeof(long long) == sizeof(std::int64_t));

}  // namespace libcoll::serve
