#include "libcoll/select/choice_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <tuple>

#include "libcoll/base/plan_name.h"
#include "libcoll/base/safe_file.h"

namespace libcoll::select {

using namespace schedule;
using namespace topology;

namespace {

constexpr std::string_view file_ending = ".toml";

/// Until 0.12.0 it was "choice-": those were measured another way.
std::string beginning(const std::string& topology) { return "choices-" + topology + "-"; }

std::string file_name(const ChoicePlace& place) {
  std::string name = beginning(place.topology) + std::to_string(place.ranks) + "-" + std::to_string(place.nodes) + "-" +
                     place.transport + "-" + place.mpi + std::string(file_ending);
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

/// Takes "8-" off the front; nothing when there is no such thing.
std::optional<std::int32_t> take_number(std::string_view& text) {
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto length = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || length == text.size() || text[length] != '-') return std::nullopt;
  text.remove_prefix(length + 1);
  return number;
}

/// What file_name() was made of; nothing for other files' names.
std::optional<ChoicePlace> place_of(std::string_view name, const std::string& directory, const std::string& topology) {
  if (!name.starts_with(beginning(topology)) || !name.ends_with(file_ending)) return std::nullopt;
  name.remove_prefix(beginning(topology).size());
  name.remove_suffix(file_ending.size());
  const std::optional<std::int32_t> ranks = take_number(name);
  const std::optional<std::int32_t> nodes = ranks ? take_number(name) : std::nullopt;
  const std::size_t last = nodes ? name.rfind('-') : std::string_view::npos;
  if (last == std::string_view::npos) return std::nullopt;
  return ChoicePlace{
      directory, topology, *ranks, *nodes, std::string(name.substr(0, last)), std::string(name.substr(last + 1))};
}

}  // namespace

std::string topology_hash(const Topology& topology) {
  const std::string plan = plan_file_name(topology, Collective::allgather, automatic_plan);
  const std::size_t begin = plan.rfind('-') + 1;
  return plan.substr(begin, plan.find('.') - begin);
}

Result<std::optional<TuningTable>> load_choices(const ChoicePlace& place) {
  const std::string name = file_name(place);
  const auto useless = [&](const std::string& why) { return Error{"choices " + place.directory + "/" + why}; };
  const Result<std::optional<FileDescriptor>> directory = open_trusted_directory(place.directory);
  if (!directory) return useless(" " + directory.error().message);
  if (!directory->has_value()) return std::optional<TuningTable>();
  const Result<std::optional<std::string>> text = read_trusted_file((*directory)->get(), name, {});
  if (!text) return useless(name + " " + text.error().message);
  if (!text->has_value()) return std::optional<TuningTable>();
  Result<TuningTable> table = read_tuning_table(**text, name);
  if (!table) return useless(table.error().message);
  return std::optional<TuningTable>(std::move(table).value());
}

Status store_choices(const ChoicePlace& place, const TuningTable& table) {
  const Result<std::optional<FileDescriptor>> directory = open_trusted_directory(place.directory);
  if (!directory) return Error{place.directory + " " + directory.error().message};
  if (!directory->has_value()) return Error{"there is no directory " + place.directory};
  return replace_file((*directory)->get(), file_name(place), write_tuning_table(table));
}

std::vector<ChoicePlace> kept_choices(const std::string& directory, const std::string& topology) {
  std::vector<ChoicePlace> places;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::optional<ChoicePlace> place = place_of(entry->path().filename().string(), directory, topology);
    if (place) places.push_back(*place);
  }
  std::sort(places.begin(), places.end(), [](const ChoicePlace& a, const ChoicePlace& b) {
    return std::tie(a.ranks, a.nodes, a.transport, a.mpi) < std::tie(b.ranks, b.nodes, b.transport, b.mpi);
  });
  return places;
}

}  // namespace libcoll::select
