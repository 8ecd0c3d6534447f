// After a link has died: the ranks of a recovery group agree on which ones are gone. Over the transport's notes, for
// the program's own MPI may have no way left.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libcoll/node/bidirectional_link.h"
#include "libcoll/node/node_memory.h"
#include "libcoll/transport/resilient_transport.h"

namespace libcoll::recover {

/// The topology without these cables' links; its name says which ones it had.
topology::Topology without(const topology::Topology& topology, const std::set<node::BidirectionalLink>& cables);

/// The same of hosts alone, as a communicator of so many nodes has found cables dead: the one between nodes `nodes` and
/// `nodes` stands for all that are beyond it. Nothing where that is not connected.
std::optional<topology::Topology> without_dead(const topology::Topology& topology,
                                               std::set<node::BidirectionalLink> cables, topology::NodeId nodes);

/// Hears that a recovery group has agreed on more dead links. Under the lock of the transport, from within its
/// progress().
class FailureListener {
 public:
  virtual void links_died() noexcept = 0;

 protected:
  ~FailureListener() = default;
};

/// One rank's part. Node 0 leads. Whoever misses messages reports to it, and it has everybody look which neighbours
/// still answer. When all have said what they found, it tells them which links are gone: a verdict. Verdicts are
/// numbered alike on all ranks. Every note may be lost, and is repeated until it has had its effect. Nobody waits
/// meanwhile.
///
/// All members are to be called under the lock of the transport.
class Repair final : public transport::RecoveryGroupObserver {
 public:
  /// `name`: the communicator's, for log lines. Unless `agrees`, it takes its verdicts from `mates`, where the one of
  /// this node that agrees tells them; null: it has none. It hears of the recovery group until it is destroyed.
  Repair(transport::ResilientTransport& transport, std::uint32_t communicator, topology::NodeId self,
         topology::NodeId nodes, bool agrees, std::string name, std::shared_ptr<node::NodeMemory> mates = nullptr);
  ~Repair();
  Repair(const Repair&) = delete;
  Repair& operator=(const Repair&) = delete;

  /// Whose messages the recovery group's are.
  [[nodiscard]] std::uint32_t communicator() const { return communicator_; }
  /// It looks for dead links.
  [[nodiscard]] bool looks() const { return looks_; }
  /// That named a cable, so far, and the cables of the first so many.
  [[nodiscard]] std::uint32_t verdicts() const { return static_cast<std::uint32_t>(removed_.size() - 1); }
  [[nodiscard]] const std::set<node::BidirectionalLink>& removed(std::uint32_t verdicts) const {
    return removed_[verdicts];
  }
  /// All so far.
  [[nodiscard]] const std::set<node::BidirectionalLink>& removed() const { return removed_.back(); }
  void listen(FailureListener& listener) { listeners_.push_back(&listener); }
  void ignore(FailureListener& listener) { std::erase(listeners_, &listener); }

  void lane_died(topology::NodeId from, std::int32_t route_class) noexcept override;
  void noted(topology::NodeId from, std::span<const std::byte> note) noexcept override;
  void neighbours_checked(std::span<const topology::NodeId> unreachable) noexcept override;
  void tick() noexcept override;

 private:
  enum class Word : std::uint8_t {
    report,  ///< to the leader: messages do not come
    look,
    looked,   ///< to the leader: the cables that are gone
    verdict,  ///< these cables are
    heard,    ///< to the leader
  };
  static constexpr std::size_t most_cables = 56;
  struct Note {
    Word word = Word::report;
    std::uint8_t reserved = 0;
    std::uint16_t cables = 0;
    std::uint32_t repair = 0;  ///< which one, 1, 2, …
    std::array<std::array<std::uint16_t, 2>, most_cables> ends{};
  };
  static_assert(sizeof(Note) <= 256);

  [[nodiscard]] bool leads() const { return self_ == 0; }
  static std::set<node::BidirectionalLink> cables_of(const Note& note);
  void say(topology::NodeId to, Word word, std::uint32_t repair, const std::set<node::BidirectionalLink>& cables,
           transport::NoteWay way);
  void hear(topology::NodeId from, const Note& note);
  /// The leader's.
  void begin_repair();
  void collect(topology::NodeId from, const Note& note);
  void repeat();
  // Everybody's.
  void look();
  void end_repair(const Note& note);
  void do_without(const std::set<node::BidirectionalLink>& cables);
  void hear_mates();

  transport::ResilientTransport& transport_;
  std::uint32_t communicator_;
  topology::NodeId self_;
  topology::NodeId nodes_;
  bool agrees_;
  std::string name_;
  std::shared_ptr<node::NodeMemory> mates_;
  std::uint32_t repairs_ = 0;                 ///< done, as far as this rank knows
  std::set<node::BidirectionalLink> missed_;  ///< between whom messages got lost since the last one
  bool reported_ = false;                     ///< to the leader, since the last one
  bool looks_ = false;
  bool checked_ = false;
  std::set<node::BidirectionalLink> found_;                    ///< by this rank in this repair
  std::vector<std::set<node::BidirectionalLink>> removed_{1};  ///< after so many verdicts
  std::vector<FailureListener*> listeners_;
  bool warned_ = false;
  std::int64_t ticks_ = 0;

  enum class Phase : std::uint8_t { idle, looking, telling };
  Phase phase_ = Phase::idle;
  std::vector<bool> answered_;  ///< by node
  std::set<node::BidirectionalLink> verdict_;
  std::int64_t rest_ = 0;  ///< in ticks: a repair that found nothing is not repeated at once, and less and less often
  std::int64_t rest_until_ = 0;
};

}  // namespace libcoll::recover
