// MPI as the runtime sees it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "libcoll/comm/host_communicator.h"
#include "libcoll/serve/mpi.h"

namespace libcoll::serve {

/// MPI as the runtime sees it on this communicator. The ranks agree over one of our own.
class MpiHost final : public comm::HostCommunicator {
 public:
  explicit MpiHost(MpiComm comm) : comm_(comm) {}
  int rank() const override;
  int size() const override;
  int world_rank() const override;
  int world_size() const override;
  std::vector<int> world_ranks() const override;
  bool spans_worlds() const override { return world_ranks().empty(); }
  bool may_have_device_memory() const override;
  std::string host_name() const override;
  std::string name() const override;
  std::string mpi_library() const override;
  bool allgather(const void* mine, std::size_t bytes, void* all) override;
  bool broadcast(void* data, std::size_t bytes) override;
  bool barrier() override;
  bool begin_barrier() override;
  bool barrier_passed() override;
  bool reach_all(comm::Runtime& process) override;
  void progress() override;

 private:
  MpiComm comm_;
  MpiRequest barrier_ = mpi.request_null;
};

}  // namespace libcoll::serve
