#include "libcoll/transport/recovery_directory.h"

#include <algorithm>
#include <utility>

#include "libcoll/transport/tag_space.h"

namespace libcoll::transport {

using namespace topology;

void RecoveryDirectory::connected(const std::string& address, std::int32_t route_class, PeerId peer) {
  const std::size_t remote = remote_at(address);
  remotes_[remote].lanes[at(route_class)].peer = peer;
  if (at(peer) >= places_.size()) places_.resize(at(peer) + 1);
  places_[at(peer)] = {remote, route_class, true};
}

void RecoveryDirectory::enrol(RecoveryGroup recovery_group) {
  const std::uint32_t id = recovery_group.communicator;
  if (id >= recovery_groups_.size()) recovery_groups_.resize(id + 1);
  std::vector<std::size_t> remotes;
  for (const std::string& address : recovery_group.addresses) remotes.push_back(remote_at(address));
  auto state = std::make_unique<RecoveryGroupState>(std::move(recovery_group), remotes_.size());
  for (std::size_t node = 0; node < remotes.size(); ++node) {
    Stream& stream = state->streams.emplace_back();
    stream.node = static_cast<NodeId>(node);
    stream.remote = remotes[node];
    stream.lanes.resize(at(route_classes_));
    state->node_of_remote[remotes[node]] = stream.node;
  }
  recovery_groups_[id] = std::move(state);
}

void RecoveryDirectory::annex(std::uint32_t communicator, std::uint32_t to, std::vector<NodeId> places) {
  if (communicator >= annexes_.size()) annexes_.resize(communicator + 1);
  annexes_[communicator] = {recovery_group(to), std::move(places)};
}

void RecoveryDirectory::annex(std::uint32_t communicator, std::uint32_t like) {
  annexes_.resize(std::max<std::size_t>(annexes_.size(), std::max(communicator, like) + 1));
  annexes_[communicator] = {recovery_group_with(like), annexes_[like].places};
}

NodeId RecoveryDirectory::place_of_sender(std::uint64_t tag) const {
  const NodeId sender = TagSpace::sender_of(tag);
  const std::uint32_t communicator = TagSpace::communicator_of(tag);
  if (communicator >= annexes_.size() || annexes_[communicator].places.empty()) return sender;
  const std::vector<NodeId>& places = annexes_[communicator].places;
  return at(sender) < places.size() ? places[at(sender)] : TagSpace::max_sender;
}

Stream* RecoveryDirectory::stream_to(RecoveryGroupState& state, PeerId peer) {
  const Place place = place_of(peer);
  if (!place.known || place.remote >= state.node_of_remote.size()) return nullptr;
  const NodeId node = state.node_of_remote[place.remote];
  return node < 0 ? nullptr : &state.streams[at(node)];
}

std::size_t RecoveryDirectory::remote_at(const std::string& address) {
  const auto [found, fresh] = remote_of_address_.emplace(address, remotes_.size());
  if (fresh) remotes_.push_back({address, std::vector<Remote::Lane>(at(route_classes_))});
  return found->second;
}

}  // namespace libcoll::transport
