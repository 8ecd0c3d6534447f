#include "planner/route/acyclic_layer.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "planner/base/index.h"

namespace libcoll::route {

using namespace topology;

std::vector<std::int32_t> places_of_links(const Topology& topology) {
  std::vector<std::int32_t> places(at(topology.link_count()));
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    std::int32_t place = 0;
    for (const LinkId link : topology.out_links(node)) places[at(link)] = place++;
  }
  return places;
}

AcyclicLayer::AcyclicLayer(const Topology& topology, const std::vector<std::int32_t>& places)
    : topology_(topology),
      places_(places),
      known_(places.size()),
      after_(places.size()),
      before_(places.size()),
      order_(places.size()),
      seen_(places.size(), 0) {
  std::iota(order_.begin(), order_.end(), 0);
}

bool AcyclicLayer::try_add_all(std::span<const std::span<const LinkId>> routes) {
  bool complete = true;
  for (const std::span<const LinkId> links : routes) {
    for (std::size_t hop = 1; hop < links.size(); ++hop) {
      const Dependency what = known(links[hop - 1], links[hop]);
      if (what == Dependency::closes_cycle) return false;
      complete = complete && what == Dependency::present;
    }
  }
  if (complete) return true;
  std::vector<std::pair<LinkId, LinkId>> added;
  for (const std::span<const LinkId> links : routes) {
    for (std::size_t hop = 1; hop < links.size(); ++hop) {
      const LinkId before = links[hop - 1];
      const LinkId after = links[hop];
      if (known(before, after) == Dependency::present) continue;
      if (insert(before, after)) {
        added.emplace_back(before, after);
        continue;
      }
      for (const auto& [first, second] : added) {
        after_[at(first)].pop_back();
        before_[at(second)].pop_back();
        remember(first, second, Dependency::unknown);
      }
      // Without the routes' other dependencies it may be harmless.
      if (added.empty() || (order_[at(after)] < order_[at(before)] && reaches(after, before))) {
        remember(before, after, Dependency::closes_cycle);
      }
      return false;
    }
  }
  return true;
}

AcyclicLayer::Dependency AcyclicLayer::known(LinkId before, LinkId after) const {
  const std::vector<Dependency>& row = known_[at(before)];
  return row.empty() ? Dependency::unknown : row[at(places_[at(after)])];
}

void AcyclicLayer::remember(LinkId before, LinkId after, Dependency what) {
  std::vector<Dependency>& row = known_[at(before)];
  if (row.empty()) row.resize(topology_.out_links(topology_.link(before).to).size(), Dependency::unknown);
  row[at(places_[at(after)])] = what;
}

bool AcyclicLayer::insert(LinkId before, LinkId after) {
  if (order_[at(after)] < order_[at(before)]) {
    if (reaches(after, before)) return false;
    collect_before(before, order_[at(after)]);
    reorder();
  }
  after_[at(before)].push_back(after);
  before_[at(after)].push_back(before);
  remember(before, after, Dependency::present);
  return true;
}

/// Fills forward_; beyond the order of `to` nothing leads back to it.
bool AcyclicLayer::reaches(LinkId from, LinkId to) {
  ++search_;
  forward_.assign(1, from);
  seen_[at(from)] = search_;
  for (std::size_t taken = 0; taken < forward_.size(); ++taken) {
    for (const LinkId next : after_[at(forward_[taken])]) {
      if (next == to) return true;
      if (order_[at(next)] > order_[at(to)] || seen_[at(next)] == search_) continue;
      seen_[at(next)] = search_;
      forward_.push_back(next);
    }
  }
  return false;
}

void AcyclicLayer::collect_before(LinkId link, std::int32_t least) {
  ++search_;
  backward_.assign(1, link);
  seen_[at(link)] = search_;
  for (std::size_t taken = 0; taken < backward_.size(); ++taken) {
    for (const LinkId next : before_[at(backward_[taken])]) {
      if (order_[at(next)] < least || seen_[at(next)] == search_) continue;
      seen_[at(next)] = search_;
      backward_.push_back(next);
    }
  }
}

/// What leads to the new dependency comes before what follows it, on the places that they all had.
void AcyclicLayer::reorder() {
  const auto earlier = [this](LinkId a, LinkId b) { return order_[at(a)] < order_[at(b)]; };
  std::sort(forward_.begin(), forward_.end(), earlier);
  std::sort(backward_.begin(), backward_.end(), earlier);
  std::vector<LinkId> all = backward_;
  all.insert(all.end(), forward_.begin(), forward_.end());
  std::vector<std::int32_t> places;
  places.reserve(all.size());
  for (const LinkId link : all) places.push_back(order_[at(link)]);
  std::sort(places.begin(), places.end());
  for (std::size_t i = 0; i < all.size(); ++i) order_[at(all[i])] = places[i];
}

}  // namespace libcoll::route
