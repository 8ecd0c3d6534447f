#include "libcoll/runtime/hierarchy.h"

#include <algorithm>
#include <array>
#include <utility>

#include "libcoll/runtime/log.h"

namespace libcoll {
namespace {

constexpr std::int64_t page_bytes = 4096;

/// Calls of their own order have this part of the memory at first, for there may be many.
constexpr std::int64_t smallest_part = 8;
constexpr std::int64_t smallest_half_bytes = 8 * page_bytes;

std::int64_t in_pages(std::int64_t bytes) { return bytes / page_bytes * page_bytes; }

struct Announcement {
  char created;
  std::array<char, segment_name_bytes> name;
};

/// Says on this rank what went wrong; the others learn only that something did.
bool succeeded(const Status& status) {
  if (!status) log(LogLevel::warn, status.error().message);
  return status.ok();
}

}  // namespace

Hierarchy::Hierarchy(Runtime& runtime, RankLayout layout, std::int32_t rank)
    : layout_(std::move(layout)), rank_(rank), half_bytes_(in_pages(runtime.config().node_bytes / 2)) {}

std::unique_ptr<Hierarchy> Hierarchy::make(Runtime& runtime, HostCommunicator& host, RankLayout layout) {
  std::unique_ptr<Hierarchy> hierarchy(new Hierarchy(runtime, std::move(layout), host.rank()));
  hierarchy->memory_ = hierarchy->share_memory(host, hierarchy->half_bytes_);
  return hierarchy->memory_ ? std::move(hierarchy) : nullptr;
}

std::shared_ptr<NodeMemory> Hierarchy::make_memory(HostCommunicator& host, Collective collective,
                                                   bool equal_shards) const {
  std::int64_t half_bytes = std::max(smallest_half_bytes, half_bytes_ / smallest_part);
  while (half_bytes < half_bytes_ && !fits_in_rounds(layout_, in_pages(half_bytes), collective, equal_shards)) {
    half_bytes *= 2;
  }
  return share_memory(host, std::min(in_pages(half_bytes), half_bytes_));
}

std::shared_ptr<NodeMemory> Hierarchy::share_memory(HostCommunicator& host, std::int64_t half_bytes) const {
  auto memory = std::make_shared<NodeMemory>(layout_, rank_, half_bytes);
  // The creator says the name; nobody but it can have made what lies under it.
  Announcement mine{1, {}};
  if (local() == 0) {
    const Result<std::string> name = memory->create();
    mine.created = name.ok() ? 1 : 0;
    if (name.ok()) {
      name->copy(mine.name.data(), mine.name.size() - 1);
    } else {
      log(LogLevel::warn, name.error().message);
    }
  }
  std::vector<Announcement> all(static_cast<std::size_t>(host.size()));
  if (!host.allgather(&mine, sizeof mine, all.data())) return nullptr;
  if (std::any_of(all.begin(), all.end(), [](const Announcement& each) { return each.created == 0; })) return nullptr;

  const NodeRanks& node =
      layout_.nodes[static_cast<std::size_t>(layout_.node_of_rank[static_cast<std::size_t>(rank_)])];
  const Announcement& announced = all[static_cast<std::size_t>(node.ranks.front())];
  bool good = local() == 0 || succeeded(memory->open(announced.name.data()));
  good = good && succeeded(memory->reserve_own());
  if (!all_agree(host, good)) return nullptr;
  good = succeeded(memory->settle());
  return all_agree(host, good) ? std::move(memory) : nullptr;
}

bool Hierarchy::serves(Collective collective, bool equal_shards) const {
  return fits_in_rounds(layout_, half_bytes_, collective, equal_shards);
}

std::string Hierarchy::to_string() const {
  std::string text = std::to_string(layout_.nodes.size()) + " nodes of " + std::to_string(layout_.most_ranks) +
                     " ranks at most, " + std::to_string(layout_.leaders) + " leaders each";
  std::size_t most_groups = 0;
  for (const NodeRanks& node : layout_.nodes) most_groups = std::max(most_groups, node.domains.size());
  if (most_groups > 1) text += ", " + std::to_string(most_groups) + " groups by NUMA domain";
  return text;
}

}  // namespace libcoll
