// Work that can be stopped at any moment: some solvers cannot be asked to.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "planner/base/deadline.h"
#include "planner/base/result.h"

namespace libcoll::command {

/// What `work` returns, made in a child of this process; nothing when it took more than `seconds` (0: no limit) and was
/// stopped. The error says that there was no child, or how it ended. Nothing else that `work` does is seen here.
/// Precondition: this process has no other threads.
Result<std::optional<std::string>> in_child(const std::function<std::string()>& work, double seconds);

/// Ends a command in a child if that is ready in time: `prepare` there, and when it says true by the deadline, `finish`
/// there too, whose exit code is returned. Nothing where the child was too late and was stopped, said false or died:
/// the caller then ends the command by itself. `meanwhile` is done here. Exactly one of the two prints, as a child
/// finishes only after it was told to. `finish` has to write out what it prints. Precondition: this process has no
/// other threads.
std::optional<int> finished_in_child(const std::function<bool()>& prepare, const std::function<int()>& finish,
                                     const std::function<void()>& meanwhile, const Deadline& deadline);

}  // namespace libcoll::command
