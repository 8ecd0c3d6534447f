#include "libcoll/select/measured_costs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "libcoll/base/clock.h"

namespace libcoll::select {
namespace {

constexpr std::int64_t link_probe_bytes = 8;
constexpr std::int64_t growth_of_short = 8;
constexpr std::int64_t growth_of_long = 4;         ///< links with a queue take a few KB otherwise than many
constexpr std::int64_t second_bytes = 512;         ///< up to there it is all delay
constexpr std::int64_t always_tried_bytes = 4096;  ///< unless that takes twice the time there is
constexpr int most_times = 16;
constexpr int most_times_apart = 8;  ///< with a meeting of all ranks before each
constexpr std::size_t most_tries = 5;
constexpr std::size_t first_calls = 3;
constexpr std::int64_t sizes_in_budget = 6;

/// Of the two sizes that show the bandwidth the longer one is for links on which the shorter one is gone too soon.
constexpr std::int64_t short_probe_bytes = 32 * 1024;
constexpr int short_probe_times = 2;
constexpr std::int64_t long_probe_bytes = 512 * 1024;
constexpr std::int64_t too_soon_nanoseconds = 250'000;

/// One rank's word, of which all are heard.
struct Word {
  std::array<std::int64_t, most_tries> nanoseconds{};
  std::int64_t elapsed = 0;  ///< since the measurement began
  std::int64_t good = 1;
};

/// Of all ranks: each try by the slowest of them.
Word slowest_of(const std::vector<Word>& words) {
  Word slowest = words.front();
  for (const Word& word : words) {
    for (std::size_t attempt = 0; attempt < most_tries; ++attempt) {
      slowest.nanoseconds[attempt] = std::max(slowest.nanoseconds[attempt], word.nanoseconds[attempt]);
    }
    slowest.elapsed = std::max(slowest.elapsed, word.elapsed);
    slowest.good = std::min(slowest.good, word.good);
  }
  return slowest;
}

/// The least of the later half of the tries: before them links may let some bytes through at once, whose rate counts
/// later.
std::int64_t least_of(const Word& slowest, std::size_t attempts) {
  const auto* const begin = slowest.nanoseconds.begin();
  return *std::min_element(begin + attempts / 2, begin + attempts);
}

/// What one of so many in a row takes, by the slowest rank. Nothing when one failed.
std::optional<std::int64_t> measure_in_a_row(Agreement& group, const Measurable& measurable, Nanoseconds now,
                                             std::int64_t bytes, int times) {
  Word mine;
  for (std::size_t attempt = 0; attempt < most_tries && mine.good != 0; ++attempt) {
    const std::int64_t begin = now();
    mine.good = measurable(bytes, times) ? 1 : 0;
    mine.nanoseconds[attempt] = now() - begin;
  }
  std::vector<Word> words(static_cast<std::size_t>(group.size()));
  if (!group.allgather(&mine, sizeof mine, words.data())) return std::nullopt;
  const Word slowest = slowest_of(words);
  if (slowest.good == 0) return std::nullopt;
  return least_of(slowest, most_tries) / times;
}

}  // namespace

std::optional<LinkFigures> find_link_figures(Agreement& group, const Measurable& exchange, Nanoseconds now) {
  const auto measure = [&](std::int64_t bytes, int times) {
    return measure_in_a_row(group, exchange, now, bytes, times);
  };
  const std::optional<std::int64_t> alpha = measure(link_probe_bytes, most_times);
  if (!alpha) return std::nullopt;
  std::int64_t bytes = short_probe_bytes;
  std::optional<std::int64_t> time = measure(bytes, short_probe_times);
  if (time && *time < too_soon_nanoseconds) time = measure(bytes = long_probe_bytes, 1);
  if (!time) return std::nullopt;
  const std::int64_t moving = std::max<std::int64_t>(1, *time - *alpha);
  return LinkFigures{std::max<std::int64_t>(1, *alpha),
                     std::max<std::int64_t>(1, bytes * nanoseconds_per_second / moving)};
}

namespace {

std::int64_t growth_after(std::int64_t bytes) { return bytes < always_tried_bytes ? growth_of_short : growth_of_long; }

std::int64_t next_bytes(std::int64_t bytes) { return std::max(second_bytes, growth_after(bytes) * bytes); }

/// Of the next size, by what the last ones took. Delays do not grow with the bytes, and up to `second_bytes` they are
/// all.
std::int64_t expected_nanoseconds(const std::vector<CostSample>& samples) {
  const CostSample& last = samples.back();
  const std::int64_t growth = growth_after(last.bytes);
  if (samples.size() < 2) return growth * last.nanoseconds;
  const std::int64_t more = std::max<std::int64_t>(0, last.nanoseconds - samples[samples.size() - 2].nanoseconds);
  return std::min(growth * last.nanoseconds, last.nanoseconds + growth * more);
}

/// What is known of one way so far.
struct Sampled {
  Word mine;                     ///< of the present size
  std::int64_t nanoseconds = 0;  ///< of the present size, agreed
  std::int64_t elapsed = 0;      ///< with the meetings, agreed
  int times = 0;                 ///< calls in a try
  bool goes_on = true;
  std::vector<CostSample> samples;
};

/// Makes calls that all ranks begin together, when nothing else is under way. Its functions are collective; false on
/// all ranks when a call failed.
class Sampler {
 public:
  Sampler(Agreement& group, Nanoseconds now)
      : group_(group),
        now_(now),
        words_(static_cast<std::size_t>(group.size())),
        meeting_(static_cast<std::size_t>(group.size())) {}

  bool attempt(const SampledWay& way, Sampled& sampled, std::int64_t bytes, int times, std::size_t attempt) {
    const std::int64_t begin = now_();
    for (int call = 0; call < times; ++call) {
      if (!group_.allgather(&good_, sizeof good_, meeting_.data())) return false;
      if (std::find(meeting_.begin(), meeting_.end(), 0) != meeting_.end()) return false;
      const std::int64_t call_begin = now_();
      good_ = way.call(bytes) ? 1 : 0;
      sampled.mine.nanoseconds[attempt] += now_() - call_begin;
    }
    sampled.mine.elapsed += now_() - begin;
    return true;
  }

  bool agree(Sampled& sampled, int times, std::size_t attempts) {
    sampled.mine.good = good_;
    if (!group_.allgather(&sampled.mine, sizeof sampled.mine, words_.data())) return false;
    const Word slowest = slowest_of(words_);
    sampled.nanoseconds = least_of(slowest, attempts) / times;
    sampled.elapsed = slowest.elapsed;
    sampled.mine.nanoseconds = {};
    return slowest.good != 0;
  }

 private:
  Agreement& group_;
  const Nanoseconds now_;
  std::int64_t good_ = 1;
  std::vector<Word> words_;
  std::vector<std::int64_t> meeting_;
};

/// The first call of a size makes task graphs, and the next ones tell how many there is time for.
bool look_at_size(Sampler& sampler, const SampledWay& way, Sampled& sampled, std::int64_t bytes,
                  std::int64_t budget_nanoseconds) {
  const std::int64_t before = sampled.elapsed;
  for (std::size_t attempt = 0; attempt < first_calls; ++attempt) {
    if (!sampler.attempt(way, sampled, bytes, 1, attempt)) return false;
  }
  if (!sampler.agree(sampled, 1, first_calls)) return false;
  const std::int64_t each =
      std::max<std::int64_t>(1, (sampled.elapsed - before) / static_cast<std::int64_t>(first_calls));
  const std::int64_t affordable = budget_nanoseconds / sizes_in_budget / (each * static_cast<std::int64_t>(most_tries));
  const bool has_time = sampled.elapsed < budget_nanoseconds;
  sampled.times = has_time ? static_cast<int>(std::min<std::int64_t>(affordable, most_times_apart)) : 0;
  return true;
}

/// Whether there is time for the size that follows.
bool goes_on_after(std::int64_t bytes, const Sampled& sampled, std::int64_t budget_nanoseconds) {
  if (bytes < always_tried_bytes && sampled.elapsed < 2 * budget_nanoseconds) return true;
  const std::int64_t expected = static_cast<std::int64_t>(first_calls) * expected_nanoseconds(sampled.samples);
  return sampled.elapsed + expected <= budget_nanoseconds;
}

}  // namespace

std::optional<std::vector<std::vector<CostSample>>> sample_calls(Agreement& group, std::span<const SampledWay> ways,
                                                                 std::int64_t first_bytes,
                                                                 std::int64_t budget_nanoseconds, Nanoseconds now) {
  Sampler sampler(group, now);
  std::vector<Sampled> sampled(ways.size());
  // The very first call makes connections, for as long as that takes.
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (!sampler.attempt(ways[i], sampled[i], first_bytes, 1, 0) || !sampler.agree(sampled[i], 1, 1)) {
      return std::nullopt;
    }
    sampled[i].mine.elapsed = sampled[i].elapsed = 0;
  }
  const auto any_goes_on = [&](std::int64_t bytes) {
    bool any = false;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      sampled[i].goes_on = sampled[i].goes_on && bytes <= ways[i].largest_bytes;
      any = any || sampled[i].goes_on;
    }
    return any;
  };
  for (std::int64_t bytes = first_bytes; any_goes_on(bytes); bytes = next_bytes(bytes)) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (!sampled[i].goes_on) continue;
      if (!look_at_size(sampler, ways[i], sampled[i], bytes, budget_nanoseconds)) return std::nullopt;
    }
    // In turn: what else goes on meanwhile meets all ways alike.
    for (std::size_t attempt = 0; attempt < most_tries; ++attempt) {
      for (std::size_t i = 0; i < ways.size(); ++i) {
        if (!sampled[i].goes_on || sampled[i].times == 0) continue;
        if (!sampler.attempt(ways[i], sampled[i], bytes, sampled[i].times, attempt)) return std::nullopt;
      }
    }
    for (Sampled& way : sampled) {
      if (!way.goes_on) continue;
      if (way.times > 0 && !sampler.agree(way, way.times, most_tries)) return std::nullopt;
      way.samples.push_back({bytes, way.nanoseconds});
      way.goes_on = goes_on_after(bytes, way, budget_nanoseconds);
    }
  }
  std::vector<std::vector<CostSample>> samples;
  samples.reserve(sampled.size());
  for (Sampled& way : sampled) samples.push_back(std::move(way.samples));
  return samples;
}

}  // namespace libcoll::select
