#include "libcoll/serve/blocks.h"

#include <algorithm>
#include <cstring>

#include "libcoll/serve/operands.h"

namespace libcoll::serve {

bool BlockList::has_negative_count() const {
  if (!counts.given()) return count < 0;
  for (std::int64_t block = 0; block < number; ++block) {
    if (counts[block] < 0) return true;
  }
  return false;
}

bool BlockList::has_null_type() const {
  if (!types.given()) return type == mpi.datatype_null;
  for (std::int64_t block = 0; block < number; ++block) {
    if (types.get(static_cast<std::size_t>(block)) == mpi.datatype_null) return true;
  }
  return false;
}

HeldType::~HeldType() {
  if (type_ != mpi.datatype_null) mpi.type_free(&type_);
}

MpiDatatype HeldType::hold(MpiDatatype type) {
  if (type_ == mpi.datatype_null && mpi.type_dup(type, &type_) != mpi_success) type_ = mpi.datatype_null;
  return type_;
}

bool HeldTypes::hold(MpiDatatypes types, std::int64_t number) {
  for (std::int64_t i = 0; i < number; ++i) {
    const MpiDatatype type = held_.emplace_back().hold(types.get(static_cast<std::size_t>(i)));
    types_.push_back(type);
    if (type == mpi.datatype_null) return false;
  }
  return true;
}

Image::Elements::Elements(MpiDatatype of_type)
    : type(of_type), size(size_of(of_type)), extent(extent_of(of_type)), contiguous(is_contiguous(of_type)) {}

bool Image::Elements::hold_type() {
  if (contiguous) return true;
  type = held.hold(type);
  return type != mpi.datatype_null;
}

Image::Image(const BlockList& list, bool copy) : list_(list), all_(list.types.given() ? mpi.byte_type : list.type) {
  bool contiguous = all_.contiguous;
  for (std::int64_t block = 0; list.types.given() && block < list.number; ++block) {
    contiguous = each_.emplace_back(list.types.get(static_cast<std::size_t>(block))).contiguous && contiguous;
  }
  if (contiguous && !copy) {
    base_ = static_cast<std::byte*>(list.buffer);
    return;
  }
  const std::int64_t total = total_bytes();
  memory_.reset(new std::byte[static_cast<std::size_t>(total)]);
  base_ = memory_.get();
  if (!list.counts.given()) return;
  std::int64_t next = 0;
  for (std::int64_t block = 0; block < list.number; ++block) {
    offsets_.push_back(next);
    next += bytes(block);
  }
}

std::int64_t Image::offset(std::int64_t block) const {
  if (memory_ == nullptr) return user_offset(block);
  return offsets_.empty() ? block * bytes(0) : offsets_[static_cast<std::size_t>(block)];
}

std::int64_t Image::total_bytes() const {
  std::int64_t total = 0;
  for (std::int64_t block = 0; block < list_.number; ++block) total += bytes(block);
  return total;
}

std::int64_t Image::user_offset(std::int64_t block) const {
  return each_.empty() ? list_.first_element(block) * all_.extent : list_.displacements[block];
}

std::byte* Image::user_data(std::int64_t block) const {
  return static_cast<std::byte*>(list_.buffer) + user_offset(block);
}

bool Image::hold_types() {
  if (memory_ == nullptr) return true;
  return all_.hold_type() && std::all_of(each_.begin(), each_.end(), [](Elements& each) { return each.hold_type(); });
}

bool Image::pack(std::int64_t first, std::int64_t last, MpiComm comm) {
  if (memory_ == nullptr) return true;
  // Equal blocks lie one after the other, on both sides.
  const std::int64_t together = list_.counts.given() ? 1 : last - first;
  for (std::int64_t block = first; block < last; block += together) {
    std::byte* to = base_ + offset(block);
    if (bytes(block) == 0) continue;
    if (elements(block).contiguous) {
      std::memcpy(to, user_data(block), static_cast<std::size_t>(together * bytes(block)));
    } else if (!serve::pack(user_data(block), together * list_.count_of(block), elements(block).type, to, comm)) {
      return false;
    }
  }
  return true;
}

bool Image::unpack(std::int64_t first, std::int64_t last, MpiComm comm) {
  if (memory_ == nullptr) return true;
  const std::int64_t together = list_.counts.given() ? 1 : last - first;
  for (std::int64_t block = first; block < last; block += together) {
    const std::byte* from = base_ + offset(block);
    if (bytes(block) == 0) continue;
    if (elements(block).contiguous) {
      std::memcpy(user_data(block), from, static_cast<std::size_t>(together * bytes(block)));
    } else if (!serve::unpack(from, user_data(block), together * list_.count_of(block), elements(block).type, comm)) {
      return false;
    }
  }
  return true;
}

}  // namespace libcoll::serve
