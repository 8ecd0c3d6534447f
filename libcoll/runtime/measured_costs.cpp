#include "libcoll/runtime/measured_costs.h"

#include <algorithm>
#include <array>

namespace libcoll {
namespace {

constexpr std::int64_t first_bytes = 8;
constexpr std::int64_t growth = 8;
constexpr int most_times = 16;
constexpr std::size_t tries = 5;
constexpr std::int64_t sizes_in_time = 6;

/// Of the two sizes that show the bandwidth the longer one is for links on which the shorter one is gone too soon.
constexpr std::int64_t short_probe_bytes = 32 * 1024;
constexpr std::int64_t long_probe_bytes = 512 * 1024;
constexpr std::int64_t too_soon_nanoseconds = 250'000;
constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;

/// One rank's word, of which all are heard.
struct Word {
  std::array<std::int64_t, tries> nanoseconds{};
  std::int64_t elapsed = 0;  ///< since the measurement began
  std::int64_t good = 1;
};

class Measurement {
 public:
  Measurement(HostCommunicator& host, const Measurable& measurable, Nanoseconds now)
      : host_(host), measurable_(measurable), now_(now), began_(now()), words_(static_cast<std::size_t>(host.size())) {}

  /// What one takes, by the slowest rank; nothing when it failed on one.
  std::optional<std::int64_t> measure(std::int64_t bytes, int times, std::size_t attempts = tries) {
    Word mine;
    for (std::size_t attempt = 0; attempt < attempts && mine.good != 0; ++attempt) {
      const std::int64_t begin = now_();
      mine.good = measurable_(bytes, times) ? 1 : 0;
      mine.nanoseconds[attempt] = now_() - begin;
    }
    mine.elapsed = now_() - began_;
    if (!host_.allgather(&mine, sizeof mine, words_.data())) return std::nullopt;
    Word slowest = words_.front();
    for (const Word& word : words_) {
      for (std::size_t attempt = 0; attempt < tries; ++attempt) {
        slowest.nanoseconds[attempt] = std::max(slowest.nanoseconds[attempt], word.nanoseconds[attempt]);
      }
      slowest.elapsed = std::max(slowest.elapsed, word.elapsed);
      slowest.good = std::min(slowest.good, word.good);
    }
    if (slowest.good == 0) return std::nullopt;
    elapsed_ = slowest.elapsed;
    return *std::min_element(slowest.nanoseconds.begin(), slowest.nanoseconds.begin() + attempts) / times;
  }

  /// Agreed at the last measurement.
  [[nodiscard]] std::int64_t elapsed() const { return elapsed_; }

 private:
  HostCommunicator& host_;
  const Measurable& measurable_;
  const Nanoseconds now_;
  const std::int64_t began_;
  std::int64_t elapsed_ = 0;
  std::vector<Word> words_;
};

}  // namespace

std::optional<LinkFigures> find_link_figures(HostCommunicator& host, const Measurable& exchange, Nanoseconds now) {
  Measurement measurement(host, exchange, now);
  const std::optional<std::int64_t> alpha = measurement.measure(first_bytes, most_times);
  if (!alpha) return std::nullopt;
  std::int64_t bytes = short_probe_bytes;
  std::optional<std::int64_t> time = measurement.measure(bytes, 1);
  if (time && *time < too_soon_nanoseconds) time = measurement.measure(bytes = long_probe_bytes, 1);
  if (!time) return std::nullopt;
  const std::int64_t moving = std::max<std::int64_t>(1, *time - *alpha);
  return LinkFigures{std::max<std::int64_t>(1, *alpha),
                     std::max<std::int64_t>(1, bytes * nanoseconds_per_second / moving)};
}

std::optional<std::vector<CostSample>> sample_calls(HostCommunicator& host, const Measurable& calls,
                                                    std::int64_t largest_bytes, std::int64_t budget_nanoseconds,
                                                    Nanoseconds now) {
  Measurement measurement(host, calls, now);
  std::vector<CostSample> samples;
  for (std::int64_t bytes = first_bytes; bytes <= largest_bytes; bytes *= growth) {
    // The very first calls make connections and scripts, and the next one tells how many there is time for.
    const std::optional<std::int64_t> first = measurement.measure(bytes, 1, 2);
    if (!first) return std::nullopt;
    if (measurement.elapsed() > budget_nanoseconds) {
      samples.push_back({bytes, *first});
      break;
    }
    const std::int64_t affordable =
        budget_nanoseconds / sizes_in_time / std::max<std::int64_t>(1, *first * static_cast<std::int64_t>(tries));
    const int times = static_cast<int>(std::clamp<std::int64_t>(affordable, 1, most_times));
    const std::optional<std::int64_t> time = measurement.measure(bytes, times);
    if (!time) return std::nullopt;
    samples.push_back({bytes, *time});
    // Two calls of the next size may take so long.
    if (measurement.elapsed() + 2 * growth * *time > budget_nanoseconds) break;
  }
  return samples;
}

}  // namespace libcoll
