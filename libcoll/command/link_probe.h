// Latency and bandwidth of links, measured with messages over libcoll's own transport.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libcoll/transport/transport.h"
#include "planner/base/deadline.h"
#include "planner/base/result.h"

namespace libcoll::command {

/// One end's part of measuring a link from a sender to a receiver.
struct LinkOrder {
  std::uint32_t measurement = 0;  ///< equal at both ends, never used again
  bool sends = false;
  std::string peer;  ///< the other end's address
  std::int64_t message_bytes = 0;
  std::int32_t messages = 0;
  std::int32_t pings = 0;
};

/// What one end found. The sender has the latency, the receiver the bandwidth.
struct LinkFigure {
  std::uint32_t measurement = 0;
  bool good = false;            ///< everything that was sent has arrived in time
  double latency_seconds = 0;   ///< half of the fastest there and back of 8 bytes
  double bytes_per_second = 0;  ///< without the first quarter, which buffers let through at once
};

/// Does all of them at once, until they are done or the time is over. Messages that were not received may yet arrive:
/// their memory stays with the probe.
class LinkProbe {
 public:
  explicit LinkProbe(std::unique_ptr<transport::Transport> transport);
  LinkProbe(LinkProbe&&) noexcept;
  ~LinkProbe();

  [[nodiscard]] const std::string& address() const { return transport_->address(); }
  [[nodiscard]] std::string transport_name() const { return transport_->name(); }
  std::vector<LinkFigure> measure(std::span<const LinkOrder> orders, const Deadline& deadline);
  /// Moves along what others may still wait for.
  void progress() { transport_->progress(); }

 private:
  class Task;
  std::unique_ptr<transport::Transport> transport_;
  std::vector<std::unique_ptr<Task>> abandoned_;
};

}  // namespace libcoll::command
