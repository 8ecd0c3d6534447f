// Where a plan comes from: the cache, a combinatorial planner in this process, or the `libcoll` command.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libcoll/base/config.h"
#include "libcoll/plan/plan_cache.h"
#include "libcoll/plan/planning_child.h"
#include "planner/base/result.h"
#include "planner/schedule/schedule.h"

namespace libcoll::plan {

/// A plan that a communicator wants.
struct PlanRequest {
  /// The configured one, or a part of it (part_of). Any other where config.topology is empty: the command is then given
  /// its text.
  topology::Topology topology;
  std::string nodes;  ///< of a part: its hosts as the configured topology numbers them (node_ranges); empty: all
  schedule::Collective collective = schedule::Collective::allgather;
  std::string algorithm = {};  ///< the planner by name; empty: as configured
};

/// Whether a plan that is not in the cache is made in this process at once: one of the allgather family on a small
/// fabric, which takes milliseconds. All-to-all needs a linear program, which this process does not carry.
bool planned_at_once(const PlanRequest& request);

/// These plans by the planners that this process carries, which is those of the allgather family; verified.
/// `algorithm` is a planner's name or "auto".
Result<PlanPair> plan_in_process(const PlanRequest& request, const std::string& algorithm);

/// The `libcoll` command that belongs to a library in that folder; empty when there is none.
std::string find_command(const std::string& library_directory);

/// The plans that communicators of this process ask for. Any thread may call.
class PlanSource {
 public:
  /// The verified plans, from the cache or made now; nothing while the `libcoll` command is still at it, in a child of
  /// this process or of another one that shares the cache: then ask again. A planner that is set by name makes plans
  /// for parts as far as it can; the others are made by the best of several. Whoever has no use for waiting (LIBCOLL_
  /// BACKGROUND_PLANNING off) never gets nothing. Plans are kept in the cache when that is possible. What takes
  /// longer than config.planning_seconds is an error: its maker is ended, and not started again by this process.
  ///
  /// The plan for small vectors comes with the usual one, from the same cache or the same maker, so that facts alone
  /// decide whether there is one. There is none where a planner is set by name.
  std::optional<Result<PlanPair>> obtain(const Config& config, const PlanRequest& request);

  /// From now on this is the only plan of its collective on its whole topology, unless a planner is asked for by name.
  /// Precondition: verify() finds it right.
  void provide(schedule::Schedule plan);

 private:
  /// A command under way.
  struct Job {
    PlanningChild child;
    FileDescriptor small;  ///< the file that it writes the plan for small vectors to; none: there is no such plan
    std::chrono::steady_clock::time_point started;
    bool stores = false;  ///< it puts the plans into the cache itself
  };

  /// What a look needs to know: the request, where plans are kept, and the planner's name or "auto".
  struct Search {
    const Config& config;
    const PlanRequest& request;
    const std::string& directory;
    std::string algorithm;
    std::string key;
  };

  /// Null: nothing was.
  [[nodiscard]] const schedule::Schedule* provided_for(const PlanRequest& request) const;
  std::optional<Result<PlanPair>> look(const Config& config, const PlanRequest& request, const std::string& directory);
  std::optional<Result<PlanPair>> look(const Search& search);
  std::optional<Result<PlanPair>> look_at(std::map<std::string, Job>::iterator job, const Search& search);
  std::optional<Result<PlanPair>> start(const Search& search);

  std::mutex mutex_;
  std::map<std::string, Job> jobs_;  ///< by the plan's file name
  std::vector<schedule::Schedule> provided_;
  std::set<std::string> warned_of_;  ///< plans in the cache that are of no use
  std::set<std::string> failed_;     ///< plans for parts that the planner that is set cannot make
  std::set<std::string> too_slow_;   ///< plans that were given up
};

/// Setting for one planned collective: "auto", "native" or a planner's name.
const std::string& algorithm_setting(const Config& config, schedule::Collective collective);

}  // namespace libcoll::plan
