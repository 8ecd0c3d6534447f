#include "planner/route/order_search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <utility>

#include "planner/base/index.h"
#include "planner/base/infinity.h"

namespace libcoll::route {

using namespace topology;

namespace {

constexpr std::int32_t phases = 60;         // of multiplicative weights
constexpr std::int32_t settled_phase = 20;  // prices count from here on
constexpr double rate = 0.15;               // of the weights in the first phase
constexpr double rate_decay = 0.01;         // from phase to phase
constexpr double least_link_price = 1e-6;   // of the dearest link's
constexpr std::int32_t most_search_rounds = 3000;
constexpr std::int32_t tries_per_round = 100;  // moves that are looked at by one set of prices
constexpr std::int32_t moves_per_round = 3;    // that are kept of them
constexpr double first_temperature = 0.003;    // of the flow

/// A lane's links, ascending.
using Sequence = std::vector<LinkId>;

Sequence sequence_of(const std::vector<std::int32_t>& order) {
  Sequence links(order.size());
  std::iota(links.begin(), links.end(), 0);
  std::stable_sort(links.begin(), links.end(), [&](LinkId a, LinkId b) { return order[at(a)] < order[at(b)]; });
  return links;
}

/// Shortest ascending paths, over all lanes.
class AscendingPaths {
 public:
  AscendingPaths(const Topology& topology, std::span<const PairDemand> pairs, const std::vector<bool>& forwards,
                 std::int64_t& effort)
      : topology_(topology), forwards_(forwards), effort_(effort), to_(at(topology.node_count())) {
    for (const PairDemand& pair : pairs) {
      const double size = pair.size * pair.chunks;
      if (size > 0) to_[at(pair.destination)].push_back({pair.source, size});
    }
  }

  /// Sum of the pairs' distances, each by its size; adds the sizes to `load` by link, if there is any. Infinite where a
  /// pair has no path.
  double sum(const std::vector<Sequence>& lanes, const std::vector<double>& price, std::vector<double>* load) {
    trees_.resize(lanes.size());
    double total = 0;
    for (NodeId destination = 0; destination < topology_.node_count() && total < infinity; ++destination) {
      if (to_[at(destination)].empty()) continue;
      for (std::size_t lane = 0; lane < lanes.size(); ++lane) grow(lanes[lane], price, destination, trees_[lane]);
      for (const Demand& demand : to_[at(destination)]) {
        const Tree& nearest = *std::min_element(trees_.begin(), trees_.end(), [&](const Tree& a, const Tree& b) {
          return a.distance[at(demand.source)] < b.distance[at(demand.source)];
        });
        total += demand.size * nearest.distance[at(demand.source)];
        if (load == nullptr || total == infinity) continue;
        for (LinkId link = nearest.first[at(demand.source)]; link != none; link = nearest.after[at(link)]) {
          (*load)[at(link)] += demand.size;
        }
      }
    }
    return total;
  }

 private:
  static constexpr LinkId none = -1;
  struct Demand {
    NodeId source;
    double size;
  };
  struct Tree {
    std::vector<double> distance;  ///< by node
    std::vector<LinkId> first;     ///< by node: where its path begins
    std::vector<LinkId> after;     ///< by link: where a path that crosses it goes on
  };

  /// A link that comes earlier can only be crossed before, so one pass from the last to the first suffices.
  void grow(const Sequence& lane, const std::vector<double>& price, NodeId destination, Tree& tree) {
    effort_ -= static_cast<std::int64_t>(lane.size());
    tree.distance.assign(at(topology_.node_count()), infinity);
    tree.first.assign(tree.distance.size(), none);
    tree.after.resize(lane.size());
    tree.distance[at(destination)] = 0;
    for (std::size_t place = lane.size(); place-- > 0;) {
      const LinkId id = lane[place];
      const Link& link = topology_.link(id);
      const double onward = tree.distance[at(link.to)];
      if (onward == infinity || link.from == destination) continue;
      if (link.to != destination && !forwards_[at(link.to)]) continue;
      const double distance = onward + price[at(id)];
      if (distance >= tree.distance[at(link.from)]) continue;
      tree.distance[at(link.from)] = distance;
      tree.after[at(id)] = tree.first[at(link.to)];
      tree.first[at(link.from)] = id;
    }
  }

  const Topology& topology_;
  const std::vector<bool>& forwards_;
  std::int64_t& effort_;
  std::vector<std::vector<Demand>> to_;  ///< by destination
  std::vector<Tree> trees_;              ///< by lane, to the destination at hand
};

/// What multiplicative weights find on the ascending paths of some orders.
struct PricedFlow {
  double flow = 0;            ///< 0: a pair has no path
  std::vector<double> price;  ///< by link and unit of load: near the optimum of the dual
};

class OrderSearch {
 public:
  OrderSearch(const Topology& topology, const LayerOrders& orders, std::span<const PairDemand> pairs,
              const std::vector<bool>& forwards, std::int64_t& effort, const Deadline& deadline)
      : effort_(effort), deadline_(deadline), paths_(topology, pairs, forwards, effort) {
    for (LinkId link = 0; link < topology.link_count(); ++link) {
      capacity_.push_back(topology.capacity(link).to_double());
    }
    for (const std::vector<std::int32_t>& order : orders) {
      lanes_.push_back(sequence_of(order));
      const auto is_free = [](std::int32_t place) { return place < 0; };
      fixed_.push_back(at(std::count_if(order.begin(), order.end(), is_free)));
    }
  }

  /// The best orders that it comes by.
  const std::vector<Sequence>& run() {
    const auto whole_effort = static_cast<double>(effort_);
    PricedFlow present = flow_of(lanes_);
    best_ = lanes_;
    double most = present.flow;
    for (std::int32_t round = 0; round < most_search_rounds && effort_ > 0 && !deadline_.passed(); ++round) {
      if (present.flow == 0) break;
      const std::vector<Sequence> before = lanes_;
      if (!shorten(present.price)) continue;
      PricedFlow next = flow_of(lanes_);
      const double left =
          std::min(static_cast<double>(effort_) / whole_effort, 1 - static_cast<double>(round) / most_search_rounds);
      const double temperature = first_temperature * most * std::max(0.0, left);
      if (next.flow < present.flow && std::exp((next.flow - present.flow) / temperature) <= random_part()) {
        lanes_ = before;
        continue;
      }
      present = std::move(next);
      if (present.flow <= most) continue;
      most = present.flow;
      best_ = lanes_;
    }
    return best_;
  }

  [[nodiscard]] std::size_t fixed(std::size_t lane) const { return fixed_[lane]; }

 private:
  PricedFlow flow_of(const std::vector<Sequence>& lanes) {
    const std::size_t links = capacity_.size();
    PricedFlow result{0, std::vector<double>(links, 0)};
    std::vector<double> weight(links, 1);
    std::vector<double> price(links);
    std::vector<double> load(links);
    std::vector<double> carried(links, 0);
    for (std::int32_t phase = 0; phase < phases; ++phase) {
      for (std::size_t link = 0; link < links; ++link) price[link] = weight[link] / capacity_[link];
      std::fill(load.begin(), load.end(), 0);
      if (paths_.sum(lanes, price, &load) == infinity) return {};
      double most = 0;
      double most_carried = 0;
      for (std::size_t link = 0; link < links; ++link) {
        carried[link] += load[link];
        most = std::max(most, load[link] / capacity_[link]);
        most_carried = std::max(most_carried, carried[link] / capacity_[link]);
      }
      if (most == 0) return {};
      result.flow = std::max(result.flow, (phase + 1) / most_carried);
      const double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
      double dearest = 0;
      for (std::size_t link = 0; link < links; ++link) {
        if (phase >= settled_phase) result.price[link] += price[link] / sum;
        weight[link] *= std::exp(rate / (1 + rate_decay * phase) * load[link] / capacity_[link] / most);
        dearest = std::max(dearest, weight[link]);
      }
      for (double& each : weight) each = std::max(each / dearest, least_link_price);
    }
    return result;
  }

  /// Moves of single links after which the pairs are nearer to each other, or as near. False when there was none of the
  /// first kind.
  bool shorten(const std::vector<double>& price) {
    double sum = paths_.sum(lanes_, price, nullptr);
    std::int32_t moves = 0;
    for (std::int32_t tries = 0; tries < tries_per_round && moves < moves_per_round; ++tries) {
      const std::size_t number = engine_() % lanes_.size();
      Sequence& lane = lanes_[number];
      const std::size_t movable = lane.size() - fixed_[number];
      if (movable < 2) continue;
      const std::size_t from = engine_() % movable;
      const std::size_t to = place_for(from, movable);
      const auto begin = lane.begin() + static_cast<std::ptrdiff_t>(fixed_[number]);
      shift(begin, from, to);
      const double moved = paths_.sum(lanes_, price, nullptr);
      if (moved > sum) {
        shift(begin, to, from);
        continue;
      }
      if (moved < sum) ++moves;
      sum = moved;
    }
    return moves > 0;
  }

  /// Near the old one two times of three.
  std::size_t place_for(std::size_t from, std::size_t movable) {
    if (engine_() % 3 == 0) return engine_() % movable;
    const std::size_t reach = movable / 8 + 1;
    const std::size_t shifted = from + engine_() % (2 * reach + 1);
    return std::min(movable - 1, std::max(shifted, reach) - reach);
  }

  static void shift(Sequence::iterator begin, std::size_t from, std::size_t to) {
    const auto place = [begin](std::size_t index) { return begin + static_cast<std::ptrdiff_t>(index); };
    if (from < to) {
      std::rotate(place(from), place(from + 1), place(to + 1));
    } else {
      std::rotate(place(to), place(from), place(from + 1));
    }
  }

  /// In [0, 1), the same sequence everywhere.
  double random_part() { return static_cast<double>(engine_() >> 11U) * 0x1p-53; }

  std::int64_t& effort_;
  const Deadline& deadline_;
  AscendingPaths paths_;
  std::vector<double> capacity_;  ///< by link
  std::vector<Sequence> lanes_;
  std::vector<Sequence> best_;
  std::vector<std::size_t> fixed_;  ///< by lane: links with place -1, which come first
  std::mt19937_64 engine_;          // NOLINT(cert-msc32-c,cert-msc51-cpp): plans are the same everywhere
};

}  // namespace

LayerOrders search_orders(const Topology& topology, LayerOrders orders, std::span<const PairDemand> pairs,
                          const std::vector<bool>& forwards, std::int64_t& effort, const Deadline& deadline) {
  OrderSearch search(topology, orders, pairs, forwards, effort, deadline);
  const std::vector<Sequence>& found = search.run();
  for (std::size_t lane = 0; lane < orders.size(); ++lane) {
    for (std::size_t place = search.fixed(lane); place < found[lane].size(); ++place) {
      orders[lane][at(found[lane][place])] = static_cast<std::int32_t>(place);
    }
  }
  return orders;
}

}  // namespace libcoll::route
