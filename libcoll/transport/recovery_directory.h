// Who is who: peers of the transport underneath, processes, recovery groups and the communicators that are theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libcoll/transport/recovery_state.h"
#include "planner/base/index.h"

namespace libcoll::transport {

class RecoveryDirectory {
 public:
  /// What a peer of the transport underneath is.
  struct Place {
    std::size_t remote = 0;
    std::int32_t route_class = 0;
    bool known = false;
  };

  explicit RecoveryDirectory(std::int32_t route_classes) : route_classes_(route_classes) {}

  void connected(const std::string& address, std::int32_t route_class, PeerId peer);
  /// As ResilientTransport's.
  void enrol(RecoveryGroup recovery_group);
  void annex(std::uint32_t communicator, std::uint32_t to, std::vector<topology::NodeId> places);
  void annex(std::uint32_t communicator, std::uint32_t like);

  /// Null where there is none.
  RecoveryGroupState* recovery_group(std::uint32_t communicator) {
    return communicator < recovery_groups_.size() ? recovery_groups_[communicator].get() : nullptr;
  }
  /// Also by a communicator that was annexed.
  RecoveryGroupState* recovery_group_with(std::uint32_t communicator) {
    RecoveryGroupState* own = recovery_group(communicator);
    return own != nullptr || communicator >= annexes_.size() ? own : annexes_[communicator].recovery_group;
  }
  /// In the recovery group; beyond all places where there is none.
  [[nodiscard]] topology::NodeId place_of_sender(std::uint64_t tag) const;
  [[nodiscard]] Place place_of(PeerId peer) const { return at(peer) < places_.size() ? places_[at(peer)] : Place{}; }
  /// Null where the peer is not in the recovery group.
  Stream* stream_to(RecoveryGroupState& state, PeerId peer);
  Remote& remote_of(const Stream& stream) { return remotes_[stream.remote]; }
  Remote::Lane& lane_of(const Stream& stream, std::int32_t route_class) {
    return remotes_[stream.remote].lanes[at(route_class)];
  }
  Remote::Lane& lane_of(const Place& place) { return remotes_[place.remote].lanes[at(place.route_class)]; }

  [[nodiscard]] const std::deque<Remote>& remotes() const { return remotes_; }
  /// By communicator; null where there is none.
  [[nodiscard]] const std::vector<std::unique_ptr<RecoveryGroupState>>& recovery_groups() const {
    return recovery_groups_;
  }

 private:
  /// A communicator whose messages are a recovery group's.
  struct Annex {
    RecoveryGroupState* recovery_group = nullptr;
    std::vector<topology::NodeId> places;  ///< in the recovery group, by sender; empty: the same
  };

  std::size_t remote_at(const std::string& address);

  std::int32_t route_classes_;
  std::deque<Remote> remotes_;
  std::map<std::string, std::size_t> remote_of_address_;
  std::vector<Place> places_;                                         ///< by peer
  std::vector<std::unique_ptr<RecoveryGroupState>> recovery_groups_;  ///< by communicator
  std::vector<Annex> annexes_;                                        ///< by communicator
};

}  // namespace libcoll::transport
