// Buffers of MPI's calls as the executor wants them: blocks of bytes without gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "libcoll/serve/integers.h"
#include "libcoll/serve/mpi.h"

namespace libcoll::serve {

/// A buffer argument: block k is counts[k] elements from element displacements[k] on; without these arrays, `count`
/// elements each, one block after the other. With `types`, block k is of types[k] and begins at byte displacements[k].
struct BlockList {
  void* buffer = nullptr;
  MpiDatatype type = mpi.datatype_null;
  std::int64_t number = 1;
  std::int64_t count = 0;
  Integers counts = {};
  Integers displacements = {};
  MpiDatatypes types = {};

  [[nodiscard]] std::int64_t count_of(std::int64_t block) const { return counts.given() ? counts[block] : count; }
  [[nodiscard]] std::int64_t first_element(std::int64_t block) const {
    return displacements.given() ? displacements[block] : block * count;
  }
  [[nodiscard]] bool has_negative_count() const;
  [[nodiscard]] bool has_null_type() const;
};

/// A datatype that the program may free.
class HeldType {
 public:
  HeldType() = default;
  ~HeldType();
  HeldType(HeldType&& other) noexcept : type_(std::exchange(other.type_, mpi.datatype_null)) {}
  HeldType& operator=(HeldType&& other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }
  /// A type of ours with the same contents; null when MPI reports an error.
  MpiDatatype hold(MpiDatatype type);

 private:
  MpiDatatype type_ = mpi.datatype_null;
};

/// Several of them.
class HeldTypes {
 public:
  /// False when MPI reports an error.
  bool hold(MpiDatatypes types, std::int64_t number);
  [[nodiscard]] MpiDatatypes data() const { return types_.data(); }

 private:
  HandleVector<MpiDatatype> types_;
  std::vector<HeldType> held_;
};

/// The blocks of a list as bytes: in the user's buffer where its types have no gaps, otherwise packed in memory of
/// ours.
class Image {
 public:
  /// Lays the blocks out; those in memory of ours are without contents. `copy`: never in the user's buffer.
  explicit Image(const BlockList& list, bool copy = false);

  [[nodiscard]] std::byte* base() const { return base_; }
  [[nodiscard]] std::int64_t bytes(std::int64_t block) const { return list_.count_of(block) * elements(block).size; }
  /// From base() to the block.
  [[nodiscard]] std::int64_t offset(std::int64_t block) const;
  [[nodiscard]] std::int64_t total_bytes() const;
  [[nodiscard]] bool is_own_memory() const { return memory_ != nullptr; }

  /// The program may free the datatypes before unpack(). False when MPI reports an error.
  bool hold_types();
  /// Blocks [first, last) from the user's buffer, or into it; nothing to do where the image is that buffer. False when
  /// MPI reports an error.
  bool pack(std::int64_t first, std::int64_t last, MpiComm comm);
  bool unpack(std::int64_t first, std::int64_t last, MpiComm comm);

 private:
  /// Of what a block, or each of them, is made.
  struct Elements {
    explicit Elements(MpiDatatype of_type);
    bool hold_type();

    MpiDatatype type;
    std::int64_t size;    ///< bytes of data
    std::int64_t extent;  ///< bytes from one to the next
    bool contiguous;
    HeldType held;
  };

  [[nodiscard]] const Elements& elements(std::int64_t block) const {
    return each_.empty() ? all_ : each_[static_cast<std::size_t>(block)];
  }
  /// From the user's buffer to the block.
  [[nodiscard]] std::int64_t user_offset(std::int64_t block) const;
  [[nodiscard]] std::byte* user_data(std::int64_t block) const;

  BlockList list_;  ///< what it says of types is in the next two
  Elements all_;
  std::vector<Elements> each_;  ///< by block, where these have types of their own
  std::unique_ptr<std::byte[]> memory_;
  std::byte* base_ = nullptr;
  std::vector<std::int64_t> offsets_;  ///< of unequal blocks in memory of ours
};

}  // namespace libcoll::serve
