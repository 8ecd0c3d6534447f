#include "planner/route/dfsssp.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

namespace libcoll {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

/// A link `to` that some route of the layer takes after the one this belongs to, and those routes.
struct Dependency {
  LinkId to = 0;
  std::set<std::size_t> routes;
};

/// The channel-dependency graph of a layer's routes, and which routes make each of its arcs.
class Layer {
 public:
  Layer(const Topology& topology, std::span<const Route> routes, const std::vector<std::size_t>& members)
      : routes_(routes), after_(at(topology.link_count())), state_(after_.size(), State::unseen) {
    for (const std::size_t member : members) {
      const std::vector<LinkId>& links = routes[member].links;
      for (std::size_t hop = 1; hop < links.size(); ++hop) {
        arc(links[hop - 1], links[hop]).routes.insert(member);
      }
    }
  }

  /// Takes routes out until no cycle is left; returns them in order.
  std::vector<std::size_t> break_all() {
    std::vector<std::size_t> removed;
    for (LinkId link = 0; link < static_cast<LinkId>(after_.size()); ++link) {
      while (state_[at(link)] == State::unseen) search_from(link, removed);
    }
    std::sort(removed.begin(), removed.end());
    return removed;
  }

 private:
  enum class State : std::uint8_t { unseen, on_path, done };

  Dependency& arc(LinkId from, LinkId to) {
    std::vector<Dependency>& arcs = after_[at(from)];
    const auto known = std::find_if(arcs.begin(), arcs.end(), [&](const Dependency& d) { return d.to == to; });
    return known != arcs.end() ? *known : arcs.emplace_back(Dependency{to, {}});
  }

  /// Depth-first from a link. Stops at the first cycle after breaking it, the links on the path unseen again; what is
  /// done stays done, as taking arcs away makes no new cycles.
  void search_from(LinkId start, std::vector<std::size_t>& removed) {
    path_.assign(1, start);
    state_[at(start)] = State::on_path;
    while (!path_.empty()) {
      const LinkId link = path_.back();
      const auto next = std::find_if(after_[at(link)].begin(), after_[at(link)].end(), [&](const Dependency& d) {
        return !d.routes.empty() && state_[at(d.to)] != State::done;
      });
      if (next == after_[at(link)].end()) {
        state_[at(link)] = State::done;
        path_.pop_back();
      } else if (state_[at(next->to)] == State::on_path) {
        break_cycle(next->to, removed);
        for (const LinkId met : path_) state_[at(met)] = State::unseen;
        return;
      } else {
        state_[at(next->to)] = State::on_path;
        path_.push_back(next->to);
      }
    }
  }

  /// The path from `entry` to its end and back is a cycle.
  void break_cycle(LinkId entry, std::vector<std::size_t>& removed) {
    const auto first = std::find(path_.begin(), path_.end(), entry);
    Dependency* weakest = nullptr;
    for (auto link = first; link != path_.end(); ++link) {
      const auto next = std::next(link);
      Dependency& dependency = arc(*link, next == path_.end() ? entry : *next);
      if (weakest == nullptr || dependency.routes.size() < weakest->routes.size()) weakest = &dependency;
    }
    const std::vector<std::size_t> leaving(weakest->routes.begin(), weakest->routes.end());
    for (const std::size_t route : leaving) {
      const std::vector<LinkId>& links = routes_[route].links;
      for (std::size_t hop = 1; hop < links.size(); ++hop) arc(links[hop - 1], links[hop]).routes.erase(route);
      removed.push_back(route);
    }
  }

  std::span<const Route> routes_;
  std::vector<std::vector<Dependency>> after_;
  std::vector<State> state_;
  std::vector<LinkId> path_;
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

}  // namespace libcoll
