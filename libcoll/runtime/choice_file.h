// What was measured about the ways of a job's calls, kept beside the plans for later jobs of the same shape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "libcoll/runtime/tuning_table.h"
#include "planner/result.h"

namespace libcoll {

/// Where choices are kept in the directory of plans: jobs of one shape share a file.
struct ChoicePlace {
  std::string directory;
  std::string topology;  ///< a hash of it, as plan files have
  std::int32_t ranks = 0;
  std::int32_t nodes = 0;
  std::string transport;
};

/// The table; nothing when there is none. The error is a sentence for a warning: the file cannot be read, or is not to
/// be trusted.
Result<std::optional<TuningTable>> load_choices(const ChoicePlace& place);
Status store_choices(const ChoicePlace& place, const TuningTable& table);

}  // namespace libcoll
