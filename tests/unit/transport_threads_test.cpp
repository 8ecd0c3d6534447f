// What transports share without locks between a thread that sleeps or unmaps and those that make progress.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "libcoll/transport/nap.h"
#include "libcoll/transport/ofi/ofi_transport.h"
#include "libcoll/transport/ofi/registration_cache.h"
#include "libcoll/transport/transport.h"
#include "libcoll/transport/ucx/ucx_transport.h"

namespace libcoll::transport_threads_test {

using namespace transport;
using namespace transport::ofi;
using namespace transport::ucx;

namespace {

constexpr int rounds = 200;

TEST(Nap, IsTakenByOneThreadAndDisturbedByAnother) {
  Nap nap;
  std::atomic<bool> over{false};
  std::thread sleeper([&] {
    while (!over.load(std::memory_order_relaxed)) nap.take(1);
  });
  for (int round = 0; round < rounds; ++round) nap.disturb();
  over.store(true, std::memory_order_relaxed);
  sleeper.join();
}

/// As the runtime does: posting, progress and arming under one lock, sleeping under none.
void sleep_beside_progress(Transport& transport) {
  std::mutex lock;
  std::atomic<bool> over{false};
  std::thread sleeper([&] {
    while (!over.load(std::memory_order_relaxed)) {
      bool armed = false;
      {
        const std::lock_guard guard(lock);
        armed = transport.arm();
      }
      if (armed) transport.block(1);
    }
  });
  const Result<PeerId> self = transport.connect(transport.address(), 0);
  EXPECT_TRUE(self.ok());
  for (std::uint64_t round = 0; self.ok() && round < rounds; ++round) {
    const std::uint64_t sent = round;
    std::uint64_t received = rounds;
    struct Count final : Waiter {
      void completed(std::uint32_t, bool ok) noexcept override { good += ok ? 1 : 0; }
      int good = 0;
    } count;
    std::vector<Completion> completions(2);
    for (Completion& each : completions) each.waiter = &count;
    int expected = 0;
    {
      const std::lock_guard guard(lock);
      const Posted taken = transport.receive(0, round, &received, sizeof received, &completions[0]);
      const Posted given = transport.send(*self, round, &sent, sizeof sent, &completions[1]);
      EXPECT_TRUE(taken != Posted::failed && given != Posted::failed);
      expected = (taken == Posted::pending ? 1 : 0) + (given == Posted::pending ? 1 : 0);
    }
    for (bool done = false; !done;) {
      const std::lock_guard guard(lock);
      transport.progress();
      done = count.good == expected;
    }
    EXPECT_EQ(received, round);
  }
  over.store(true, std::memory_order_relaxed);
  sleeper.join();
}

TEST(TransportThreads, UcxSleepsBesideProgress) {
  auto transport = make_ucx_transport({}, HostMates::none);
  ASSERT_TRUE(transport.ok()) << transport.error().message;
  sleep_beside_progress(**transport);
}

TEST(TransportThreads, LibfabricSleepsBesideProgress) {
  auto transport = make_ofi_transport({}, {"tcp;ofi_rxm", 64, false});
  if (!transport.ok()) GTEST_SKIP() << transport.error().message;
  sleep_beside_progress(**transport);
}

TEST(UnmapWatch, AnUnmappingOfAnotherThreadIsCountedBeforeItsMemoryIsHandedOn) {
  const std::uint64_t before = UnmapWatch::events();
  std::atomic<int> handed_on{0};
  std::thread unmapping([&] {
    UnmapWatch::count();
    handed_on.store(1, std::memory_order_release);
  });
  while (handed_on.load(std::memory_order_acquire) == 0) std::this_thread::yield();
  EXPECT_GT(UnmapWatch::events(), before);
  unmapping.join();
}

}  // namespace
}  // namespace libcoll::transport_threads_test
