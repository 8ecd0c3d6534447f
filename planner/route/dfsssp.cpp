#include "planner/route/dfsssp.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "planner/base/index.h"

namespace libcoll::route {

using namespace schedule;
using namespace topology;

namespace {

/// A link `to` that some route of the layer takes after the one this belongs to, and those routes. What leaves the
/// layer is only taken off the count.
struct Dependency {
  LinkId to = 0;
  std::int64_t count = 0;
  std::vector<std::size_t> routes;
};

/// The channel-dependency graph of a layer's routes, and which routes make each of its arcs.
class Layer {
 public:
  Layer(const Topology& topology, std::span<const Route> routes, const std::vector<std::size_t>& members)
      : routes_(routes),
        after_(at(topology.link_count())),
        state_(after_.size(), State::unseen),
        next_(after_.size(), 0),
        gone_(routes.size(), false) {
    for (const std::size_t member : members) {
      const std::vector<LinkId>& links = routes[member].links;
      for (std::size_t hop = 1; hop < links.size(); ++hop) {
        Dependency& dependency = arc(links[hop - 1], links[hop]);
        dependency.routes.push_back(member);
        ++dependency.count;
      }
    }
  }

  /// Takes routes out until no cycle is left; returns them in order.
  std::vector<std::size_t> break_all() {
    std::vector<std::size_t> removed;
    for (LinkId link = 0; link < static_cast<LinkId>(after_.size()); ++link) {
      if (state_[at(link)] == State::unseen) search_from(link, removed);
    }
    std::sort(removed.begin(), removed.end());
    return removed;
  }

 private:
  enum class State : std::uint8_t { unseen, on_path, done };

  Dependency& arc(LinkId from, LinkId to) {
    std::vector<Dependency>& arcs = after_[at(from)];
    const auto known = std::find_if(arcs.begin(), arcs.end(), [&](const Dependency& d) { return d.to == to; });
    return known != arcs.end() ? *known : arcs.emplace_back(Dependency{to, 0, {}});
  }

  /// Depth-first from a link. Where it meets a cycle it breaks it and goes on from where the cycle was entered; what is
  /// done stays done, as taking arcs away makes no new cycles, and so do the arcs that led there.
  void search_from(LinkId start, std::vector<std::size_t>& removed) {
    path_.assign(1, start);
    state_[at(start)] = State::on_path;
    while (!path_.empty()) {
      const LinkId link = path_.back();
      const std::vector<Dependency>& arcs = after_[at(link)];
      std::size_t& next = next_[at(link)];
      while (next < arcs.size() && (arcs[next].count == 0 || state_[at(arcs[next].to)] == State::done)) ++next;
      if (next == arcs.size()) {
        state_[at(link)] = State::done;
        path_.pop_back();
      } else if (state_[at(arcs[next].to)] == State::on_path) {
        break_cycle(arcs[next].to, removed);
      } else {
        path_.push_back(arcs[next].to);
        state_[at(path_.back())] = State::on_path;
      }
    }
  }

  /// The path from `entry` to its end and back is a cycle. Routes that leave may take other arcs of the path away.
  void break_cycle(LinkId entry, std::vector<std::size_t>& removed) {
    const auto first = std::find(path_.begin(), path_.end(), entry);
    Dependency* weakest = nullptr;
    for (auto link = first; link != path_.end(); ++link) {
      const auto next = std::next(link);
      Dependency& dependency = arc(*link, next == path_.end() ? entry : *next);
      if (weakest == nullptr || dependency.count < weakest->count) weakest = &dependency;
    }
    for (const std::size_t route : weakest->routes) {
      if (gone_[route]) continue;
      gone_[route] = true;
      removed.push_back(route);
      const std::vector<LinkId>& links = routes_[route].links;
      for (std::size_t hop = 1; hop < links.size(); ++hop) --arc(links[hop - 1], links[hop]).count;
    }
    std::size_t kept = 1;
    while (kept < path_.size() && arc(path_[kept - 1], path_[kept]).count > 0) ++kept;
    for (std::size_t i = kept; i < path_.size(); ++i) state_[at(path_[i])] = State::unseen;
    path_.resize(kept);
  }

  std::span<const Route> routes_;
  std::vector<std::vector<Dependency>> after_;
  std::vector<State> state_;
  std::vector<std::size_t> next_;  ///< by link: the first arc that has not been followed to its end
  std::vector<LinkId> path_;
  std::vector<bool> gone_;  ///< by route: has left
};

}  // namespace

std::int32_t break_cycles(const Topology& topology, std::span<Route> routes) {
  std::vector<std::size_t> members(routes.size());
  std::iota(members.begin(), members.end(), std::size_t{0});
  std::int32_t layers = 0;
  while (!members.empty()) {
    for (const std::size_t member : members) routes[member].layer = layers;
    members = Layer(topology, routes, members).break_all();
    ++layers;
  }
  return layers;
}

}  // namespace libcoll::route
