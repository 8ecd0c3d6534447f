#include "libcoll/comm/agreed_groups.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "libcoll/comm/communicator.h"

namespace libcoll::comm {

std::uint64_t AgreedGroups::next_number() {
  const std::lock_guard guard(mutex_);
  return ++numbers_;
}

void AgreedGroups::keep(const std::vector<int>& world_ranks, std::shared_ptr<const Communicator> agreed) {
  std::list<Entry> unused;  // its end may take long
  const std::lock_guard guard(mutex_);
  const auto known = entry_of(world_ranks);
  entries_.push_front({world_ranks, std::move(agreed)});
  if (known != entries_.end()) {
    std::swap(entries_.front().spare, known->spare);
    unused.splice(unused.begin(), entries_, known);
  }
  if (entries_.size() > most_groups) unused.splice(unused.begin(), entries_, std::prev(entries_.end()));
}

void AgreedGroups::forget(const std::vector<int>& world_ranks) {
  std::list<Entry> unused;
  const std::lock_guard guard(mutex_);
  const auto known = entry_of(world_ranks);
  if (known != entries_.end()) unused.splice(unused.begin(), entries_, known);
}

std::shared_ptr<const Communicator> AgreedGroups::find(const std::vector<int>& world_ranks) {
  const std::lock_guard guard(mutex_);
  const auto known = entry_of(world_ranks);
  if (known == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, known);
  return known->agreed;
}

void AgreedGroups::give_back(const std::vector<int>& world_ranks, SpareMemory spare) {
  SpareMemory unused;
  const std::lock_guard guard(mutex_);
  const auto known = entry_of(world_ranks);
  if (known == entries_.end()) return;
  std::swap(known->spare, spare);
  entries_.splice(entries_.begin(), entries_, known);
  std::size_t spares = 0;
  for (Entry& entry : entries_) {
    if (entry.spare.memory != nullptr && ++spares > most_spares) unused = std::exchange(entry.spare, {});
  }
}

SpareMemory AgreedGroups::take_memory(const std::vector<int>& world_ranks) {
  const std::lock_guard guard(mutex_);
  const auto known = entry_of(world_ranks);
  return known == entries_.end() ? SpareMemory() : std::exchange(known->spare, {});
}

std::list<AgreedGroups::Entry>::iterator AgreedGroups::entry_of(const std::vector<int>& world_ranks) {
  return std::find_if(entries_.begin(), entries_.end(),
                      [&](const Entry& entry) { return entry.world_ranks == world_ranks; });
}

}  // namespace libcoll::comm
