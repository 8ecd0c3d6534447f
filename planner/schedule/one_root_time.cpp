#include "planner/schedule/one_root_time.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

#include "planner/base/index.h"
#include "planner/schedule/lockstep_time.h"

namespace libcoll::schedule {

using namespace topology;

namespace {

constexpr double seconds_of_a_message = 4e-6;

/// Chunks of each shard that cross a link.
std::map<std::pair<ShardId, LinkId>, std::int64_t> chunks_by_shard_and_link(const Schedule& schedule) {
  std::map<std::pair<ShardId, LinkId>, std::int64_t> chunks;
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.route == direct) {
      chunks[{transfer.shard, schedule.topology.find_link(transfer.from, transfer.to)}] += transfer.chunk_count;
      continue;
    }
    for (const LinkId link : schedule.routes[at(transfer.route)].links) {
      chunks[{transfer.shard, link}] += transfer.chunk_count;
    }
  }
  return chunks;
}

}  // namespace

double OneRootTime::seconds(double bytes, double segment_bytes) const {
  const double segment = std::min(segment_bytes, bytes * most_at_once);
  return latency_seconds + (steps - 1) * segment / bandwidth_bytes_per_second + bytes * seconds_per_byte;
}

std::int64_t OneRootTime::best_segment_bytes(std::int64_t bytes, std::int64_t most) const {
  constexpr std::int64_t least = 32 * 1024;
  if (steps < 2 || most <= least) return most;
  const double on_link = static_cast<double>(bytes) * seconds_per_byte * bandwidth_bytes_per_second;
  const double best = std::sqrt(on_link * seconds_of_a_message * bandwidth_bytes_per_second / (steps - 1));
  if (best >= static_cast<double>(most)) return most;
  return std::max(least, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(best))));
}

OneRootTime one_root_time(const Schedule& schedule) {
  const auto all_chunks = static_cast<double>(schedule.chunks_per_shard);
  OneRootTime time;
  time.steps = schedule.steps;
  time.latency_seconds = lockstep_time(schedule).latency_seconds + schedule.steps * seconds_of_a_message;
  time.bandwidth_bytes_per_second = static_cast<double>(schedule.topology.unit_bandwidth_bytes_per_second());
  std::int32_t most = 0;
  for (const Transfer& transfer : schedule.transfers) most = std::max(most, transfer.chunk_count);
  time.most_at_once = most / all_chunks;
  for (const auto& [place, chunks] : chunks_by_shard_and_link(schedule)) {
    const auto bandwidth = static_cast<double>(schedule.topology.link(place.second).bandwidth_bytes_per_second);
    time.seconds_per_byte = std::max(time.seconds_per_byte, static_cast<double>(chunks) / all_chunks / bandwidth);
  }
  return time;
}

std::optional<std::int64_t> one_root_from(const OneRootTime& rooted, const OneRootTime& usual,
                                          std::int64_t segment_bytes) {
  constexpr std::int64_t least = 1 << 15;
  constexpr std::int64_t most = 1 << 30;
  const auto segment = static_cast<double>(segment_bytes);
  const auto is_faster = [&](std::int64_t bytes) {
    const auto size = static_cast<double>(bytes);
    const auto best = static_cast<double>(rooted.best_segment_bytes(bytes, segment_bytes));
    return rooted.seconds(size, best) < usual.seconds(size, segment);
  };
  std::optional<std::int64_t> from;
  for (std::int64_t bytes = most; bytes >= least && is_faster(bytes); bytes /= 2) from = bytes;
  return from;
}

}  // namespace libcoll::schedule
