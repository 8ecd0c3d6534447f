#include "planner/flow/lowering/step_partition.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "planner/base/index.h"

namespace libcoll::flow::lowering {

using namespace schedule;
using namespace topology;

namespace {

constexpr std::int32_t most_passes = 30;  // of each power, and fewer where nothing moves
constexpr double powers[] = {2, 6};       // of the loads that are summed: first even, then without peaks
constexpr double power_tolerance = 1e-9;  // of sums of powers

/// One chunk on its way.
struct Unit {
  std::size_t transfer = 0;
  std::int32_t chunk = 0;
  std::int32_t step = 0;  ///< from 0
};

class Partition {
 public:
  Partition(const Schedule& schedule, std::int32_t steps)
      : schedule_(schedule),
        steps_(steps),
        links_(at(schedule.topology.link_count())),
        hosts_(at(schedule.topology.host_count())),
        load_(at(steps) * resources(), 0),
        weight_(resources(), 0) {
    for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
      const Transfer& transfer = schedule.transfers[i];
      for (std::int32_t k = 0; k < transfer.chunk_count; ++k) units_.push_back({i, transfer.chunk_begin + k, 0});
      visit(transfer, [&](std::size_t resource) { weight_[resource] += transfer.chunk_count; });
    }
    // A load counts relative to the resource's even share, rounded up to whole chunks.
    for (double& weight : weight_) {
      if (weight > 0) weight = 1 / std::ceil(weight / steps_);
    }
  }

  void run() {
    for (Unit& unit : units_) {
      unit.step = best_step(unit, powers[0]);
      add(unit, 1);
    }
    for (const double power : powers) {
      for (std::int32_t pass = 0; pass < most_passes && improve(power); ++pass) {
      }
    }
  }

  [[nodiscard]] std::vector<Transfer> transfers() const {
    std::vector<Transfer> result;
    for (const Unit& unit : units_) {
      Transfer piece = schedule_.transfers[unit.transfer];
      piece.chunk_begin = unit.chunk;
      piece.chunk_count = 1;
      piece.step = unit.step + 1;
      Transfer* last = result.empty() ? nullptr : &result.back();
      if (last != nullptr && last->shard == piece.shard && last->route == piece.route && last->step == piece.step &&
          last->chunk_begin + last->chunk_count == piece.chunk_begin) {
        ++last->chunk_count;
      } else {
        result.push_back(piece);
      }
    }
    return result;
  }

  [[nodiscard]] StepPartition figures() const {
    StepPartition result;
    for (std::int32_t step = 0; step < steps_; ++step) {
      const std::int64_t* load = load_.data() + at(step) * resources();
      double largest = 0;
      for (std::size_t link = 0; link < links_; ++link) {
        const double capacity = schedule_.topology.capacity(static_cast<LinkId>(link)).to_double();
        largest = std::max(largest, static_cast<double>(load[link]) / capacity);
      }
      result.load += largest / schedule_.chunks_per_shard;
      for (std::size_t host = links_; host < resources(); ++host) {
        result.in_flight = std::max(result.in_flight, load[host]);
      }
    }
    return result;
  }

 private:
  /// Links, then what each host sends, then what each receives.
  [[nodiscard]] std::size_t resources() const { return links_ + 2 * hosts_; }

  template <class Visit>
  void visit(const Transfer& transfer, const Visit& visit_one) const {
    for (const LinkId link : schedule_.routes[at(transfer.route)].links) visit_one(at(link));
    visit_one(links_ + at(transfer.from));
    visit_one(links_ + hosts_ + at(transfer.to));
  }

  void add(const Unit& unit, std::int64_t amount) {
    std::int64_t* load = load_.data() + at(unit.step) * resources();
    visit(schedule_.transfers[unit.transfer], [&](std::size_t resource) { load[resource] += amount; });
  }

  /// What one more chunk adds to the sum of powers of the loads of a step.
  [[nodiscard]] double price(const Unit& unit, std::int32_t step, double power) const {
    const std::int64_t* load = load_.data() + at(step) * resources();
    double sum = 0;
    visit(schedule_.transfers[unit.transfer], [&](std::size_t resource) {
      const double before = static_cast<double>(load[resource]) * weight_[resource];
      const double after = before + weight_[resource];
      sum += power == 2 ? after * after - before * before : std::pow(after, power) - std::pow(before, power);
    });
    return sum;
  }

  [[nodiscard]] std::int32_t best_step(const Unit& unit, double power) const {
    std::int32_t best = unit.step;
    double least = price(unit, best, power);
    for (std::int32_t step = 0; step < steps_; ++step) {
      if (step == unit.step) continue;
      const double candidate = price(unit, step, power);
      if (candidate >= least - power_tolerance) continue;
      best = step;
      least = candidate;
    }
    return best;
  }

  bool improve(double power) {
    bool moved = false;
    for (Unit& unit : units_) {
      add(unit, -1);
      const std::int32_t step = best_step(unit, power);
      moved = moved || step != unit.step;
      unit.step = step;
      add(unit, 1);
    }
    return moved;
  }

  const Schedule& schedule_;
  std::int32_t steps_;
  std::size_t links_;
  std::size_t hosts_;
  std::vector<Unit> units_;
  std::vector<std::int64_t> load_;  ///< [step][resource], in chunks
  std::vector<double> weight_;      ///< by resource
};

}  // namespace

StepPartition partition_over_steps(Schedule& schedule, std::int32_t steps) {
  Partition partition(schedule, steps);
  partition.run();
  const StepPartition figures = partition.figures();
  schedule.transfers = partition.transfers();
  schedule.steps = steps;
  sort_transfers(schedule);
  return figures;
}

}  // namespace libcoll::flow::lowering
