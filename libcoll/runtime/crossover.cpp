#include "libcoll/runtime/crossover.h"

#include <algorithm>
#include <array>
#include <vector>

#include "libcoll/runtime/safe_file.h"
#include "libcoll/runtime/tuning_table.h"

namespace libcoll {
namespace {

constexpr std::int64_t first_bytes = 8;
constexpr std::int64_t growth = 8;
constexpr std::size_t tries = 5;
/// MPI has to be faster by one part in this many: what lies nearer is noise.
constexpr std::int64_t margin_parts = 20;

/// One rank's word after a size.
struct Times {
  std::array<std::int64_t, tries> plan;
  std::array<std::int64_t, tries> native;
  std::int64_t elapsed;  ///< since the contest began
  std::int64_t good;
};

std::int64_t median(std::array<std::int64_t, tries> values) {
  auto* const middle = values.begin() + tries / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Both ways in turn. The first calls make connections and scripts and do not count.
bool try_size(const Contest& contest, std::int64_t bytes, Times& times) {
  if (!contest.plan(bytes) || !contest.native(bytes)) return false;
  for (std::size_t attempt = 0; attempt < tries; ++attempt) {
    const std::int64_t begin = contest.now();
    if (!contest.plan(bytes)) return false;
    const std::int64_t middle = contest.now();
    if (!contest.native(bytes)) return false;
    times.plan[attempt] = middle - begin;
    times.native[attempt] = contest.now() - middle;
  }
  return true;
}

/// A call has ended when its slowest rank has.
Times slowest_of(const std::vector<Times>& ranks) {
  Times slowest = ranks.front();
  for (const Times& rank : ranks) {
    for (std::size_t attempt = 0; attempt < tries; ++attempt) {
      slowest.plan[attempt] = std::max(slowest.plan[attempt], rank.plan[attempt]);
      slowest.native[attempt] = std::max(slowest.native[attempt], rank.native[attempt]);
    }
    slowest.elapsed = std::max(slowest.elapsed, rank.elapsed);
    slowest.good = std::min(slowest.good, rank.good);
  }
  return slowest;
}

std::string file_name(const CrossoverPlace& place) {
  std::string name = "crossover-";
  name.append(place.plan_file.substr(0, place.plan_file.find('.'))).append("-").append(to_string(place.call));
  name.append("-").append(std::to_string(place.ranks)).append("-").append(std::to_string(place.nodes));
  name.append("-").append(place.transport).append(".toml");
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

}  // namespace

std::optional<std::int64_t> find_crossover(HostCommunicator& host, const Contest& contest) {
  const std::int64_t begin = contest.now();
  std::int64_t up_to = never_native;
  std::vector<Times> ranks(static_cast<std::size_t>(host.size()));
  for (std::int64_t bytes = first_bytes; bytes <= contest.largest_bytes; bytes *= growth) {
    Times mine{};
    mine.good = try_size(contest, bytes, mine) ? 1 : 0;
    mine.elapsed = contest.now() - begin;
    // From here on every rank looks at the same figures.
    if (!host.allgather(&mine, sizeof mine, ranks.data())) return std::nullopt;
    const Times call = slowest_of(ranks);
    if (call.good == 0) return std::nullopt;
    const std::int64_t native = median(call.native);
    if (native + native / margin_parts >= median(call.plan)) break;
    up_to = bytes;
    if (call.elapsed > contest.budget_nanoseconds) break;
  }
  return up_to;
}

std::optional<std::int64_t> load_crossover(const CrossoverPlace& place) {
  const Result<std::optional<FileDescriptor>> directory = open_trusted_directory(place.directory);
  if (!directory || !directory->has_value()) return std::nullopt;
  const Result<std::optional<std::string>> text = read_trusted_file((*directory)->get(), file_name(place), {});
  if (!text || !text->has_value()) return std::nullopt;
  const Result<TuningTable> table = read_tuning_table(**text, file_name(place));
  if (!table) return std::nullopt;
  std::optional<std::int64_t> up_to;
  for (const TuningChoice& choice : table->choices) {
    if (choice.call != place.call || choice.ranks != place.ranks) return std::nullopt;
    if (!up_to) up_to = never_native;
    if (choice.native) up_to = choice.up_to_bytes;
  }
  return up_to;
}

Status store_crossover(const CrossoverPlace& place, std::int64_t up_to_bytes) {
  const Result<std::optional<FileDescriptor>> directory = open_trusted_directory(place.directory);
  if (!directory) return directory.error();
  if (!directory->has_value()) return Error{"there is no directory " + place.directory};
  TuningTable table;
  if (up_to_bytes >= 0) table.choices.push_back({place.call, place.ranks, up_to_bytes, true, 0});
  table.choices.push_back({place.call, place.ranks, TuningChoice().up_to_bytes, false, 0});
  return replace_file((*directory)->get(), file_name(place), write_tuning_table(table));
}

}  // namespace libcoll
