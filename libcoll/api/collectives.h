// The C API's enumerations as libcoll has them.
#pragma once

#include <cstdint>
#include <optional>

#include "libcoll/api/libcoll.h"
#include "libcoll/reduce/kernels.h"
#include "planner/schedule/schedule.h"

namespace libcoll::api {

/// Nothing for numbers that are no collective.
std::optional<schedule::Collective> collective_of(libcoll_collective collective);
/// Nothing for those that the C API does not have.
std::optional<libcoll_collective> c_collective(schedule::Collective collective);

/// A reduction; nothing where there is no such one.
struct Reduction {
  reduce::ReduceKernel kernel = nullptr;
  std::int64_t element_bytes = 0;
  bool order_matters = false;  ///< sums and products of floating-point numbers
};
std::optional<Reduction> reduction_of(libcoll_type type, libcoll_operation operation);

}  // namespace libcoll::api
