// Traffic of known size over a fabric, and what the links' counters say of it.
//   probe routes TOPOLOGY FILE CLASSES        writes a schedule with random paths for most pairs, in several classes
//   probe verify FABRIC FILE BYTES            sends BYTES over every route of FILE and, in class 0, every default
//   route:
//                                             exactly the links of the route must have carried them
//   probe send FABRIC CLASS FROM TO BYTES SECONDS   0 when they arrived in time; prints the seconds it took
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "libcoll/fabric/addressing.h"
#include "libcoll/fabric/counters.h"
#include "libcoll/fabric/fabric.h"
#include "libcoll/fabric/namespaces.h"
#include "planner/base/index.h"
#include "planner/route/sssp.h"
#include "planner/schedule/xml.h"
#include "planner/topology/reader.h"

namespace libcoll::test {

using namespace fabric;
using namespace route;
using namespace schedule;
using namespace topology;

namespace {

int complain(const std::string& message) {
  std::fprintf(stderr, "probe: %s\n", message.c_str());
  return 1;
}

// ---- one transfer ----------------------------------------------------------------------------------------------

struct Message {
  std::int32_t route_class = 0;
  NodeId from = 0;
  NodeId to = 0;
  std::size_t bytes = 0;
  unsigned seconds = 30;
};

sockaddr_in address_of(std::int32_t route_class, NodeId node, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = port;
  const NodeId low = node % 250 + 1;
  const auto octet = static_cast<std::uint32_t>(route_class == 0 ? 100 : route_class);
  address.sin_addr.s_addr = htonl((10U << 24U) | (octet << 16U) | (static_cast<std::uint32_t>(node / 250) << 8U) |
                                  static_cast<unsigned>(low));
  return address;
}

sockaddr* generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

bool enter(const FabricState& state, NodeId node) {
  const Status joined = join_namespaces(state.holders[at(node)]);
  if (!joined) complain(joined.error().message);
  return joined.ok();
}

/// Takes everything, and closes only then.
int receive(const FabricState& state, const Message& message, int port_pipe) {
  if (!enter(state, message.to)) return 1;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = address_of(message.route_class, message.to, 0);
  socklen_t length = sizeof address;
  if (bind(listener, generic(address), length) != 0 || listen(listener, 1) != 0) return complain("bind");
  getsockname(listener, generic(address), &length);
  if (write(port_pipe, &address.sin_port, sizeof address.sin_port) != sizeof address.sin_port) return 1;
  const int connection = accept(listener, nullptr, nullptr);
  std::size_t received = 0;
  static std::array<char, 1 << 16> buffer;
  for (ssize_t got = 0; (got = read(connection, buffer.data(), buffer.size())) > 0;) {
    received += static_cast<std::size_t>(got);
  }
  return received == message.bytes ? 0 : complain("received " + std::to_string(received));
}

/// Sockets of odd sources are bound to the class, those of even ones leave it to the routing tables. Says how many
/// segments were sent again.
int send(const FabricState& state, const Message& message, int port_pipe, int again_pipe) {
  std::uint16_t port = 0;
  if (read(port_pipe, &port, sizeof port) != sizeof port || !enter(state, message.from)) return 1;
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in own = address_of(message.route_class, message.from, 0);
  if (message.from % 2 == 1 && bind(connection, generic(own), sizeof own) != 0) return complain("bind of the sender");
  sockaddr_in peer = address_of(message.route_class, message.to, port);
  if (connect(connection, generic(peer), sizeof peer) != 0) return complain(std::strerror(errno));
  static std::array<char, 1 << 16> buffer;
  for (std::size_t done = 0; done < message.bytes;) {
    const ssize_t put = write(connection, buffer.data(), std::min(buffer.size(), message.bytes - done));
    if (put <= 0) return complain(std::strerror(errno));
    done += static_cast<std::size_t>(put);
  }
  shutdown(connection, SHUT_WR);
  if (read(connection, buffer.data(), 1) != 0) return 1;
  tcp_info info{};
  socklen_t length = sizeof info;
  getsockopt(connection, IPPROTO_TCP, TCP_INFO, &info, &length);
  const std::uint32_t again = info.tcpi_total_retrans;
  return write(again_pipe, &again, sizeof again) == sizeof again ? 0 : 1;
}

/// Segments that TCP sent again, as it does where processors are busy; nothing when the message did not arrive in time.
std::optional<std::uint32_t> transfer(const FabricState& state, const Message& message) {
  std::array<int, 2> port{};
  std::array<int, 2> again{};
  if (pipe(port.data()) != 0 || pipe(again.data()) != 0) return std::nullopt;
  std::array<pid_t, 2> children{};
  for (const int side : {0, 1}) {
    children[static_cast<std::size_t>(side)] = fork();
    if (children[static_cast<std::size_t>(side)] != 0) continue;
    alarm(message.seconds);
    close(port[side == 0 ? 0 : 1]);
    _exit(side == 0 ? receive(state, message, port[1]) : send(state, message, port[0], again[1]));
  }
  for (const int end : {port[0], port[1], again[1]}) close(end);
  bool good = true;
  for (const pid_t child : children) {
    int status = 0;
    good = waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0 && good;
  }
  std::uint32_t segments = 0;
  good = read(again[0], &segments, sizeof segments) == sizeof segments && good;
  close(again[0]);
  return good ? std::optional(segments) : std::nullopt;
}

// ---- routes ----------------------------------------------------------------------------------------------------

Route random_route(const Topology& topology, NodeId source, NodeId destination, std::mt19937& random) {
  Route route{source, destination, {}, 0, 0};
  std::set<NodeId> passed = {source};
  NodeId at = source;
  while (at != destination) {
    std::vector<LinkId> ways;
    for (const LinkId id : topology.out_links(at)) {
      if (passed.count(topology.link(id).to) == 0) ways.push_back(id);
    }
    if (ways.empty()) return random_route(topology, source, destination, random);
    const LinkId id = ways[random() % ways.size()];
    route.links.push_back(id);
    at = topology.link(id).to;
    passed.insert(at);
  }
  return route;
}

int make_routes(const std::string& specification, const std::string& file, std::int32_t classes) {
  const Result<Topology> topology = load_topology(specification);
  if (!topology) return complain(topology.error().message);
  std::mt19937 random(2024);
  Schedule schedule;
  schedule.collective = Collective::alltoall;
  schedule.algorithm = "random";
  schedule.topology = *topology;
  for (std::int32_t k = 1; k <= classes; ++k) {
    for (NodeId s = 0; s < topology->host_count(); ++s) {
      for (NodeId d = 0; d < topology->host_count(); ++d) {
        if (s == d || random() % 4 == 0) continue;
        Route route = random_route(*topology, s, d, random);
        route.route_class = k;
        schedule.routes.push_back(route);
      }
    }
  }
  std::ofstream(file) << write_schedule(schedule);
  return 0;
}

/// Sends along one route; complains of links whose counters do not fit.
int verify_route(const FabricState& state, const Route& route, std::size_t bytes) {
  const FabricCounters before = read_counters(state);
  const std::string name = "class " + std::to_string(route.route_class) + ", node " + std::to_string(route.source) +
                           " to node " + std::to_string(route.destination);
  const auto again = transfer(state, {route.route_class, route.source, route.destination, bytes});
  if (!again) return complain(name + ": did not arrive");
  constexpr std::size_t frame_bytes = 9014;
  const std::size_t most = bytes + bytes / 20 + 2000 + *again * frame_bytes;
  const FabricCounters after = read_counters(state);
  int faults = 0;
  for (LinkId id = 0; id < state.topology.link_count(); ++id) {
    const std::uint64_t carried = after.links[at(id)].bytes - before.links[at(id)].bytes;
    const bool on_route = std::find(route.links.begin(), route.links.end(), id) != route.links.end();
    // Headers are 66 bytes in 9000; acknowledgements come back on other links.
    const bool fits = on_route ? carried >= bytes && carried <= most : carried <= bytes / 10;
    if (fits) continue;
    const Link& link = state.topology.link(id);
    faults +=
        complain(name + ": " + std::to_string(carried) + " bytes from node " + std::to_string(link.from) + " to node " +
                 std::to_string(link.to) + (on_route ? ", which is" : ", which is not") + " on the route");
  }
  return faults;
}

int verify(const std::string& fabric, const std::string& file, std::size_t bytes) {
  const Result<FabricState> state = load_fabric(fabric);
  if (!state) return complain(state.error().message);
  std::ifstream stream(file);
  const Result<Schedule> schedule =
      read_schedule(std::string{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()}, file);
  if (!schedule) return complain(schedule.error().message);
  Result<std::vector<Route>> routes = moved_routes(schedule->topology, state->topology, schedule->routes);
  if (!routes) return complain(routes.error().message);
  const Result<std::vector<Route>> defaults = sssp_routes(state->topology);
  if (!defaults) return complain(defaults.error().message);
  routes->insert(routes->end(), defaults->begin(), defaults->end());
  int faults = 0;
  for (const Route& route : *routes) faults += verify_route(*state, route, bytes);
  std::printf("%zu routes, %d faults\n", routes->size(), faults);
  return faults == 0 ? 0 : 1;
}

int send_once(const std::string& fabric, Message message) {
  const Result<FabricState> state = load_fabric(fabric);
  if (!state) return complain(state.error().message);
  const auto begin = std::chrono::steady_clock::now();
  if (!transfer(*state, message)) return 1;
  std::printf("%.3f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return 0;
}

int probe(const std::vector<std::string>& words) {
  const auto number = [&](std::size_t i) {
    return static_cast<std::int32_t>(std::strtol(words[i].c_str(), nullptr, 10));
  };
  if (words.size() == 4 && words[0] == "routes") return make_routes(words[1], words[2], number(3));
  if (words.size() == 4 && words[0] == "verify") return verify(words[1], words[2], at(number(3)));
  if (words.size() == 7 && words[0] == "send") {
    return send_once(words[1], {number(2), number(3), number(4), at(number(5)), static_cast<unsigned>(number(6))});
  }
  return complain("wrong usage");
}

}  // namespace
}  // namespace libcoll::test

int main(int argc, char** argv) { return libcoll::test::probe({argv + 1, argv + argc}); }
