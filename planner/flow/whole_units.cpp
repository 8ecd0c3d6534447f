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

constexpr double whole = 1e-9;       // so near a whole number is one
constexpr double least_room = 1e-9;  // of a class's capacity, so that its price stays finite

/// Works on one source's flow after another, against the loads of all.
class Pusher {
 public:
  Pusher(const FlowProblem& problem, double most_load, std::vector<double> loads)
      : problem_(problem),
        load_(std::move(loads)),
        open_(problem.links(), 0),
        position_(at(problem.nodes), -1),
        change_(problem.classes(), 0) {
    limit_.reserve(problem.classes());
    for (const double capacity : problem.capacity) limit_.push_back(most_load * capacity);
  }

  void run(std::size_t source, std::vector<double>& flow) {
    weight_ = problem_.weight[source];
    for (std::size_t link = 0; link < flow.size(); ++link) close_if_whole(link, flow);
    for (NodeId node = 0; node < problem_.nodes; ++node) search_from(node, flow);
  }

 private:
  struct Step {
    std::int32_t link = 0;
    NodeId from = 0;  ///< the end of the link that the search came from
  };

  void close_if_whole(std::size_t link, std::vector<double>& flow) {
    const double rounded = std::round(flow[link]);
    open_[link] = std::abs(flow[link] - rounded) > whole ? 1 : 0;
    if (open_[link] == 0) flow[link] = rounded;
  }

  void search_from(NodeId node, std::vector<double>& flow) {
    path_.clear();
    position_[at(node)] = 0;
    for (;;) {
      const std::int32_t link = open_link(node);
      if (link < 0) {
        position_[at(node)] = -1;
        if (path_.empty()) return;
        // What was left open on the way leads nowhere.
        open_[at(path_.back().link)] = 0;
        node = path_.back().from;
        path_.pop_back();
        continue;
      }
      const NodeId to = problem_.from[at(link)] == node ? problem_.to[at(link)] : problem_.from[at(link)];
      path_.push_back({link, node});
      node = to;
      if (position_[at(to)] < 0) {
        position_[at(to)] = static_cast<std::int32_t>(path_.size());
        continue;
      }
      const std::size_t first = at(position_[at(to)]);
      push(first, flow);
      for (std::size_t i = first + 1; i < path_.size(); ++i) position_[at(path_[i].from)] = -1;
      path_.resize(first);
    }
  }

  /// A link at the node with a fraction of a unit, other than the one that led there.
  [[nodiscard]] std::int32_t open_link(NodeId node) const {
    const std::int32_t last = path_.empty() ? -1 : path_.back().link;
    for (std::int32_t link = problem_.in_begin[at(node)]; link < problem_.in_begin[at(node) + 1]; ++link) {
      if (open_[at(link)] != 0 && link != last) return link;
    }
    for (std::int32_t k = problem_.out_begin[at(node)]; k < problem_.out_begin[at(node) + 1]; ++k) {
      const std::int32_t link = problem_.out_link[at(k)];
      if (open_[at(link)] != 0 && link != last) return link;
    }
    return -1;
  }

  /// 1 where the cycle follows the link, −1 where it runs against it.
  [[nodiscard]] double direction(const Step& step) const { return problem_.from[at(step.link)] == step.from ? 1 : -1; }

  /// Pushes along the cycle of path_ from `first` on; where neither way is open, takes the link without room out of the
  /// search.
  void push(std::size_t first, std::vector<double>& flow) {
    touched_.clear();
    for (std::size_t i = first; i < path_.size(); ++i) {
      const std::size_t link_class = at(problem_.link_class[at(path_[i].link)]);
      if (std::find(touched_.begin(), touched_.end(), link_class) == touched_.end()) touched_.push_back(link_class);
      change_[link_class] += direction(path_[i]);
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
        flow[link] += direction(path_[i]) * amount;
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
      const double room = way * direction(path_[i]) > 0 ? std::ceil(amount) - amount : amount - std::floor(amount);
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
      if (way * direction(path_[i]) < 0) continue;
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
};

}  // namespace

void push_to_whole_units(const FlowProblem& problem, double most_load, FlowSolution& solution) {
  Pusher pusher(problem, most_load, class_loads(problem, solution.flow));
  for (std::size_t source = 0; source < solution.flow.size(); ++source) pusher.run(source, solution.flow[source]);
  solution.load = largest_load(problem, class_loads(problem, solution.flow));
}

}  // namespace libcoll
