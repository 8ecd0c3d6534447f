#include "libcoll/command/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <variant>

#include "libcoll/command/child_work.h"
#include "libcoll/command/planning.h"
#include "planner/schedule/cost.h"
#include "planner/topology/facts.h"

namespace libcoll::command {

using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

constexpr double share_for_planning = 0.7;  // the rest is for checking and modelling

std::int64_t segments_of(const PlanFigures& figures) {
  for (const auto& [name, value] : figures.more) {
    if (name != "segments") continue;
    if (const auto* segments = std::get_if<std::int64_t>(&value)) return *segments;
  }
  return 1;
}

Rational universal_bound(Collective collective, const Topology& topology) {
  return universal_bandwidth_bound(collective, topology.host_count());
}

/// What is known about how far from the optimum T_B is.
std::string optimality_of(const Schedule& schedule) {
  const Proof& proof = schedule.proof;
  char text[96];
  if (schedule.collective == Collective::alltoall) {
    const double gap =
        proof.bandwidth_bound > Rational(0) ? (proof.bandwidth_time / proof.bandwidth_bound).to_double() - 1 : 0;
    std::snprintf(text, sizeof text, "certified within %.3g %% of the optimum", 100 * std::max(gap, 0.0));
    return text;
  }
  const Rational bound = universal_bound(schedule.collective, schedule.topology);
  if (proof.bandwidth_time == bound) return "T_B optimal: no topology allows less than " + short_text(bound);
  if (proof.bandwidth_time == proof.bandwidth_bound) {
    return "T_B optimal: this topology allows no less than " + short_text(proof.bandwidth_bound);
  }
  const Rational best = std::max(bound, proof.bandwidth_bound);
  std::snprintf(text, sizeof text, "T_B %.3g %% above the bound ",
                100 * ((proof.bandwidth_time / best).to_double() - 1));
  return text + short_text(best);
}

std::string seconds_text(double seconds) {
  char text[32];
  if (seconds < 1e-3) {
    std::snprintf(text, sizeof text, "%.4g us", 1e6 * seconds);
  } else if (seconds < 1) {
    std::snprintf(text, sizeof text, "%.4g ms", 1e3 * seconds);
  } else {
    std::snprintf(text, sizeof text, "%.4g s", seconds);
  }
  return text;
}

std::string size_text(double bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.4g %s", bytes, units[unit]);
  return text;
}

constexpr const char* no_time = "there was no time left for it";

/// A row as text, for the parent of a process that makes it.
std::string text_of(const ComparedAlgorithm& row) {
  Json variants = Json::array();
  for (const ComparedVariant& variant : row.variants) {
    variants.push_back({variant.steps, variant.segments, variant.bandwidth_time, variant.bandwidth_time_float,
                        variant.topology_bound, variant.optimality, variant.time.hops, variant.time.latency_seconds,
                        variant.time.seconds_per_byte});
  }
  return Json{{"reason", row.reason}, {"seconds", row.plan_seconds}, {"faults", row.faults}, {"variants", variants}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

ComparedAlgorithm row_of(const Planner& planner, const std::string& text) {
  ComparedAlgorithm row;
  row.algorithm = planner.name;
  row.lockstep = planner.needs.has(Need::lockstep);
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    row.reason = "the planner said nothing";
    return row;
  }
  row.reason = json["reason"].get<std::string>();
  row.plan_seconds = json["seconds"].get<double>();
  row.faults = json["faults"].get<std::vector<std::string>>();
  for (const Json& variant : json["variants"]) {
    row.variants.push_back({variant[0].get<std::int32_t>(),
                            variant[1].get<std::int64_t>(),
                            variant[2].get<std::string>(),
                            variant[3].get<double>(),
                            variant[4].get<std::string>(),
                            variant[5].get<std::string>(),
                            {variant[6].get<std::int32_t>(), variant[7].get<double>(), variant[8].get<double>()}});
  }
  return row;
}

/// One planner in a process that ends with its share of the time, so that one that goes on costs the others nothing.
ComparedAlgorithm compare_in_child(const Planner& planner, const Topology& topology, const PlanOptions& options,
                                   const Deadline& share) {
  ComparedAlgorithm row;
  row.algorithm = planner.name;
  row.lockstep = planner.needs.has(Need::lockstep);
  row.reason = no_time;
  if (share.passed()) return row;
  const auto made =
      in_child([&] { return text_of(compare_one(planner, topology, options, share)); }, share.remaining());
  if (!made) row.reason = made.error().message;
  return made.ok() && made->has_value() ? row_of(planner, **made) : row;
}

}  // namespace

const ComparedVariant& ComparedAlgorithm::best(double bytes) const {
  return *std::min_element(variants.begin(), variants.end(), [bytes](const auto& a, const auto& b) {
    return a.time.seconds(bytes) < b.time.seconds(bytes);
  });
}

ComparedAlgorithm compare_one(const Planner& planner, const Topology& topology, const PlanOptions& options,
                              const Deadline& deadline) {
  ComparedAlgorithm result;
  result.algorithm = planner.name;
  result.lockstep = planner.needs.has(Need::lockstep);
  PlanOptions wanted = options;
  wanted.schedule = true;
  if (deadline.passed()) {
    result.reason = no_time;
    return result;
  }
  for (;;) {
    if (deadline.limited()) wanted.time_limit_seconds = share_for_planning * deadline.remaining();
    const Result<Plan> plan = make_plan(topology, planner.collective, result.algorithm, wanted);
    if (!plan) {
      result.reason = plan.error().message;
      return result;
    }
    if (result.variants.empty()) result.plan_seconds = plan->seconds;
    result.faults.insert(result.faults.end(), plan->faults.begin(), plan->faults.end());
    const std::int64_t segments = segments_of(plan->figures);
    const Proof& proof = plan->schedule.proof;
    result.variants.push_back({plan->schedule.steps, segments, proof.bandwidth_time.to_string(),
                               proof.bandwidth_time.to_double(), proof.bandwidth_bound.to_string(),
                               optimality_of(plan->schedule), lockstep_time(plan->schedule)});
    if (segments <= 1 || deadline.passed()) return result;
    wanted.steps = std::max(1, plan->schedule.steps / 2);
  }
}

Comparison compare(const Topology& topology, Collective collective, const std::vector<double>& sizes,
                   const PlanOptions& options, const Deadline& deadline) {
  Comparison comparison{topology, collective, sizes, {}};
  const auto compared = [collective](const Planner& planner) {
    return planner.collective == collective && !planner.needs.has(Need::rewiring);
  };
  auto left = std::count_if(planners().begin(), planners().end(), compared);
  for (const Planner& planner : planners()) {
    if (!compared(planner)) continue;
    const Deadline share = deadline.part(1.0 / static_cast<double>(left--));
    comparison.algorithms.push_back(share.limited() ? compare_in_child(planner, topology, options, share)
                                                    : compare_one(planner, topology, options, share));
  }
  return comparison;
}

Json comparison_json(const Comparison& comparison) {
  Json json{{"collective", to_string(comparison.collective)},
            {"topology", comparison.topology.name()},
            {"nodes", comparison.topology.host_count()},
            {"degree", degree(comparison.topology)},
            {"bandwidth_bound", universal_bound(comparison.collective, comparison.topology).to_string()},
            {"sizes", comparison.sizes},
            {"algorithms", Json::array()},
            {"refused", Json::array()}};
  for (const ComparedAlgorithm& row : comparison.algorithms) {
    if (row.variants.empty()) {
      json["refused"].push_back({{"algorithm", row.algorithm}, {"reason", row.reason}});
      continue;
    }
    const ComparedVariant& shown = row.best(comparison.sizes.front());
    Json seconds = Json::array();
    Json bandwidths = Json::array();
    Json segments = Json::array();
    for (const double size : comparison.sizes) {
      const ComparedVariant& variant = row.best(size);
      seconds.push_back(variant.time.seconds(size));
      bandwidths.push_back(size / variant.time.seconds(size));
      segments.push_back(variant.segments);
    }
    json["algorithms"].push_back({{"algorithm", row.algorithm},
                                  {"steps", shown.steps},
                                  {"hops", shown.time.hops},
                                  {"bandwidth_time", shown.bandwidth_time},
                                  {"bandwidth_time_float", shown.bandwidth_time_float},
                                  {"topology_bound", shown.topology_bound},
                                  {"modelled_seconds", seconds},
                                  {"algbw_bytes_per_second", bandwidths},
                                  {"segments", segments},
                                  {"plan_seconds", row.plan_seconds},
                                  {"proof", shown.optimality},
                                  {"lockstep", row.lockstep},
                                  {"verified", row.faults.empty()},
                                  {"errors", row.faults}});
  }
  return json;
}

std::string comparison_text(const Comparison& comparison) {
  std::vector<const ComparedAlgorithm*> able;
  std::vector<std::vector<std::string>> refused;
  for (const ComparedAlgorithm& row : comparison.algorithms) {
    if (row.variants.empty()) {
      refused.push_back({row.algorithm, row.reason});
    } else {
      able.push_back(&row);
    }
  }
  const double size = comparison.sizes.front();
  std::stable_sort(able.begin(), able.end(), [size](const ComparedAlgorithm* a, const ComparedAlgorithm* b) {
    return a->best(size).time.seconds(size) < b->best(size).time.seconds(size);
  });
  std::vector<std::vector<std::string>> rows{{"algorithm", "T_L steps", "hops", "T_B in M/B"}};
  for (const double each : comparison.sizes) rows.front().push_back(size_text(each));
  for (const char* title : {"planned in", "verified", "optimality"}) rows.front().emplace_back(title);
  for (const ComparedAlgorithm* row : able) {
    const ComparedVariant& shown = row->best(size);
    std::vector<std::string>& cells = rows.emplace_back();
    cells = {row->algorithm, std::to_string(shown.steps), std::to_string(shown.time.hops),
             short_text(shown.bandwidth_time, shown.bandwidth_time_float)};
    for (const double each : comparison.sizes) cells.push_back(seconds_text(row->best(each).time.seconds(each)));
    cells.push_back(seconds_text(row->plan_seconds));
    cells.emplace_back(!row->faults.empty() ? "FAULTY: " + row->faults.front() : row->lockstep ? "in lockstep" : "yes");
    cells.push_back(shown.optimality);
  }
  std::string text = std::string(to_string(comparison.collective)) + " on " + comparison.topology.name() +
                     ": N = " + std::to_string(comparison.topology.host_count()) + ", degree " +
                     std::to_string(degree(comparison.topology)) +
                     ", modelled time in lockstep (latencies of a step's longest way, then T_B)\n" + columns(rows);
  if (!refused.empty()) text += "Not here\n" + columns(refused);
  return text;
}

bool all_right(const Comparison& comparison) {
  return std::all_of(comparison.algorithms.begin(), comparison.algorithms.end(),
                     [](const ComparedAlgorithm& row) { return row.faults.empty(); });
}

}  // namespace libcoll::command
