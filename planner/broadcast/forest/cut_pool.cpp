#include "planner/broadcast/forest/cut_pool.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "planner/base/index.h"

namespace libcoll::broadcast::forest {

using namespace bound;
using namespace topology;

namespace {

constexpr std::size_t max_cuts = 512;

}  // namespace

bool CutPool::insert(const std::vector<bool>& set, std::span<const CapacityArc> arcs,
                     std::span<const std::int64_t> demand) {
  const auto size = std::count(set.begin(), set.end(), true);
  if (size < 2 || at(size) == set.size() || room_.size() == max_cuts || !known_.insert(set).second) return false;
  const std::size_t cut = room_.size();
  if (cut % 64 == 0) {
    for (Words& words : members_) words.push_back(0);
    touched_.push_back(0);
    closed_.push_back(0);
  }
  for (std::size_t host = 0; host < set.size(); ++host) {
    if (set[host]) members_[host][cut / 64] |= std::uint64_t{1} << (cut % 64);
  }
  room_.push_back(0);
  recount(cut, arcs, demand);
  return true;
}

void CutPool::recount(std::size_t cut, std::span<const CapacityArc> arcs, std::span<const std::int64_t> demand) {
  std::int64_t room = 0;
  for (std::size_t host = 0; host < demand.size(); ++host) {
    if (!is_member(static_cast<NodeId>(host), cut)) room -= demand[host];
  }
  for (const CapacityArc& arc : arcs) {
    if (is_member(arc.to, cut) && !is_member(arc.from, cut)) room += arc.capacity;
  }
  room_[cut] = room;
}

void CutPool::recount(std::span<const CapacityArc> arcs, std::span<const std::int64_t> demand) {
  for (std::size_t cut = 0; cut < room_.size(); ++cut) recount(cut, arcs, demand);
}

void CutPool::begin(NodeId root, std::int64_t count) {
  count_ = count;
  std::fill(touched_.begin(), touched_.end(), 0);
  std::fill(closed_.begin(), closed_.end(), 0);
  for (std::size_t cut = 0; cut < room_.size(); ++cut) {
    if (!is_member(root, cut)) room_[cut] += count;
  }
  touch(root);
}

void CutPool::touch(NodeId host) {
  for (std::size_t word = 0; word < touched_.size(); ++word) touched_[word] |= members_[at(host)][word];
  for (std::size_t cut = 0; cut < room_.size(); ++cut) {
    if (is_member(host, cut)) update(cut);
  }
}

void CutPool::update(std::size_t cut) {
  const std::uint64_t bit = std::uint64_t{1} << (cut % 64);
  const bool closed = (touched_[cut / 64] & bit) != 0 && room_[cut] < count_;
  closed_[cut / 64] = closed ? closed_[cut / 64] | bit : closed_[cut / 64] & ~bit;
}

std::int64_t CutPool::room(NodeId from, NodeId to) const {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t cut = 0; cut < room_.size(); ++cut) {
    const bool touched = ((touched_[cut / 64] >> (cut % 64)) & 1U) != 0;
    if (touched && is_member(to, cut) && !is_member(from, cut)) least = std::min(least, room_[cut]);
  }
  return least;
}

void CutPool::add(NodeId from, NodeId to) {
  for (std::size_t cut = 0; cut < room_.size(); ++cut) {
    if (is_member(to, cut) && !is_member(from, cut)) room_[cut] -= count_;
  }
  touch(to);
}

void CutPool::shrink(NodeId root, std::int64_t count, std::span<const CapacityArc> arcs) {
  const std::int64_t returned = count_ - count;
  for (std::size_t cut = 0; cut < room_.size(); ++cut) {
    if (!is_member(root, cut)) room_[cut] -= returned;
    for (const CapacityArc& arc : arcs) {
      if (is_member(arc.to, cut) && !is_member(arc.from, cut)) room_[cut] += returned;
    }
  }
  count_ = count;
  for (std::size_t cut = 0; cut < room_.size(); ++cut) update(cut);
}

}  // namespace libcoll::broadcast::forest
