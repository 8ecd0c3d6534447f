#include "planner/simulate/simulation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <unordered_map>

#include "planner/index.h"
#include "planner/schedule/cost.h"

namespace libcoll {
namespace {

constexpr std::int64_t max_cells = std::int64_t{1} << 27;  // 1 GiB of arrival times

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

class DataFlow {
 public:
  DataFlow(const Schedule& schedule, const SimulationOptions& options)
      : schedule_(schedule),
        options_(options),
        chunk_bytes_(options.bytes / static_cast<double>(shards_in_vector(schedule) * schedule.chunks_per_shard)),
        free_(at(schedule.topology.link_count()), 0),
        carried_(free_.size(), 0) {
    if (options.segment_bytes > 0) {
      segments_ = std::max<std::int64_t>(std::llround(std::ceil(chunk_bytes_ / segment_bytes())), 1);
    }
    result_.step_seconds.resize(at(schedule.steps), 0);
  }

  /// Arrival times that are kept at most: one of each segment that a transfer brings.
  [[nodiscard]] std::int64_t cells() const {
    return static_cast<std::int64_t>(schedule_.transfers.size()) * schedule_.chunks_per_shard * segments_;
  }

  Simulation run() {
    for (const std::size_t index : order_by_step(schedule_)) send(schedule_.transfers[index]);
    result_.busiest_link_seconds = *std::max_element(carried_.begin(), carried_.end());
    // A step's transfers may be done before those of an earlier one.
    for (const double seconds : result_.step_seconds) result_.seconds = std::max(result_.seconds, seconds);
    return std::move(result_);
  }

 private:
  [[nodiscard]] double segment_bytes() const { return static_cast<double>(options_.segment_bytes); }

  /// When each segment of a node's copy of a shard has arrived; 0 where it was there or nothing came yet.
  std::vector<double>& arrivals(NodeId node, ShardId shard) {
    const std::int64_t key = std::int64_t{shard} * schedule_.topology.host_count() + node;
    std::vector<double>& times = arrivals_[key];
    if (times.empty()) times.resize(at(schedule_.chunks_per_shard * segments_), 0);
    return times;
  }

  void send(const Transfer& transfer) {
    LinkId one = 0;
    const std::span<const LinkId> way = way_of(schedule_, transfer, one);
    std::int64_t bandwidth = std::numeric_limits<std::int64_t>::max();
    for (const LinkId link : way) {
      bandwidth = std::min(bandwidth, schedule_.topology.link(link).bandwidth_bytes_per_second);
    }
    const double seconds = chunk_bytes_ / static_cast<double>(segments_) / static_cast<double>(bandwidth);
    const double latency = options_.alpha_seconds + latency_of(schedule_.topology, way);
    const std::vector<double>& ready = arrivals(transfer.from, transfer.shard);
    std::vector<double>& there = arrivals(transfer.to, transfer.shard);
    const std::int64_t last = (std::int64_t{transfer.chunk_begin} + transfer.chunk_count) * segments_;
    for (std::int64_t segment = transfer.chunk_begin * segments_; segment < last; ++segment) {
      double start = ready[at(segment)];
      for (const LinkId link : way) start = std::max(start, free_[at(link)]);
      for (const LinkId link : way) {
        free_[at(link)] = start + seconds;
        carried_[at(link)] += seconds;
      }
      const double arrived = start + seconds + latency;
      there[at(segment)] = std::max(there[at(segment)], arrived);
      double& step = result_.step_seconds[at(transfer.step) - 1];
      step = std::max(step, arrived);
      ++result_.messages;
    }
  }

  const Schedule& schedule_;
  SimulationOptions options_;
  double chunk_bytes_;
  std::int64_t segments_ = 1;  ///< of a chunk
  std::vector<double> free_;   ///< by link: when it has carried what it had to so far
  std::vector<double> carried_;
  std::unordered_map<std::int64_t, std::vector<double>> arrivals_;
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
  if (flow.cells() > max_cells) {
    return Error{"too large to simulate: " + std::to_string(flow.cells()) + " segments, at most " +
                 std::to_string(max_cells)};
  }
  return flow.run();
}

}  // namespace libcoll
