#include "libcoll/transport/ofi/registration_cache.h"

#include <ucm/api/ucm.h>
#include <ucs/type/status.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "libcoll/base/page_size.h"
#include "libcoll/transport/ucx_library.h"

namespace libcoll::transport::ofi {
namespace {

// Without locks. Counted in the thread that unmaps, before it does. Whoever then gets other memory at that address and
// passes it to another thread orders both by that; acquire and release keep the count on the right side of it.
std::atomic<std::uint64_t> unmap_events{0};

void unmapped(ucm_event_type_t, ucm_event_t*, void*) { UnmapWatch::count(); }

}  // namespace

Status UnmapWatch::start() {
  if (Status there = require_ucx(); !there) return there;
  static const ucs_status_t status = ucm_set_event_handler(UCM_EVENT_VM_UNMAPPED, 0, &unmapped, nullptr);
  if (status == UCS_OK) return {};
  return Error{std::string("libucm: watching memory: ") + ucs_status_string(status)};
}

std::uint64_t UnmapWatch::events() noexcept { return unmap_events.load(std::memory_order_acquire); }

void UnmapWatch::count() noexcept { unmap_events.fetch_add(1, std::memory_order_acq_rel); }

RegistrationCache::~RegistrationCache() {
  for (const Registration& entry : entries_) registrar_.remove(entry.handle);
}

RegistrationCache::Registration* RegistrationCache::acquire(const void* data, std::size_t bytes) {
  // An unmapping is counted before it happens, and other memory can only appear at its address afterwards.
  const std::uint64_t events = UnmapWatch::events();
  if (events != seen_) retire_all();
  seen_ = events;
  const auto first = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t last = first + bytes;
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Registration& entry) {
    return !entry.retired && entry.begin <= first && last <= entry.end;
  });
  if (found != entries_.end()) {
    ++found->users;
    entries_.splice(entries_.begin(), entries_, found);
    return &entries_.front();
  }
  const std::uintptr_t page = page_bytes();
  const std::uintptr_t begin = first & ~(page - 1);
  const std::uintptr_t end = (std::max(last, first + 1) + page - 1) & ~(page - 1);
  void* handle = registrar_.add(reinterpret_cast<void*>(begin), end - begin);
  if (handle == nullptr) return nullptr;
  entries_.push_front({begin, end, handle, 1, false});
  return &entries_.front();
}

void RegistrationCache::release(Registration* registration) {
  --registration->users;
  remove_unused_beyond(capacity_);
}

void RegistrationCache::retire_all() {
  for (Registration& entry : entries_) entry.retired = true;
  remove_unused_beyond(capacity_);
}

/// Keeps the first `count` of those that no message uses, and none that is retired.
void RegistrationCache::remove_unused_beyond(std::size_t count) {
  std::size_t unused = 0;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (entry->users == 0 && (entry->retired || ++unused > count)) {
      registrar_.remove(entry->handle);
      entry = entries_.erase(entry);
    } else {
      ++entry;
    }
  }
}

}  // namespace libcoll::transport::ofi
