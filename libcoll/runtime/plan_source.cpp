#include "libcoll/runtime/plan_source.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "libcoll/runtime/log.h"
#include "libcoll/runtime/plan_cache.h"
#include "libcoll/runtime/safe_file.h"
#include "libcoll/runtime/topology_file.h"
#include "planner/default_plan.h"
#include "planner/part_plan.h"
#include "planner/planner.h"
#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"

namespace libcoll {
namespace {

constexpr std::chrono::milliseconds between_looks{5};
constexpr std::int32_t nodes_at_once = 64;

std::chrono::seconds planning_limit(const Config& config) { return std::chrono::seconds(config.planning_seconds); }

Error too_slow(const Config& config) {
  return Error{"planning took longer than " + std::to_string(config.planning_seconds) + " s"};
}

/// What its planners call it: nothing where any will do.
std::string_view planner_name(const std::string& algorithm) {
  return algorithm == automatic_plan ? std::string_view() : std::string_view(algorithm);
}

std::vector<std::string> planning_command(const Config& config, const PlanRequest& request, const std::string& source,
                                          const std::string& algorithm, const std::string& cache_directory) {
  std::vector<std::string> arguments{config.command, "plan",     source, std::string(to_string(request.collective)),
                                     "--quiet",      "--output", "-"};
  if (algorithm != automatic_plan) arguments.insert(arguments.end(), {"--algorithm", algorithm});
  if (!request.nodes.empty()) arguments.insert(arguments.end(), {"--nodes", request.nodes});
  // It keeps to 1.2 times its limit and half a second. The allgather family has no limit: which call its plan comes to
  // must not depend on the time, as a sum's bits do on the plan.
  if (request.collective == Collective::alltoall) {
    arguments.insert(arguments.end(), {"--time-limit", std::to_string((config.planning_seconds - 0.5) / 1.2)});
  }
  if (!cache_directory.empty()) arguments.insert(arguments.end(), {"--cache", "--cache-dir", cache_directory});
  return arguments;
}

/// Nothing that was made is believed.
Result<Schedule> checked(Result<Schedule> plan, const PlanRequest& request) {
  if (!plan) return plan;
  if (!(plan->topology == request.topology)) return Error{"the plan made is for another topology"};
  if (plan->collective != request.collective) return Error{"the plan made is for another collective"};
  const std::vector<std::string> faults = verify(*plan, 1);
  if (!faults.empty()) return Error{"the plan made is faulty: " + faults.front()};
  return plan;
}

void keep(const Result<Schedule>& plan, const std::string& directory, const std::string& algorithm) {
  if (!plan || directory.empty()) return;
  const Status stored = store_plan(directory, *plan, algorithm);
  if (!stored) log(LogLevel::info, "plan not kept: " + stored.error().message);
}

/// Not verified.
Result<Schedule> plan_here(const PlanRequest& request, const std::string& algorithm) {
  const std::string_view name = planner_name(algorithm);
  if (!request.nodes.empty()) {
    return plan_part(broadcast_planners(), request.topology, request.collective, name, {});
  }
  if (name.empty()) {
    Result<DefaultPlans> plans = plan_default(broadcast_planners(), request.topology, request.collective, {});
    if (!plans) return plans.error();
    return std::move(plans->least_bandwidth_time);
  }
  const Result<Planner> planner = find_planner(broadcast_planners(), request.collective, name);
  if (!planner) return planner.error();
  return planner->plan(request.topology, {});
}

}  // namespace

Result<Schedule> plan_in_process(const PlanRequest& request, const std::string& algorithm) {
  return checked(plan_here(request, algorithm), request);
}

std::string find_command(const std::string& library_directory) {
  // lib/ in a build tree, lib/TRIPLET/ where distributions install.
  for (const char* relative : {"/../bin/libcoll", "/../../bin/libcoll"}) {
    std::string candidate = library_directory + relative;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

const std::string& algorithm_setting(const Config& config, Collective collective) {
  static const std::string automatic(automatic_plan);
  const std::optional<CallKind> call = parse_call(to_string(collective));  // the one that bears its name
  return call ? call_setting(config, *call) : automatic;
}

void PlanSource::provide(Schedule plan) {
  const std::lock_guard guard(mutex_);
  provided_.push_back(std::move(plan));
}

const Schedule* PlanSource::provided_for(const PlanRequest& request) const {
  if (!request.nodes.empty() || !request.algorithm.empty()) return nullptr;
  const auto found = std::find_if(provided_.begin(), provided_.end(), [&](const Schedule& plan) {
    return plan.collective == request.collective && plan.topology == request.topology;
  });
  return found == provided_.end() ? nullptr : &*found;
}

bool planned_at_once(const PlanRequest& request) {
  return request.collective != Collective::alltoall && request.topology.node_count() <= nodes_at_once;
}

std::optional<Result<Schedule>> PlanSource::obtain(const Config& config, const PlanRequest& request) {
  const std::string directory = config.cache_dir.empty() ? default_cache_dir() : config.cache_dir;
  // Of those that other processes make. Ours have limits of their own, which end before: two planners are tried for a
  // part, and starting them takes a while, too.
  constexpr std::chrono::seconds to_start_them{1};
  const auto deadline =
      std::chrono::steady_clock::now() + (request.nodes.empty() ? 1 : 2) * planning_limit(config) + to_start_them;
  for (;;) {
    {
      const std::lock_guard guard(mutex_);
      std::optional<Result<Schedule>> plan = look(config, request, directory);
      if (plan || config.background_planning) return plan;
    }
    if (std::chrono::steady_clock::now() > deadline) return too_slow(config);
    std::this_thread::sleep_for(between_looks);
  }
}

std::optional<Schedule> PlanSource::fewest_steps(const Config& config, const PlanRequest& request) {
  if (request.collective == Collective::alltoall || !request.nodes.empty() ||
      algorithm_setting(config, request.collective) != automatic_plan) {
    return std::nullopt;
  }
  const std::lock_guard guard(mutex_);
  if (provided_for(request) != nullptr) return std::nullopt;
  const std::string directory = config.cache_dir.empty() ? default_cache_dir() : config.cache_dir;
  const std::string planner(fewest_steps_planner);
  if (!directory.empty()) {
    Result<std::optional<Schedule>> cached = load_plan(directory, request.topology, request.collective, planner);
    if (cached.ok() && cached->has_value()) return std::move(**cached);
  }
  if (!planned_at_once(request)) return std::nullopt;
  Result<Schedule> plan = plan_in_process(request, planner);
  keep(plan, directory, planner);
  if (!plan) return std::nullopt;
  return std::move(plan).value();
}

std::optional<Result<Schedule>> PlanSource::look(const Config& config, const PlanRequest& request,
                                                 const std::string& directory) {
  if (const Schedule* given = provided_for(request)) return std::optional<Result<Schedule>>(std::in_place, *given);
  const auto search = [&](std::string_view algorithm) {
    return Search{config, request, directory, std::string(algorithm),
                  plan_file_name(request.topology, request.collective, algorithm)};
  };
  const Search wanted =
      search(request.algorithm.empty() ? algorithm_setting(config, request.collective) : request.algorithm);
  if (request.nodes.empty() || wanted.algorithm == automatic_plan) return look(wanted);
  if (!failed_.contains(wanted.key)) {
    std::optional<Result<Schedule>> plan = look(wanted);
    if (!plan || plan->ok()) return plan;
    failed_.insert(wanted.key);
  }
  return look(search(automatic_plan));
}

std::optional<Result<Schedule>> PlanSource::look(const Search& search) {
  const auto& [config, request, directory, algorithm, key] = search;
  if (const auto found = jobs_.find(key); found != jobs_.end()) return look_at(found, search);
  if (!directory.empty()) {
    Result<std::optional<Schedule>> cached = load_plan(directory, request.topology, request.collective, algorithm);
    if (!cached) {
      if (warned_of_.insert(key).second) log(LogLevel::warn, cached.error().message + "; planning again");
    } else if (cached->has_value()) {
      return std::optional<Result<Schedule>>(std::in_place, std::move(cached->value()));
    }
  }
  const bool here = request.collective != Collective::alltoall;
  if (planned_at_once(request) || (here && config.command.empty())) {
    Result<Schedule> plan = plan_in_process(request, algorithm);
    keep(plan, directory, algorithm);
    return plan;
  }
  if (too_slow_.contains(key)) return too_slow(config);
  return start(search);
}

std::optional<Result<Schedule>> PlanSource::look_at(std::map<std::string, Job>::iterator job, const Search& search) {
  if (!job->second.child.ended()) {
    if (std::chrono::steady_clock::now() - job->second.started < planning_limit(search.config)) return std::nullopt;
    jobs_.erase(job);
    too_slow_.insert(search.key);
    return too_slow(search.config);
  }
  const Result<std::string> text = job->second.child.output();
  const bool stored = job->second.stores;
  jobs_.erase(job);
  if (!text) return Result<Schedule>(text.error());
  Result<Schedule> plan = checked(read_schedule(*text, "output of " + search.config.command), search.request);
  if (!stored) keep(plan, search.directory, search.algorithm);
  return plan;
}

std::optional<Result<Schedule>> PlanSource::start(const Search& search) {
  const auto& [config, request, directory, algorithm, key] = search;
  if (config.command.empty()) {
    return Result<Schedule>(Error{"the libcoll command was not found; set LIBCOLL_COMMAND"});
  }
  const PlanLock lock = lock_plan(directory, request.topology, request.collective, algorithm);
  if (lock.turn == PlanTurn::others) return std::nullopt;
  const bool stores = lock.turn == PlanTurn::ours;
  if (stores) {
    // Somebody may have finished between the look into the cache and the lock.
    Result<std::optional<Schedule>> cached = load_plan(directory, request.topology, request.collective, algorithm);
    if (cached.ok() && cached->has_value()) {
      return std::optional<Result<Schedule>>(std::in_place, std::move(cached->value()));
    }
  }
  std::string source = config.topology;
  FileDescriptor shared;
  if (source.empty()) {
    Result<FileDescriptor> file = share_topology(request.topology);
    if (!file) return Result<Schedule>(file.error());
    shared = std::move(file).value();
    source = shared_path(shared);
  }
  // The child holds the lock for as long as it lives, whatever becomes of this process.
  Result<PlanningChild> child = PlanningChild::start(
      planning_command(config, request, source, algorithm, stores ? directory : std::string()), lock.descriptor.get());
  if (!child) return Result<Schedule>(child.error());
  jobs_.emplace(key, Job{std::move(child).value(), std::chrono::steady_clock::now(), stores});
  return std::nullopt;
}

}  // namespace libcoll
