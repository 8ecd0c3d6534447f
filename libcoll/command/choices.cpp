#include "libcoll/command/choices.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "libcoll/comm/learned_rows.h"
#include "libcoll/plan/plan_cache.h"

namespace libcoll::command {

using namespace comm;
using namespace plan;
using namespace select;
using namespace topology;

namespace {

bool is_limited(const TuningChoice& choice) { return choice.up_to_bytes != std::numeric_limits<std::int64_t>::max(); }

std::string heading(const Topology& topology, const JobChoices& job) {
  std::string text = topology.name() + ", " + std::to_string(job.place.ranks) + " ranks on " +
                     std::to_string(job.place.nodes) + " nodes over " + job.place.transport + ", " + job.place.mpi;
  if (job.links) {
    text += ": α = " + std::to_string(job.links->alpha_nanoseconds) +
            " ns, b = " + std::to_string(job.links->bytes_per_second) + " B/s";
  }
  return text + "\n";
}

/// Of calls that something is known of.
std::vector<SelectionRow> known_rows(const SelectionTable& selection) {
  std::vector<SelectionRow> known;
  for (std::size_t kind = 0; kind < call_count; ++kind) {
    const std::span<const SelectionRow> rows = selection.rows(static_cast<CallKind>(kind), false);
    const auto is_known = [](const SelectionRow& row) { return row.source != RowSource::built_in; };
    if (std::any_of(rows.begin(), rows.end(), is_known)) known.insert(known.end(), rows.begin(), rows.end());
  }
  return known;
}

Json json_of(const JobChoices& job) {
  Json list = Json::array();
  for (const auto& [choice, source] : known_rows(job.selection)) {
    Json entry = {{"call", to_string(choice.call)}};
    entry["up_to_bytes"] = is_limited(choice) ? Json(choice.up_to_bytes) : Json(nullptr);
    entry["use"] = way_name(choice);
    entry["segment_bytes"] = choice.segment_bytes > 0 ? Json(choice.segment_bytes) : Json(nullptr);
    entry["in_flight"] = choice.in_flight > 0 ? Json(choice.in_flight) : Json(nullptr);
    entry["from"] = to_string(source);
    list.push_back(entry);
  }
  Json json = {{"ranks", job.place.ranks}, {"nodes", job.place.nodes}, {"transport", job.place.transport}};
  json["mpi"] = job.place.mpi;
  json["alpha_nanoseconds"] = job.links ? Json(job.links->alpha_nanoseconds) : Json(nullptr);
  json["bytes_per_second"] = job.links ? Json(job.links->bytes_per_second) : Json(nullptr);
  json["choices"] = list;
  return json;
}

TuningTable tuning_table_of(const Config& config) {
  if (config.tuning_table.empty()) return {};
  Result<TuningTable> table = load_tuning_table(config.tuning_table);
  if (table) return std::move(*table);
  warn(table.error().message);
  return {};
}

SelectionTable selection_of(const Config& config, const TuningTable& tuning, const ChoicePlace& place,
                            const TuningTable& kept) {
  const bool must_be_faster = place.nodes == 1 && config.one_node == OneNode::faster;
  std::vector<TuningChoice> modelled;
  std::copy_if(kept.choices.begin(), kept.choices.end(), std::back_inserter(modelled), [&](const TuningChoice& choice) {
    return choice.ranks == place.ranks && wants_cost_model(config, choice.call, must_be_faster);
  });
  SelectionTable selection(config, tuning, place.ranks);
  selection.add(RowSource::cost_model, modelled);
  return selection;
}

}  // namespace

std::vector<JobChoices> find_choices(const Topology& topology, const Config& config) {
  const std::string directory = cache_directory(config.cache_dir);
  const TuningTable tuning = tuning_table_of(config);
  std::vector<JobChoices> found;
  for (const ChoicePlace& place : kept_choices(directory, topology_hash(topology))) {
    Result<std::optional<TuningTable>> kept = load_choices(place);
    if (!kept) {
      warn(kept.error().message);
    } else if (kept->has_value()) {
      found.push_back({place, (*kept)->links, selection_of(config, tuning, place, **kept)});
    }
  }
  return found;
}

Json choices_json(const Topology& topology, const std::vector<JobChoices>& jobs) {
  Json list = Json::array();
  for (const JobChoices& job : jobs) list.push_back(json_of(job));
  return {{"choices", {{"topology", topology.name()}, {"jobs", list}}}};
}

std::string choices_text(const Topology& topology, const std::vector<JobChoices>& jobs) {
  if (jobs.empty()) {
    return topology.name() + ": nothing is kept yet; the first job's first call of a kind measures and chooses\n";
  }
  std::string text;
  for (const JobChoices& job : jobs) {
    std::vector<std::vector<std::string>> rows = {{"call", "up to bytes", "use", "segment bytes", "in flight", "from"}};
    for (const auto& [choice, source] : known_rows(job.selection)) {
      rows.push_back({std::string(to_string(choice.call)),
                      is_limited(choice) ? std::to_string(choice.up_to_bytes) : "above", std::string(way_name(choice)),
                      choice.segment_bytes > 0 ? std::to_string(choice.segment_bytes) : "",
                      choice.in_flight > 0 ? std::to_string(choice.in_flight) : "", std::string(to_string(source))});
    }
    text += heading(topology, job) + columns(rows);
  }
  return text;
}

}  // namespace libcoll::command
