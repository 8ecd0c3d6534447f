#include "libcoll/transport/ofi/registration_cache.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <set>

namespace libcoll::registration_cache_test {

using namespace transport::ofi;

namespace {

/// Handles are numbers; remembers which of them are alive.
class Recorder final : public MemoryRegistrar {
 public:
  void* add(void* address, std::size_t bytes) noexcept override {
    if (refuse) return nullptr;
    last_address = reinterpret_cast<std::uintptr_t>(address);
    last_bytes = bytes;
    alive.insert(++added);
    return reinterpret_cast<void*>(added);
  }
  void remove(void* handle) noexcept override { EXPECT_EQ(alive.erase(reinterpret_cast<std::uintptr_t>(handle)), 1U); }

  std::set<std::uintptr_t> alive;
  std::uintptr_t added = 0;
  std::uintptr_t last_address = 0;
  std::size_t last_bytes = 0;
  bool refuse = false;
};

/// Somewhere in the page of that number.
const void* at(std::uintptr_t page, std::uintptr_t offset = 0) {
  return reinterpret_cast<const void*>(page * 4096 + offset);
}

TEST(RegistrationCache, RegistersWholePagesAndUsesThemAgain) {
  Recorder recorder;
  RegistrationCache cache(recorder, 4);
  auto* first = cache.acquire(at(10, 100), 5000);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(recorder.last_address, 10U * 4096);
  EXPECT_EQ(recorder.last_bytes, 2U * 4096);
  EXPECT_EQ(cache.acquire(at(11, 0), 4096), first) << "covered, and in use";
  cache.release(first);
  cache.release(first);
  EXPECT_EQ(cache.acquire(at(10, 0), 8192), first) << "covered, and not in use";
  cache.release(first);
  auto* other = cache.acquire(at(11, 0), 4097);
  EXPECT_NE(other, first) << "one byte beyond";
  EXPECT_EQ(recorder.added, 2U);
  cache.release(other);
}

TEST(RegistrationCache, KeepsAsManyAsItMayAndThoseLastUsed) {
  Recorder recorder;
  RegistrationCache cache(recorder, 2);
  for (const std::uintptr_t page : {1U, 3U, 1U, 5U}) cache.release(cache.acquire(at(page), 100));
  EXPECT_EQ(recorder.alive, (std::set<std::uintptr_t>{1, 3})) << "pages 1 and 5; page 3 went";
  // Those in use do not count: they cannot go.
  RegistrationCache none(recorder, 0);
  auto* used = none.acquire(at(7), 100);
  EXPECT_EQ(recorder.alive.size(), 3U);
  none.release(used);
  EXPECT_EQ(recorder.alive.size(), 2U);
}

TEST(RegistrationCache, RemovesAllInTheEnd) {
  Recorder recorder;
  {
    RegistrationCache cache(recorder, 2);
    cache.release(cache.acquire(at(1), 100));
    static_cast<void>(cache.acquire(at(3), 100));
    EXPECT_EQ(recorder.alive.size(), 2U);
  }
  EXPECT_TRUE(recorder.alive.empty());
}

TEST(RegistrationCache, SaysWhenTheNetworkRefuses) {
  Recorder recorder;
  recorder.refuse = true;
  RegistrationCache cache(recorder, 2);
  EXPECT_EQ(cache.acquire(at(1), 100), nullptr);
}

TEST(RegistrationCache, AnUnmappingRetiresAllOfThem) {
  Recorder recorder;
  RegistrationCache cache(recorder, 4);
  cache.release(cache.acquire(at(1), 100));
  auto* used = cache.acquire(at(3), 100);
  UnmapWatch::count();
  auto* again = cache.acquire(at(3), 100);
  EXPECT_NE(again, used) << "the page may be another one now";
  EXPECT_EQ(recorder.alive, (std::set<std::uintptr_t>{2, 3})) << "what was not in use went";
  cache.release(used);
  EXPECT_EQ(recorder.alive, (std::set<std::uintptr_t>{3})) << "what was in use goes with its last message";
  EXPECT_EQ(cache.acquire(at(3), 100), again);
  cache.release(again);
  cache.release(again);
}

TEST(RegistrationCache, MemoryThatIsUnmappedIsSeen) {
  const Status watching = UnmapWatch::start();
  if (!watching) GTEST_SKIP() << watching.error().message;
  Recorder recorder;
  RegistrationCache cache(recorder, 4);
  constexpr std::size_t bytes = std::size_t{1} << 20U;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  cache.release(cache.acquire(memory, bytes));
  ASSERT_EQ(munmap(memory, bytes), 0);
  void* other = mmap(memory, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(other, memory);
  cache.release(cache.acquire(other, bytes));
  EXPECT_EQ(recorder.added, 2U);
  EXPECT_EQ(recorder.alive, (std::set<std::uintptr_t>{2}));
  munmap(other, bytes);
}

}  // namespace
}  // namespace libcoll::registration_cache_test
