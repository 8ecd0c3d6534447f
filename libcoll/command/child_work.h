// Work that can be stopped at any moment: some solvers cannot be asked to.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "planner/result.h"

namespace libcoll::command {

/// What `work` returns, made in a child of this process; nothing when it took more than `seconds` (0: no limit) and was
/// stopped. The error says that there was no child, or how it ended. Nothing else that `work` does is seen here.
/// Precondition: this process has no other threads.
Result<std::optional<std::string>> in_child(const std::function<std::string()>& work, double seconds);

}  // namespace libcoll::command
