// Memory for messages on their way.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace libcoll::transport {

/// Memory of a message, whose length is a power of two.
struct Buffer {
  std::unique_ptr<std::byte[]> memory;
  std::size_t capacity = 0;
};

/// Keeps what is given back: memory that was touched before is much cheaper than new.
class BufferPool {
 public:
  Buffer take(std::size_t bytes) {
    const std::size_t capacity = std::bit_ceil(std::max(bytes, smallest));
    std::vector<Buffer>& shelf = shelf_of(capacity);
    if (shelf.empty()) return {std::unique_ptr<std::byte[]>(new std::byte[capacity]), capacity};
    Buffer buffer = std::move(shelf.back());
    shelf.pop_back();
    bytes_ -= capacity;
    return buffer;
  }
  void give(Buffer buffer) {
    if (buffer.memory == nullptr || bytes_ + buffer.capacity > most_bytes) return;
    bytes_ += buffer.capacity;
    shelf_of(buffer.capacity).push_back(std::move(buffer));
  }

 private:
  static constexpr std::size_t smallest = 64;
  static constexpr std::size_t most_bytes = std::size_t{16} << 20;

  std::vector<Buffer>& shelf_of(std::size_t capacity) {
    return shelves_[static_cast<std::size_t>(std::countr_zero(capacity))];
  }

  std::array<std::vector<Buffer>, 64> shelves_;
  std::size_t bytes_ = 0;
};

}  // namespace libcoll::transport
