// After a link has died: the ranks of a communicator agree on which ones are gone and from which call on they go
// without them. Over the transport's notes, for the program's own MPI may have no way left.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libcoll/node/cable.h"
#include "libcoll/transport/resilient_transport.h"

namespace libcoll {

/// The topology without these cables' links; its name says so.
Topology without(const Topology& topology, const std::set<Cable>& cables);

/// One rank's part. Node 0 leads. Whoever misses messages reports to it, and it has everybody halt before the next call
/// and look which neighbours still answer. When all have said what they found and which call would be their next, it
/// tells them which links are gone, and the latest of those calls: no rank has begun it, so from there on all go by new
/// plans. Every note may be lost, and is repeated until it has had its effect.
///
/// All members are to be called under the lock of the transport.
class Repair final : public CrewObserver {
 public:
  /// `name`: the communicator's, for log lines. Unless `agrees`, it only writes those. It hears of the crew until it is
  /// destroyed.
  Repair(ResilientTransport& transport, std::uint32_t communicator, NodeId self, NodeId nodes, bool agrees,
         std::string name);
  ~Repair();
  Repair(const Repair&) = delete;
  Repair& operator=(const Repair&) = delete;

  /// Everybody is to wait before the next call.
  [[nodiscard]] bool halted() const { return halted_; }
  /// A call begins, or something else that is counted on all ranks alike; precondition: not halted. True when from it
  /// on more cables are to be done without.
  bool begin_call();
  /// All so far.
  [[nodiscard]] const std::set<Cable>& removed() const { return removed_; }

  void lane_died(NodeId from, std::int32_t route_class) noexcept override;
  void noted(NodeId from, std::span<const std::byte> note) noexcept override;
  void neighbours_checked(std::span<const NodeId> unreachable) noexcept override;
  void tick() noexcept override;

 private:
  enum class Word : std::uint8_t {
    report,  ///< to the leader: messages do not come
    halt,
    halted,  ///< to the leader: the next call, and the cables that are gone
    resume,  ///< the call from which on these cables are done without
    resumed,
  };
  static constexpr std::size_t most_cables = 56;
  struct Note {
    Word word = Word::report;
    std::uint8_t reserved = 0;
    std::uint16_t cables = 0;
    std::uint32_t repair = 0;  ///< which one, 1, 2, …
    std::uint64_t call = 0;
    std::array<std::array<std::uint16_t, 2>, most_cables> ends{};
  };
  static_assert(sizeof(Note) <= 256);

  /// What is done without, and from which call on.
  struct Finding {
    std::uint64_t call = 0;
    std::set<Cable> cables;
  };

  [[nodiscard]] bool leads() const { return self_ == 0; }
  [[nodiscard]] bool known(const Cable& cable) const;
  static std::set<Cable> cables_of(const Note& note);
  void say(NodeId to, Word word, std::uint32_t repair, const Finding& finding, NoteWay way);
  void hear(NodeId from, const Note& note);
  /// The leader's.
  void begin_repair();
  void collect(NodeId from, const Note& note);
  void repeat();
  // Everybody's.
  void halt();
  void resume(const Note& note);

  ResilientTransport& transport_;
  std::uint32_t communicator_;
  NodeId self_;
  NodeId nodes_;
  bool agrees_;
  std::string name_;
  std::uint64_t calls_ = 0;    ///< begun
  std::uint32_t repairs_ = 0;  ///< done, as far as this rank knows
  std::set<Cable> missed_;     ///< between whom messages got lost since the last one
  bool reported_ = false;      ///< to the leader, since the last one
  bool halted_ = false;
  bool checked_ = false;
  std::set<Cable> found_;  ///< by this rank in this repair
  std::set<Cable> removed_;
  std::vector<Finding> pending_;  ///< of later calls
  bool warned_ = false;
  std::int64_t ticks_ = 0;

  enum class Phase : std::uint8_t { idle, halting, resuming };
  Phase phase_ = Phase::idle;
  std::vector<bool> answered_;  ///< by node
  Finding verdict_;
  std::int64_t rest_ = 0;  ///< in ticks: a repair that found nothing is not repeated at once, and less and less often
  std::int64_t rest_until_ = 0;
};

}  // namespace libcoll
