// Datatypes and operations of MPI, as far as libcoll has to understand them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "libcoll/execute/execution.h"
#include "libcoll/serve/mpi.h"

namespace libcoll::serve {

/// An operation on a datatype, ready to be applied. Lives in the caller's frame while the Reducer is used.
struct Reduction {
  MpiOp op = {};
  MpiDatatype type = {};
  std::int64_t element_bytes = 0;  ///< extent: what lies between two elements belongs to the first
  void (*kernel)(void*, const void*, const void*, std::size_t) noexcept = nullptr;  ///< null: MPI_Reduce_local
  bool order_matters = true;  ///< another order may give other bits; false: integers

  [[nodiscard]] execute::Reducer reducer() const;
};

enum class ReductionKind : std::uint8_t {
  predefined,      ///< a pair that the MPI standard defines, or that this MPI accepts; served
  user_operation,  ///< falls through: MPI keeps its order
  undefined,       ///< left to MPI, which raises the error
};

/// Classifies by op and type, which MPI demands to be equal on all ranks. Duplicates of predefined types count
/// as the types they duplicate.
ReductionKind classify(MpiOp op, MpiDatatype type, Reduction& reduction);

/// Every pair of MPI's own types and operations that the standard does not define, in the same order in every process.
void for_each_undefined_pair(const std::function<void(MpiOp, MpiDatatype)>& each);

/// Whether it is one of MPI's own, which mean the same for ever.
bool is_predefined(MpiDatatype type);

/// True when `count` elements of the type are count·size bytes in a row, in the order of the type map.
bool is_contiguous(MpiDatatype type);

/// Bytes of data in one element; extent in bytes from one element to the next.
std::int64_t size_of(MpiDatatype type);
std::int64_t extent_of(MpiDatatype type);

/// Copies `count` elements into `packed` (count·size bytes), or out of it. False when MPI reports an error.
bool pack(const void* data, std::int64_t count, MpiDatatype type, std::byte* packed, MpiComm comm);
bool unpack(const std::byte* packed, void* data, std::int64_t count, MpiDatatype type, MpiComm comm);

/// Whether the elements of a reduction have bytes that belong to none of their parts (MPI_DOUBLE_INT).
bool has_gaps(const Reduction& reduction);

/// Copies elements of a reduction, but for what lies in their gaps. False when MPI cannot.
bool copy_elements(const Reduction& reduction, const std::byte* from, std::byte* to, std::int64_t elements,
                   MpiComm comm);

}  // namespace libcoll::serve
