#include "libcoll/select/cost_model.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "libcoll/base/clock.h"
#include "libcoll/execute/concatenation.h"
#include "libcoll/execute/direct_exchange.h"
#include "libcoll/execute/scattered_reduction.h"
#include "planner/schedule/cost.h"
#include "planner/schedule/lockstep_time.h"

namespace libcoll::select {

using namespace execute;
using namespace schedule;

namespace {

/// Shorter ones cost more processor time than the model knows of.
constexpr std::int64_t least_segment_bytes = 16 * 1024;
/// Ours may take one part in this many more: what lies nearer is noise.
constexpr double model_margin_parts = 40;
/// Within a node ours has to take one part in this many less.
constexpr double node_margin_parts = 20;
/// Short vectors are decided by what messages cost the processor, and MPI's recursive doubling and binomial trees take
/// the fewest; those reduced in parts take fewer than the plan's.
constexpr std::int64_t most_native_bytes_per_rank = 1024;
constexpr std::int64_t most_scattered_bytes_per_rank = 2 * 1024;
/// Of reductions that need no messages those up to these sizes are left to MPI; one rank's results cost the others less
/// there, least where these are few.
constexpr std::int64_t most_native_in_memory = 4 * 1024;
constexpr std::int64_t most_native_rooted_in_memory = 32 * 1024;
constexpr std::int64_t most_native_of_few_rooted = 8 * 1024;
constexpr std::int32_t few_ranks = 4;
/// Nonblocking calls within a node are left to MPI below this size, where its messages leave at once. Longer ones ask
/// their receivers first by default (ob1), and take 1.2 to 6 times as long as ours; over UCX 0.5 to 3.
constexpr std::int64_t least_unattended = 4 * 1024;
/// Nonblocking calls across nodes are left to MPI up to these sizes, of a rank's block and of all of them. MPI's
/// reduce_scatters sum up for one rank first.
constexpr std::int64_t most_native_block_unattended = 1024;
constexpr std::int64_t most_native_sum_unattended = 128;
constexpr std::int64_t most_native_vector_unattended = 16 * 1024;
/// Sizes that are looked at: 8 B to 1 GiB, powers of two.
constexpr int first_power = 3;
constexpr int last_power = 30;

double nanoseconds_per_byte(const LinkFigures& links) {
  return nanoseconds_per_second / static_cast<double>(std::max<std::int64_t>(1, links.bytes_per_second));
}

std::int64_t vector_bytes(CallKind call, std::int32_t ranks, std::int64_t bytes) {
  const bool of_vector = call == CallKind::allreduce || is_rooted(call) || has_known_blocks(call);
  return of_vector ? bytes : bytes * ranks;
}

/// Where ranks share memory.
std::int64_t most_native_rooted(std::int32_t ranks) {
  return ranks <= few_ranks ? most_native_of_few_rooted : most_native_rooted_in_memory;
}

/// What crosses the busiest link, for one byte of the call's.
double link_bytes_per_byte(CallKind call, std::int32_t ranks, const PlanCost& plan) {
  if (is_rooted(call)) return 1;
  return plan.bandwidth_time * static_cast<double>(vector_bytes(call, ranks, 1)) /
         static_cast<double>(std::max<std::int64_t>(1, plan.degree));
}

bool was_seen(std::span<const CostSample> samples, std::int64_t bytes) {
  return !samples.empty() && bytes <= samples.back().bytes;
}

/// A way of ours: as it was seen to be, and beyond that as the model says.
class OwnWay {
 public:
  OwnWay(CostLine line, std::span<const CostSample> seen, const LinkFigures& links) : line_(line), seen_(seen) {
    if (seen.empty()) return;
    const double more = static_cast<double>(seen.back().nanoseconds) - line.at(seen.back().bytes);
    const auto least = static_cast<double>(links.alpha_nanoseconds);
    line_.latency_nanoseconds = std::max(least, line.latency_nanoseconds + more);
  }
  [[nodiscard]] double at(std::int64_t bytes) const {
    return was_seen(seen_, bytes) ? between_samples(seen_, bytes) : line_.at(bytes);
  }

 private:
  CostLine line_;
  std::span<const CostSample> seen_;
};

/// The ways there are.
class Ways {
 public:
  explicit Ways(const CostQuestion& question)
      : question_(question),
        plan_(plan_line(question.call, question.ranks, question.plan, question.links), question.by_plan,
              question.links),
        direct_(direct_line(question.ranks, question.links), question.directly, question.links) {}

  [[nodiscard]] TuningChoice best(std::int64_t bytes) const {
    TuningChoice choice{question_.call, question_.ranks, bytes, false, 0};
    double least = plan_.at(bytes);
    if (question_.can_go_direct && bytes <= DirectExchange::most_bytes / question_.ranks) {
      choice.direct = direct_.at(bytes) < least;
      least = std::min(least, direct_.at(bytes));
    }
    if (was_seen(question_.scattered, bytes) && between_samples(question_.scattered, bytes) < least) {
      least = between_samples(question_.scattered, bytes);
      choice.direct = false;
      choice.scattered = true;
    }
    if (was_seen(question_.native, bytes) &&
        between_samples(question_.native, bytes) * (1 + 1 / model_margin_parts) < least) {
      choice.direct = choice.scattered = false;
      choice.native = true;
    }
    cut(choice);
    return choice;
  }

  [[nodiscard]] TuningChoice by_facts(std::int64_t bytes, bool can_be_scattered) const {
    TuningChoice choice{question_.call, question_.ranks, bytes, false, 0};
    choice.native =
        vector_bytes(question_.call, question_.ranks, bytes) <= most_native_bytes_per_rank * question_.ranks;
    choice.scattered = can_be_scattered && !choice.native && bytes <= most_scattered_bytes_per_rank * question_.ranks &&
                       bytes <= ScatteredReduction::most_bytes;
    cut(choice);
    return choice;
  }

 private:
  /// How a plan's messages are cut and sent.
  void cut(TuningChoice& choice) const {
    if (way_name(choice) != "plan") return;
    choice.segment_bytes = segment(choice.up_to_bytes);
    choice.in_flight = in_flight(choice.segment_bytes > 0 ? choice.segment_bytes : question_.segment_bytes);
  }
  /// 0: as long as they are anyway.
  [[nodiscard]] std::int64_t segment(std::int64_t bytes) const {
    if (is_rooted(question_.call) || question_.share_memory) return 0;
    const double crossing =
        static_cast<double>(bytes) * link_bytes_per_byte(question_.call, question_.ranks, question_.plan);
    const std::int64_t best = best_segment_bytes(static_cast<std::int64_t>(crossing), question_.plan.hops,
                                                 question_.links, question_.segment_bytes);
    return best < question_.segment_bytes ? best : 0;
  }

  /// Never fewer than configured: beyond what links need, more cost nothing. 0: as configured.
  [[nodiscard]] std::int64_t in_flight(std::int64_t segment_bytes) const {
    const std::int64_t needed = in_flight_for(segment_bytes, question_.links);
    return needed > question_.in_flight ? needed : 0;
  }

  const CostQuestion& question_;
  OwnWay plan_;
  OwnWay direct_;
};

bool same_way(const TuningChoice& a, const TuningChoice& b) {
  return way_name(a) == way_name(b) && a.segment_bytes == b.segment_bytes && a.in_flight == b.in_flight;
}

/// What `best` says of every size; neighbours that say the same are one.
template <class Best>
std::vector<TuningChoice> choices_by_size(const Best& best) {
  std::vector<TuningChoice> choices;
  for (int power = first_power; power <= last_power; ++power) {
    const TuningChoice choice = best(std::int64_t{1} << power);
    if (!choices.empty() && same_way(choices.back(), choice)) choices.pop_back();
    choices.push_back(choice);
  }
  choices.back().up_to_bytes = TuningChoice().up_to_bytes;
  return choices;
}

}  // namespace

PlanCost plan_cost(const Schedule& schedule) {
  return {lockstep_time(schedule).hops, schedule.proof.bandwidth_time.to_double(), node_degree(schedule)};
}

CostLine plan_line(CallKind call, std::int32_t ranks, const PlanCost& plan, const LinkFigures& links) {
  return {static_cast<double>(plan.hops) * static_cast<double>(links.alpha_nanoseconds),
          link_bytes_per_byte(call, ranks, plan) * nanoseconds_per_byte(links)};
}

CostLine direct_line(std::int32_t ranks, const LinkFigures& links) {
  const std::int32_t rounds = concatenation_rounds(ranks, ports_for_small_blocks(ranks));
  return {static_cast<double>(rounds) * static_cast<double>(links.alpha_nanoseconds),
          static_cast<double>(ranks - 1) * nanoseconds_per_byte(links)};
}

double between_samples(std::span<const CostSample> samples, std::int64_t bytes) {
  const auto next = std::find_if(samples.begin(), samples.end(), [&](const CostSample& s) { return s.bytes >= bytes; });
  if (next == samples.end()) return static_cast<double>(samples.back().nanoseconds);
  if (next == samples.begin()) return static_cast<double>(next->nanoseconds);
  const CostSample& before = *(next - 1);
  const double share = static_cast<double>(bytes - before.bytes) / static_cast<double>(next->bytes - before.bytes);
  return static_cast<double>(before.nanoseconds) + share * static_cast<double>(next->nanoseconds - before.nanoseconds);
}

std::int64_t best_segment_bytes(std::int64_t link_bytes, std::int32_t hops, const LinkFigures& links,
                                std::int64_t most) {
  if (hops < 2 || most <= least_segment_bytes) return most;
  const double best = std::sqrt(static_cast<double>(link_bytes) * static_cast<double>(links.alpha_nanoseconds) /
                                (static_cast<double>(hops - 1) * nanoseconds_per_byte(links)));
  if (best >= static_cast<double>(most)) return most;
  return std::max(least_segment_bytes, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(best))));
}

std::int64_t in_flight_for(std::int64_t segment_bytes, const LinkFigures& links) {
  const double under_way_bytes = static_cast<double>(links.alpha_nanoseconds) / nanoseconds_per_byte(links);
  const double messages =
      1 + std::ceil(under_way_bytes / static_cast<double>(std::max<std::int64_t>(1, segment_bytes)));
  return static_cast<std::int64_t>(std::min(messages, static_cast<double>(most_in_flight)));
}

std::vector<TuningChoice> choose_by_cost(const CostQuestion& question) {
  const Ways ways(question);
  return choices_by_size([&ways](std::int64_t bytes) { return ways.best(bytes); });
}

std::vector<TuningChoice> choose_by_facts(const CostQuestion& question, bool can_be_scattered) {
  const Ways ways(question);
  return choices_by_size([&](std::int64_t bytes) { return ways.by_facts(bytes, can_be_scattered); });
}

std::vector<TuningChoice> choose_by_facts_without_messages(CallKind call, std::int32_t ranks, bool has_short_calls) {
  const std::int64_t without_short_calls = is_rooted(call) ? most_native_rooted(ranks) : most_native_in_memory;
  const std::int64_t most_native = has_short_calls ? 0 : without_short_calls;
  return choices_by_size([&](std::int64_t bytes) { return TuningChoice{call, ranks, bytes, bytes <= most_native, 0}; });
}

bool is_faster_unattended(CallKind call, std::int32_t ranks, std::int64_t bytes) {
  switch (call) {
    case CallKind::allreduce:
    case CallKind::allgather:
    case CallKind::reduce_scatter_block:
    case CallKind::reduce:
      return bytes >= least_unattended;
    case CallKind::allgatherv:
    case CallKind::reduce_scatter:
      return bytes / ranks >= least_unattended;
    default:
      return false;
  }
}

bool is_slower_unattended(CallKind call, std::int32_t ranks, std::int64_t bytes) {
  const std::int64_t all_bytes = vector_bytes(call, ranks, bytes);
  // Two ranks have one step either way.
  if (ranks <= 2 || all_bytes > most_native_vector_unattended) return false;
  switch (call) {
    case CallKind::allreduce:
    case CallKind::allgather:
    case CallKind::allgatherv:
    case CallKind::alltoall:
      return all_bytes <= most_native_block_unattended * ranks;
    case CallKind::reduce_scatter_block:
    case CallKind::reduce_scatter:
      return all_bytes <= most_native_sum_unattended * ranks;
    default:
      return false;
  }
}

std::vector<TuningChoice> choose_by_samples(CallKind call, std::int32_t ranks, std::span<const CostSample> ours,
                                            std::span<const CostSample> native) {
  const std::int64_t last = std::min(ours.back().bytes, native.back().bytes);
  return choices_by_size([&](std::int64_t bytes) {
    const std::int64_t seen = std::min(bytes, last);
    const double needed = between_samples(ours, seen) * (1 + 1 / node_margin_parts);
    return TuningChoice{call, ranks, bytes, needed > between_samples(native, seen), 0};
  });
}

}  // namespace libcoll::select
