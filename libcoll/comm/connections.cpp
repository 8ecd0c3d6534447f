#include "libcoll/comm/connections.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include "libcoll/base/log.h"

namespace libcoll::comm {

using namespace execute;
using namespace plan;
using namespace schedule;
using namespace transport;

namespace {

/// As a rule all have come by then.
constexpr std::chrono::microseconds prompt{100};
/// Whoever is late may need the processor.
constexpr std::chrono::microseconds between_polls{50};

}  // namespace

// Connections are made on first use, with the help of both ends. Later a rank may be in MPI, or computing, while a peer
// still waits for that help; so everybody says a word to everybody it will talk to, and helps until all are connected.
//
// Two ends that connect at the same moment make two connections, of which one is given up again: sockets, and
// processor time, for nothing. So only one end connects and calls, and the other one, which finds the connection made,
// answers.

Lanes Connections::lanes_of(LoweredPlan& plan) {
  // Also those that only send to us: acknowledgements go back to them, and are flushed.
  const std::size_t nodes = members_.rank_of_node().size();
  plan.peers.assign(nodes * static_cast<std::size_t>(runtime().transport().route_classes()), -1);
  for (const Operation& operation : plan.program.operations) {
    plan.peers[static_cast<std::size_t>(operation.route_class) * nodes + static_cast<std::size_t>(operation.peer)] =
        awaited_peer;
  }
  return {plan.peers, members_.node(), members_.rank_of_node()};
}

Status Connections::connect(Lanes& lanes, Words words) {
  const std::lock_guard guard(runtime().lock());
  for (std::size_t lane = 0; lane < lanes.peers.size(); ++lane) {
    const std::size_t place = lane % lanes.ranks.size();
    const bool is_caller = calls(lanes.self, static_cast<std::int32_t>(place));
    if (lanes.peers[lane] != awaited_peer || is_caller != (words == Words::call)) continue;
    const auto rank = static_cast<std::size_t>(lanes.ranks[place]);
    const auto route_class = static_cast<std::int32_t>(lane / lanes.ranks.size());
    const Result<PeerId> connected = runtime().transport().connect(members_.addresses()[rank], route_class);
    if (!connected) return connected.error();
    lanes.peers[lane] = *connected;
  }
  return {};
}

bool Connections::connect_awaited(const Lanes& lanes) {
  for (std::size_t lane = 0; lane < lanes.peers.size(); ++lane) {
    if (lanes.peers[lane] != awaited_peer) continue;
    const auto rank = static_cast<std::size_t>(lanes.ranks[lane % lanes.ranks.size()]);
    const auto route_class = static_cast<std::int32_t>(lane / lanes.ranks.size());
    const Result<PeerId> peer = runtime().transport().connect(members_.addresses()[rank], route_class);
    if (!peer) return false;
    lanes.peers[lane] = *peer;
  }
  return true;
}

bool Connections::greet(HostCommunicator& host, const Lanes& lanes, Words words) {
  auto wire = std::make_unique<WireUp>(runtime().transport(), lanes.self, static_cast<std::int32_t>(lanes.ranks.size()),
                                       lanes.peers, sizeof(std::uint64_t));
  {
    const std::lock_guard guard(runtime().lock());
    wire->start(next_tags().with_senders_from(lanes.first_sender), words);
  }
  Flush flush;
  const auto is_over = [&] { return wire->over() && runtime().transport().flushed(flush, lanes.peers); };
  const auto in_words = [this] {
    return members_.name() + ": rank " + std::to_string(members_.rank()) + " waits for connections";
  };
  if (runtime().engine().wait(
          is_over, [&host] { host.progress(); }, in_words))
    return !wire->failed();
  // Messages may yet arrive in its memory.
  static_cast<void>(wire.release());
  const std::lock_guard guard(runtime().lock());
  runtime().transport().abandon(flush);
  return false;
}

bool Connections::meet(HostCommunicator& host) {
  if (!host.begin_barrier()) return false;
  const std::chrono::seconds limit(runtime().config().timeout_seconds);
  auto still_since = std::chrono::steady_clock::now();
  while (!host.barrier_passed()) {
    const auto now = std::chrono::steady_clock::now();
    if (runtime().engine().progress()) {
      still_since = now;
    } else if (limit.count() > 0 && now - still_since > limit) {
      return false;  // somebody has died, and MPI does not say so
    } else if (now - still_since < prompt) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(between_polls);
    }
  }
  return true;
}

bool Connections::call(HostCommunicator& host, Lanes& lanes) {
  const bool greeted = greet(host, lanes, Words::call);
  const bool called = meet(host) && greeted;
  const Status connected = connect(lanes, Words::answer);
  if (!connected) log(LogLevel::warn, connected.error().message);
  return all_agree(host, called && connected.ok());
}

bool Connections::answer(HostCommunicator& host, const Lanes& lanes) {
  const bool answered = greet(host, lanes, Words::answer);
  return meet(host) && answered;
}

bool Connections::wire_up(HostCommunicator& host, Lanes& lanes) {
  const Status connected = connect(lanes, Words::call);
  if (!connected) log(LogLevel::info, connected.error().message);
  return all_agree(host, connected.ok()) && call(host, lanes) && all_agree(host, answer(host, lanes));
}

}  // namespace libcoll::comm
