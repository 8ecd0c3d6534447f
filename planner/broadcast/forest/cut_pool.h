// Cuts that a packing of trees must not wear out: the cheap test before a max-flow.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "planner/broadcast/bound/forest_optimum.h"
#include "planner/topology/topology.h"

namespace libcoll::broadcast::forest {

/// Sets U of hosts with what may still enter them. By condition (3) of paper 004 the capacity into U must stay at least
/// the number of trees that have no vertex in U. A tree that grows is followed with begin() and add(): it crosses into
/// a set it has not touched for nothing, and once more only where the set has room.
class CutPool {
 public:
  explicit CutPool(std::int32_t hosts) : members_(static_cast<std::size_t>(hosts)) {}

  /// Remembers U (indexed by host), unless it is known, trivial, or the pool is full; says whether it did. `arcs` hold
  /// the capacities left, `demand` the trees yet to be made.
  bool insert(const std::vector<bool>& set, std::span<const bound::CapacityArc> arcs,
              std::span<const std::int64_t> demand);

  /// `count` trees of this root are grown from now on; they no longer count as yet to be made.
  void begin(topology::NodeId root, std::int64_t count);
  /// Whether no known set forbids the arc from→to to the growing trees.
  [[nodiscard]] bool allows(topology::NodeId from, topology::NodeId to) const {
    const Words& inside = members_[static_cast<std::size_t>(to)];
    const Words& before = members_[static_cast<std::size_t>(from)];
    for (std::size_t word = 0; word < closed_.size(); ++word) {
      if ((inside[word] & ~before[word] & closed_[word]) != 0) return false;
    }
    return true;
  }
  /// How many copies of the arc the sets that the trees have touched leave room for.
  [[nodiscard]] std::int64_t room(topology::NodeId from, topology::NodeId to) const;
  void add(topology::NodeId from, topology::NodeId to);
  /// The growing trees have this vertex. For sets inserted while they grow; begin() and add() see to the others.
  void touch(topology::NodeId host);
  /// Only `count` of the growing trees go on, along `arcs`; the others' demand and capacity return.
  void shrink(topology::NodeId root, std::int64_t count, std::span<const bound::CapacityArc> arcs);

  /// Counts anew what every set has room for, when trees were kept or given up between begin()s.
  void recount(std::span<const bound::CapacityArc> arcs, std::span<const std::int64_t> demand);
  /// Undoes begin() and add() since the value was taken; not across insert().
  [[nodiscard]] std::vector<std::int64_t> mark() const { return room_; }
  void restore(const std::vector<std::int64_t>& mark) { room_ = mark; }

 private:
  using Words = std::vector<std::uint64_t>;
  [[nodiscard]] bool is_member(topology::NodeId host, std::size_t cut) const {
    return ((members_[static_cast<std::size_t>(host)][cut / 64] >> (cut % 64)) & 1U) != 0;
  }
  void update(std::size_t cut);
  void recount(std::size_t cut, std::span<const bound::CapacityArc> arcs, std::span<const std::int64_t> demand);

  std::vector<Words> members_;      ///< by host: which sets it belongs to
  std::vector<std::int64_t> room_;  ///< capacity into U − demand outside U, growing trees not counted
  Words touched_;                   ///< sets that the growing trees have a vertex in
  Words closed_;                    ///< touched sets without room for all growing trees
  std::int64_t count_ = 0;          ///< of growing trees
  std::set<std::vector<bool>> known_;
};

}  // namespace libcoll::broadcast::forest
