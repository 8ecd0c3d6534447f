#include "pmpi/blocks.h"

#include <algorithm>
#include <cstring>

#include "pmpi/operands.h"

namespace libcoll::pmpi {

bool BlockList::has_negative_count() const {
  if (counts == nullptr) return count < 0;
  return std::any_of(counts, counts + number, [](int each) { return each < 0; });
}

HeldType::~HeldType() {
  if (type_ != nullptr) PMPI_Type_free(&type_);
}

MPI_Datatype HeldType::hold(MPI_Datatype type) {
  if (type_ == nullptr && PMPI_Type_dup(type, &type_) != MPI_SUCCESS) type_ = nullptr;
  return type_;
}

Image::Image(const BlockList& list, bool copy)
    : list_(list), size_(size_of(list.type)), extent_(extent_of(list.type)), contiguous_(is_contiguous(list.type)) {
  if (contiguous_ && !copy) {
    base_ = static_cast<std::byte*>(list.buffer);
    return;
  }
  const std::int64_t total = total_bytes();
  memory_.reset(new std::byte[static_cast<std::size_t>(total)]);
  base_ = memory_.get();
  if (list.counts == nullptr) return;
  std::int64_t next = 0;
  for (std::int64_t block = 0; block < list.number; ++block) {
    offsets_.push_back(next);
    next += bytes(block);
  }
}

std::int64_t Image::offset(std::int64_t block) const {
  if (memory_ == nullptr) return list_.first_element(block) * extent_;
  return offsets_.empty() ? block * bytes(0) : offsets_[static_cast<std::size_t>(block)];
}

std::int64_t Image::total_bytes() const {
  std::int64_t total = 0;
  for (std::int64_t block = 0; block < list_.number; ++block) total += bytes(block);
  return total;
}

std::byte* Image::user_data(std::int64_t block) const {
  return static_cast<std::byte*>(list_.buffer) + list_.first_element(block) * extent_;
}

bool Image::hold_type() {
  if (memory_ == nullptr || contiguous_) return true;
  const MPI_Datatype held = held_.hold(list_.type);
  if (held == nullptr) return false;
  list_.type = held;
  return true;
}

bool Image::pack(std::int64_t first, std::int64_t last, MPI_Comm comm) {
  if (memory_ == nullptr) return true;
  // Equal blocks lie one after the other, on both sides.
  const std::int64_t together = list_.counts == nullptr ? last - first : 1;
  for (std::int64_t block = first; block < last; block += together) {
    std::byte* to = base_ + offset(block);
    if (bytes(block) == 0) continue;
    if (contiguous_) {
      std::memcpy(to, user_data(block), static_cast<std::size_t>(together * bytes(block)));
    } else if (!pmpi::pack(user_data(block), together * list_.count_of(block), list_.type, to, comm)) {
      return false;
    }
  }
  return true;
}

bool Image::unpack(std::int64_t first, std::int64_t last, MPI_Comm comm) {
  if (memory_ == nullptr) return true;
  const std::int64_t together = list_.counts == nullptr ? last - first : 1;
  for (std::int64_t block = first; block < last; block += together) {
    const std::byte* from = base_ + offset(block);
    if (bytes(block) == 0) continue;
    if (contiguous_) {
      std::memcpy(user_data(block), from, static_cast<std::size_t>(together * bytes(block)));
    } else if (!pmpi::unpack(from, user_data(block), together * list_.count_of(block), list_.type, comm)) {
      return false;
    }
  }
  return true;
}

}  // namespace libcoll::pmpi
