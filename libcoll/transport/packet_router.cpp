#include "libcoll/transport/packet_router.h"

namespace libcoll::transport {

using namespace topology;

namespace {

/// Tags of packets: communicator 0 has no messages.
constexpr std::uint64_t small_packet_tag = 1;
constexpr std::uint64_t large_packet_tag = 2;

}  // namespace

Result<PeerId> PacketRouter::connect(const std::string& address, std::int32_t route_class) {
  Result<PeerId> peer = core_.inner.connect(address, route_class);
  if (peer) directory_.connected(address, route_class, *peer);
  return peer;
}

void PacketRouter::open() {
  for (std::int32_t route_class = 0; route_class < core_.inner.route_classes(); ++route_class) {
    for (const auto& [tag, bytes] :
         {std::pair(small_packet_tag, small_packet_bytes), std::pair(large_packet_tag, large_packet_bytes)}) {
      auto inbox = std::make_unique<Inbox>(Inbox{route_class, tag, Packet(bytes), {}, false});
      inbox->inner = {&inbox_relay_, static_cast<std::uint32_t>(inboxes_.size()), 0};
      inboxes_.push_back(std::move(inbox));
    }
  }
  unposted_ = inboxes_.size();
  post();
}

void PacketRouter::post() {
  if (unposted_ == 0) return;
  for (const auto& inbox : inboxes_) {
    while (!inbox->posted) {
      inbox->posted = true;
      --unposted_;
      const Posted posted = core_.inner.receive(inbox->route_class, inbox->tag, inbox->packet.data(),
                                                inbox->packet.size(), &inbox->inner);
      if (posted == Posted::pending) break;
      arrived(inbox->inner.index, posted == Posted::done);
      if (posted == Posted::failed) break;  // until the next look
    }
  }
}

void PacketRouter::arrived(std::uint32_t number, bool ok) {
  if (core_.closing) return;
  Inbox& inbox = *inboxes_[number];
  inbox.posted = false;
  ++unposted_;
  if (ok) arrivals_.push_back(std::exchange(inbox.packet, Packet(inbox.packet.size())));
}

void PacketRouter::send(RecoveryGroupState& state, PacketHeader header, std::span<const std::byte> payload,
                        const HostPath& path, std::int32_t route_class) {
  header.communicator = static_cast<std::uint16_t>(state.recovery_group.communicator);
  if (set_path(header, path)) pass_on(state, Packet(header, payload), route_class);
}

void PacketRouter::pass_on(RecoveryGroupState& state, Packet packet, std::int32_t route_class) {
  PacketHeader header = packet.header();
  ++header.place;
  const NodeId next = header.path[header.place];
  if (next >= static_cast<NodeId>(state.streams.size())) return;
  packet.set_header(header);
  const PeerId peer = peer_for(directory_.remote_of(state.streams[at(next)]), route_class);
  if (peer < 0) return;
  const std::uint32_t slot = outgoing_.take();
  Outgoing& outgoing = outgoing_[slot].emplace(Outgoing{std::move(packet), {&outgoing_relay_, slot, 0}});
  const std::uint64_t tag = outgoing.packet.size() == small_packet_bytes ? small_packet_tag : large_packet_tag;
  const Posted posted = core_.inner.send(peer, tag, outgoing.packet.data(), outgoing.packet.size(), &outgoing.inner);
  if (posted != Posted::pending) sent(slot, true);
}

void PacketRouter::sent(std::uint32_t slot, bool) {
  if (core_.closing) return;
  outgoing_[slot].reset();
  outgoing_.give(slot);
}

PeerId PacketRouter::peer_for(Remote& remote, std::int32_t route_class) {
  if (route_class < 0) {
    route_class = 0;
    for (std::size_t k = 0; k < remote.lanes.size() && remote.lanes[at(route_class)].outward_dead; ++k) {
      if (remote.lanes[k].peer >= 0 && !remote.lanes[k].outward_dead) route_class = static_cast<std::int32_t>(k);
    }
  }
  const PeerId peer = remote.lanes[at(route_class)].peer;
  if (peer >= 0) return peer;
  const Result<PeerId> connected = connect(std::string(remote.address), route_class);
  return connected ? *connected : -1;
}

}  // namespace libcoll::transport
