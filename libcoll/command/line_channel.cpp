#include "libcoll/command/line_channel.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "libcoll/base/system_error.h"

namespace libcoll::command {
namespace {

/// An order to measure has the addresses of all peers.
constexpr std::size_t longest_line = std::size_t{64} << 20U;
constexpr double attempt_seconds = 2;

int in_milliseconds(double seconds) { return static_cast<int>(std::ceil(std::clamp(seconds, 0.0, 1e6) * 1e3)); }

/// Waits until the socket can be read from, or written to.
bool wait_for(int socket, short events, double seconds) {
  pollfd ready{socket, events, 0};
  int found = -1;
  do {
    found = poll(&ready, 1, in_milliseconds(seconds));
  } while (found < 0 && errno == EINTR);
  return found > 0;
}

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

std::optional<SocketAddress> parse_address(const std::string& text, std::uint16_t port) {
  SocketAddress address;
  sockaddr_in four{};
  sockaddr_in6 six{};
  if (inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    std::memcpy(&address.storage, &four, sizeof four);
    address.length = sizeof four;
    return address;
  }
  if (inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) != 1) return std::nullopt;
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  std::memcpy(&address.storage, &six, sizeof six);
  address.length = sizeof six;
  return address;
}

std::string address_text(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.sa_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &address, sizeof four);
    inet_ntop(AF_INET, &four.sin_addr, text.data(), text.size());
  } else {
    sockaddr_in6 six{};
    std::memcpy(&six, &address, sizeof six);
    inet_ntop(AF_INET6, &six.sin6_addr, text.data(), text.size());
  }
  return text.data();
}

/// Of interfaces that are up; link-local ones of IPv6 mean something on one interface alone.
std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  std::vector<std::string> only_here;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return addresses;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0) continue;
    if (each->ifa_addr->sa_family != AF_INET && each->ifa_addr->sa_family != AF_INET6) continue;
    const std::string text = address_text(*each->ifa_addr);
    if (text.starts_with("fe80:")) continue;
    ((each->ifa_flags & IFF_LOOPBACK) != 0 ? only_here : addresses).push_back(text);
  }
  freeifaddrs(list);
  addresses.insert(addresses.end(), only_here.begin(), only_here.end());
  return addresses;
}

/// An IPv6 socket takes IPv4 as well; where there is no IPv6, IPv4 alone.
Result<FileDescriptor> listening_socket() {
  for (const int family : {AF_INET6, AF_INET}) {
    FileDescriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) continue;
    const int no = 0;
    if (family == AF_INET6) setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    const std::optional<SocketAddress> any = parse_address(family == AF_INET6 ? "::" : "0.0.0.0", 0);
    if (bind(socket.get(), any->get(), any->length) == 0 && listen(socket.get(), SOMAXCONN) == 0) {
      return Result<FileDescriptor>(std::move(socket));
    }
  }
  return Error{"cannot listen for the job's processes: " + reason()};
}

std::optional<LineChannel> try_to_connect(const std::string& address, std::uint16_t port, double seconds) {
  const std::optional<SocketAddress> parsed = parse_address(address, port);
  if (!parsed) return std::nullopt;
  FileDescriptor socket(::socket(parsed->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return std::nullopt;
  if (connect(socket.get(), parsed->get(), parsed->length) != 0) {
    if (errno != EINPROGRESS || !wait_for(socket.get(), POLLOUT, seconds)) return std::nullopt;
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error != 0) return std::nullopt;
  }
  const int yes = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return LineChannel(std::move(socket));
}

}  // namespace

Status LineChannel::send(const Json& message) {
  const std::string line = message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  const Deadline deadline(attempt_seconds * 10);
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t sent = ::send(socket_.get(), line.data() + done, line.size() - done, MSG_NOSIGNAL);
    if (sent > 0) {
      done += static_cast<std::size_t>(sent);
    } else if (errno != EAGAIN && errno != EINTR) {
      return Error{"the connection broke: " + reason()};
    } else if (deadline.passed() || !wait_for(socket_.get(), POLLOUT, deadline.remaining())) {
      return Error{"the other end takes nothing"};
    }
  }
  return {};
}

std::optional<std::string> LineChannel::take_line() {
  const std::size_t end = received_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

Result<std::optional<Json>> LineChannel::receive(double timeout_seconds) {
  const Deadline deadline(std::max(timeout_seconds, 1e-9));
  for (;;) {
    if (const std::optional<std::string> line = take_line()) {
      Json message = Json::parse(*line, nullptr, false);
      if (message.is_object()) return std::optional<Json>(std::move(message));
      return Error{"the other end sent no JSON object"};
    }
    if (received_.size() > longest_line) return Error{"the other end sent a line that is too long"};
    if (!wait_for(socket_.get(), POLLIN, deadline.passed() ? 0 : deadline.remaining())) return std::optional<Json>();
    std::array<char, 65536> piece{};
    const ssize_t got = recv(socket_.get(), piece.data(), piece.size(), 0);
    if (got > 0) {
      received_.append(piece.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      return Error{"the connection ended"};
    }
  }
}

Result<Listener> listen_anywhere() {
  Result<FileDescriptor> socket = listening_socket();
  if (!socket) return socket.error();
  Listener listener{std::move(socket).value(), 0, own_addresses()};
  SocketAddress bound;
  bound.length = sizeof bound.storage;
  if (getsockname(listener.socket.get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.length) != 0) {
    return Error{"a socket has no name: " + reason()};
  }
  // Both families have the port at the same place.
  sockaddr_in named{};
  std::memcpy(&named, &bound.storage, sizeof named);
  listener.port = ntohs(named.sin_port);
  return listener;
}

std::optional<LineChannel> accept_channel(const Listener& listener) {
  FileDescriptor socket(accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return std::nullopt;
  const int yes = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return LineChannel(std::move(socket));
}

Result<LineChannel> connect_channel(const std::vector<std::string>& addresses, std::uint16_t port,
                                    const Deadline& deadline) {
  do {
    for (const std::string& address : addresses) {
      std::optional<LineChannel> channel = try_to_connect(address, port, attempt_seconds);
      if (channel) return std::move(*channel);
    }
    poll(nullptr, 0, 50);
  } while (!deadline.passed());
  return Error{"cannot reach port " + std::to_string(port) + " at any of " + join(addresses, ", ")};
}

}  // namespace libcoll::command
