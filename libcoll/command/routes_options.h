// What `libcoll routes` is asked for, and the files that it writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "libcoll/command/ip_routes.h"
#include "planner/exchange/subnet_plan.h"

namespace libcoll::command {

struct RoutesOptions {
  std::string plan;
  std::string fabric;
  std::string names;
  std::string host_switches;
  std::string output;
  std::string device;
  std::string cache_dir;
  std::vector<std::string> verify;
  std::int32_t max_lmc = exchange::SubnetLimits{}.lmc;
  std::optional<std::int32_t> max_service_levels;
  IpOptions ip;
  double class_loss = 0;
  double time_limit_seconds = 0;
  bool json = false;
};

/// What lies in --output.
struct RoutesFiles {
  static constexpr const char* plan = "plan.xml";
  static constexpr const char* binding = "route-binding.toml";
  static constexpr const char* lfts = "lfts";
  static constexpr const char* options = "opensm.conf";
  static constexpr const char* lids = "guid2lid";
  static constexpr const char* trace = "trace.sh";
};

/// The path of one of them.
inline std::string in_folder(const RoutesOptions& options, const char* name) {
  return (std::filesystem::path(options.output) / name).string();
}

}  // namespace libcoll::command
