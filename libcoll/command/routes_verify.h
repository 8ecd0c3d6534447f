// Whether a subnet forwards as `libcoll routes` has planned.
#pragma once

#include "libcoll/command/routes_options.h"

namespace libcoll::command {

/// Compares what the subnet's diagnostics printed (--verify) with the files in --output. The command's exit code.
int verify_routes(const RoutesOptions& options);

}  // namespace libcoll::command
