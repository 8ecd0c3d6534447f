// libcoll routes --ip: plain IP and RoCE fabrics.
#pragma once

#include <string>

#include "libcoll/command/command.h"
#include "planner/exchange/ip_routes.h"
#include "planner/schedule/schedule.h"

namespace libcoll::command {

/// As they are on the command line.
struct IpOptions {
  bool wanted = false;
  std::string steering = "device";
  std::string network = "10.0.0.0";
  std::string devices;  ///< file
  std::string link_device = exchange::IpScheme().link_device;
  std::string class_device = exchange::IpScheme().class_device;
  std::int32_t first_gid_index = 0;
};

/// Classes for the schedule's routes, and files in the folder `output` (empty: none): hosts/NAME.addresses,
/// hosts/NAME.routes, switches/NAME.csv, route-binding.toml, plan.xml. Returns what is said about it in JSON.
Result<Json> make_ip_routes(const IpOptions& options, const std::string& roce_device, const std::string& output,
                            schedule::Schedule& schedule);

}  // namespace libcoll::command
