// How a communicator's processes get connected.
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include "libcoll/runtime/communicator.h"
#include "libcoll/runtime/log.h"

namespace libcoll {
namespace {

/// Whoever is late may need the processor.
constexpr std::chrono::microseconds between_looks{50};

}  // namespace

// Connections are made on first use, with the help of both ends. Later a rank may be in MPI, or computing, while a peer
// still waits for that help; so everybody says a word to everybody it will talk to, and helps until all are connected.
//
// Two ends that connect at the same moment make two connections, of which one is given up again: sockets, and
// processor time, for nothing. So only one end connects and calls, and the other one, which finds the connection made,
// answers.

Communicator::Lanes Communicator::lanes_of(LoweredPlan& plan) {
  // Also those that only send to us: acknowledgements go back to them, and are flushed.
  const std::size_t nodes = rank_of_node_.size();
  plan.peers.assign(nodes * static_cast<std::size_t>(runtime_.transport().route_classes()), -1);
  for (const Operation& operation : plan.program.operations) {
    plan.peers[static_cast<std::size_t>(operation.route_class) * nodes + static_cast<std::size_t>(operation.peer)] =
        awaited_peer;
  }
  return {plan.peers, node_, rank_of_node_};
}

Status Communicator::connect(Lanes& lanes, Words words) {
  const std::lock_guard guard(runtime_.lock());
  for (std::size_t lane = 0; lane < lanes.peers.size(); ++lane) {
    const std::size_t place = lane % lanes.ranks.size();
    const bool is_caller = calls(lanes.self, static_cast<std::int32_t>(place));
    if (lanes.peers[lane] != awaited_peer || is_caller != (words == Words::call)) continue;
    const auto rank = static_cast<std::size_t>(lanes.ranks[place]);
    const auto route_class = static_cast<std::int32_t>(lane / lanes.ranks.size());
    const Result<PeerId> connected = runtime_.transport().connect(addresses_[rank], route_class);
    if (!connected) return connected.error();
    lanes.peers[lane] = *connected;
  }
  return {};
}

bool Communicator::greet(HostCommunicator& host, const Lanes& lanes, Words words) {
  auto wire = std::make_unique<WireUp>(runtime_.transport(), lanes.self, static_cast<std::int32_t>(lanes.ranks.size()),
                                       lanes.peers, sizeof(std::uint64_t));
  {
    const std::lock_guard guard(runtime_.lock());
    wire->start(TagSpace(id_, wire_ups_++).with_senders_from(lanes.first_sender), words);
  }
  Flush flush;
  const auto is_over = [&] { return wire->over() && runtime_.transport().flushed(flush, lanes.peers); };
  const auto in_words = [this] { return name_ + ": rank " + std::to_string(rank_) + " waits for connections"; };
  if (runtime_.wait(
          is_over, [&host] { host.progress(); }, in_words))
    return !wire->failed();
  // Messages may yet arrive in its memory.
  static_cast<void>(wire.release());
  const std::lock_guard guard(runtime_.lock());
  runtime_.transport().abandon(flush);
  return false;
}

bool Communicator::call(HostCommunicator& host, Lanes& lanes) {
  const bool called = greet(host, lanes, Words::call);
  const Status connected = connect(lanes, Words::answer);
  if (!connected) log(LogLevel::warn, connected.error().message);
  return all_agree(host, called && connected.ok());
}

bool Communicator::answer(HostCommunicator& host, const Lanes& lanes) {
  const bool answered = greet(host, lanes, Words::answer);
  if (!host.begin_barrier()) return false;
  const std::chrono::seconds limit(runtime_.config().timeout_seconds);
  auto still_since = std::chrono::steady_clock::now();
  while (!host.barrier_passed()) {
    const auto now = std::chrono::steady_clock::now();
    if (runtime_.progress()) {
      still_since = now;
    } else if (limit.count() > 0 && now - still_since > limit) {
      return false;  // somebody has died, and MPI does not say so
    } else {
      std::this_thread::sleep_for(between_looks);
    }
  }
  return answered;
}

bool Communicator::wire_up(HostCommunicator& host, Lanes& lanes) {
  const Status connected = connect(lanes, Words::call);
  if (!connected) log(LogLevel::info, connected.error().message);
  return all_agree(host, connected.ok()) && call(host, lanes) && all_agree(host, answer(host, lanes));
}

}  // namespace libcoll
