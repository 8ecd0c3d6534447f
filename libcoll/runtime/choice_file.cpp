#include "libcoll/runtime/choice_file.h"

#include <algorithm>

#include "libcoll/runtime/safe_file.h"

namespace libcoll {
namespace {

std::string file_name(const ChoicePlace& place) {
  std::string name = "choice-" + place.topology + "-" + std::to_string(place.ranks) + "-" +
                     std::to_string(place.nodes) + "-" + place.transport + ".toml";
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

}  // namespace

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

}  // namespace libcoll
