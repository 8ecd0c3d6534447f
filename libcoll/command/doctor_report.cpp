#include "libcoll/command/doctor_report.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "libcoll/base/safe_file.h"
#include "libcoll/base/system_error.h"
#include "libcoll/comm/placement_file.h"
#include "libcoll/comm/rank_nodes.h"
#include "libcoll/command/binding_devices.h"
#include "libcoll/plan/plan_cache.h"
#include "libcoll/version.h"
#include "planner/topology/reader.h"
#include "pmpi/core_interface.h"

namespace libcoll::command {

using namespace comm;
using namespace plan;
using namespace schedule;
using namespace topology;

namespace {

namespace fs = std::filesystem;

constexpr const char* preload_name = "libcoll_pmpi.so";

// ---- what is loaded -----------------------------------------------------------------------------------------------

/// The path of the preloaded library in this process.
std::string loaded_preload() {
  std::string path;
  const auto look = [](dl_phdr_info* info, std::size_t /*size*/, void* result) {
    const std::string_view name(info->dlpi_name == nullptr ? "" : info->dlpi_name);
    if (!name.ends_with(preload_name)) return 0;
    *static_cast<std::string*>(result) = name;
    return 1;
  };
  dl_iterate_phdr(look, &path);
  return path;
}

/// The entry of LD_PRELOAD that should have been loaded, and what is wrong with it.
std::string obstacle_to_preload() {
  const char* value = std::getenv("LD_PRELOAD");
  std::string entries(value == nullptr ? "" : value);
  std::replace(entries.begin(), entries.end(), ':', ' ');
  std::istringstream words(entries);
  for (std::string entry; words >> entry;) {
    if (!entry.ends_with(preload_name)) continue;
    std::error_code error;
    if (!fs::exists(entry, error)) return entry + " is not there";
    if (access(entry.c_str(), R_OK) != 0) return entry + " cannot be read: " + reason();
    return entry + " is no library that can be loaded";
  }
  return std::string("LD_PRELOAD does not name ") + preload_name;
}

std::string version_of_preload(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  const void* version = library == nullptr ? nullptr : dlsym(library, "libcoll_preload_version");
  return version == nullptr ? std::string() : std::string(static_cast<const char*>(version));
}

void look_at_core(const std::string& preload, RankReport& report) {
  const fs::path path = fs::path(preload).parent_path() / LIBCOLL_CORE_LIBRARY;
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  void* function = library == nullptr ? nullptr : dlsym(library, LIBCOLL_OPEN_CORE);
  if (function == nullptr) {
    const char* error = dlerror();
    report.core_error = error == nullptr ? "it is no core of libcoll" : error;
    return;
  }
  const libcoll_preload asks_for_version{LIBCOLL_VERSION, nullptr, nullptr, nullptr};
  report.core_version = reinterpret_cast<libcoll_open_core_function*>(function)(&asks_for_version)->version;
}

// ---- environment --------------------------------------------------------------------------------------------------

std::optional<std::int32_t> number_of(char* const* environment, std::string_view name) {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    if (!entry.starts_with(name) || !entry.substr(name.size()).starts_with('=')) continue;
    const std::string_view value = entry.substr(name.size() + 1);
    std::int32_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size()) return number;
  }
  return std::nullopt;
}

std::string host_name() {
  std::array<char, 256> text{};
  return gethostname(text.data(), text.size() - 1) == 0 ? std::string(text.data()) : std::string();
}

}  // namespace

RankOfJob rank_of_job(char* const* environment) {
  // A job of mpirun inside one of Slurm has the variables of both: the launcher's come first.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> variables{
      {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
       {"PMI_RANK", "PMI_SIZE"},
       {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
       {"SLURM_PROCID", "SLURM_NTASKS"}}};
  for (const auto& [rank_name, ranks_name] : variables) {
    const std::optional<std::int32_t> rank = number_of(environment, rank_name);
    const std::optional<std::int32_t> ranks = number_of(environment, ranks_name);
    if (rank && ranks) return {*rank, *ranks};
  }
  return {};
}

std::string cache_obstacle(const std::string& directory) {
  if (directory.empty()) return "there is none: neither HOME nor LIBCOLL_CACHE_DIR is set";
  std::error_code error;
  const bool is_new = fs::create_directories(directory, error);
  if (error) return directory + " cannot be made: " + error.message();
  if (is_new) fs::permissions(directory, fs::perms::owner_all, error);
  const auto opened = open_trusted_directory(directory);
  if (!opened) return directory + " " + opened.error().message;
  if (access(directory.c_str(), W_OK | X_OK) != 0) return directory + " cannot be written to: " + reason();
  return {};
}

RankReport look_around(const LoadedConfig& loaded, char* const* environment) {
  const Config& config = loaded.config;
  const RankOfJob place = rank_of_job(environment);
  RankReport report;
  report.rank = place.rank;
  report.ranks = place.ranks;
  report.version = LIBCOLL_VERSION;
  const std::string host = host_name();
  report.names.push_back(config.host.empty() ? host : config.host);
  if (config.host.empty()) {
    for (std::string& name : names_of_host(host, environment)) report.names.push_back(std::move(name));
  }
  report.preload = loaded_preload();
  if (report.preload.empty()) {
    report.preload_obstacle = obstacle_to_preload();
  } else {
    report.preload_version = version_of_preload(report.preload);
    look_at_core(report.preload, report);
  }
  const Result<Topology> topology = load_topology(config.topology);
  if (topology) {
    report.topology = plan_file_name(*topology, Collective::allgather, "");
    if (!config.placement.empty()) {
      const Result<NodeId> placed = load_placement(config.placement, *topology, place.rank);
      report.placed = placed.ok() ? *placed : badly_placed;
    }
  } else {
    report.topology_error = topology.error().message;
  }
  if (!config.route_binding.empty()) {
    const Result<RouteBinding> binding = load_route_binding(config.route_binding);
    if (binding) {
      report.device_faults = missing_devices(*binding, "/sys");
    } else {
      report.binding_error = binding.error().message;
    }
  }
  report.cache = cache_directory(config.cache_dir);
  report.cache_error = cache_obstacle(report.cache);
  report.warnings = loaded.warnings;
  return report;
}

}  // namespace libcoll::command
