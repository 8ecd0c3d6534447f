#include "libcoll/recover/repair.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "libcoll/base/log.h"
#include "libcoll/transport/packet.h"
#include "planner/topology/facts.h"
#include "planner/topology/part.h"

namespace libcoll::recover {

using namespace node;
using namespace topology;
using namespace transport;

namespace {

/// Ticks come several times in the transport's patience; a note and its answer take less than so many.
constexpr std::int64_t ticks_between_repetitions = 4;
constexpr std::int64_t ticks_of_first_rest = 8;
constexpr std::int64_t ticks_of_longest_rest = 256;

BidirectionalLink cable(NodeId a, NodeId b) { return {std::min(a, b), std::max(a, b)}; }

std::string listed(const std::set<BidirectionalLink>& cables) {
  std::string text;
  for (const auto& [a, b] : cables) {
    text += (text.empty() ? "" : ", ") + std::to_string(a) + "-" + std::to_string(b);
  }
  return text;
}

}  // namespace

Topology without(const Topology& topology, const std::set<BidirectionalLink>& cables) {
  std::vector<Link> links;
  std::set<BidirectionalLink> gone;
  for (const Link& link : topology.links()) {
    const BidirectionalLink ends = cable(link.from, link.to);
    if (cables.contains(ends)) {
      gone.insert(ends);
    } else {
      links.push_back(link);
    }
  }
  if (gone.empty()) return topology;
  const auto nodes = topology.nodes();
  // Fewer links of a good topology are a good topology.
  Topology rest =
      Topology::make(topology.name() + " without " + listed(gone), {nodes.begin(), nodes.end()}, links).value();
  rest.set_nics_forward(topology.nics_forward());
  rest.set_injection_bytes_per_second(topology.injection_bytes_per_second());
  return rest;
}

std::optional<Topology> without_dead(const Topology& topology, std::set<BidirectionalLink> cables, NodeId nodes) {
  cables.erase({nodes, nodes});
  if (cables.empty()) return topology;
  Topology left = without(without_switches(topology), cables);
  if (!check_connected(left)) return std::nullopt;
  return left;
}

Repair::Repair(ResilientTransport& transport, std::uint32_t communicator, NodeId self, NodeId nodes, bool agrees,
               std::string name, std::shared_ptr<NodeMemory> mates)
    : transport_(transport),
      communicator_(communicator),
      self_(self),
      nodes_(nodes),
      agrees_(agrees),
      name_(std::move(name)),
      mates_(std::move(mates)),
      answered_(static_cast<std::size_t>(nodes), false) {
  static_assert(sizeof(Note) <= small_payload_bytes);
  transport_.observe(communicator_, this);
}

Repair::~Repair() { transport_.observe(communicator_, nullptr); }

void Repair::lane_died(NodeId from, std::int32_t route_class) noexcept {
  const LogLevel level = std::exchange(warned_, true) ? LogLevel::info : LogLevel::warn;
  log(level, name_ + ": messages from node " + std::to_string(from) + " to node " + std::to_string(self_) +
                 " by route class " + std::to_string(route_class) + " are lost; they take another way");
  if (agrees_ && !removed().contains(cable(from, self_))) missed_.insert(cable(from, self_));
}

void Repair::say(NodeId to, Word word, std::uint32_t repair, const std::set<BidirectionalLink>& cables, NoteWay way) {
  Note note{word, 0, 0, repair, {}};
  for (const auto& [a, b] : cables) {
    if (note.cables == most_cables) break;
    note.ends[note.cables++] = {static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(b)};
  }
  if (to == self_) return hear(self_, note);
  const std::size_t bytes = offsetof(Note, ends) + note.cables * sizeof note.ends[0];
  transport_.post_note(communicator_, to, std::as_bytes(std::span(&note, 1)).first(bytes), way);
}

void Repair::noted(NodeId from, std::span<const std::byte> bytes) noexcept {
  Note note;
  if (bytes.size() < offsetof(Note, ends) || bytes.size() > sizeof note) return;
  std::memcpy(&note, bytes.data(), bytes.size());
  if (note.cables * sizeof note.ends[0] + offsetof(Note, ends) != bytes.size()) return;
  hear(from, note);
}

void Repair::hear(NodeId from, const Note& note) {
  switch (note.word) {
    case Word::report:
      reported_ = reported_ || (phase_ == Phase::idle && note.repair == repairs_ + 1);
      return;
    case Word::look:
      if (note.repair == repairs_ + 1) look();
      return;
    case Word::verdict:
      if (note.repair == repairs_ + 1) end_repair(note);
      // Also when it was heard before: then the answer was not.
      if (note.repair <= repairs_ && from != self_) say(from, Word::heard, note.repair, {}, NoteWay::back);
      return;
    case Word::looked:
    case Word::heard:
      collect(from, note);
      return;
  }
}

void Repair::look() {
  if (!looks_) {
    looks_ = true;
    checked_ = false;
    missed_.clear();
    transport_.check_neighbours(communicator_);
  } else if (checked_) {
    say(0, Word::looked, repairs_ + 1, found_, NoteWay::back);
  }
}

void Repair::neighbours_checked(std::span<const NodeId> unreachable) noexcept {
  if (!looks_) return;
  found_.clear();
  for (const NodeId node : unreachable) found_.insert(cable(self_, node));
  checked_ = true;
  say(0, Word::looked, repairs_ + 1, found_, NoteWay::back);
}

std::set<BidirectionalLink> Repair::cables_of(const Note& note) {
  std::set<BidirectionalLink> cables;
  for (std::size_t i = 0; i < std::min<std::size_t>(note.cables, most_cables); ++i) {
    cables.insert(cable(note.ends[i][0], note.ends[i][1]));
  }
  return cables;
}

void Repair::end_repair(const Note& note) {
  repairs_ = note.repair;
  looks_ = false;
  const std::set<BidirectionalLink> cables = cables_of(note);
  if (!cables.empty()) do_without(cables);
  // What was missed meanwhile may have been for the same reason.
  std::erase_if(missed_, [this](const BidirectionalLink& each) { return removed().contains(each); });
}

void Repair::do_without(const std::set<BidirectionalLink>& cables) {
  for (const auto& [a, b] : cables) transport_.exclude(communicator_, a, b);
  std::set<BidirectionalLink> all = removed();
  all.insert(cables.begin(), cables.end());
  removed_.push_back(std::move(all));
  if (agrees_ && mates_ != nullptr) mates_->verdicts().tell(verdicts(), removed());
  for (FailureListener* listener : listeners_) listener->links_died();
}

void Repair::hear_mates() {
  if (agrees_ || mates_ == nullptr) return;
  CallOrder& told = mates_->verdicts();
  while (told.was_told(verdicts() + 1)) do_without(told.cables(verdicts() + 1));
}

void Repair::begin_repair() {
  reported_ = false;
  phase_ = Phase::looking;
  verdict_.clear();
  answered_.assign(answered_.size(), false);
  log(LogLevel::info, name_ + ": looking for dead links");
  for (NodeId node = nodes_ - 1; node >= 0; --node) say(node, Word::look, repairs_ + 1, {}, NoteWay::best);
}

void Repair::collect(NodeId from, const Note& note) {
  const bool expected = leads() && ((phase_ == Phase::looking && note.word == Word::looked) ||
                                    (phase_ == Phase::telling && note.word == Word::heard));
  const std::uint32_t current = phase_ == Phase::telling ? repairs_ : repairs_ + 1;
  if (!expected || note.repair != current || from >= nodes_) return;
  answered_[static_cast<std::size_t>(from)] = true;
  verdict_.merge(cables_of(note));
  if (!std::all_of(answered_.begin(), answered_.end(), [](bool each) { return each; })) return;
  if (phase_ == Phase::telling) {
    phase_ = Phase::idle;
    return;
  }
  const bool nothing = verdict_.empty();
  rest_ = nothing ? std::clamp(2 * rest_, ticks_of_first_rest, ticks_of_longest_rest) : 0;
  rest_until_ = ticks_ + rest_;
  log(LogLevel::warn, name_ + (nothing ? ": no link is dead, though messages are lost"
                                       : ": dead links between nodes " + listed(verdict_) + "; plans will do without"));
  phase_ = Phase::telling;
  answered_.assign(answered_.size(), false);
  answered_.front() = true;
  const std::uint32_t repair = repairs_ + 1;
  for (NodeId node = nodes_ - 1; node >= 0; --node) say(node, Word::verdict, repair, verdict_, NoteWay::best);
}

void Repair::repeat() {
  for (NodeId node = 1; node < nodes_; ++node) {
    if (answered_[static_cast<std::size_t>(node)]) continue;
    if (phase_ == Phase::looking) {
      say(node, Word::look, repairs_ + 1, {}, NoteWay::other);
    } else {
      say(node, Word::verdict, repairs_, verdict_, NoteWay::other);  // the leader itself has done it
    }
  }
}

void Repair::tick() noexcept {
  hear_mates();
  if (++ticks_ % ticks_between_repetitions != 0) return;
  if (!leads()) {
    if (!missed_.empty() && !looks_) say(0, Word::report, repairs_ + 1, {}, NoteWay::other);
    return;
  }
  if (phase_ != Phase::idle) {
    repeat();
  } else if ((reported_ || !missed_.empty()) && ticks_ >= rest_until_) {
    begin_repair();
  }
}

}  // namespace libcoll::recover
