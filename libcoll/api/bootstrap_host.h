// A caller's bootstrap as the runtime's host communicator.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "libcoll/api/libcoll.h"
#include "libcoll/comm/communicator.h"

namespace libcoll::api {

class BootstrapHost final : public comm::HostCommunicator {
 public:
  explicit BootstrapHost(const libcoll_bootstrap& bootstrap) : bootstrap_(bootstrap) {}

  /// Its messages are moved along while ranks wait for each other; null: there is none any more.
  void set_runtime(comm::Runtime* runtime) { runtime_ = runtime; }

  [[nodiscard]] int rank() const override { return bootstrap_.rank; }
  [[nodiscard]] int size() const override { return bootstrap_.size; }
  [[nodiscard]] int world_rank() const override { return bootstrap_.rank; }
  [[nodiscard]] int world_size() const override { return bootstrap_.size; }
  [[nodiscard]] std::string host_name() const override;
  [[nodiscard]] std::string name() const override { return "libcoll communicator"; }
  bool allgather(const void* mine, std::size_t bytes, void* all) override;
  bool broadcast(void* data, std::size_t bytes) override;
  bool begin_barrier() override;
  bool barrier_passed() override;
  bool reach_all(comm::Runtime& process) override { return !process.over_host_messages(); }
  void progress() override {}

 private:
  bool begin(const void* mine, std::size_t bytes, void* all);
  /// True once the allgather that was begun is over, well or not.
  bool over();

  const libcoll_bootstrap bootstrap_;
  comm::Runtime* runtime_ = nullptr;
  void* request_ = nullptr;
  bool failed_ = false;
  char barrier_mine_ = 0;
  std::vector<char> barrier_all_;
};

}  // namespace libcoll::api
