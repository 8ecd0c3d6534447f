// What a process knows of the others in its recovery groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "libcoll/transport/buffer_pool.h"
#include "libcoll/transport/detours.h"
#include "libcoll/transport/resilient_transport.h"
#include "libcoll/transport/transport.h"

namespace libcoll::transport {

/// A process, whatever communicators it shares with this one.
struct Remote {
  struct Lane {
    PeerId peer = -1;
    bool outward_dead = false;
    bool inward_dead = false;
  };
  std::string address;
  std::vector<Lane> lanes;  ///< by route class
};

/// A message on its way through packets.
struct Assembly {
  Buffer memory;
  std::uint64_t total = 0;
  std::vector<bool> pieces;
  std::size_t missing = 0;
};

/// Waiting for messages of one process by one route class. Times are those of the AttendedClock.
struct Listening {
  std::int64_t receives = 0;
  std::int64_t since = 0;
  std::int64_t heard_at = 0;
  std::int64_t ask_at = 0;
  bool unanswered = false;
  std::int64_t in_vain = 0;  ///< since the last answer or message
  HostPath path;             ///< of the last inquiry
};

/// This process and another one in a recovery group.
struct Stream {
  topology::NodeId node = 0;
  std::size_t remote = 0;
  std::vector<Listening> lanes;  ///< by route class
  // Outwards.
  std::uint64_t next_sequence = 1;
  std::uint64_t first_unconfirmed = 1;
  std::deque<std::uint32_t> unconfirmed;  ///< by sequence from there on: slots, or none
  std::int64_t poke_at = 0;
  bool poke_unanswered = false;
  std::int64_t poked = 0;  ///< since something was last confirmed
  HostPath poke_path;
  HostPath way;  ///< around what is broken: as the last answer to an inquiry
  HostPath note_path;
  std::int64_t notes_in_vain = 0;
  // Inwards.
  std::uint64_t received = 0;      ///< all up to this one …
  std::set<std::uint64_t> beyond;  ///< … and these
  std::int64_t debt_messages = 0;
  std::int64_t debt_bytes = 0;
  std::int64_t awaited_since = -1;  ///< the last message that is owed for, and whose sender waits; negative: none is
  bool is_debtor = false;           ///< noted as such
  std::int32_t heard_class = 0;
  std::map<std::uint64_t, Assembly> assemblies;  ///< by sequence
};

/// How a neighbour answers.
struct Check {
  topology::NodeId node = 0;
  bool direct = false;
  std::int64_t around_at = -1;
  HostPath path;
  std::int64_t tries = 0;
};

struct RecoveryGroupState {
  RecoveryGroupState(RecoveryGroup enrolled, std::size_t remotes)
      : recovery_group(std::move(enrolled)),
        detours(std::move(recovery_group.neighbours), recovery_group.linked),
        node_of_remote(remotes, -1) {}

  /// The single hop.
  [[nodiscard]] HostPath direct_path(topology::NodeId to) const {
    return {static_cast<std::uint16_t>(recovery_group.self), static_cast<std::uint16_t>(to)};
  }

  RecoveryGroup recovery_group;
  Detours detours;
  std::vector<topology::NodeId> node_of_remote;
  std::deque<Stream> streams;  ///< by node
  RecoveryGroupObserver* observer = nullptr;
  std::vector<Check> checks;  ///< empty: nothing is being checked
  std::int64_t check_at = 0;
};

/// The single hop where there is no other way.
HostPath way_around(const RecoveryGroupState& state, topology::NodeId to, bool indirect);

/// As last found by an answer, otherwise way_around().
HostPath way_to(const RecoveryGroupState& state, const Stream& stream);

/// After so many tries in vain. The single hop is in doubt at first. But all others may be broken, and trying them over
/// and over would only put the blame on hops that are good.
HostPath next_way(RecoveryGroupState& state, topology::NodeId to, std::int64_t in_vain);

/// A lane to or from there is dead.
void doubt_hop(RecoveryGroupState& state, topology::NodeId node, std::int32_t route_class);

/// By a message.
void heard(Listening& listening);
/// By a packet: its way there is good.
void answered(RecoveryGroupState& state, Listening& listening);

}  // namespace libcoll::transport
