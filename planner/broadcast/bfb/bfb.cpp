#include "planner/broadcast/bfb/bfb.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "planner/base/work_sharing.h"
#include "planner/broadcast/bfb/bfb_steps.h"
#include "planner/broadcast/bound/max_flow.h"
#include "planner/registry/effort.h"
#include "planner/schedule/cost.h"
#include "planner/schedule/reverse.h"
#include "planner/topology/facts.h"

namespace libcoll::broadcast::bfb {

using namespace bound;
using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

constexpr std::int32_t default_max_chunks = 512;

/// Shards that may come in over the same links: positions in Problem::links, ascending.
struct SourceClass {
  std::vector<std::int32_t> links;
  std::vector<NodeId> sources;
};

/// One LP (1): what one node has to take in during one step. Widths are link capacities as integers (multiples of
/// the unit that Steps::unit counts in); all loads in here are shards (or chunks) per width 1.
struct Problem {
  std::span<const LinkId> links;
  std::span<const std::int64_t> widths;  ///< by LinkId
  std::vector<SourceClass> classes;

  [[nodiscard]] std::int64_t width(std::size_t position) const {
    return widths[static_cast<std::size_t>(links[position])];
  }
};

/// All the problems of one topology.
struct Steps {
  std::vector<std::int64_t> widths;
  std::vector<std::int64_t> distinct_widths;
  std::int64_t unit = 1;                       ///< width of a link with capacity 1
  std::vector<std::vector<Problem>> problems;  ///< [t−1][u]
};

/// A sum over sources and, as Hall's condition wants it, the links that alone can serve them.
struct ClassCut {
  std::int64_t sources = 0;
  std::vector<std::int64_t> widths;
  [[nodiscard]] std::int64_t width() const { return std::accumulate(widths.begin(), widths.end(), std::int64_t{0}); }
};

ClassCut cut_of(const Problem& problem, const std::vector<bool>& in_set) {
  ClassCut cut;
  std::vector<bool> reached(problem.links.size(), false);
  for (std::size_t i = 0; i < problem.classes.size(); ++i) {
    if (!in_set[i]) continue;
    cut.sources += static_cast<std::int64_t>(problem.classes[i].sources.size());
    for (const std::int32_t link : problem.classes[i].links) reached[static_cast<std::size_t>(link)] = true;
  }
  for (std::size_t i = 0; i < reached.size(); ++i) {
    if (reached[i]) cut.widths.push_back(problem.width(i));
  }
  return cut;
}

/// The transport problem: `supply` units per source, at most room[i] units over link i.
template <class Amount>
struct Transport {
  BasicMaxFlow<Amount> network;
  std::vector<std::vector<std::int32_t>> arcs;  ///< [class][i] belongs to SourceClass::links[i]
  bool complete = false;                        ///< everything arrives
};

template <class Amount>
Transport<Amount> transport(const Problem& problem, Amount supply, const std::vector<Amount>& room) {
  const auto classes = static_cast<std::int32_t>(problem.classes.size());
  const auto links = static_cast<std::int32_t>(problem.links.size());
  const std::int32_t source = classes + links;
  Transport<Amount> result{BasicMaxFlow<Amount>(source + 2), {}, false};
  Amount wanted = 0;
  for (std::int32_t i = 0; i < classes; ++i) {
    const SourceClass& members = problem.classes[static_cast<std::size_t>(i)];
    const Amount amount = supply * static_cast<Amount>(members.sources.size());
    wanted += amount;
    result.network.add_arc(source, i, amount);
    std::vector<std::int32_t>& arcs = result.arcs.emplace_back();
    for (const std::int32_t link : members.links) {
      arcs.push_back(result.network.add_arc(i, classes + link, BasicMaxFlow<Amount>::infinite));
    }
  }
  for (std::int32_t i = 0; i < links; ++i) {
    result.network.add_arc(classes + i, source + 1, room[static_cast<std::size_t>(i)]);
  }
  result.complete = result.network.run(source, source + 1) == wanted;
  return result;
}

template <class Amount>
ClassCut violated_cut(const Problem& problem, const Transport<Amount>& transport) {
  std::vector<bool> in_set;
  for (std::size_t i = 0; i < problem.classes.size(); ++i) {
    in_set.push_back(transport.network.on_source_side(static_cast<std::int32_t>(i)));
  }
  return cut_of(problem, in_set);
}

ClassCut whole(const Problem& problem) { return cut_of(problem, std::vector<bool>(problem.classes.size(), true)); }

/// Whether every source finds room at the load; if not, `cut` becomes one that it violates.
template <class Amount>
bool load_suffices(const Problem& problem, const Rational& load, ClassCut& cut) {
  std::vector<Amount> room;
  for (std::size_t i = 0; i < problem.links.size(); ++i) room.push_back(Amount{load.numerator()} * problem.width(i));
  const Transport<Amount> trial = transport(problem, Amount{load.denominator()}, room);
  if (!trial.complete) cut = violated_cut(problem, trial);
  return trial.complete;
}

/// max over sets S of sources of |S| / width(N(S)), which Theorem 19 makes the optimum of LP (1). Newton's method
/// on that ratio: every violated cut is the next candidate.
Rational fractional_load(const Problem& problem) {
  if (problem.classes.empty()) return 0;
  ClassCut cut = whole(problem);
  const std::int64_t sources = cut.sources;
  Wide128 width = 0;
  for (std::size_t i = 0; i < problem.links.size(); ++i) width += problem.width(i);
  for (;;) {
    Rational load(cut.sources, cut.width());
    const bool narrow = std::max(load.numerator() * width, Wide128{load.denominator()} * sources) < MaxFlow::infinite;
    const bool enough =
        narrow ? load_suffices<std::int64_t>(problem, load, cut) : load_suffices<Wide128>(problem, load, cut);
    if (enough) return load;
  }
}

/// Chunks a link of this width takes without exceeding the load; more than `most` do not count.
std::int64_t room_of(const Rational& load, std::int64_t width, std::int64_t most) {
  return std::min(load.floor(width).value_or(most), most);
}

/// The least load under which whole chunks fit through the cut, each source having `chunks` of them.
Rational chunked_load(const ClassCut& cut, std::int64_t chunks) {
  const std::int64_t wanted = cut.sources * chunks;
  Rational load(wanted, cut.width());
  for (;;) {
    std::int64_t fitting = 0;
    Rational next(0);
    for (const std::int64_t width : cut.widths) {
      const std::int64_t room = room_of(load, width, wanted);
      fitting += room;
      if (fitting >= wanted) return load;
      const Rational larger(room + 1, width);
      if (next == Rational(0) || larger < next) next = larger;
    }
    load = next;
  }
}

struct ChunkedPlan {
  Rational load;                      ///< chunks per width 1
  Transport<std::int64_t> transport;  ///< whole chunks
};

/// The optimum of the integer program (13) for one node and step. Newton's method as above: rounding the room of
/// every link down keeps the max-flow integral and each violated cut a proof that its load is needed.
ChunkedPlan chunked_plan(const Problem& problem, std::int64_t chunks) {
  Rational load(0);
  const ClassCut all = whole(problem);
  if (!problem.classes.empty()) load = chunked_load(all, chunks);
  for (;;) {
    std::vector<std::int64_t> room;
    for (std::size_t i = 0; i < problem.links.size(); ++i) {
      room.push_back(room_of(load, problem.width(i), all.sources * chunks));
    }
    Transport<std::int64_t> trial = transport(problem, chunks, room);
    if (trial.complete) return {load, std::move(trial)};
    load = chunked_load(violated_cut(problem, trial), chunks);
  }
}

/// Groups the sources t hops away from u by the in-links whose tail is one hop nearer to them.
Problem problem_of(const Topology& topology, std::span<const std::int64_t> widths, const DistanceMatrix& distance,
                   NodeId u, const std::vector<NodeId>& sources) {
  Problem problem{topology.in_links(u), widths, {}};
  std::map<std::vector<std::int32_t>, std::vector<NodeId>> groups;
  for (const NodeId v : sources) {
    const std::vector<std::int32_t>& from_v = distance[static_cast<std::size_t>(v)];
    std::vector<std::int32_t> links;
    for (std::size_t i = 0; i < problem.links.size(); ++i) {
      const NodeId w = topology.link(problem.links[i]).from;
      if (from_v[static_cast<std::size_t>(w)] + 1 == from_v[static_cast<std::size_t>(u)]) {
        links.push_back(static_cast<std::int32_t>(i));
      }
    }
    groups[std::move(links)].push_back(v);
  }
  for (auto& [links, members] : groups) problem.classes.push_back({links, std::move(members)});
  return problem;
}

/// Link bandwidths over their greatest common divisor, so that capacities need no fractions.
void set_widths(const Topology& topology, Steps& steps) {
  std::int64_t divisor = topology.unit_bandwidth_bytes_per_second();
  for (const Link& link : topology.links()) divisor = std::gcd(divisor, link.bandwidth_bytes_per_second);
  for (const Link& link : topology.links()) steps.widths.push_back(link.bandwidth_bytes_per_second / divisor);
  steps.unit = topology.unit_bandwidth_bytes_per_second() / divisor;
  const std::set<std::int64_t> distinct(steps.widths.begin(), steps.widths.end());
  steps.distinct_widths.assign(distinct.begin(), distinct.end());
}

Status check(const Topology& topology, const Facts& facts) {
  if (topology.node_count() != topology.host_count()) {
    return Error{"bfb plans hosts only, and " + topology.name() + " has " +
                 std::to_string(topology.node_count() - topology.host_count()) + " switches"};
  }
  if (!facts.connected) return Error{"in " + topology.name() + " some host cannot reach another"};
  return {};
}

Error too_late(const Topology& topology) {
  return Error{"bfb on " + topology.name() +
               ": the time was over before there was a plan, and it has none before its end: allow more, or take "
               "another planner"};
}

Result<Steps> make_steps(const Topology& topology, const Effort& effort) {
  const Facts facts = graph_facts(topology);
  if (Status status = check(topology, facts); !status) return status.error();
  Steps steps;
  set_widths(topology, steps);
  const auto hosts = static_cast<std::size_t>(topology.host_count());
  steps.problems.assign(static_cast<std::size_t>(facts.diameter), std::vector<Problem>(hosts));
  const DistanceMatrix distance = hop_distances(topology);
  share_work(effort.threads, hosts, [&](std::int32_t, std::size_t position) {
    if (effort.deadline.passed()) return;
    const auto u = static_cast<NodeId>(position);
    std::vector<std::vector<NodeId>> at_distance(steps.problems.size() + 1);
    for (NodeId v = 0; v < topology.host_count(); ++v) {
      const std::int32_t hops = distance[static_cast<std::size_t>(v)][static_cast<std::size_t>(u)];
      at_distance[static_cast<std::size_t>(hops)].push_back(v);
    }
    for (std::size_t t = 1; t < at_distance.size(); ++t) {
      steps.problems[t - 1][position] = problem_of(topology, steps.widths, distance, u, at_distance[t]);
    }
  });
  if (effort.deadline.passed()) return too_late(topology);
  return steps;
}

/// The largest load that `load_of` finds for the problems of a step. When it is late, of some of them.
template <class LoadOf>
Rational step_load(const std::vector<Problem>& step, const Effort& effort, const LoadOf& load_of) {
  std::vector<Rational> loads(step.size(), Rational(0));
  share_work(effort.threads, step.size(), [&](std::int32_t, std::size_t u) {
    if (!effort.deadline.passed()) loads[u] = load_of(step[u]);
  });
  return *std::max_element(loads.begin(), loads.end());
}

/// Least number of chunks per shard with which every link's room at the load is a whole number of chunks; 0 when
/// it is above the limit.
std::int64_t exact_chunks(std::span<const Rational> loads, const Steps& steps, std::int64_t limit) {
  std::int64_t chunks = 1;
  for (const Rational& load : loads) {
    for (const std::int64_t width : steps.distinct_widths) {
      const Rational room = load * Rational(width);
      if (!room.is_narrow() || room.denominator() > limit) return 0;
      chunks = std::lcm(chunks, room.denominator());  // both are below 2^31
      if (chunks > limit) return 0;
    }
  }
  return chunks;
}

/// Σ_t max_u of the discrete form (13), in shards per width 1.
Rational chunked_time(const Steps& steps, std::int64_t chunks, const Effort& effort) {
  Rational time(0);
  for (const std::vector<Problem>& step : steps.problems) {
    const auto load_of = [chunks](const Problem& problem) { return chunked_plan(problem, chunks).load; };
    time += step_load(step, effort, load_of) / Rational(chunks);
  }
  return time;
}

/// What no plan with that many chunks can beat: every step's largest load is some link's whole number of chunks.
Rational chunked_time_bound(std::span<const Rational> loads, const Steps& steps, std::int64_t chunks) {
  Rational time(0);
  for (const Rational& load : loads) {
    Rational least(0);
    for (const std::int64_t width : steps.distinct_widths) {
      const std::optional<std::int64_t> rounded_up = (load * Rational(chunks)).ceil(width);
      // So many chunks that rounding does not matter.
      const Rational candidate = rounded_up ? Rational(*rounded_up, width) / Rational(chunks) : load;
      if (least == Rational(0) || candidate < least) least = candidate;
    }
    time += least;
  }
  return time;
}

/// One or two phases (allreduce) that share one number of chunks per shard.
struct Phase {
  Steps steps;
  std::vector<Rational> loads;  ///< U_t
};

Result<Phase> make_phase(const Topology& topology, const Effort& effort) {
  Result<Steps> steps = make_steps(topology, effort);
  if (!steps) return steps.error();
  Phase phase{std::move(steps).value(), {}};
  for (const std::vector<Problem>& step : phase.steps.problems) {
    phase.loads.push_back(step_load(step, effort, fractional_load));
  }
  if (effort.deadline.passed()) return too_late(topology);
  return phase;
}

/// The number of chunks up to the limit that loses least, the smallest of equals; of those there is time for.
std::int64_t best_chunks(std::span<const Phase> phases, std::int64_t limit, const Effort& effort) {
  struct Candidate {
    Rational bound;
    std::int64_t chunks = 1;
  };
  std::vector<Candidate> candidates;
  for (std::int64_t chunks = 1; chunks <= limit; ++chunks) {
    Rational bound(0);
    for (const Phase& phase : phases) bound += chunked_time_bound(phase.loads, phase.steps, chunks);
    candidates.push_back({bound, chunks});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.bound < b.bound; });
  Candidate best{Rational(0), 0};
  for (const Candidate& candidate : candidates) {
    if (best.chunks != 0 && best.bound <= candidate.bound) break;
    Rational time(0);
    for (const Phase& phase : phases) time += chunked_time(phase.steps, candidate.chunks, effort);
    if (best.chunks != 0 && effort.deadline.passed()) break;
    if (best.chunks == 0 || time < best.bound) best = {time, candidate.chunks};
  }
  return best.chunks;
}

std::int64_t choose_chunks(std::span<const Phase> phases, const PlanOptions& options, const Effort& effort) {
  const std::int64_t limit = options.max_chunks > 0 ? options.max_chunks : default_max_chunks;
  std::int64_t exact = 1;
  for (const Phase& phase : phases) {
    const std::int64_t chunks = exact_chunks(phase.loads, phase.steps, limit);
    exact = chunks == 0 ? 0 : std::lcm(exact, chunks);
  }
  return exact > 0 && exact <= limit ? exact : best_chunks(phases, limit, effort);
}

/// Hands the chunks of a class out source by source, link by link: every link takes contiguous intervals.
void append_class(const Schedule& schedule, const Problem& problem, const SourceClass& members,
                  std::vector<std::int64_t> chunks_over, NodeId u, std::int32_t step,
                  std::vector<Transfer>& transfers) {
  std::size_t turn = 0;
  for (const NodeId v : members.sources) {
    std::int32_t begin = 0;
    while (begin < schedule.chunks_per_shard) {
      while (chunks_over[turn] == 0) ++turn;
      const std::int64_t count = std::min<std::int64_t>(chunks_over[turn], schedule.chunks_per_shard - begin);
      const LinkId link = problem.links[static_cast<std::size_t>(members.links[turn])];
      transfers.push_back({v, begin, static_cast<std::int32_t>(count), schedule.topology.link(link).from, u, step,
                           direct, TransferKind::copy});
      chunks_over[turn] -= count;
      begin += static_cast<std::int32_t>(count);
    }
  }
}

std::vector<Transfer> transfers_of(const Schedule& schedule, const Problem& problem,
                                   const Transport<std::int64_t>& solved, NodeId u, std::int32_t step) {
  std::vector<Transfer> transfers;
  for (std::size_t i = 0; i < problem.classes.size(); ++i) {
    std::vector<std::int64_t> chunks_over;
    for (const std::int32_t arc : solved.arcs[i]) chunks_over.push_back(solved.network.flow(arc));
    append_class(schedule, problem, problem.classes[i], std::move(chunks_over), u, step, transfers);
  }
  return transfers;
}

Result<Schedule> make_allgather(const Topology& topology, const Phase& phase, std::int64_t chunks,
                                const Effort& effort) {
  Schedule schedule;
  schedule.collective = Collective::allgather;
  schedule.algorithm = "bfb";
  schedule.topology = topology;
  schedule.chunks_per_shard = static_cast<std::int32_t>(chunks);
  schedule.steps = static_cast<std::int32_t>(phase.steps.problems.size());
  Rational time(0);
  for (std::size_t t = 0; t < phase.steps.problems.size(); ++t) {
    const std::vector<Problem>& step = phase.steps.problems[t];
    std::vector<std::vector<Transfer>> into(step.size());
    const Rational load = step_load(step, effort, [&](const Problem& problem) {
      const auto u = static_cast<std::size_t>(&problem - step.data());
      const ChunkedPlan solved = chunked_plan(problem, chunks);
      into[u] =
          transfers_of(schedule, problem, solved.transport, static_cast<NodeId>(u), static_cast<std::int32_t>(t) + 1);
      return solved.load;
    });
    if (effort.deadline.passed()) return too_late(topology);
    for (const std::vector<Transfer>& transfers : into) {
      schedule.transfers.insert(schedule.transfers.end(), transfers.begin(), transfers.end());
    }
    time += load * Rational(phase.steps.unit, chunks);
  }
  sort_transfers(schedule);
  schedule.proof.bandwidth_time = time * Rational(degree(topology), topology.host_count());
  schedule.proof.bandwidth_bound = allgather_bandwidth_bound(topology);
  schedule.proof.max_link_load = max_link_load(schedule);
  return schedule;
}

Result<Schedule> make_reduce_scatter(const Topology& topology, const Topology& transposed, const Phase& phase,
                                     std::int64_t chunks, const Effort& effort) {
  const Result<Schedule> gathering = make_allgather(transposed, phase, chunks, effort);
  if (!gathering) return gathering.error();
  Result<Schedule> schedule = reverse(*gathering);
  // The transpose of the transpose has the same links; the name is the user's.
  if (schedule) schedule->topology = topology;
  return schedule;
}

/// T_B of the linear program, and what it is with whole chunks at most: a link takes less than one chunk more in each
/// step (Theorem 20).
void report(const PlanOptions& options, const Topology& topology, std::span<const Phase> phases, std::int64_t chunks) {
  if (options.figures == nullptr) return;
  Rational load(0);
  std::int64_t steps = 0;
  for (const Phase& phase : phases) {
    for (const Rational& each : phase.loads) load += each * Rational(phase.steps.unit);
    steps += static_cast<std::int64_t>(phase.loads.size());
  }
  const Rational unit(degree(topology), topology.host_count());
  options.figures->more.emplace_back("fractional_bandwidth_time", (unit * load).to_string());
  options.figures->more.emplace_back("rounding_bound", (unit * (load + Rational(steps, chunks))).to_string());
}

/// What is known without the flows: steps and the optimal T_B (2); the link loads add up to at most their sum.
Result<Schedule> without_transfers(const Topology& topology, Collective collective, const PlanOptions& options) {
  Schedule schedule;
  schedule.collective = collective;
  schedule.algorithm = "bfb";
  schedule.topology = topology;
  std::vector<Topology> phases;
  if (collective != Collective::allgather) phases.push_back(transpose(topology));
  if (collective != Collective::reduce_scatter) phases.push_back(topology);
  for (const Topology& graph : phases) {
    std::int64_t images = 1;
    const Result<std::vector<Rational>> loads = bfb_step_loads(graph, options.symmetry, &images, options.threads);
    if (!loads) return loads.error();
    if (options.figures != nullptr) options.figures->symmetry_order = images;
    schedule.steps += static_cast<std::int32_t>(loads->size());
    for (const Rational& load : *loads) schedule.proof.max_link_load += load;
    schedule.proof.bandwidth_bound += allgather_bandwidth_bound(graph);
  }
  schedule.proof.bandwidth_time = schedule.proof.max_link_load * Rational(degree(topology), topology.host_count());
  return schedule;
}

}  // namespace

Result<std::vector<std::vector<Rational>>> bfb_loads(const Topology& topology) {
  const Result<Steps> steps = make_steps(topology, {});
  if (!steps) return steps.error();
  std::vector<std::vector<Rational>> loads;
  for (const std::vector<Problem>& step : steps->problems) {
    std::vector<Rational>& row = loads.emplace_back();
    for (const Problem& problem : step) row.push_back(fractional_load(problem) * Rational(steps->unit));
  }
  return loads;
}

Result<Schedule> plan_bfb_allgather(const Topology& topology, const PlanOptions& options) {
  if (!options.schedule) return without_transfers(topology, Collective::allgather, options);
  const Effort effort = effort_of(options);
  const Result<Phase> phase = make_phase(topology, effort);
  if (!phase) return phase.error();
  const std::span<const Phase> phases(&phase.value(), 1);
  const std::int64_t chunks = choose_chunks(phases, options, effort);
  report(options, topology, phases, chunks);
  return make_allgather(topology, *phase, chunks, effort);
}

Result<Schedule> plan_bfb_reduce_scatter(const Topology& topology, const PlanOptions& options) {
  if (!options.schedule) return without_transfers(topology, Collective::reduce_scatter, options);
  const Topology transposed = transpose(topology);
  const Effort effort = effort_of(options);
  const Result<Phase> phase = make_phase(transposed, effort);
  if (!phase) return phase.error();
  const std::span<const Phase> phases(&phase.value(), 1);
  const std::int64_t chunks = choose_chunks(phases, options, effort);
  report(options, topology, phases, chunks);
  return make_reduce_scatter(topology, transposed, *phase, chunks, effort);
}

Result<Schedule> plan_bfb_allreduce(const Topology& topology, const PlanOptions& options) {
  if (!options.schedule) return without_transfers(topology, Collective::allreduce, options);
  const Topology transposed = transpose(topology);
  const Effort effort = effort_of(options);
  std::vector<Phase> phases;
  for (const Topology* graph : {&transposed, &topology}) {
    Result<Phase> phase = make_phase(*graph, effort);
    if (!phase) return phase.error();
    phases.push_back(std::move(phase).value());
  }
  const std::int64_t chunks = choose_chunks(phases, options, effort);
  report(options, topology, phases, chunks);
  const Result<Schedule> reduce_scatter = make_reduce_scatter(topology, transposed, phases[0], chunks, effort);
  if (!reduce_scatter) return reduce_scatter.error();
  const Result<Schedule> allgather = make_allgather(topology, phases[1], chunks, effort);
  if (!allgather) return allgather.error();
  return concatenate(*reduce_scatter, *allgather);
}

}  // namespace libcoll::broadcast::bfb
