#include "libcoll/command/choices.h"

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "libcoll/plan/plan_cache.h"

namespace libcoll::command {
namespace {

bool is_limited(const TuningChoice& choice) { return choice.up_to_bytes != std::numeric_limits<std::int64_t>::max(); }

std::string heading(const Topology& topology, const KeptChoices& kept) {
  std::string text = topology.name() + ", " + std::to_string(kept.place.ranks) + " ranks on " +
                     std::to_string(kept.place.nodes) + " nodes over " + kept.place.transport;
  if (kept.table.links) {
    text += ": α = " + std::to_string(kept.table.links->alpha_nanoseconds) +
            " ns, b = " + std::to_string(kept.table.links->bytes_per_second) + " B/s";
  }
  return text + "\n";
}

Json json_of(const KeptChoices& kept) {
  Json list = Json::array();
  for (const TuningChoice& choice : kept.table.choices) {
    Json entry = {{"call", to_string(choice.call)}};
    entry["up_to_bytes"] = is_limited(choice) ? Json(choice.up_to_bytes) : Json(nullptr);
    entry["use"] = way_name(choice);
    entry["segment_bytes"] = choice.segment_bytes > 0 ? Json(choice.segment_bytes) : Json(nullptr);
    entry["in_flight"] = choice.in_flight > 0 ? Json(choice.in_flight) : Json(nullptr);
    list.push_back(entry);
  }
  Json json = {{"ranks", kept.place.ranks}, {"nodes", kept.place.nodes}, {"transport", kept.place.transport}};
  json["alpha_nanoseconds"] = kept.table.links ? Json(kept.table.links->alpha_nanoseconds) : Json(nullptr);
  json["bytes_per_second"] = kept.table.links ? Json(kept.table.links->bytes_per_second) : Json(nullptr);
  json["choices"] = list;
  return json;
}

}  // namespace

std::vector<KeptChoices> find_choices(const Topology& topology, const Config& config) {
  const std::string directory = config.cache_dir.empty() ? default_cache_dir() : config.cache_dir;
  std::vector<KeptChoices> found;
  for (const ChoicePlace& place : kept_choices(directory, topology_hash(topology))) {
    Result<std::optional<TuningTable>> table = load_choices(place);
    if (!table) {
      warn(table.error().message);
    } else if (table->has_value()) {
      found.push_back({place, std::move(**table)});
    }
  }
  return found;
}

Json choices_json(const Topology& topology, const std::vector<KeptChoices>& kept) {
  Json jobs = Json::array();
  for (const KeptChoices& each : kept) jobs.push_back(json_of(each));
  return {{"choices", {{"topology", topology.name()}, {"jobs", jobs}}}};
}

std::string choices_text(const Topology& topology, const std::vector<KeptChoices>& kept) {
  if (kept.empty()) {
    return topology.name() + ": nothing is kept yet; the first job's first call of a kind measures and chooses\n";
  }
  std::string text;
  for (const KeptChoices& each : kept) {
    std::vector<std::vector<std::string>> rows = {{"call", "up to bytes", "use", "segment bytes", "in flight"}};
    for (const TuningChoice& choice : each.table.choices) {
      rows.push_back({std::string(to_string(choice.call)),
                      is_limited(choice) ? std::to_string(choice.up_to_bytes) : "above", std::string(way_name(choice)),
                      choice.segment_bytes > 0 ? std::to_string(choice.segment_bytes) : "",
                      choice.in_flight > 0 ? std::to_string(choice.in_flight) : ""});
    }
    text += heading(topology, each) + columns(rows);
  }
  return text;
}

}  // namespace libcoll::command
