// Messages that arrive although the way they took is broken: kept by the sender until the receiver has them, asked for
// when they do not come, and sent again from host to host around what is broken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libcoll/transport/detours.h"
#include "libcoll/transport/transport.h"

namespace libcoll::transport {

struct ResendOptions {
  /// A message that is missing for so long is asked for. Counted while this process looks after its messages.
  std::int64_t patience_nanoseconds = 0;
  std::int64_t (*now_nanoseconds)() noexcept = nullptr;
  /// Copies of messages whose arrival nobody has confirmed; beyond it sends complete later.
  std::int64_t kept_bytes = std::int64_t{32} << 20;
  /// Messages of this length on are not copied where the transport underneath takes pieces: their sends complete when
  /// the receiver has confirmed them.
  std::size_t lent_bytes = std::size_t{16} << 10;
};

/// The processes of a communicator by their place (node), who may pass on each other's packets.
struct RecoveryGroup {
  std::uint32_t communicator = 0;
  topology::NodeId self = 0;
  std::vector<std::string> addresses;
  std::vector<std::vector<topology::NodeId>> neighbours;  ///< as neighbouring_hosts()
  std::vector<std::vector<topology::NodeId>> linked;      ///< as linked_hosts(); empty: all neighbours
};

/// What a recovery group's layer above hears. Called from progress(), under the lock around it.
class RecoveryGroupObserver {
 public:
  /// Messages from that node by that route class do not arrive. From now on they come another way. Once for each.
  virtual void lane_died(topology::NodeId from, std::int32_t route_class) noexcept = 0;
  virtual void noted(topology::NodeId from, std::span<const std::byte> note) noexcept = 0;
  /// The end of check_neighbours(): those who answer by another way and not directly.
  virtual void neighbours_checked(std::span<const topology::NodeId> unreachable) noexcept = 0;
  /// Several times in the patience.
  virtual void tick() noexcept = 0;

 protected:
  ~RecoveryGroupObserver() = default;
};

enum class NoteWay : std::uint8_t {
  best,   ///< as far as this process knows
  other,  ///< than the last one there, which was in vain
  back,   ///< on which the last note from there came
};

struct ResendCounts {
  std::int64_t messages_sent_again = 0;
  std::int64_t messages_sent_around = 0;  ///< at once, the usual way being known to be broken
  std::int64_t packets_passed_on = 0;
  std::int64_t duplicates_dropped = 0;
};

/// A transport whose messages under tags of an enrolled recovery group (TagSpace) survive the loss of messages, lanes
/// (a peer and route class) and links, as long as the recovery group stays connected; others pass through unchanged.
/// The caller's memory is never given to the transport underneath: what a broken way has swallowed may come to light at
/// any time later. From the first recovery group on, progress() counts only messages that end, and pieces of those that
/// come around, as something that happened: not questions, answers, or connections that break as others give up. So
/// waiting for a process that has died ends when it should.
class ResilientTransport : public Transport {
 public:
  /// Before any message of the recovery group is posted, by all of it. It stays until the end.
  virtual void enrol(RecoveryGroup recovery_group) = 0;
  /// Messages under the tags of another communicator are this recovery group's, too; to be called in each process
  /// before it posts any. `places`: by sender in those tags, the place in the recovery group. It stays until the end.
  virtual void annex(std::uint32_t communicator, std::uint32_t recovery_group,
                     std::vector<topology::NodeId> places) = 0;
  /// The same where senders are numbered as in `like`, which is a recovery group or annexed to one.
  virtual void annex(std::uint32_t communicator, std::uint32_t like) = 0;
  /// Null: nobody any more.
  virtual void observe(std::uint32_t communicator, RecoveryGroupObserver* observer) = 0;
  /// A call under that communicator's tags has failed: the waiters and the memory of all of them are left alone from
  /// now on.
  virtual void forget(std::uint32_t communicator) noexcept = 0;
  /// At most `small_payload_bytes` bytes to another node, without a guarantee.
  virtual void post_note(std::uint32_t communicator, topology::NodeId to, std::span<const std::byte> note,
                         NoteWay way) noexcept = 0;
  /// There is no link between these nodes any more.
  virtual void exclude(std::uint32_t communicator, topology::NodeId a, topology::NodeId b) noexcept = 0;
  /// Finds out which neighbours cannot be reached directly, by route class 0. The observer is told.
  virtual void check_neighbours(std::uint32_t communicator) noexcept = 0;
  [[nodiscard]] virtual ResendCounts counts() const = 0;
};

/// Every message is `stamp_bytes` longer for the transport underneath, and there are packets of `large_packet_bytes`.
inline constexpr std::size_t stamp_bytes = 16;

std::unique_ptr<ResilientTransport> make_resilient_transport(std::unique_ptr<Transport> inner, ResendOptions options);

}  // namespace libcoll::transport
