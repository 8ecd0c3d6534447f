// A communicator of two for what is measured and agreed on, with a clock that the calls turn.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "libcoll/comm/communicator.h"

namespace libcoll::test {

/// The other rank is always `factor` times as slow.
class TwoRanks final : public comm::HostCommunicator {
 public:
  explicit TwoRanks(std::int64_t factor) : factor_(factor) {}
  int rank() const override { return 0; }
  int size() const override { return 2; }
  int world_rank() const override { return 0; }
  int world_size() const override { return 2; }
  std::string host_name() const override { return "host"; }
  std::string name() const override { return "two"; }
  bool allgather(const void* mine, std::size_t bytes, void* all) override {
    ++agreements;
    if (fails) return false;
    std::vector<std::int64_t> words(bytes / sizeof(std::int64_t));
    std::memcpy(words.data(), mine, bytes);
    std::memcpy(all, mine, bytes);
    // All but the last word are times.
    for (std::size_t i = 0; i + 1 < words.size(); ++i) words[i] *= factor_;
    if (other_failed) words.back() = 0;
    std::memcpy(static_cast<char*>(all) + bytes, words.data(), bytes);
    return true;
  }
  bool broadcast(void*, std::size_t) override { return true; }
  bool barrier() override {
    ++agreements;
    return !fails;
  }
  bool begin_barrier() override { return true; }
  bool barrier_passed() override { return true; }
  bool reach_all(comm::Runtime&) override { return true; }
  void progress() override {}

  static std::int64_t now() noexcept { return clock; }
  static inline std::int64_t clock = 0;

  int agreements = 0;
  bool fails = false;
  bool other_failed = false;

 private:
  std::int64_t factor_;
};

}  // namespace libcoll::test
