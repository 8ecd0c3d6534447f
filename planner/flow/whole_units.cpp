#include "planner/flow/whole_units.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "planner/index.h"

namespace libcoll {
namespace {

constexpr double whole = 1e-9;           // so near a whole number is one
constexpr double no_fractions = 0x1p52;  // doubles from here on are whole numbers
constexpr double least_room = 1e-9;      // of a class's capacity, so that its price stays finite

/// The nearest whole number, for 0 ≤ value < no_fractions: what std::round calls a function for.
double nearest(double value) { return value + no_fractions - no_fractions; }

/// Works on one source's flow after another, against the loads of all.
class Pusher {
 public:
  Pusher(const FlowProblem& problem, double most_load, std::vector<double> loads)
      : problem_(problem),
        load_(std::move(loads)),
        open_(problem.links(), 0),
        position_(at(problem.nodes), -1),
        change_(problem.classes(), 0),
        own_classes_(problem.classes() == problem.links()) {
    limit_.reserve(problem.classes());
    for (const double capacity : problem.capacity) limit_.push_back(most_load * capacity);
    for (NodeId node = 0; node < problem.nodes; ++node) {
      first_end_.push_back(ends_.size());
      for (std::int32_t link = problem.in_begin[at(node)]; link < problem.in_begin[at(node) + 1]; ++link) {
        ends_.push_back({link, problem.from[at(link)], -1});
      }
      for (std::int32_t k = problem.out_begin[at(node)]; k < problem.out_begin[at(node) + 1]; ++k) {
        const std::int32_t link = problem.out_link[at(k)];
        ends_.push_back({link, problem.to[at(link)], 1});
      }
    }
    first_end_.push_back(ends_.size());
  }

  void run(std::size_t source, std::vector<double>& flow) {
    weight_ = problem_.weight[source];
    for (std::size_t link = 0; link < flow.size(); ++link) close_if_whole(link, flow);
    next_end_.assign(first_end_.begin(), first_end_.end() - 1);
    for (std::size_t link = 0; link < flow.size(); ++link) {
      if (open_[link] != 0) search_from(problem_.to[link], flow);
    }
  }

 private:
  /// A link as one of its ends sees it.
  struct End {
    std::int32_t link = 0;
    NodeId other = 0;
    std::int32_t direction = 1;  ///< 1 where it leads away, −1 where it comes in
  };
  struct Step {
    std::int32_t link = 0;
    NodeId from = 0;       ///< the end of the link that the search came from
    double direction = 1;  ///< 1 where the search follows the link, −1 where it runs against it
  };

  void close_if_whole(std::size_t link, std::vector<double>& flow) {
    const double rounded = nearest(flow[link]);
    open_[link] = std::abs(flow[link] - rounded) > whole ? 1 : 0;
    if (open_[link] == 0) flow[link] = rounded;
  }

  void search_from(NodeId node, std::vector<double>& flow) {
    path_.clear();
    position_[at(node)] = 0;
    for (;;) {
      const std::size_t end = open_end(node);
      if (end == first_end_[at(node) + 1]) {
        position_[at(node)] = -1;
        if (path_.empty()) return;
        // What was left open on the way leads nowhere.
        open_[at(path_.back().link)] = 0;
        node = path_.back().from;
        path_.pop_back();
        continue;
      }
      const End& taken = ends_[end];
      path_.push_back({taken.link, node, static_cast<double>(taken.direction)});
      node = taken.other;
      if (position_[at(node)] < 0) {
        position_[at(node)] = static_cast<std::int32_t>(path_.size());
        continue;
      }
      const std::size_t first = at(position_[at(node)]);
      push(first, flow);
      for (std::size_t i = first + 1; i < path_.size(); ++i) position_[at(path_[i].from)] = -1;
      path_.resize(first);
    }
  }

  /// Where ends_ has a link at the node with a fraction of a unit, other than the one that led there; the node's last
  /// where there is none. No link opens again, so that each is passed once but for the one that led there.
  std::size_t open_end(NodeId node) {
    const std::size_t last = first_end_[at(node) + 1];
    std::size_t& next = next_end_[at(node)];
    while (next < last && open_[at(ends_[next].link)] == 0) ++next;
    if (next == last || path_.empty() || ends_[next].link != path_.back().link) return next;
    std::size_t other = next + 1;
    while (other < last && open_[at(ends_[other].link)] == 0) ++other;
    return other;
  }

  /// Pushes along the cycle of path_ from `first` on; where neither way is open, takes the link without room out of the
  /// search.
  void push(std::size_t first, std::vector<double>& flow) {
    touched_.clear();
    for (std::size_t i = first; i < path_.size(); ++i) {
      const std::size_t link_class = at(problem_.link_class[at(path_[i].link)]);
      // No cycle meets a link twice.
      if (own_classes_ || std::find(touched_.begin(), touched_.end(), link_class) == touched_.end()) {
        touched_.push_back(link_class);
      }
      change_[link_class] += path_[i].direction;
    }
    double cost = 0;
    for (const std::size_t i : touched_) {
      cost += change_[i] / std::max(limit_[i] - load_[i], least_room * problem_.capacity[i]);
    }
    const double cheaper = cost > 0 ? -1 : 1;
    double amount = 0;
    for (const double way : {cheaper, -cheaper}) {
      const double most = to_next_whole(first, way, flow);
      if (!fits(way * most)) continue;
      amount = way * most;
      break;
    }
    if (amount != 0) {
      for (const std::size_t i : touched_) load_[i] += weight_ * change_[i] * amount;
      for (std::size_t i = first; i < path_.size(); ++i) {
        const std::size_t link = at(path_[i].link);
        flow[link] += path_[i].direction * amount;
        close_if_whole(link, flow);
      }
    } else {
      open_[at(fullest(first, cheaper))] = 0;
    }
    for (const std::size_t i : touched_) change_[i] = 0;
  }

  [[nodiscard]] double to_next_whole(std::size_t first, double way, const std::vector<double>& flow) const {
    double most = std::numeric_limits<double>::infinity();
    for (std::size_t i = first; i < path_.size(); ++i) {
      const double amount = flow[at(path_[i].link)];
      const double rounded = nearest(amount);
      const double below = rounded > amount ? rounded - 1 : rounded;
      const double room = way * path_[i].direction > 0 ? below + 1 - amount : amount - below;
      most = std::min(most, room);
    }
    return most;
  }

  [[nodiscard]] bool fits(double amount) const {
    return std::all_of(touched_.begin(), touched_.end(), [&](std::size_t i) {
      const double more = weight_ * change_[i] * amount;
      return more <= 0 || load_[i] + more <= limit_[i];
    });
  }

  /// The link with the least room of those that the push would load more.
  [[nodiscard]] std::int32_t fullest(std::size_t first, double way) const {
    std::int32_t result = path_.back().link;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = first; i < path_.size(); ++i) {
      if (way * path_[i].direction < 0) continue;
      const std::size_t link_class = at(problem_.link_class[at(path_[i].link)]);
      const double room = (limit_[link_class] - load_[link_class]) / problem_.capacity[link_class];
      if (room >= least) continue;
      least = room;
      result = path_[i].link;
    }
    return result;
  }

  const FlowProblem& problem_;
  std::vector<double> load_;   ///< by class
  std::vector<double> limit_;  ///< by class
  double weight_ = 1;
  std::vector<std::uint8_t> open_;      ///< by link: it carries a fraction and may be on a cycle
  std::vector<std::int32_t> position_;  ///< by node: of the step that leaves it; -1: not on the path
  std::vector<Step> path_;
  std::vector<double> change_;  ///< by class, of a unit pushed; 0 but during a push
  std::vector<std::size_t> touched_;
  bool own_classes_;  ///< every link is a class of its own
  std::vector<End> ends_;
  std::vector<std::size_t> first_end_;  ///< by node, and the number of all
  std::vector<std::size_t> next_end_;   ///< by node: those before it are whole
};

}  // namespace

void push_to_whole_units(const FlowProblem& problem, double most_load, FlowSolution& solution) {
  Pusher pusher(problem, most_load, class_loads(problem, solution.flow));
  for (std::size_t source = 0; source < solution.flow.size(); ++source) pusher.run(source, solution.flow[source]);
  solution.load = largest_load(problem, class_loads(problem, solution.flow));
}

}  // namespace libcoll
