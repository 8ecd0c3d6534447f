#include "libcoll/plan/plan_source.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "libcoll/base/log.h"
#include "libcoll/base/safe_file.h"
#include "libcoll/plan/topology_file.h"
#include "planner/base/text_file.h"
#include "planner/broadcast/planners.h"
#include "planner/plan/default_plan.h"
#include "planner/plan/part_plan.h"
#include "planner/registry/planner.h"
#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"

namespace libcoll::plan {

using namespace broadcast;
using namespace default_plan;
using namespace registry;
using namespace schedule;
using namespace topology;

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

/// Whether a plan for small vectors is to come with it.
bool has_small_plan(Collective collective, std::string_view algorithm) {
  return algorithm == automatic_plan && is_gathering(collective);
}

std::vector<std::string> planning_command(const Config& config, const PlanRequest& request, const std::string& source,
                                          const std::string& algorithm, const std::string& directory) {
  std::vector<std::string> arguments{config.command, "plan",     source, std::string(to_string(request.collective)),
                                     "--quiet",      "--output", "-"};
  if (algorithm != automatic_plan) arguments.insert(arguments.end(), {"--algorithm", algorithm});
  if (!request.nodes.empty()) arguments.insert(arguments.end(), {"--nodes", request.nodes});
  // It keeps to 1.2 times its limit and half a second. The allgather family has no limit: which call its plan comes to
  // must not depend on the time, as a sum's bits do on the plan.
  if (request.collective == Collective::alltoall) {
    arguments.insert(arguments.end(), {"--time-limit", std::to_string((config.planning_seconds - 0.5) / 1.2)});
  }
  if (!directory.empty()) arguments.insert(arguments.end(), {"--cache", "--cache-dir", directory});
  return arguments;
}

PlanPair pair_of(DefaultPlans plans) { return {std::move(plans.least_bandwidth_time), std::move(plans.least_steps)}; }

/// Not verified.
Result<PlanPair> plan_here(const PlanRequest& request, const std::string& algorithm) {
  const std::string_view name = planner_name(algorithm);
  if (!request.nodes.empty() || name.empty()) {
    Result<DefaultPlans> plans = request.nodes.empty()
                                     ? plan_default(broadcast_planners(), request.topology, request.collective, {})
                                     : plan_part(broadcast_planners(), request.topology, request.collective, name, {});
    if (!plans) return plans.error();
    return pair_of(std::move(plans).value());
  }
  const Result<Planner> planner = find_planner(broadcast_planners(), request.collective, name);
  if (!planner) return planner.error();
  Result<Schedule> plan = planner->plan(request.topology, {});
  if (!plan) return plan.error();
  return PlanPair{std::move(plan).value(), std::nullopt};
}

/// Nothing that was made is believed.
Status check(const Schedule& plan, const PlanRequest& request) {
  if (!(plan.topology == request.topology)) return Error{"the plan made is for another topology"};
  if (plan.collective != request.collective) return Error{"the plan made is for another collective"};
  const std::vector<std::string> faults = verify(plan, 1);
  if (!faults.empty()) return Error{"the plan made is faulty: " + faults.front()};
  return {};
}

Result<PlanPair> checked(Result<PlanPair> plans, const PlanRequest& request) {
  if (!plans) return plans;
  if (const Status good = check(plans->usual, request); !good) return good.error();
  if (!plans->small) return plans;
  if (const Status good = check(*plans->small, request); !good) return good.error();
  return plans;
}

void keep(const Result<PlanPair>& plans, const std::string& directory, const std::string& algorithm) {
  if (!plans || directory.empty()) return;
  const Status stored = store_plans(directory, *plans, algorithm);
  if (!stored) log(LogLevel::info, "plan not kept: " + stored.error().message);
}

/// What a child has made.
Result<PlanPair> read_plans(PlanningChild& child, const FileDescriptor& small, const std::string& source) {
  const Result<std::string> text = child.output();
  if (!text) return text.error();
  Result<Schedule> usual = read_schedule(*text, source);
  if (!usual) return usual.error();
  PlanPair plans{std::move(usual).value(), std::nullopt};
  if (!small) return plans;
  const Result<std::string> small_text = read_text_file(shared_path(small), most_schedule_bytes);
  if (!small_text) return small_text.error();
  if (small_text->empty()) return plans;
  Result<Schedule> read = read_schedule(*small_text, source);
  if (!read) return read.error();
  plans.small = std::move(read).value();
  return plans;
}

}  // namespace

Result<PlanPair> plan_in_process(const PlanRequest& request, const std::string& algorithm) {
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

std::optional<Result<PlanPair>> PlanSource::obtain(const Config& config, const PlanRequest& request) {
  const std::string directory = cache_directory(config.cache_dir);
  // Of those that other processes make. Ours have limits of their own, which end before: two planners are tried for a
  // part, and starting them takes a while, too.
  constexpr std::chrono::seconds to_start_them{1};
  const auto deadline =
      std::chrono::steady_clock::now() + (request.nodes.empty() ? 1 : 2) * planning_limit(config) + to_start_them;
  for (;;) {
    {
      const std::lock_guard guard(mutex_);
      std::optional<Result<PlanPair>> plans = look(config, request, directory);
      if (plans || config.background_planning) return plans;
    }
    if (std::chrono::steady_clock::now() > deadline) return too_slow(config);
    std::this_thread::sleep_for(between_looks);
  }
}

std::optional<Result<PlanPair>> PlanSource::look(const Config& config, const PlanRequest& request,
                                                 const std::string& directory) {
  if (const Schedule* given = provided_for(request)) {
    return std::optional<Result<PlanPair>>(std::in_place, PlanPair{*given, std::nullopt});
  }
  const auto search = [&](std::string_view algorithm) {
    return Search{config, request, directory, std::string(algorithm),
                  plan_file_name(request.topology, request.collective, algorithm)};
  };
  const Search wanted =
      search(request.algorithm.empty() ? algorithm_setting(config, request.collective) : request.algorithm);
  if (request.nodes.empty() || wanted.algorithm == automatic_plan) return look(wanted);
  if (!failed_.contains(wanted.key)) {
    std::optional<Result<PlanPair>> plans = look(wanted);
    if (!plans || plans->ok()) return plans;
    failed_.insert(wanted.key);
  }
  std::optional<Result<PlanPair>> plans = look(search(automatic_plan));
  if (plans && plans->ok()) (*plans)->small.reset();
  return plans;
}

std::optional<Result<PlanPair>> PlanSource::look(const Search& search) {
  const auto& [config, request, directory, algorithm, key] = search;
  if (const auto found = jobs_.find(key); found != jobs_.end()) return look_at(found, search);
  if (!directory.empty()) {
    Result<std::optional<PlanPair>> cached = load_plans(directory, request.topology, request.collective, algorithm);
    if (!cached) {
      if (warned_of_.insert(key).second) log(LogLevel::warn, cached.error().message + "; planning again");
    } else if (cached->has_value()) {
      return std::optional<Result<PlanPair>>(std::in_place, std::move(cached->value()));
    }
  }
  const bool here = request.collective != Collective::alltoall;
  if (planned_at_once(request) || (here && config.command.empty())) {
    Result<PlanPair> plans = plan_in_process(request, algorithm);
    keep(plans, directory, algorithm);
    return plans;
  }
  if (too_slow_.contains(key)) return too_slow(config);
  return start(search);
}

std::optional<Result<PlanPair>> PlanSource::look_at(std::map<std::string, Job>::iterator job, const Search& search) {
  if (!job->second.child.ended()) {
    if (std::chrono::steady_clock::now() - job->second.started < planning_limit(search.config)) return std::nullopt;
    jobs_.erase(job);
    too_slow_.insert(search.key);
    return too_slow(search.config);
  }
  const bool stored = job->second.stores;
  Result<PlanPair> plans =
      checked(read_plans(job->second.child, job->second.small, "output of " + search.config.command), search.request);
  jobs_.erase(job);
  if (!stored) keep(plans, search.directory, search.algorithm);
  return plans;
}

std::optional<Result<PlanPair>> PlanSource::start(const Search& search) {
  const auto& [config, request, directory, algorithm, key] = search;
  if (config.command.empty()) {
    return Result<PlanPair>(Error{"the libcoll command was not found; set LIBCOLL_COMMAND"});
  }
  const PlanLock lock = lock_plan(directory, request.topology, request.collective, algorithm);
  if (lock.turn == PlanTurn::others) return std::nullopt;
  const bool stores = lock.turn == PlanTurn::ours;
  if (stores) {
    // Somebody may have finished between the look into the cache and the lock.
    Result<std::optional<PlanPair>> cached = load_plans(directory, request.topology, request.collective, algorithm);
    if (cached.ok() && cached->has_value()) {
      return std::optional<Result<PlanPair>>(std::in_place, std::move(cached->value()));
    }
  }
  std::string source = config.topology;
  FileDescriptor shared;
  if (source.empty()) {
    Result<FileDescriptor> file = share_topology(request.topology);
    if (!file) return Result<PlanPair>(file.error());
    shared = std::move(file).value();
    source = shared_path(shared);
  }
  std::vector<std::string> command =
      planning_command(config, request, source, algorithm, stores ? directory : std::string());
  FileDescriptor small;
  FileDescriptor shared_small;
  if (has_small_plan(request.collective, algorithm)) {
    Result<FileDescriptor> file = make_nameless_file("small plan");
    if (!file) return Result<PlanPair>(file.error());
    small = std::move(file).value();
    Result<FileDescriptor> inherited = share_file(small);
    if (!inherited) return Result<PlanPair>(inherited.error());
    shared_small = std::move(inherited).value();
    command.insert(command.end(), {"--small-output", shared_path(shared_small)});
  }
  // The child holds the lock for as long as it lives, whatever becomes of this process.
  Result<PlanningChild> child = PlanningChild::start(std::move(command), lock.descriptor.get());
  if (!child) return Result<PlanPair>(child.error());
  jobs_.emplace(key, Job{std::move(child).value(), std::move(small), std::chrono::steady_clock::now(), stores});
  return std::nullopt;
}

}  // namespace libcoll::plan
