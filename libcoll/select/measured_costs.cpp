#include "libcoll/select/measured_costs.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "libcoll/base/clock.h"

namespace libcoll::select {
namespace {

constexpr std::int64_t link_probe_bytes = 8;
constexpr std::int64_t second_bytes = 512;         ///< up to there it is all delay
constexpr std::int64_t always_tried_bytes = 4096;  ///< unless that takes twice the time there is
constexpr std::int64_t first_close_bytes = 2048;
constexpr std::int64_t last_close_bytes = 32 * 1024;
constexpr int most_times = 16;
constexpr std::size_t most_tries = 5;
constexpr int first_calls = 3;
constexpr int most_calls = 40;  ///< after them
/// MPIs copy messages through some hundred buffers in turn, each of which is slow at its first use: of short calls
/// there are so many more, of this time together.
constexpr int most_further_calls = 240;
constexpr std::int64_t further_calls_nanoseconds = 2'000'000;
constexpr std::int64_t sizes_in_budget = 8;

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

/// Between 2 and 32 KB MPIs change their ways, and queues of links fill up.
std::int64_t growth_after(std::int64_t bytes) {
  if (bytes < first_close_bytes) return 4;
  return bytes < last_close_bytes ? 2 : 4;
}

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
  std::vector<std::int64_t> nanoseconds;  ///< of this rank's calls of the present size
  std::int64_t elapsed = 0;               ///< with the meetings, agreed after each size
  std::int64_t elapsed_before = 0;        ///< the present size
  int calls = 0;                          ///< of the present size, agreed
  bool goes_on = true;
  std::vector<CostSample> samples;
};

/// Of the calls but the first half, before which links may let some bytes through at once, whose rate counts later,
/// and but the longest tenth of the others, which something else on the machine may have held up.
std::int64_t mean_of_last(std::vector<std::int64_t> nanoseconds) {
  nanoseconds.erase(nanoseconds.begin(), nanoseconds.begin() + static_cast<std::ptrdiff_t>(nanoseconds.size() / 2));
  std::sort(nanoseconds.begin(), nanoseconds.end());
  const std::size_t longest = (nanoseconds.size() + 5) / 10;  // rounded
  nanoseconds.resize(nanoseconds.size() - longest);
  const std::int64_t sum = std::accumulate(nanoseconds.begin(), nanoseconds.end(), std::int64_t{0});
  return sum / static_cast<std::int64_t>(nanoseconds.size());
}

/// Makes calls that all ranks begin together, when nothing else is under way. Its functions are collective.
class Sampler {
 public:
  Sampler(Agreement& group, Nanoseconds now)
      : group_(group), now_(now), words_(static_cast<std::size_t>(group.size())) {}

  /// Calls in a row. A rank on which one failed makes no more of them, and keeps the others company.
  void call(const SampledWay& way, Sampled& sampled, std::int64_t bytes, int times) {
    for (int call = 0; call < times; ++call) {
      const std::int64_t begin = now_();
      good_ = group_.barrier() ? good_ : 0;
      const std::int64_t call_begin = now_();
      good_ = good_ != 0 && way.call(bytes) ? 1 : 0;
      const std::int64_t end = now_();
      sampled.nanoseconds.push_back(end - call_begin);
      sampled.elapsed += end - begin;
    }
  }

  /// What a call of the present size takes, by the mean of all ranks, and the time that has gone by on the slowest one.
  /// False on all ranks when a call failed.
  bool agree(Sampled& sampled, std::int64_t& nanoseconds) {
    const RankWord mine{mean_of_last(sampled.nanoseconds), sampled.elapsed, good_};
    if (!group_.allgather(&mine, sizeof mine, words_.data())) return false;
    std::int64_t sum = 0;
    bool good = true;
    for (const RankWord& word : words_) {
      sum += word.nanoseconds;
      sampled.elapsed = std::max(sampled.elapsed, word.elapsed);
      good = good && word.good != 0;
    }
    nanoseconds = sum / group_.size();
    return good;
  }

 private:
  struct RankWord {
    std::int64_t nanoseconds;
    std::int64_t elapsed;
    std::int64_t good;
  };

  Agreement& group_;
  const Nanoseconds now_;
  std::int64_t good_ = 1;
  std::vector<RankWord> words_;
};

/// The first call of a size makes task graphs, and the next ones tell how many there is time for.
bool look_at_size(Sampler& sampler, const SampledWay& way, Sampled& sampled, std::int64_t bytes,
                  std::int64_t budget_nanoseconds, std::int64_t& nanoseconds) {
  sampled.elapsed_before = sampled.elapsed;
  sampled.nanoseconds.clear();
  sampler.call(way, sampled, bytes, first_calls);
  if (!sampler.agree(sampled, nanoseconds)) return false;
  const std::int64_t each = std::max<std::int64_t>(1, (sampled.elapsed - sampled.elapsed_before) / first_calls);
  const bool has_time = sampled.elapsed < budget_nanoseconds;
  const std::int64_t affordable = has_time ? budget_nanoseconds / sizes_in_budget / each : 0;
  sampled.calls = static_cast<int>(std::min<std::int64_t>(affordable, most_calls));
  return true;
}

/// By what a call of the present size has taken so far, with the meeting before it.
bool look_longer(Sampler& sampler, const SampledWay& way, Sampled& sampled, std::int64_t bytes,
                 std::int64_t& nanoseconds) {
  const std::int64_t elapsed = sampled.elapsed - sampled.elapsed_before;
  const std::int64_t each = std::max<std::int64_t>(1, elapsed / (first_calls + most_calls));
  const auto more = static_cast<int>(std::min<std::int64_t>(further_calls_nanoseconds / each, most_further_calls));
  if (sampled.calls < most_calls || more < most_calls) return true;
  sampler.call(way, sampled, bytes, more);
  return sampler.agree(sampled, nanoseconds);
}

/// Whether there is time for the size that follows.
bool goes_on_after(std::int64_t bytes, const Sampled& sampled, std::int64_t budget_nanoseconds) {
  if (bytes < always_tried_bytes && sampled.elapsed < 2 * budget_nanoseconds) return true;
  const std::int64_t expected = first_calls * expected_nanoseconds(sampled.samples);
  return sampled.elapsed + expected <= budget_nanoseconds;
}

}  // namespace

std::optional<std::vector<std::vector<CostSample>>> sample_calls(Agreement& group, std::span<const SampledWay> ways,
                                                                 std::int64_t first_bytes,
                                                                 std::int64_t budget_nanoseconds, Nanoseconds now) {
  Sampler sampler(group, now);
  std::vector<Sampled> sampled(ways.size());
  // The very first call makes connections, for as long as that takes.
  std::vector<std::int64_t> nanoseconds(ways.size());
  for (std::size_t i = 0; i < ways.size(); ++i) {
    sampler.call(ways[i], sampled[i], first_bytes, 1);
    if (!sampler.agree(sampled[i], nanoseconds[i])) return std::nullopt;
    sampled[i].elapsed = 0;
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
      if (!look_at_size(sampler, ways[i], sampled[i], bytes, budget_nanoseconds, nanoseconds[i])) return std::nullopt;
    }
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (sampled[i].goes_on) sampler.call(ways[i], sampled[i], bytes, sampled[i].calls);
    }
    for (std::size_t i = 0; i < ways.size(); ++i) {
      Sampled& way = sampled[i];
      if (!way.goes_on) continue;
      if (way.calls > 0 && !sampler.agree(way, nanoseconds[i])) return std::nullopt;
      if (!look_longer(sampler, ways[i], way, bytes, nanoseconds[i])) return std::nullopt;
      way.samples.push_back({bytes, nanoseconds[i]});
      way.goes_on = goes_on_after(bytes, way, budget_nanoseconds);
    }
  }
  std::vector<std::vector<CostSample>> samples;
  samples.reserve(sampled.size());
  for (Sampled& way : sampled) samples.push_back(std::move(way.samples));
  return samples;
}

}  // namespace libcoll::select
