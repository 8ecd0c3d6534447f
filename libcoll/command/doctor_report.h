// What a process of a job sees on its host, for `libcoll doctor`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libcoll/base/config.h"
#include "planner/base/result.h"

namespace libcoll::command {

/// What one process says.
struct RankReport {
  std::int32_t rank = -1;
  std::int32_t ranks = 0;
  std::vector<std::string> names;  ///< of its host: the first is that of the system or LIBCOLL_HOST
  std::int32_t placed = -1;        ///< as RankIdentity::placed
  std::string version;             ///< of the libcoll command
  std::string preload;             ///< path of the library that is loaded; empty: none is
  std::string preload_version;     ///< empty: not known
  std::string preload_obstacle;    ///< why none is loaded
  std::string core_version;        ///< of the core beside it; empty: it cannot be loaded
  std::string core_error;          ///< why
  std::string topology;            ///< digest of the topology as it is read here
  std::string topology_error;      ///< or why it cannot be read
  std::string binding_error;
  std::vector<std::string> device_faults;  ///< of the route binding here, as sentences
  std::string cache;                       ///< directory
  std::string cache_error;
  std::vector<std::string> warnings;  ///< of the configuration
};

/// Rank and number of ranks as launchers say it in the environment (Open MPI, PMI, Slurm); negative: not known.
struct RankOfJob {
  std::int32_t rank = -1;
  std::int32_t ranks = -1;
};
RankOfJob rank_of_job(char* const* environment);

/// All of it, for the configuration in force.
RankReport look_around(const LoadedConfig& loaded, char* const* environment);

/// Why plans cannot be written there; empty: they can. Makes the directory when it is missing.
std::string cache_obstacle(const std::string& directory);

}  // namespace libcoll::command
