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
  if (known != entries_.end()) unused.splice(unused.begin(), entries_, known);
  entries_.push_front({world_ranks, std::move(agreed)});
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

std::list<AgreedGroups::Entry>::iterator AgreedGroups::entry_of(const std::vector<int>& world_ranks) {
  return std::find_if(entries_.begin(), entries_.end(),
                      [&](const Entry& entry) { return entry.world_ranks == world_ranks; });
}

}  // namespace libcoll::comm
