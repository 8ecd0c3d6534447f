#include "planner/simulate/simulation.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <functional>
#include <numeric>
#include <queue>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/schedule/cost.h"

namespace libcoll::simulate {

using namespace schedule;
using namespace topology;

namespace {

constexpr std::int64_t max_units = std::int64_t{1} << 23;  // 1 GiB of them

/// The links a transfer crosses; `one` holds them when it is direct.
std::span<const LinkId> way_of(const Schedule& schedule, const Transfer& transfer, LinkId& one) {
  if (transfer.route != direct) return schedule.routes[at(transfer.route)].links;
  one = schedule.topology.find_link(transfer.from, transfer.to);
  return {&one, 1};
}

double latency_of(const Topology& topology, std::span<const LinkId> way) {
  double seconds = 0;
  for (const LinkId link : way) seconds += topology.link(link).latency_seconds;
  return seconds;
}

/// What competes for a link: the earlier step first. What takes routes goes segment by segment, each source's next to
/// all its destinations in turn, those after its own number first, as NICs take turns between messages.
struct Turn {
  std::int32_t step = 0;
  std::int64_t round = 0;
  std::int64_t place = 0;
  friend auto operator<=>(const Turn&, const Turn&) = default;  // NOLINT(modernize-use-nullptr): there is none
};

/// Where the units of each shard begin, in chunks.
class Pieces {
 public:
  /// Chunk by chunk, or, where these are more than `most`, between the places where transfers begin or end.
  Pieces(const Schedule& schedule, std::int64_t most) {
    std::int64_t crossing = 0;
    for (const Transfer& transfer : schedule.transfers) crossing += transfer.chunk_count;
    if (crossing <= most) return;
    for (const Transfer& transfer : schedule.transfers) {
      std::vector<std::int32_t>& cuts = cuts_[transfer.shard];
      cuts.push_back(transfer.chunk_begin);
      cuts.push_back(transfer.chunk_begin + transfer.chunk_count);
    }
    for (auto& [shard, cuts] : cuts_) {
      std::sort(cuts.begin(), cuts.end());
      cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    }
  }

  /// Visits (first chunk, chunks) of each.
  template <class Visit>
  void for_each(const Transfer& transfer, const Visit& visit) const {
    const std::int32_t end = transfer.chunk_begin + transfer.chunk_count;
    const auto found = cuts_.find(transfer.shard);
    for (std::int32_t begin = transfer.chunk_begin; begin < end;) {
      const std::int32_t next =
          found == cuts_.end() ? begin + 1 : *std::upper_bound(found->second.begin(), found->second.end(), begin);
      visit(begin, next - begin);
      begin = next;
    }
  }

 private:
  std::unordered_map<ShardId, std::vector<std::int32_t>> cuts_;
};

/// An event-driven simulation. Its units are segments of a transfer's chunks; each crosses the links of its way one
/// after the other, its head as soon as the link is free (cut-through), and waits between them in queues without limit.
class DataFlow {
 public:
  DataFlow(const Schedule& schedule, const SimulationOptions& options)
      : schedule_(schedule),
        options_(options),
        chunk_bytes_(options.bytes / static_cast<double>(shards_in_vector(schedule) * schedule.chunks_per_shard)),
        pieces_(schedule, max_units),
        links_(at(schedule.topology.link_count())) {
    result_.step_seconds.resize(at(schedule.steps), 0);
  }

  /// Of what is kept a hundred bytes each; a little above max_units when there are more.
  [[nodiscard]] std::int64_t units() const {
    std::int64_t count = 0;
    for (const Transfer& transfer : schedule_.transfers) {
      pieces_.for_each(transfer, [&](std::int32_t, std::int32_t chunks) { count += segments_of(chunks); });
      if (count > max_units) return count;
    }
    return count;
  }

  Simulation run() {
    make_units();
    count_dependencies();
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      if (units_[unit].awaited == 0) events_.push({0, Event::arrives, unit});
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      if (event.kind == Event::arrives) {
        arrive(event.seconds, event.index);
      } else {
        start_next(event.seconds, event.index);
      }
    }
    for (const LinkState& link : links_) {
      result_.busiest_link_seconds = std::max(result_.busiest_link_seconds, link.carried);
    }
    // A step's transfers may be done before those of an earlier one.
    for (const double seconds : result_.step_seconds) result_.seconds = std::max(result_.seconds, seconds);
    result_.messages = units_.size();
    return std::move(result_);
  }

 private:
  struct Unit {
    std::size_t transfer = 0;
    std::int64_t chunk = 0;    ///< of the shard
    std::int64_t segment = 0;  ///< of the chunk
    double bytes = 0;
    std::int32_t hop = 0;      ///< the link of its way that it is at
    std::int32_t awaited = 0;  ///< contributions that have yet to arrive at the sender
    double tail = 0;           ///< when its end arrives from the link before
    Turn turn;
  };

  struct Event {
    enum Kind : std::uint8_t {
      arrives,  ///< the head of unit `index` is at its next link, or all of it where it goes
      free,     ///< link `index` is free: after what arrives at the same time
    };
    double seconds = 0;
    Kind kind = arrives;
    std::size_t index = 0;
    friend bool operator>(const Event& a, const Event& b) {
      return std::tie(a.seconds, a.kind, a.index) > std::tie(b.seconds, b.kind, b.index);
    }
  };

  using Waiting = std::pair<Turn, std::size_t>;

  struct LinkState {
    bool busy = false;
    double carried = 0;
    std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> queue;
  };

  /// How many of them the chunks are cut into.
  [[nodiscard]] std::int64_t segments_of(std::int32_t chunks) const {
    if (options_.segment_bytes <= 0) return 1;
    const double segments = std::ceil(chunks * chunk_bytes_ / static_cast<double>(options_.segment_bytes));
    return static_cast<std::int64_t>(std::clamp(segments, 1.0, 2.0 * max_units));
  }
  [[nodiscard]] const Transfer& transfer_of(std::size_t unit) const {
    return schedule_.transfers[units_[unit].transfer];
  }

  void make_units() {
    const std::int32_t hosts = schedule_.topology.host_count();
    units_.reserve(at(units()));
    for (const std::size_t index : order_by_step(schedule_)) {
      const Transfer& transfer = schedule_.transfers[index];
      std::int64_t round = 0;
      pieces_.for_each(transfer, [&](std::int32_t begin, std::int32_t chunks) {
        const std::int64_t segments = segments_of(chunks);
        for (std::int64_t segment = 0; segment < segments; ++segment) {
          Turn turn{transfer.step, 0, static_cast<std::int64_t>(units_.size())};
          if (transfer.route != direct) turn = {transfer.step, round++, (transfer.to - transfer.from + hosts) % hosts};
          units_.push_back(
              {index, begin, segment, chunks * chunk_bytes_ / static_cast<double>(segments), 0, 0, 0, turn});
        }
      });
    }
  }

  /// The copies of a segment: of a node's copy of a chunk of a shard.
  [[nodiscard]] auto copy_at(NodeId node, const Unit& unit) const {
    return std::tuple(schedule_.transfers[unit.transfer].shard, unit.chunk, unit.segment, node);
  }

  /// What is sent waits for all that comes in earlier steps.
  void count_dependencies() {
    senders_.resize(units_.size());
    std::iota(senders_.begin(), senders_.end(), std::size_t{0});
    const auto step_of = [&](std::size_t unit) { return transfer_of(unit).step; };
    std::sort(senders_.begin(), senders_.end(), [&](std::size_t a, std::size_t b) {
      return std::tuple(copy_at(transfer_of(a).from, units_[a]), step_of(a), a) <
             std::tuple(copy_at(transfer_of(b).from, units_[b]), step_of(b), b);
    });
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      for_each_dependent(unit, [&](std::size_t dependent) { ++units_[dependent].awaited; });
    }
  }

  /// The units that go out in later steps of what this one brings.
  template <class Visit>
  void for_each_dependent(std::size_t unit, const Visit& visit) {
    const auto wanted = copy_at(transfer_of(unit).to, units_[unit]);
    const std::int32_t step = transfer_of(unit).step;
    auto next = std::partition_point(senders_.begin(), senders_.end(), [&](std::size_t sender) {
      return std::tuple(copy_at(transfer_of(sender).from, units_[sender]), transfer_of(sender).step) <=
             std::tuple(wanted, step);
    });
    for (; next != senders_.end() && copy_at(transfer_of(*next).from, units_[*next]) == wanted; ++next) visit(*next);
  }

  void arrive(double now, std::size_t index) {
    Unit& unit = units_[index];
    LinkId one = 0;
    const std::span<const LinkId> way = way_of(schedule_, transfer_of(index), one);
    if (at(unit.hop) == way.size()) return finish(now, index);
    LinkState& link = links_[at(way[at(unit.hop)])];
    link.queue.emplace(unit.turn, index);
    // Others that arrive at this very time compete.
    if (!link.busy) events_.push({now, Event::free, at(way[at(unit.hop)])});
    link.busy = true;
  }

  void start_next(double now, std::size_t id) {
    LinkState& state = links_[id];
    if (state.queue.empty()) {
      state.busy = false;
      return;
    }
    const std::size_t index = state.queue.top().second;
    state.queue.pop();
    Unit& unit = units_[index];
    const Link& link = schedule_.topology.link(static_cast<LinkId>(id));
    const double seconds = unit.bytes / static_cast<double>(link.bandwidth_bytes_per_second);
    const double end = std::max(now + seconds, unit.tail);
    state.carried += seconds;
    unit.tail = end + link.latency_seconds;
    ++unit.hop;
    LinkId one = 0;
    const bool last = at(unit.hop) == way_of(schedule_, transfer_of(index), one).size();
    events_.push({last ? unit.tail + options_.alpha_seconds : now + link.latency_seconds, Event::arrives, index});
    events_.push({end, Event::free, id});
  }

  void finish(double now, std::size_t index) {
    double& step = result_.step_seconds[at(transfer_of(index).step) - 1];
    step = std::max(step, now);
    for_each_dependent(index, [&](std::size_t dependent) {
      if (--units_[dependent].awaited == 0) events_.push({now, Event::arrives, dependent});
    });
  }

  const Schedule& schedule_;
  SimulationOptions options_;
  double chunk_bytes_;
  Pieces pieces_;
  std::vector<Unit> units_;  ///< in canonical order
  std::vector<std::size_t> senders_;
  std::vector<LinkState> links_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Simulation result_;
};

Simulation in_lockstep(const Schedule& schedule, const SimulationOptions& options) {
  const Topology& topology = schedule.topology;
  const double shard_seconds = options.bytes / static_cast<double>(shards_in_vector(schedule)) /
                               static_cast<double>(topology.unit_bandwidth_bytes_per_second());
  std::vector<double> latency(at(schedule.steps), 0);
  for (const Transfer& transfer : schedule.transfers) {
    LinkId one = 0;
    double& longest = latency[at(transfer.step) - 1];
    longest = std::max(longest, latency_of(topology, way_of(schedule, transfer, one)));
  }
  Simulation result;
  for (const Wiring& wiring : schedule.wirings) latency[at(wiring.step) - 1] += wiring.seconds;
  const std::vector<Rational> loads = step_loads(schedule);
  for (std::size_t step = 0; step < loads.size(); ++step) {
    result.seconds += options.alpha_seconds + latency[step] + loads[step].to_double() * shard_seconds;
    result.step_seconds.push_back(result.seconds);
  }
  result.busiest_link_seconds = max_link_load(schedule).to_double() * shard_seconds;
  result.messages = schedule.transfers.size();
  return result;
}

}  // namespace

Result<Simulation> simulate(const Schedule& schedule, const SimulationOptions& options) {
  if (schedule.transfers.empty()) return Simulation{};
  if (options.timing == NodeTiming::lockstep) return in_lockstep(schedule, options);
  if (!schedule.wirings.empty()) {
    return Error{"the fabric is rewired between steps, which nodes have to keep: only lockstep serves"};
  }
  DataFlow flow(schedule, options);
  if (flow.units() > max_units) {
    return Error{"too large to simulate: " + std::to_string(flow.units()) + " segments, at most " +
                 std::to_string(max_units)};
  }
  return flow.run();
}

}  // namespace libcoll::simulate
