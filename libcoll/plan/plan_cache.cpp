#include "libcoll/plan/plan_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "libcoll/base/safe_file.h"
#include "libcoll/base/system_error.h"
#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"

namespace libcoll::plan {

using namespace schedule;
using namespace topology;

namespace {

constexpr std::size_t max_plan_bytes = std::size_t{1} << 30;
/// What a file says in place of a plan for small vectors: there is none.
constexpr std::string_view no_small_plan = "<none/>\n";

Error cannot_use(const std::string& path, const std::string& why) {
  return Error{"plan " + path + " is not used: " + why};
}

/// What makes the schedule something other than the wanted plan; empty when nothing does.
std::string foreign(const Schedule& schedule, const Topology& topology, Collective collective,
                    std::string_view algorithm) {
  if (schedule.collective != collective) return "it is for " + std::string(to_string(schedule.collective));
  const bool any = algorithm == automatic_plan || algorithm == automatic_small_plan;
  if (!any && schedule.algorithm != algorithm) return "it was made by " + schedule.algorithm;
  if (canonical_text(schedule.topology) != canonical_text(topology)) return "it is for another topology";
  return {};
}

/// mkdir -p; directories that are made are for this user alone.
Status make_directories(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && end == std::string::npos) {
      return Error{"cannot be made: " + reason()};
    }
    if (end == std::string::npos) return {};
  }
}

/// Makes it when it is missing.
Result<FileDescriptor> open_cache(const std::string& directory) {
  if (directory.empty()) return Error{"there is no plan cache: neither LIBCOLL_CACHE_DIR nor HOME is set"};
  const auto refused = [&](const std::string& why) { return Error{"plan cache " + directory + " " + why}; };
  if (Status made = make_directories(directory); !made) return refused(made.error().message);
  Result<std::optional<FileDescriptor>> opened = open_trusted_directory(directory);
  if (!opened) return refused(opened.error().message);
  if (!opened->has_value()) return refused("vanished");
  return std::move(**opened);
}

/// What load_plan() would refuse is not stored: it would be planned again by every run.
Status check_plan_text(const std::string& text, const std::string& path, const Schedule& schedule) {
  if (text.size() > max_plan_bytes) {
    return Error{"it takes " + std::to_string(text.size()) + " bytes, expected at most " +
                 std::to_string(max_plan_bytes)};
  }
  const Result<Schedule> read = read_schedule(text, path);
  if (!read) return read.error();
  if (!(*read == schedule)) return Error{"it does not read back as it was written"};
  if (const std::vector<std::string> faults = verify(*read, 1); !faults.empty()) return Error{faults.front()};
  return {};
}

/// The text of a file of the cache; nullopt when there is none. The error is a sentence for a warning.
Result<std::optional<std::string>> read_plan_file(const std::string& directory, const std::string& name) {
  const Result<std::optional<FileDescriptor>> opened = open_trusted_directory(directory);
  if (!opened) return Error{"plan cache " + directory + " is not used: it " + opened.error().message};
  if (!opened->has_value()) return std::optional<std::string>();
  FileTrust trust;
  trust.max_bytes = max_plan_bytes;
  Result<std::optional<std::string>> text = read_trusted_file((*opened)->get(), name, trust);
  if (!text) return cannot_use(directory + "/" + name, "it " + text.error().message);
  return text;
}

/// The plan in such a text, if it is the wanted one.
Result<Schedule> read_plan(const std::string& text, const std::string& directory, const Topology& topology,
                           Collective collective, std::string_view algorithm) {
  const std::string path = directory + "/" + plan_file_name(topology, collective, algorithm);
  Result<Schedule> schedule = read_schedule(text, path);
  if (!schedule) return cannot_use(path, schedule.error().message);
  if (const std::string why = foreign(*schedule, topology, collective, algorithm); !why.empty()) {
    return cannot_use(path, why);
  }
  if (const std::vector<std::string> faults = verify(*schedule, 1); !faults.empty()) {
    return cannot_use(path, faults.front());
  }
  schedule->topology = topology;  // same wiring; the caller's names and hosts
  return schedule;
}

/// `sound`: what checking it said.
Status store_text(const std::string& directory, const std::string& name, const std::string& text, const Status& sound) {
  const Result<FileDescriptor> opened = open_cache(directory);
  if (!opened) return opened.error();
  const std::string path = directory + "/" + name;
  if (!sound) return Error{"plan " + path + " is not kept: " + sound.error().message};
  if (Status stored = replace_file(opened->get(), name, text); !stored) {
    return Error{"plan " + path + " " + stored.error().message};
  }
  return {};
}

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

std::string cache_directory(const std::string& configured) {
  if (!configured.empty()) return configured;
  const std::string cache_home = environment_value("XDG_CACHE_HOME");
  if (cache_home.starts_with('/')) return cache_home + "/libcoll";  // the specification ignores relative paths
  const std::string home = environment_value("HOME");
  return home.empty() ? std::string() : home + "/.cache/libcoll";
}

Status make_cache(const std::string& directory) {
  const Result<FileDescriptor> opened = open_cache(directory);
  return opened ? Status() : opened.error();
}

Result<std::optional<Schedule>> load_plan(const std::string& directory, const Topology& topology, Collective collective,
                                          std::string_view algorithm) {
  const Result<std::optional<std::string>> text =
      read_plan_file(directory, plan_file_name(topology, collective, algorithm));
  if (!text) return text.error();
  if (!text->has_value()) return std::optional<Schedule>();
  Result<Schedule> schedule = read_plan(**text, directory, topology, collective, algorithm);
  if (!schedule) return schedule.error();
  return std::optional<Schedule>(std::move(schedule).value());
}

Status store_plan(const std::string& directory, const Schedule& schedule, std::string_view algorithm) {
  const std::string name =
      plan_file_name(schedule.topology, schedule.collective, algorithm.empty() ? schedule.algorithm : algorithm);
  const std::string text = write_schedule(schedule);
  return store_text(directory, name, text, check_plan_text(text, directory + "/" + name, schedule));
}

Result<std::optional<PlanPair>> load_plans(const std::string& directory, const Topology& topology,
                                           Collective collective, std::string_view algorithm) {
  std::optional<Schedule> small;
  if (algorithm == automatic_plan && is_gathering(collective)) {
    const Result<std::optional<std::string>> text =
        read_plan_file(directory, plan_file_name(topology, collective, automatic_small_plan));
    if (!text) return text.error();
    if (!text->has_value()) return std::optional<PlanPair>();
    if (**text != no_small_plan) {
      Result<Schedule> read = read_plan(**text, directory, topology, collective, automatic_small_plan);
      if (!read) return read.error();
      small = std::move(read).value();
    }
  }
  Result<std::optional<Schedule>> usual = load_plan(directory, topology, collective, algorithm);
  if (!usual) return usual.error();
  if (!usual->has_value()) return std::optional<PlanPair>();
  return std::optional<PlanPair>(PlanPair{std::move(**usual), std::move(small)});
}

Status store_plans(const std::string& directory, const PlanPair& plans, std::string_view algorithm) {
  if (algorithm == automatic_plan && is_gathering(plans.usual.collective)) {
    const std::string name = plan_file_name(plans.usual.topology, plans.usual.collective, automatic_small_plan);
    Status stored = plans.small ? store_plan(directory, *plans.small, automatic_small_plan)
                                : store_text(directory, name, std::string(no_small_plan), {});
    if (!stored) return stored;
  }
  return store_plan(directory, plans.usual, algorithm);
}

PlanLock lock_plan(const std::string& directory, const Topology& topology, Collective collective,
                   std::string_view algorithm) {
  const Result<FileDescriptor> cache = open_cache(directory);
  if (!cache) return {};
  // One file for all plans, of which each has a byte of its own (which need not exist): nothing is left to clean up.
  FileDescriptor file(openat(cache->get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  struct stat facts {};
  if (!file || fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != geteuid()) return {};
  constexpr std::size_t digits = 15;  // of the hash: below what an offset can be
  const std::string name = plan_file_name(topology, collective, algorithm);
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  const char* hash = name.data() + name.rfind('-') + 1;
  std::from_chars(hash, hash + digits, range.l_start, 16);
  range.l_len = 1;
  // Of the open file, not of this process: other threads' locks are others, and a child's copy keeps it.
  if (fcntl(file.get(), F_OFD_SETLK, &range) == 0) return {PlanTurn::ours, std::move(file)};
  const bool taken = errno == EAGAIN || errno == EACCES;
  return {taken ? PlanTurn::others : PlanTurn::unavoidable, {}};
}

}  // namespace libcoll::plan
