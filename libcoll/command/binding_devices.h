// Whether a host has what a route binding asks for.
#pragma once

#include <string>
#include <vector>

#include "planner/schedule/route_binding.h"

namespace libcoll::command {

/// Network devices, ports, path bits (beyond the port's LMC) and GID indices (without an address) of a route binding
/// that this host does not have, as sentences. `system_root` is "/sys" but in tests.
std::vector<std::string> missing_devices(const schedule::RouteBinding& binding, const std::string& system_root);

}  // namespace libcoll::command
