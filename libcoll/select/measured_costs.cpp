#include "libcoll/select/measured_costs.h"

#include <algorithm>
#include <array>

#include "libcoll/base/clock.h"

namespace libcoll::select {
namespace {

constexpr std::int64_t link_probe_bytes = 8;
constexpr std::int64_t size_growth = 8;
constexpr std::int64_t second_bytes = 512;         ///< up to there it is all delay
constexpr std::int64_t always_tried_bytes = 4096;  ///< unless that takes twice the time there is
constexpr int most_times = 16;
constexpr int most_times_apart = 8;  ///< with a meeting of all ranks before each
constexpr std::size_t most_tries = 5;
constexpr std::int64_t first_calls = 3;
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

class Measurement {
 public:
  Measurement(Agreement& group, const Measurable& measurable, Nanoseconds now)
      : group_(group),
        measurable_(measurable),
        now_(now),
        began_(now()),
        words_(static_cast<std::size_t>(group.size())),
        meeting_(static_cast<std::size_t>(group.size())) {}

  /// What one of them in a row takes.
  std::optional<std::int64_t> measure(std::int64_t bytes, int times, std::size_t attempts = most_tries) {
    Word mine;
    for (std::size_t attempt = 0; attempt < attempts && mine.good != 0; ++attempt) {
      const std::int64_t begin = now_();
      mine.good = measurable_(bytes, times) ? 1 : 0;
      mine.nanoseconds[attempt] = now_() - begin;
    }
    return agree(mine, times, attempts);
  }

  /// What one takes that all ranks begin together, when nothing else is under way.
  std::optional<std::int64_t> measure_apart(std::int64_t bytes, int times, std::size_t attempts = most_tries) {
    Word mine;
    for (std::size_t attempt = 0; attempt < attempts; ++attempt) {
      for (int call = 0; call < times; ++call) {
        if (!group_.allgather(&mine.good, sizeof mine.good, meeting_.data())) return std::nullopt;
        if (std::find(meeting_.begin(), meeting_.end(), 0) != meeting_.end()) return std::nullopt;
        const std::int64_t begin = now_();
        mine.good = measurable_(bytes, 1) ? 1 : 0;
        mine.nanoseconds[attempt] += now_() - begin;
      }
    }
    return agree(mine, times, attempts);
  }

  /// Agreed at the last measurement.
  [[nodiscard]] std::int64_t elapsed() const { return elapsed_; }

 private:
  /// By the slowest rank, the least of the later half of the tries: before them links may let some bytes through at
  /// once, whose rate counts later. Nothing when one failed.
  std::optional<std::int64_t> agree(Word& mine, int times, std::size_t attempts) {
    mine.elapsed = now_() - began_;
    if (!group_.allgather(&mine, sizeof mine, words_.data())) return std::nullopt;
    Word slowest = words_.front();
    for (const Word& word : words_) {
      for (std::size_t attempt = 0; attempt < most_tries; ++attempt) {
        slowest.nanoseconds[attempt] = std::max(slowest.nanoseconds[attempt], word.nanoseconds[attempt]);
      }
      slowest.elapsed = std::max(slowest.elapsed, word.elapsed);
      slowest.good = std::min(slowest.good, word.good);
    }
    if (slowest.good == 0) return std::nullopt;
    elapsed_ = slowest.elapsed;
    return *std::min_element(slowest.nanoseconds.begin() + attempts / 2, slowest.nanoseconds.begin() + attempts) /
           times;
  }

  Agreement& group_;
  const Measurable& measurable_;
  const Nanoseconds now_;
  const std::int64_t began_;
  std::int64_t elapsed_ = 0;
  std::vector<Word> words_;
  std::vector<std::int64_t> meeting_;
};

}  // namespace

std::optional<LinkFigures> find_link_figures(Agreement& group, const Measurable& exchange, Nanoseconds now) {
  Measurement measurement(group, exchange, now);
  const std::optional<std::int64_t> alpha = measurement.measure(link_probe_bytes, most_times);
  if (!alpha) return std::nullopt;
  std::int64_t bytes = short_probe_bytes;
  std::optional<std::int64_t> time = measurement.measure(bytes, short_probe_times);
  if (time && *time < too_soon_nanoseconds) time = measurement.measure(bytes = long_probe_bytes, 1);
  if (!time) return std::nullopt;
  const std::int64_t moving = std::max<std::int64_t>(1, *time - *alpha);
  return LinkFigures{std::max<std::int64_t>(1, *alpha),
                     std::max<std::int64_t>(1, bytes * nanoseconds_per_second / moving)};
}

namespace {

std::int64_t next_bytes(std::int64_t bytes) { return std::max(second_bytes, size_growth * bytes); }

/// Of the next size, by what the last ones took. Delays do not grow with the bytes, and up to `second_bytes` they are
/// all.
std::int64_t expected_nanoseconds(const std::vector<CostSample>& samples) {
  const CostSample& last = samples.back();
  if (samples.size() < 2) return size_growth * last.nanoseconds;
  const std::int64_t more = std::max<std::int64_t>(0, last.nanoseconds - samples[samples.size() - 2].nanoseconds);
  return std::min(size_growth * last.nanoseconds, last.nanoseconds + size_growth * more);
}

}  // namespace

std::optional<std::vector<CostSample>> sample_calls(Agreement& group, const Measurable& calls,
                                                    std::int64_t largest_bytes, std::int64_t budget_nanoseconds,
                                                    Nanoseconds now, std::int64_t first_bytes) {
  // The very first call makes connections, for as long as that takes.
  if (!Measurement(group, calls, now).measure_apart(first_bytes, 1, 1)) return std::nullopt;
  Measurement measurement(group, calls, now);
  std::vector<CostSample> samples;
  for (std::int64_t bytes = first_bytes; bytes <= largest_bytes; bytes = next_bytes(bytes)) {
    // The first call of a size makes task graphs, and the next one tells how many there is time for.
    const std::int64_t began = measurement.elapsed();
    std::optional<std::int64_t> time = measurement.measure_apart(bytes, 1, first_calls);
    if (!time) return std::nullopt;
    // With the meetings.
    const std::int64_t each = std::max<std::int64_t>(1, (measurement.elapsed() - began) / first_calls);
    const std::int64_t affordable =
        budget_nanoseconds / sizes_in_budget / (each * static_cast<std::int64_t>(most_tries));
    if (affordable > 0 && measurement.elapsed() < budget_nanoseconds) {
      time = measurement.measure_apart(bytes, static_cast<int>(std::min<std::int64_t>(affordable, most_times_apart)));
    }
    if (!time) return std::nullopt;
    samples.push_back({bytes, *time});
    if (bytes < always_tried_bytes && measurement.elapsed() < 2 * budget_nanoseconds) continue;
    if (measurement.elapsed() + first_calls * expected_nanoseconds(samples) > budget_nanoseconds) break;
  }
  return samples;
}

}  // namespace libcoll::select
