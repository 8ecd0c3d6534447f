// Up to which size the program's own MPI is the faster way of a call, found by trying both on the job's own processes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "libcoll/base/agreement.h"
#include "libcoll/base/calls.h"

namespace libcoll::select {

/// Largest size that is left to MPI; the sizes are those of tuning tables. -1: none.
inline constexpr std::int64_t never_native = -1;

/// What is tried. Every function is collective and returns false when it failed.
struct Contest {
  std::function<bool(std::int64_t bytes)> plan;
  std::function<bool(std::int64_t bytes)> native;
  std::int64_t largest_bytes = 0;       ///< sizes above this are not tried
  std::int64_t budget_nanoseconds = 0;  ///< no further size is begun after this time
  std::int64_t (*now)() noexcept = nullptr;
};

/// Collective; the same on all ranks. Tries sizes from 8 bytes on, eightfold each, for as long as MPI wins: a call
/// takes as long as its slowest rank, the median of some tries counts, and a plan that is a little slower is still
/// taken. Nothing when a call failed.
std::optional<std::int64_t> find_crossover(Agreement& group, const Contest& contest);

/// Where a crossover is kept in the directory of plans.
struct CrossoverPlace {
  std::string directory;
  std::string plan_file;  ///< plan_file_name() of what serves the calls
  CallKind call = CallKind::allreduce;
  std::int32_t ranks = 0;
  std::int32_t nodes = 0;
  std::string transport;  ///< and, after a dash, the MPI
};

/// Nothing when there is none that can be trusted and read.
std::optional<std::int64_t> load_crossover(const CrossoverPlace& place);
Status store_crossover(const CrossoverPlace& place, std::int64_t up_to_bytes);

}  // namespace libcoll::select
