#include "planner/flow/problem/whole_units.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "planner/base/index.h"

namespace libcoll::flow::problem {

using namespace topology;

namespace {

constexpr double least_room = 1e-9;     // of a class's capacity, so that its price stays finite
constexpr double nearly_wanted = 1e-7;  // what is missing beyond that is worth moving

double least_on(const std::vector<std::int32_t>& way, const std::vector<double>& flow) {
  double least = std::numeric_limits<double>::infinity();
  for (const std::int32_t link : way) least = std::min(least, flow[at(link)]);
  return least;
}

}  // namespace

WholeUnits::WholeUnits(const FlowProblem& problem, double most_load, const std::vector<std::vector<double>>& flow)
    : problem_(problem),
      room_(class_loads(problem, flow)),
      weight_(at(problem.nodes), 1),
      position_(at(problem.nodes), 0),
      change_(problem.classes(), 0),
      own_classes_(problem.classes() == problem.links()) {
  for (std::size_t i = 0; i < room_.size(); ++i) room_[i] = most_load * problem.capacity[i] - room_[i];
  for (std::size_t i = 0; i < problem.sources.size(); ++i) weight_[at(problem.sources[i])] = problem.weight[i];
}

void WholeUnits::start(NodeId source) { source_ = source; }

std::int32_t WholeUnits::gather(NodeId node, double wanted, std::vector<double>& flow) {
  emptied_.clear();
  for (;;) {
    const std::int32_t largest = largest_inflow(node, -1, flow);
    if (largest < 0 || flow[at(largest)] >= wanted - nearly_wanted) return largest;
    const std::int32_t other = largest_inflow(node, largest, flow);
    if (other < 0 || !trace(largest, other, flow) || !move(wanted, flow)) return largest;
  }
}

std::int32_t WholeUnits::largest_inflow(NodeId node, std::int32_t except, const std::vector<double>& flow) const {
  std::int32_t largest = -1;
  double most = 0;
  for (std::int32_t link = problem_.in_begin[at(node)]; link < problem_.in_begin[at(node) + 1]; ++link) {
    if (flow[at(link)] <= most || link == except) continue;
    most = flow[at(link)];
    largest = link;
  }
  return largest;
}

/// first_ and second_: the ways that end in the two links, from where they part. False where noise ends one of them
/// before the source.
bool WholeUnits::trace(std::int32_t link, std::int32_t other, const std::vector<double>& flow) {
  const auto follow = [&](std::int32_t next, Way& way, const auto& arrived) {
    way.clear();
    while (next >= 0 && way.size() < at(problem_.nodes)) {
      way.push_back(next);
      const NodeId node = problem_.from[at(next)];
      if (arrived(node)) return node;
      next = largest_inflow(node, -1, flow);
    }
    return NodeId{-1};
  };
  const NodeId end = follow(link, first_, [&](NodeId node) {
    position_[at(node)] = static_cast<std::int32_t>(first_.size());
    return node == source_;
  });
  const NodeId fork = end < 0 ? end : follow(other, second_, [&](NodeId node) { return position_[at(node)] > 0; });
  const std::int32_t kept = fork < 0 ? 0 : position_[at(fork)];
  for (const std::int32_t each : first_) position_[at(problem_.from[at(each)])] = 0;
  first_.resize(at(kept));
  return fork >= 0;
}

/// Moves as much as is wanted or as a way has, the cheaper way round if there is room. False where neither has room.
bool WholeUnits::move(double wanted, std::vector<double>& flow) {
  weigh();
  const bool to_first = cost() <= 0;
  double amount = 0;
  for (const bool first_wins : {to_first, !to_first}) {
    const double missing = wanted - flow[at((first_wins ? first_ : second_).front())];
    const double most = std::min(missing, least_on(first_wins ? second_ : first_, flow));
    if (!fits(first_wins ? most : -most)) continue;
    amount = first_wins ? most : -most;
    break;
  }
  for (const std::size_t i : touched_) {
    room_[i] -= weight_[at(source_)] * change_[i] * amount;
    change_[i] = 0;
  }
  if (amount == 0) return false;
  add(first_, amount, flow);
  add(second_, -amount, flow);
  return true;
}

/// touched_ and change_.
void WholeUnits::weigh() {
  touched_.clear();
  const auto count = [&](const Way& way, double direction) {
    for (const std::int32_t link : way) {
      const std::size_t link_class = at(problem_.link_class[at(link)]);
      // No two ways from a fork share a link.
      if (own_classes_ || std::find(touched_.begin(), touched_.end(), link_class) == touched_.end()) {
        touched_.push_back(link_class);
      }
      change_[link_class] += direction;
    }
  };
  count(first_, 1);
  count(second_, -1);
}

/// Of a unit moved from second_ to first_, where the fuller a class the dearer.
double WholeUnits::cost() const {
  double sum = 0;
  for (const std::size_t i : touched_) sum += change_[i] / std::max(room_[i], least_room * problem_.capacity[i]);
  return sum;
}

bool WholeUnits::fits(double amount) const {
  return std::all_of(touched_.begin(), touched_.end(), [&](std::size_t i) {
    const double more = weight_[at(source_)] * change_[i] * amount;
    return more <= 0 || more <= room_[i];
  });
}

void WholeUnits::add(const Way& way, double amount, std::vector<double>& flow) {
  for (const std::int32_t link : way) {
    flow[at(link)] += amount;
    if (flow[at(link)] > least_flow) continue;
    flow[at(link)] = 0;
    emptied_.push_back(link);
  }
}

}  // namespace libcoll::flow::problem
