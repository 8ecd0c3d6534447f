#include "libcoll/api/collectives.h"

#include <array>
#include <cstddef>

namespace libcoll::api {

using namespace reduce;
using namespace schedule;

namespace {

constexpr std::array collectives{Collective::allgather, Collective::reduce_scatter, Collective::allreduce,
                                 Collective::alltoall};
constexpr std::array<std::int64_t, element_type_count> element_bytes{1, 2, 4, 8, 1, 2, 4, 8, 4, 8};

}  // namespace

std::optional<Collective> collective_of(libcoll_collective collective) {
  const auto index = static_cast<std::size_t>(collective);
  return index < collectives.size() ? std::optional(collectives[index]) : std::nullopt;
}

std::optional<libcoll_collective> c_collective(Collective collective) {
  for (std::size_t index = 0; index < collectives.size(); ++index) {
    if (collectives[index] == collective) return static_cast<libcoll_collective>(index);
  }
  return std::nullopt;
}

std::optional<Reduction> reduction_of(libcoll_type type, libcoll_operation operation) {
  const auto type_index = static_cast<std::size_t>(type);
  const auto op_index = static_cast<std::size_t>(operation);
  if (type_index >= element_type_count || op_index >= reduce_op_count) return std::nullopt;
  const auto op = static_cast<ReduceOp>(op_index);
  const auto element = static_cast<ElementType>(type_index);
  const ReduceKernel kernel = reduce_kernel(op, element);
  if (kernel == nullptr) return std::nullopt;
  const bool floating = element == ElementType::float32 || element == ElementType::float64;
  return Reduction{kernel, element_bytes[type_index], floating && (op == ReduceOp::sum || op == ReduceOp::prod)};
}

}  // namespace libcoll::api
