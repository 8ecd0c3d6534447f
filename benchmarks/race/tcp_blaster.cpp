// One node of an all-to-all of plain TCP streams over an emulated fabric: the most that this machine can get out of its
// links, with the same routes as a plan and nothing of MPI or libcoll in between.
//
//   tcp_blaster NODE PLAN_FILE [PORT]
//
// PLAN_FILE has a flow per line: SOURCE DESTINATION CLASS NUMERATOR DENOMINATOR, which sends NUMERATOR/DENOMINATOR of
// the payload through a route class (the sender's address of that class, to the receiver's of the same). One process
// runs on every node and is led by lines on standard input:
//
//   connect             when all nodes said "listening"; answered by "ready" when all connections of the node are made
//   run START PAYLOAD   at START seconds of CLOCK_MONOTONIC, with PAYLOAD bytes; answered by one JSON object:
//                       "seconds" from START to the node's last byte (received, or handed to its kernel), "late": how
//                       much after START it began, "sent" and "received" bytes
//
// and ends with the end of standard input.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "libcoll/fabric/addressing.h"
#include "planner/base/result.h"

namespace libcoll {

using namespace fabric;
using namespace topology;

namespace {

constexpr int progress_timeout_milliseconds = 60'000;
constexpr std::size_t slice_bytes = 64 * 1024;  ///< of one connection, before the next one's turn

struct Flow {
  NodeId source = 0;
  NodeId destination = 0;
  std::int32_t route_class = 0;
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
};

std::int64_t bytes_of(const Flow& flow, std::int64_t payload) { return payload * flow.numerator / flow.denominator; }

/// What a connection says first, so that the receiver knows which flow it carries.
struct Greeting {
  std::int32_t source = 0;
  std::int32_t route_class = 0;
};

struct Connection {
  Flow flow;
  int descriptor = -1;
  bool outgoing = false;
  std::int64_t left = 0;  ///< bytes of this run
};

Error system_error(const std::string& what) { return Error{what + ": " + std::strerror(errno)}; }

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void sleep_until(double moment) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(moment);
  time.tv_nsec = static_cast<long>((moment - static_cast<double>(time.tv_sec)) * 1e9);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
  }
}

/// The connections of a node: first those it opens, in the order of the file, then those it expects.
Result<std::vector<Connection>> read_plan(const std::string& path, NodeId node) {
  std::ifstream file(path);
  if (!file) return Error{path + ": cannot be read"};
  std::vector<Connection> connections;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line);
    Flow flow;
    words >> flow.source >> flow.destination >> flow.route_class >> flow.numerator >> flow.denominator;
    if (words.fail() || flow.source == flow.destination || flow.numerator < 0 || flow.denominator < 1) {
      std::string message = path + ":" + std::to_string(number);
      message.append(": found '").append(line).append("', expected SOURCE DESTINATION CLASS NUMERATOR DENOMINATOR");
      return Error{message};
    }
    if (flow.source == node) connections.push_back({flow, -1, true, 0});
    if (flow.destination == node) connections.push_back({flow, -1, false, 0});
  }
  std::stable_partition(connections.begin(), connections.end(), [](const Connection& c) { return c.outgoing; });
  return connections;
}

sockaddr_in address_of(std::int32_t route_class, NodeId node, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, class_address(route_class, node).c_str(), &address.sin_addr);
  return address;
}

const sockaddr* generic(const sockaddr_in& address) { return reinterpret_cast<const sockaddr*>(&address); }

Status listen_on(int descriptor, std::uint16_t port) {
  const int yes = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(port);
  if (bind(descriptor, generic(any), sizeof any) != 0) return system_error("bind to port " + std::to_string(port));
  if (listen(descriptor, SOMAXCONN) != 0) return system_error("listen");
  return {};
}

/// Opens a connection and greets. The receiver's kernel completes it; nobody has to accept yet.
Status open(Connection& connection, std::uint16_t port) {
  const Flow& flow = connection.flow;
  connection.descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection.descriptor < 0) return system_error("socket");
  const sockaddr_in from = address_of(flow.route_class, flow.source, 0);
  const sockaddr_in to = address_of(flow.route_class, flow.destination, port);
  const std::string name = class_address(flow.route_class, flow.destination);
  if (bind(connection.descriptor, generic(from), sizeof from) != 0) {
    return system_error("bind to " + class_address(flow.route_class, flow.source));
  }
  if (connect(connection.descriptor, generic(to), sizeof to) != 0) return system_error("connect to " + name);
  const Greeting greeting{flow.source, flow.route_class};
  if (send(connection.descriptor, &greeting, sizeof greeting, MSG_NOSIGNAL) != sizeof greeting) {
    return system_error("greeting " + name);
  }
  return {};
}

/// Takes one connection of those that are expected.
Status take(int listener, std::vector<Connection>& connections) {
  const int descriptor = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (descriptor < 0) return system_error("accept");
  Greeting greeting;
  if (recv(descriptor, &greeting, sizeof greeting, MSG_WAITALL) != sizeof greeting) return system_error("greeting");
  for (Connection& connection : connections) {
    const bool same = connection.flow.source == greeting.source && connection.flow.route_class == greeting.route_class;
    if (connection.outgoing || connection.descriptor >= 0 || !same) continue;
    connection.descriptor = descriptor;
    return {};
  }
  return Error{"a connection from node " + std::to_string(greeting.source) + " in class " +
               std::to_string(greeting.route_class) + " was not expected"};
}

/// All connections, not blocking from here on, and known to epoll.
Status connect_all(int listener, std::uint16_t port, int epoll, std::vector<Connection>& connections) {
  for (Connection& connection : connections) {
    if (!connection.outgoing) continue;
    if (Status opened = open(connection, port); !opened) return opened;
  }
  for (const Connection& connection : connections) {
    if (connection.outgoing) continue;
    if (Status taken = take(listener, connections); !taken) return taken;
  }
  for (std::size_t i = 0; i < connections.size(); ++i) {
    const int descriptor = connections[i].descriptor;
    const int yes = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (fcntl(descriptor, F_SETFL, O_NONBLOCK) != 0) return system_error("fcntl");
    epoll_event event{};
    event.data.u64 = i;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0) return system_error("epoll_ctl");
  }
  return {};
}

/// What epoll is to tell about a connection: nothing once it has had its bytes, so that nobody spins.
Status watch(int epoll, std::size_t index, const Connection& connection) {
  epoll_event event{};
  event.data.u64 = index;
  if (connection.left > 0) event.events = connection.outgoing ? EPOLLOUT : EPOLLIN;
  if (epoll_ctl(epoll, EPOLL_CTL_MOD, connection.descriptor, &event) == 0) return {};
  return system_error("epoll_ctl");
}

/// Moves up to one slice. Error when the connection broke.
Status move_slice(Connection& connection, std::vector<char>& buffer) {
  const auto most = static_cast<std::size_t>(std::min<std::int64_t>(connection.left, slice_bytes));
  const ssize_t moved = connection.outgoing ? send(connection.descriptor, buffer.data(), most, MSG_NOSIGNAL)
                                            : recv(connection.descriptor, buffer.data(), most, 0);
  if (moved < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (moved < 0) return system_error("a connection broke");
  if (moved == 0) return Error{"node " + std::to_string(connection.flow.source) + " closed its connection"};
  connection.left -= moved;
  return {};
}

struct Outcome {
  double seconds = 0;
  double late = 0;
  std::int64_t sent = 0;
  std::int64_t received = 0;
};

/// Moves everything that is left on all connections.
Status move_all(int epoll, std::vector<Connection>& connections) {
  std::vector<char> buffer(slice_bytes);
  std::array<epoll_event, 64> events{};
  auto busy = std::count_if(connections.begin(), connections.end(), [](const Connection& c) { return c.left > 0; });
  while (busy > 0) {
    const int count = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), progress_timeout_milliseconds);
    if (count < 0 && errno != EINTR) return system_error("epoll_wait");
    if (count == 0) return Error{"nothing moved for a minute"};
    for (int i = 0; i < count; ++i) {
      const std::size_t index = events.at(static_cast<std::size_t>(i)).data.u64;
      Connection& connection = connections[index];
      if (connection.left == 0) return Error{"a connection broke"};  // epoll tells errors unasked
      if (Status moved = move_slice(connection, buffer); !moved) return moved;
      if (connection.left > 0) continue;
      --busy;
      if (Status watched = watch(epoll, index, connection); !watched) return watched;
    }
  }
  return {};
}

Result<Outcome> run_once(int epoll, std::vector<Connection>& connections, double start, std::int64_t payload) {
  Outcome outcome;
  for (std::size_t i = 0; i < connections.size(); ++i) {
    Connection& connection = connections[i];
    connection.left = bytes_of(connection.flow, payload);
    (connection.outgoing ? outcome.sent : outcome.received) += connection.left;
    if (Status watched = watch(epoll, i, connection); !watched) return watched.error();
  }
  sleep_until(start);
  outcome.late = now() - start;
  if (Status moved = move_all(epoll, connections); !moved) return moved.error();
  outcome.seconds = now() - start;
  return outcome;
}

void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

Status serve(NodeId node, const std::string& plan, std::uint16_t port) {
  Result<std::vector<Connection>> connections = read_plan(plan, node);
  if (!connections) return connections.error();
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  if (listener < 0 || epoll < 0) return system_error("socket");
  if (Status listening = listen_on(listener, port); !listening) return listening;
  say("listening");
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string order;
    double start = 0;
    std::int64_t payload = 0;
    words >> order;
    if (order == "connect") {
      if (Status connected = connect_all(listener, port, epoll, *connections); !connected) return connected;
      say("ready");
    } else if (order == "run" && words >> start >> payload) {
      const Result<Outcome> outcome = run_once(epoll, *connections, start, payload);
      if (!outcome) return outcome.error();
      std::array<char, 160> text{};
      std::snprintf(text.data(), text.size(),
                    R"({"node": %d, "seconds": %.9f, "late": %.6f, "sent": %lld, "received": %lld})",
                    static_cast<int>(node), outcome->seconds, outcome->late, static_cast<long long>(outcome->sent),
                    static_cast<long long>(outcome->received));
      say(text.data());
    } else {
      return Error{"found order '" + line + "', expected connect or run START PAYLOAD"};
    }
  }
  return {};
}

template <class Number>
bool parse(const char* text, Number& number) {
  const char* end = text + std::strlen(text);
  const auto result = std::from_chars(text, end, number);
  return result.ec == std::errc{} && result.ptr == end;
}

}  // namespace
}  // namespace libcoll

int main(int argc, char** argv) {
  libcoll::topology::NodeId node = 0;
  std::uint16_t port = 7411;
  const bool good = (argc == 3 || argc == 4) && libcoll::parse(argv[1], node) &&
                    (argc == 3 || libcoll::parse(argv[3], port)) && node >= 0;
  if (!good) {
    std::fputs("usage: tcp_blaster NODE PLAN_FILE [PORT]\n", stderr);
    return 2;
  }
  const libcoll::Status served = libcoll::serve(node, argv[2], port);
  if (!served)
    std::fprintf(stderr, "tcp_blaster: node %d: %s\n", static_cast<int>(node), served.error().message.c_str());
  return served.ok() ? 0 : 1;
}
