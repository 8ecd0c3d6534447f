#include "libcoll/serve/operands.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "libcoll/reduce/kernels.h"
#include "libcoll/serve/accepted_pairs.h"
#include "libcoll/serve/quad_kernels.h"

namespace libcoll::serve {

using namespace execute;
using namespace reduce;

namespace {

using PredefinedType = libcoll_mpi_datatype;

std::span<const PredefinedType> listed_types() { return {mpi.description->datatypes, mpi.description->datatype_count}; }

const std::vector<PredefinedType>& predefined_types() {
  static const std::vector<PredefinedType> table = [] {
    std::vector<PredefinedType> entries(listed_types().begin(), listed_types().end());
    std::erase_if(entries, [](const PredefinedType& entry) {
      return entry.handle == 0 || entry.handle == number_of(mpi.datatype_null);
    });
    std::sort(entries.begin(), entries.end(),
              [](const PredefinedType& a, const PredefinedType& b) { return a.handle < b.handle; });
    return entries;
  }();
  return table;
}

const PredefinedType* find_predefined(MpiDatatype handle) {
  const std::vector<PredefinedType>& table = predefined_types();
  const auto found =
      std::lower_bound(table.begin(), table.end(), number_of(handle),
                       [](const PredefinedType& entry, libcoll_handle key) { return entry.handle < key; });
  return found != table.end() && found->handle == number_of(handle) ? &*found : nullptr;
}

/// MAXLOC and MINLOC have no kernel of ours, hence no ReduceOp.
struct PredefinedOp {
  MpiOp handle;
  std::optional<ReduceOp> kernel;
  bool allowed[libcoll_type_class_count];
};

const std::vector<PredefinedOp>& predefined_ops() {
  //                          c_integer other_integer floating logical complex byte pair other
  static const std::vector<PredefinedOp> table{
      {mpi.sum, ReduceOp::sum, {true, true, true, false, true, false, false, false}},
      {mpi.max, ReduceOp::max, {true, true, true, false, false, false, false, false}},
      {mpi.min, ReduceOp::min, {true, true, true, false, false, false, false, false}},
      {mpi.prod, ReduceOp::prod, {true, true, true, false, true, false, false, false}},
      {mpi.land, ReduceOp::land, {true, false, false, true, false, false, false, false}},
      {mpi.lor, ReduceOp::lor, {true, false, false, true, false, false, false, false}},
      {mpi.lxor, ReduceOp::lxor, {true, false, false, true, false, false, false, false}},
      {mpi.band, ReduceOp::band, {true, true, false, false, false, true, false, false}},
      {mpi.bor, ReduceOp::bor, {true, true, false, false, false, true, false, false}},
      {mpi.bxor, ReduceOp::bxor, {true, true, false, false, false, true, false, false}},
      {mpi.maxloc, std::nullopt, {false, false, false, false, false, false, true, false}},
      {mpi.minloc, std::nullopt, {false, false, false, false, false, false, true, false}},
  };
  return table;
}

std::optional<ElementType> element_type(libcoll_kernel_type kernel, std::int64_t bytes) {
  constexpr std::array<std::int64_t, 4> sizes{1, 2, 4, 8};
  const auto* size = std::find(sizes.begin(), sizes.end(), bytes);
  if (size == sizes.end()) return std::nullopt;
  const auto power = static_cast<std::uint8_t>(size - sizes.begin());
  switch (kernel) {
    case libcoll_kernel_by_size_signed:
      return static_cast<ElementType>(static_cast<std::uint8_t>(ElementType::int8) + power);
    case libcoll_kernel_by_size_unsigned:
      return static_cast<ElementType>(static_cast<std::uint8_t>(ElementType::uint8) + power);
    case libcoll_kernel_by_size_floating:
      if (bytes == 4) return ElementType::float32;
      if (bytes == 8) return ElementType::float64;
      return std::nullopt;
    case libcoll_kernel_none:
    case libcoll_kernel_quad:
    case libcoll_kernel_quad_complex:
      break;
  }
  return std::nullopt;
}

/// They wrap, so that any order gives the same result.
bool is_of_integers(libcoll_kernel_type kernel) {
  return kernel == libcoll_kernel_by_size_signed || kernel == libcoll_kernel_by_size_unsigned;
}

/// Null when MPI_Reduce_local is to do it.
auto find_kernel(ReduceOp op, libcoll_kernel_type kernel, std::int64_t bytes) -> decltype(Reduction::kernel) {
  if (kernel == libcoll_kernel_quad) return quad_kernel(op);
  if (kernel == libcoll_kernel_quad_complex) return quad_complex_kernel(op);
  const std::optional<ElementType> element = element_type(kernel, bytes);
  return element ? reduce_kernel(op, *element) : nullptr;
}

/// How a type was made: its combiner and, when it was made of exactly one type, that type.
struct Origin {
  int combiner = mpi.combiner_named;
  MpiDatatype inner = mpi.datatype_null;
  bool owned = false;  ///< inner is a derived type that the query gave us a reference to
};

void release(Origin& origin) {
  if (origin.owned) mpi.type_free(&origin.inner);
}

/// Only duplicates and contiguous types are looked into.
Origin origin_of(MpiDatatype type) {
  Origin origin;
  int integers = 0;
  int addresses = 0;
  int types = 0;
  mpi.type_get_envelope(type, &integers, &addresses, &types, &origin.combiner);
  if (origin.combiner != mpi.combiner_dup && origin.combiner != mpi.combiner_contiguous) return origin;
  int count = 0;
  std::int64_t unused = 0;
  mpi.type_get_contents(type, integers, addresses, types, &count, &unused, &origin.inner);
  int inner_combiner = mpi.combiner_named;
  mpi.type_get_envelope(origin.inner, &integers, &addresses, &types, &inner_combiner);
  origin.owned = inner_combiner != mpi.combiner_named;
  return origin;
}

/// The predefined type behind duplicates; null for other derived types.
const PredefinedType* resolve(MpiDatatype type) {
  if (const PredefinedType* predefined = find_predefined(type)) return predefined;
  Origin origin = origin_of(type);
  const PredefinedType* result =
      origin.combiner == mpi.combiner_dup && origin.inner != mpi.datatype_null ? resolve(origin.inner) : nullptr;
  release(origin);
  return result;
}

void apply_kernel(const void* context, void* destination, const void* left, const void* right,
                  std::int64_t elements) noexcept {
  static_cast<const Reduction*>(context)->kernel(destination, left, right, static_cast<std::size_t>(elements));
}

/// inout = in op inout, so the right operand is the one to be overwritten.
void apply_mpi(const void* context, void* destination, const void* left, const void* right,
               std::int64_t elements) noexcept {
  const auto* reduction = static_cast<const Reduction*>(context);
  const auto bytes = static_cast<std::size_t>(elements * reduction->element_bytes);
  if (destination != left) std::memcpy(destination, left, bytes);
  constexpr std::int64_t most = 1 << 30;
  for (std::int64_t begin = 0; begin < elements; begin += most) {
    const std::int64_t offset = begin * reduction->element_bytes;
    // Predefined operations are commutative: destination = right op destination is what is wanted.
    mpi.reduce_local(static_cast<const std::byte*>(right) + offset, static_cast<std::byte*>(destination) + offset,
                     static_cast<int>(std::min(most, elements - begin)), reduction->type, reduction->op);
  }
}

}  // namespace

Reducer Reduction::reducer() const { return {kernel != nullptr ? &apply_kernel : &apply_mpi, this, kernel == nullptr}; }

ReductionKind classify(MpiOp op, MpiDatatype type, Reduction& reduction) {
  const auto& ops = predefined_ops();
  const auto entry = std::find_if(ops.begin(), ops.end(), [&](const PredefinedOp& each) { return each.handle == op; });
  if (entry == ops.end()) return ReductionKind::user_operation;
  const PredefinedType* predefined = resolve(type);
  if (predefined == nullptr) return ReductionKind::undefined;
  const MpiDatatype handle{predefined->handle};
  const bool is_defined = entry->allowed[static_cast<std::size_t>(predefined->type_class)];
  if (!is_defined && !accepts_pair(op, handle)) return ReductionKind::undefined;
  // Types that this MPI was built without have no size.
  if (size_of(handle) <= 0) return ReductionKind::undefined;
  reduction.op = op;
  reduction.type = handle;
  reduction.element_bytes = extent_of(handle);
  // What such a pair means MPI alone knows.
  if (!is_defined) return ReductionKind::predefined;
  if (entry->kernel) reduction.kernel = find_kernel(*entry->kernel, predefined->kernel, reduction.element_bytes);
  reduction.order_matters = reduction.kernel == nullptr || !is_of_integers(predefined->kernel);
  return ReductionKind::predefined;
}

void for_each_undefined_pair(const std::function<void(MpiOp, MpiDatatype)>& each) {
  // In the order of the list: that of the handles differs from process to process.
  for (const PredefinedType& listed : listed_types()) {
    const MpiDatatype handle{listed.handle};
    const PredefinedType* type = find_predefined(handle);
    for (const PredefinedOp& op : predefined_ops()) {
      if (type != nullptr && !op.allowed[static_cast<std::size_t>(type->type_class)]) each(op.handle, handle);
    }
  }
}

bool is_predefined(MpiDatatype type) { return find_predefined(type) != nullptr; }

bool is_contiguous(MpiDatatype type) {
  if (find_predefined(type) != nullptr) return size_of(type) == extent_of(type);
  Origin origin = origin_of(type);
  bool result = false;
  if (origin.combiner == mpi.combiner_named) {
    result = size_of(type) == extent_of(type);
  } else if (origin.inner != mpi.datatype_null) {
    result = is_contiguous(origin.inner);
  }
  release(origin);
  return result;
}

std::int64_t size_of(MpiDatatype type) {
  // MPI_Type_size says MPI_UNDEFINED of what an int cannot hold.
  std::int64_t bytes = 0;
  mpi.type_size_x(type, &bytes);
  return bytes;
}

std::int64_t extent_of(MpiDatatype type) {
  std::int64_t lower_bound = 0;
  std::int64_t extent = 0;
  mpi.type_get_extent(type, &lower_bound, &extent);
  return extent;
}

namespace {

/// MPI_Pack counts bytes in ints; larger data goes in several calls of whole elements.
constexpr std::int64_t bytes_per_pack = std::int64_t{1} << 30;

/// Calls each(offset in the data, offset in what is packed, elements).
template <class Each>
bool in_batches(std::int64_t count, MpiDatatype type, Each each) {
  const std::int64_t size = size_of(type);
  if (size <= 0) return true;
  const std::int64_t extent = extent_of(type);
  const std::int64_t batch = std::max<std::int64_t>(1, bytes_per_pack / size);
  for (std::int64_t begin = 0; begin < count; begin += batch) {
    if (!each(begin * extent, begin * size, static_cast<int>(std::min(batch, count - begin)))) return false;
  }
  return true;
}

/// Bytes in a row, more than an int counts.
class LongBytes {
 public:
  explicit LongBytes(std::int64_t bytes) {
    std::vector<int> lengths;
    std::vector<std::int64_t> places;
    for (std::int64_t begin = 0; begin < bytes; begin += bytes_per_pack) {
      lengths.push_back(static_cast<int>(std::min(bytes_per_pack, bytes - begin)));
      places.push_back(begin);
    }
    good_ = mpi.type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), mpi.byte_type,
                                     &type_) == mpi_success &&
            mpi.type_commit(&type_) == mpi_success;
  }
  ~LongBytes() {
    if (type_ != mpi.datatype_null) mpi.type_free(&type_);
  }
  LongBytes(const LongBytes&) = delete;
  LongBytes& operator=(const LongBytes&) = delete;

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] MpiDatatype type() const { return type_; }

 private:
  MpiDatatype type_ = mpi.datatype_null;
  bool good_ = false;
};

/// Elements that MPI_Pack does not take. A collective of this process alone is a copy from one type to another, and no
/// message.
bool copy_to_self(const void* from, int from_count, MpiDatatype from_type, void* to, int to_count,
                  MpiDatatype to_type) {
  return mpi.allgather(from, from_count, from_type, to, to_count, to_type, mpi.comm_self) == mpi_success;
}

/// Whether MPI_Pack takes a buffer.
bool can_pack(const void* data) { return mpi.description->packs_bottom != 0 || data != mpi.bottom; }

}  // namespace

bool pack(const void* data, std::int64_t count, MpiDatatype type, std::byte* packed, MpiComm comm) {
  const std::int64_t size = size_of(type);
  std::optional<LongBytes> packed_element;
  if (size > bytes_per_pack) packed_element.emplace(size);
  if (packed_element && !packed_element->good()) return false;
  return in_batches(count, type, [&](std::int64_t offset, std::int64_t packed_offset, int elements) {
    const std::byte* from = static_cast<const std::byte*>(data) + offset;
    if (packed_element) return copy_to_self(from, 1, type, packed + packed_offset, 1, packed_element->type());
    const int bytes = static_cast<int>(elements * size);
    if (!can_pack(from)) return copy_to_self(from, elements, type, packed + packed_offset, bytes, mpi.byte_type);
    int position = 0;
    const int error = mpi.pack(from, elements, type, packed + packed_offset, bytes, &position, comm);
    return error == mpi_success && position == bytes;
  });
}

bool unpack(const std::byte* packed, void* data, std::int64_t count, MpiDatatype type, MpiComm comm) {
  const std::int64_t size = size_of(type);
  std::optional<LongBytes> packed_element;
  if (size > bytes_per_pack) packed_element.emplace(size);
  if (packed_element && !packed_element->good()) return false;
  return in_batches(count, type, [&](std::int64_t offset, std::int64_t packed_offset, int elements) {
    std::byte* to = static_cast<std::byte*>(data) + offset;
    if (packed_element) return copy_to_self(packed + packed_offset, 1, packed_element->type(), to, 1, type);
    const int bytes = static_cast<int>(elements * size);
    if (!can_pack(to)) return copy_to_self(packed + packed_offset, bytes, mpi.byte_type, to, elements, type);
    int position = 0;
    return mpi.unpack(packed + packed_offset, bytes, &position, to, elements, type, comm) == mpi_success;
  });
}

bool has_gaps(const Reduction& reduction) { return size_of(reduction.type) != reduction.element_bytes; }

bool copy_elements(const Reduction& reduction, const std::byte* from, std::byte* to, std::int64_t elements,
                   MpiComm comm) {
  if (elements == 0) return true;
  if (!has_gaps(reduction)) {
    std::memcpy(to, from, static_cast<std::size_t>(elements * reduction.element_bytes));
    return true;
  }
  const std::unique_ptr<std::byte[]> packed(
      new std::byte[static_cast<std::size_t>(elements * size_of(reduction.type))]);
  return pack(from, elements, reduction.type, packed.get(), comm) &&
         unpack(packed.get(), to, elements, reduction.type, comm);
}

}  // namespace libcoll::serve
