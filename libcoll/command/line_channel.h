// JSON documents between processes on several hosts: one a line, over TCP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libcoll/base/safe_file.h"
#include "libcoll/command/command.h"
#include "planner/base/deadline.h"
#include "planner/base/result.h"

namespace libcoll::command {

/// A connection. Both ends close it by going.
class LineChannel {
 public:
  explicit LineChannel(FileDescriptor socket) : socket_(std::move(socket)) {}

  /// To be polled for input; what has come in already is not seen there.
  [[nodiscard]] int descriptor() const { return socket_.get(); }
  Status send(const Json& message);
  /// The next document; nothing when none came within the time. The error says that the other end is gone, or sent
  /// something else.
  Result<std::optional<Json>> receive(double timeout_seconds);

 private:
  /// A whole line of what has come in.
  std::optional<std::string> take_line();

  FileDescriptor socket_;
  std::string received_;
};

/// A socket that processes on other hosts can connect to.
struct Listener {
  FileDescriptor socket;
  std::uint16_t port = 0;
  std::vector<std::string> addresses;  ///< numeric, of this host; those that only it knows come last
};

Result<Listener> listen_anywhere();

/// The next connection; nothing when there is none now.
std::optional<LineChannel> accept_channel(const Listener& listener);

/// To the first of the addresses that can be reached before the deadline.
Result<LineChannel> connect_channel(const std::vector<std::string>& addresses, std::uint16_t port,
                                    const Deadline& deadline);

}  // namespace libcoll::command
