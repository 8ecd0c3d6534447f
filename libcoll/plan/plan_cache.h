// Plans on disk, shared by the `libcoll` command and the runtime.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "libcoll/base/plan_name.h"
#include "libcoll/base/safe_file.h"
#include "planner/base/result.h"
#include "planner/schedule/schedule.h"

namespace libcoll::plan {

/// What the setting cache_dir says; where it is empty, $XDG_CACHE_HOME/libcoll or ~/.cache/libcoll, and empty when
/// neither variable is set.
std::string cache_directory(const std::string& configured);

/// Makes the directory (mode 0700) when it is missing. The error is a sentence for a warning.
[[nodiscard]] Status make_cache(const std::string& directory);

/// What is planned for a collective where no planner is named.
struct PlanPair {
  schedule::Schedule usual;
  std::optional<schedule::Schedule> small;  ///< for small vectors, where another plan has less latency (small_up_to())
};

/// The cached plan; nullopt when there is none. Error (one sentence, for a warning) when the file is corrupt,
/// foreign (another topology, collective or algorithm inside), a symbolic link, not ours or world-writable.
/// The schedule was verified again on reading.
Result<std::optional<schedule::Schedule>> load_plan(const std::string& directory, const topology::Topology& topology,
                                                    schedule::Collective collective, std::string_view algorithm);

/// Writes atomically (temporary file, then rename), making the directory (mode 0700) when it is missing. The
/// plan is filed under `algorithm`, by default the schedule's own. Error, and nothing stored, when load_plan() would
/// refuse the file: too large, out of the reader's bounds, or a schedule that verify() finds wrong.
Status store_plan(const std::string& directory, const schedule::Schedule& schedule, std::string_view algorithm = {});

/// The same of all that is planned under a name. With allgather, reduce-scatter and allreduce automatic_plan has a
/// second file, which holds the plan for small vectors or says that there is none. nullopt when one of the two files is
/// missing: whether there is a plan for small vectors must not depend on the cache, as a sum's bits depend on it.
Result<std::optional<PlanPair>> load_plans(const std::string& directory, const topology::Topology& topology,
                                           schedule::Collective collective, std::string_view algorithm);
Status store_plans(const std::string& directory, const PlanPair& plans, std::string_view algorithm);

/// Who is to make a plan that is not in the cache.
enum class PlanTurn : std::uint8_t {
  ours,         ///< nobody else makes it as long as the lock is held
  others,       ///< another process does
  unavoidable,  ///< the cache cannot be used: nobody can tell
};

/// A lock on one plan of a cache, let go when every copy of the descriptor is closed (children may hold one).
struct PlanLock {
  PlanTurn turn = PlanTurn::unavoidable;
  FileDescriptor descriptor;
};

/// Never waits. Makes the directory when it is missing. Whoever gets the lock should look into the cache once more.
PlanLock lock_plan(const std::string& directory, const topology::Topology& topology, schedule::Collective collective,
                   std::string_view algorithm);

}  // namespace libcoll::plan
