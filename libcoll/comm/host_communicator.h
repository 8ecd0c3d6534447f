// What a communicator needs of the program's own MPI.
#pragma once

#include <string>
#include <vector>

#include "libcoll/base/agreement.h"

namespace libcoll::comm {

class Runtime;

/// The program's own MPI on the communicator, for agreement. Every function is collective; false when MPI
/// reported an error.
class HostCommunicator : public Agreement {
 public:
  [[nodiscard]] virtual int world_rank() const = 0;
  [[nodiscard]] virtual int world_size() const = 0;
  /// By rank; empty where they are of several worlds, or not known.
  [[nodiscard]] virtual std::vector<int> world_ranks() const { return {}; }
  /// Buffers of this process may be memory of a GPU.
  [[nodiscard]] virtual bool may_have_device_memory() const { return false; }
  /// Its ranks are of several worlds (MPI_Comm_spawn, MPI_Comm_connect), whose ranks mean nothing to each other. The
  /// same on all of them.
  [[nodiscard]] virtual bool spans_worlds() const { return false; }
  [[nodiscard]] virtual std::string host_name() const = 0;
  [[nodiscard]] virtual std::string name() const = 0;  ///< for log lines
  /// As mpi_name() has it: what MPI's own calls were measured with is for that one.
  [[nodiscard]] virtual std::string mpi_library() const { return "none"; }
  /// A barrier in two halves, so that a rank can look after other things until all have begun it.
  virtual bool begin_barrier() = 0;
  virtual bool barrier_passed() = 0;
  /// Lets the runtime's transport reach all ranks, where it needs the host's help for that. Called when all ranks have
  /// agreed on everything else; equal on all of them.
  virtual bool reach_all(Runtime& runtime) = 0;
  /// Lets the program's own messages move.
  virtual void progress() = 0;
};

}  // namespace libcoll::comm
