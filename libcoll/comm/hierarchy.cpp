#include "libcoll/comm/hierarchy.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "libcoll/base/log.h"
#include "libcoll/node/process_memory.h"

namespace libcoll::comm {

using namespace node;
using namespace schedule;

namespace {

/// Halves are multiples of it. Not the pages of this machine: rounds depend on it, and all ranks have to agree on them.
constexpr std::int64_t granule_bytes = 4096;

/// Calls of their own order have this part of the memory at first, for there may be many.
constexpr std::int64_t smallest_part = 8;
constexpr std::int64_t smallest_half_bytes = 8 * granule_bytes;

std::int64_t in_granules(std::int64_t bytes) { return bytes / granule_bytes * granule_bytes; }

/// Whether it went well on all ranks, and whether all of them can read the others' memory. Where it did not go well,
/// the first of those ranks says why. All take note that it was said: other communicators would meet the same, and that
/// is only said at info level.
bool all_well(HostCommunicator& host, const Status& status, LogLevel first_level, bool reads, bool& all_read) {
  static std::atomic<bool> said{false};
  const std::array<char, 2> mine{status.ok() ? char{1} : char{0}, reads ? char{1} : char{0}};
  std::vector<std::array<char, 2>> all(static_cast<std::size_t>(host.size()));
  if (!host.allgather(mine.data(), sizeof mine, all.data())) return false;
  const auto is_bad = [](const std::array<char, 2>& word) { return word[0] == 0; };
  all_read = std::all_of(all.begin(), all.end(), [](const std::array<char, 2>& word) { return word[1] != 0; });
  const auto first = std::find_if(all.begin(), all.end(), is_bad);
  if (first == all.end()) return true;
  const bool is_known = first_level == LogLevel::info || said.exchange(true, std::memory_order_relaxed);
  const LogLevel level = is_known ? LogLevel::info : first_level;
  if (first - all.begin() == host.rank()) log(level, status.error().message);
  return false;
}

bool all_well(HostCommunicator& host, const Status& status, LogLevel first_level) {
  bool all_read = false;
  return all_well(host, status, first_level, false, all_read);
}

/// What a rank says of itself to the others of its node.
struct Neighbour {
  std::array<char, segment_name_bytes>
      segment_name{};  ///< of local rank 0; nobody but it can have made what lies there
  ProcessMark mark = own_mark();
};

/// `all`: by rank.
bool can_read_all(const NodeRanks& node, const std::vector<Neighbour>& all) {
  return std::all_of(node.ranks.begin(), node.ranks.end(),
                     [&](std::int32_t rank) { return can_read(all[static_cast<std::size_t>(rank)].mark); });
}

std::vector<pid_t> processes_of(const std::vector<Neighbour>& ranks) {
  std::vector<pid_t> processes;
  processes.reserve(ranks.size());
  for (const Neighbour& rank : ranks) processes.push_back(rank.mark.process);
  return processes;
}

}  // namespace

Hierarchy::Hierarchy(const Runtime& runtime, RankLayout layout, std::int32_t rank)
    : layout_(std::make_shared<const RankLayout>(std::move(layout))),
      rank_(rank),
      half_bytes_(in_granules(runtime.config().node_bytes / 2)),
      may_read_directly_(runtime.config().single_copy) {}

std::unique_ptr<Hierarchy> Hierarchy::of_host(const Runtime& runtime, std::int32_t ranks, std::int32_t rank) {
  std::vector<RankPlace> places(static_cast<std::size_t>(ranks));
  for (std::int32_t each = 0; each < ranks; ++each) places[static_cast<std::size_t>(each)].world_rank = each;
  return std::make_unique<Hierarchy>(runtime, arrange(places, 1, 1), rank);
}

Hierarchy::Hierarchy(const Hierarchy& original)
    : layout_(original.layout_),
      rank_(original.rank_),
      half_bytes_(original.half_bytes_),
      may_read_directly_(original.may_read_directly_) {}

bool Hierarchy::open(HostCommunicator& host, LogLevel level) {
  memory_ = share_memory(host, half_bytes_, true, level);
  return memory_ != nullptr;
}

std::shared_ptr<CallMemory> Hierarchy::make_memory_of_ways(HostCommunicator& host) const {
  return share_memory(host, 0, false, LogLevel::info);
}

std::shared_ptr<CallMemory> Hierarchy::make_memory(HostCommunicator& host, Collective collective,
                                                   bool equal_shards) const {
  std::int64_t half_bytes = std::max(smallest_half_bytes, half_bytes_ / smallest_part);
  while (half_bytes < half_bytes_ && !fits_in_rounds(*layout_, in_granules(half_bytes), collective, equal_shards)) {
    half_bytes *= 2;
  }
  return share_memory(host, std::min(in_granules(half_bytes), half_bytes_), false, LogLevel::warn);
}

std::shared_ptr<CallMemory> Hierarchy::share_memory(HostCommunicator& host, std::int64_t half_bytes,
                                                    bool for_short_calls, LogLevel level) const {
  auto memory = std::make_shared<CallMemory>(layout_, rank_, half_bytes, for_short_calls);
  Status status;
  Neighbour mine;
  if (local() == 0) {
    const Result<std::string> name = memory->create();
    if (name.ok()) {
      name->copy(mine.segment_name.data(), mine.segment_name.size() - 1);
    } else {
      status = name.error();
    }
  }
  if (!all_well(host, status, level)) return nullptr;
  std::vector<Neighbour> all(static_cast<std::size_t>(host.size()));
  if (!host.allgather(&mine, sizeof mine, all.data())) return nullptr;
  const NodeRanks& node =
      layout_->nodes[static_cast<std::size_t>(layout_->node_of_rank[static_cast<std::size_t>(rank_)])];
  if (local() != 0) status = memory->open(all[static_cast<std::size_t>(node.ranks.front())].segment_name.data());
  if (status.ok()) status = memory->reserve_own();
  if (!all_well(host, status, level)) return nullptr;
  const bool reads_directly = may_read_directly_ && can_read_all(node, all);
  bool all_read_directly = false;
  if (!all_well(host, memory->settle(), level, reads_directly, all_read_directly)) return nullptr;
  if (all_read_directly) {
    memory->read_directly(std::make_unique<NeighbourMemory>(processes_of(all)));
  }
  return memory;
}

bool Hierarchy::serves(Collective collective, bool equal_shards) const {
  return fits_in_rounds(*layout_, half_bytes_, collective, equal_shards);
}

std::string Hierarchy::to_string() const {
  std::string text = std::to_string(layout_->nodes.size()) + " nodes of " + std::to_string(layout_->most_ranks) +
                     " ranks at most, " + std::to_string(layout_->leaders) + " leaders each";
  std::size_t most_groups = 0;
  for (const NodeRanks& node : layout_->nodes) most_groups = std::max(most_groups, node.domains.size());
  if (most_groups > 1) text += ", " + std::to_string(most_groups) + " groups by NUMA domain";
  if (memory_ != nullptr && memory_->neighbours() != nullptr) text += ", which read each other's memory";
  return text;
}

}  // namespace libcoll::comm
