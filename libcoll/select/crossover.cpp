#include "libcoll/select/crossover.h"

#include <algorithm>
#include <array>
#include <vector>

#include "libcoll/base/safe_file.h"
#include "libcoll/select/tuning_table.h"

namespace libcoll::select {
namespace {

constexpr std::int64_t first_bytes = 8;
constexpr std::int64_t growth = 8;
constexpr std::size_t tries = 5;
/// A try is this many calls in a row, as programs make them: what ranks lag behind after the other way's calls then
/// weighs little. Where calls are slow it is fewer, so that a size takes its part of the time only.
constexpr std::int64_t most_calls_per_try = 8;
constexpr std::int64_t sizes_in_time = 6;
/// MPI has to be faster by one part in this many: what lies nearer is noise.
constexpr std::int64_t margin_parts = 20;

/// One rank's word after a size, or after its first calls: one try of one call.
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

class Trials {
 public:
  Trials(Agreement& group, const Contest& contest)
      : group_(group), contest_(contest), began_(contest.now()), ranks_(static_cast<std::size_t>(group.size())) {}

  /// What all ranks agree the two ways take; nothing when a call failed.
  std::optional<Times> try_size(std::int64_t bytes) {
    // The very first calls make connections and task graphs.
    Times mine{};
    mine.good = run(contest_.plan, bytes, 1) && run(contest_.native, bytes, 1) && measure(bytes, 1, 1, mine) ? 1 : 0;
    const std::optional<Times> first = agree(mine);
    if (!first) return std::nullopt;
    const std::int64_t both = first->plan.front() + first->native.front();
    const std::int64_t share = contest_.budget_nanoseconds / (2 * sizes_in_time);
    const std::int64_t affordable = share / std::max<std::int64_t>(1, both * static_cast<std::int64_t>(tries));
    mine.good = measure(bytes, std::clamp<std::int64_t>(affordable, 1, most_calls_per_try), tries, mine) ? 1 : 0;
    return agree(mine);
  }

 private:
  static bool run(const std::function<bool(std::int64_t)>& way, std::int64_t bytes, std::int64_t calls) {
    for (std::int64_t call = 0; call < calls; ++call) {
      if (!way(bytes)) return false;
    }
    return true;
  }

  /// Both ways in turn.
  bool measure(std::int64_t bytes, std::int64_t calls, std::size_t attempts, Times& times) const {
    for (std::size_t attempt = 0; attempt < attempts; ++attempt) {
      const std::int64_t begin = contest_.now();
      if (!run(contest_.plan, bytes, calls)) return false;
      const std::int64_t middle = contest_.now();
      if (!run(contest_.native, bytes, calls)) return false;
      times.plan[attempt] = middle - begin;
      times.native[attempt] = contest_.now() - middle;
    }
    return true;
  }

  /// From here on every rank looks at the same figures.
  std::optional<Times> agree(Times mine) {
    mine.elapsed = contest_.now() - began_;
    if (!group_.allgather(&mine, sizeof mine, ranks_.data())) return std::nullopt;
    const Times all = slowest_of(ranks_);
    if (all.good == 0) return std::nullopt;
    return all;
  }

  Agreement& group_;
  const Contest& contest_;
  const std::int64_t began_;
  std::vector<Times> ranks_;
};

std::string file_name(const CrossoverPlace& place) {
  std::string name = "crossover-";
  name.append(place.plan_file.substr(0, place.plan_file.find('.'))).append("-").append(to_string(place.call));
  name.append("-").append(std::to_string(place.ranks)).append("-").append(std::to_string(place.nodes));
  name.append("-").append(place.transport).append(".toml");
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

}  // namespace

std::optional<std::int64_t> find_crossover(Agreement& group, const Contest& contest) {
  Trials trials(group, contest);
  std::int64_t up_to = never_native;
  for (std::int64_t bytes = first_bytes; bytes <= contest.largest_bytes; bytes *= growth) {
    const std::optional<Times> times = trials.try_size(bytes);
    if (!times) return std::nullopt;
    const std::int64_t native = median(times->native);
    if (native + native / margin_parts >= median(times->plan)) break;
    up_to = bytes;
    if (times->elapsed > contest.budget_nanoseconds) break;
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

}  // namespace libcoll::select
