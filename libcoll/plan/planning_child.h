// A `libcoll plan` that runs beside this process.
#pragma once

#include <string>
#include <vector>

#include "libcoll/base/safe_file.h"
#include "planner/base/result.h"

namespace libcoll::plan {

/// A process whose output is kept in memory, however long nobody looks. It is no child of this one: the program's own
/// wait() and SIGCHLD handler never see it. Nothing of this needs signals or threads. The process is killed when this
/// goes before it has ended.
class PlanningChild {
 public:
  /// Starts `arguments` (the first is the program's path) outside MPI: without the preload and what would make it
  /// believe that it is a rank, and without LIBCOLL_ settings. `kept_open` (negative: none) is a descriptor that the
  /// child has to hold until it ends.
  static Result<PlanningChild> start(std::vector<std::string> arguments, int kept_open);

  PlanningChild(PlanningChild&& other) noexcept;
  PlanningChild& operator=(PlanningChild&& other) = delete;
  PlanningChild(const PlanningChild&) = delete;
  PlanningChild& operator=(const PlanningChild&) = delete;
  ~PlanningChild();

  [[nodiscard]] bool ended() const;
  /// What it wrote to standard output, or an error with what it wrote to standard error when that is nothing. Once,
  /// after ended().
  Result<std::string> output();

 private:
  PlanningChild() = default;

  std::string name_;
  FileDescriptor process_;  ///< pidfd: never another process's, unlike a process id; none on kernels before Linux 5.3
  FileDescriptor output_;
  FileDescriptor errors_;
  FileDescriptor alive_;  ///< a pipe that is closed at the other end when the child is gone
};

}  // namespace libcoll::plan
