// The transport of a process that has sent no message yet: ranks of one node need none.
#pragma once

#include <sched.h>

#include <ctime>
#include <string>

#include "libcoll/transport/transport.h"

namespace libcoll::transport {

/// Connects to nobody, and nothing ever comes.
class NullTransport final : public Transport {
 public:
  [[nodiscard]] std::string name() const override { return "none"; }
  [[nodiscard]] const std::string& address() const override { return address_; }
  Result<PeerId> connect(const std::string&, std::int32_t) override { return Error{"no transport is open"}; }
  Posted send(PeerId, std::uint64_t, const void*, std::size_t, Completion*) noexcept override { return Posted::failed; }
  Posted receive(std::int32_t, std::uint64_t, void*, std::size_t, Completion*) noexcept override {
    return Posted::failed;
  }
  bool progress() noexcept override { return false; }
  bool flushed(Flush&, std::span<const PeerId>) noexcept override { return true; }
  void block(int timeout_milliseconds) noexcept override {
    if (timeout_milliseconds <= 0) {
      sched_yield();
      return;
    }
    const timespec time{timeout_milliseconds / 1000, timeout_milliseconds % 1000 * 1'000'000L};
    nanosleep(&time, nullptr);
  }

 private:
  std::string address_;
};

}  // namespace libcoll::transport
