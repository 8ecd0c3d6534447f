// Shared memory of a node and the processes that wait in it, played by threads and by children.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "libcoll/node/call_order.h"
#include "libcoll/node/phases.h"
#include "libcoll/node/segment.h"

namespace libcoll::node_threads_test {

using namespace node;
using namespace topology;

namespace {

constexpr std::size_t segment_bytes = 65536;

bool exists(const std::string& name) { return access(("/dev/shm" + name).c_str(), F_OK) == 0; }

TEST(Segment, IsSharedByNameAndGoneWithItsLastUser) {
  Result<Segment> created = Segment::create(segment_bytes);
  ASSERT_TRUE(created.ok()) << created.error().message;
  const std::string name = created->name();
  EXPECT_LT(name.size(), segment_name_bytes);
  EXPECT_TRUE(exists(name));
  Result<Segment> opened = Segment::open(name, segment_bytes);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_TRUE(created->reserve(0, segment_bytes).ok());
  created->remove_name();
  EXPECT_FALSE(exists(name));
  EXPECT_FALSE(Segment::open(name, segment_bytes).ok());
  EXPECT_NE(created->data(), opened->data());
  std::memcpy(created->data() + 100, "shared", 7);
  EXPECT_STREQ(reinterpret_cast<const char*>(opened->data()) + 100, "shared");
  *created = Segment();
  EXPECT_STREQ(reinterpret_cast<const char*>(opened->data()) + 100, "shared");
}

TEST(Segment, ItsNameGoesWithItsCreator) {
  std::string name;
  {
    const Result<Segment> created = Segment::create(segment_bytes);
    ASSERT_TRUE(created.ok());
    name = created->name();
    { const Result<Segment> opened = Segment::open(name, segment_bytes); }
    EXPECT_TRUE(exists(name)) << "who opened it may not take the name away";
  }
  EXPECT_FALSE(exists(name));
}

TEST(Segment, NamesDiffer) {
  const Result<Segment> first = Segment::create(segment_bytes);
  const Result<Segment> second = Segment::create(segment_bytes);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first->name(), second->name());
}

TEST(Segment, NothingElseIsOpened) {
  const Result<Segment> created = Segment::create(segment_bytes);
  ASSERT_TRUE(created.ok());
  EXPECT_FALSE(Segment::open(created->name(), segment_bytes + 4096).ok()) << "another size";
  EXPECT_FALSE(Segment::open("/other", segment_bytes).ok()) << "no name of ours";
  EXPECT_FALSE(Segment::open("/libcoll-absent", segment_bytes).ok());
  const std::string path = "/dev/shm" + created->name();
  ASSERT_EQ(chmod(path.c_str(), 0660), 0);
  EXPECT_FALSE(Segment::open(created->name(), segment_bytes).ok()) << "others could write";
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  const std::string link = created->name() + "l";
  ASSERT_EQ(symlink(path.c_str(), ("/dev/shm" + link).c_str()), 0);
  EXPECT_FALSE(Segment::open(link, segment_bytes).ok()) << "a symbolic link";
  unlink(("/dev/shm" + link).c_str());
  EXPECT_TRUE(Segment::open(created->name(), segment_bytes).ok());
}

TEST(Segment, MoreThanAFileCanHoldCannotBeReserved) {
  constexpr std::size_t half_of_too_much = std::size_t{1} << 62U;
  const Result<Segment> created = Segment::create(segment_bytes);
  ASSERT_TRUE(created.ok());
  EXPECT_FALSE(created->reserve(half_of_too_much, half_of_too_much).ok());
}

TEST(Segment, StaleNamesAreRemovedAndFreshOnesKept) {
  // A process that is killed before it could take the name away.
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    Result<Segment> segment = Segment::create(segment_bytes);
    if (segment.ok() && chmod(("/dev/shm" + segment->name()).c_str(), 0400) == 0 &&
        write(ends[1], segment->name().data(), segment->name().size()) > 0) {
      kill(getpid(), SIGKILL);
    }
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  std::array<char, segment_name_bytes> text{};
  ASSERT_GT(read(ends[0], text.data(), text.size() - 1), 0);
  const std::string left(text.data());
  close(ends[0]);
  close(ends[1]);
  const Result<Segment> fresh = Segment::create(segment_bytes);
  ASSERT_TRUE(fresh.ok());
  remove_stale_segments(std::chrono::hours(1));
  EXPECT_TRUE(exists(left));
  EXPECT_TRUE(exists(fresh->name()));
  // Jobs beside this test have segments, too.
  remove_stale_segments(std::chrono::seconds(0), left);
  EXPECT_FALSE(exists(left));
  EXPECT_TRUE(exists(fresh->name()));
}

/// Zeroed memory for so many processes, shared with children.
class SharedPhases {
 public:
  explicit SharedPhases(std::int32_t processes)
      : processes_(processes),
        memory_(mmap(nullptr, Phases::bytes(processes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  SharedPhases(const SharedPhases&) = delete;
  SharedPhases& operator=(const SharedPhases&) = delete;
  ~SharedPhases() { munmap(memory_, Phases::bytes(processes_)); }
  [[nodiscard]] Phases of(std::int32_t process) const {
    return {static_cast<std::byte*>(memory_), processes_, process};
  }

 private:
  std::int32_t processes_;
  void* memory_;
};

/// In every round each thread writes its cell, waits, and reads all cells; two halves take turns.
void take_turns(const SharedPhases& shared, std::int32_t threads, std::uint32_t first, std::uint32_t rounds,
                const Patience& patience) {
  std::vector<std::vector<std::uint32_t>> halves(2, std::vector<std::uint32_t>(static_cast<std::size_t>(threads)));
  std::atomic<int> wrong{0};
  std::vector<std::thread> workers;
  workers.reserve(static_cast<std::size_t>(threads));
  for (std::int32_t self = 0; self < threads; ++self) {
    workers.emplace_back([&, self] {
      Phases phases = shared.of(self);
      for (std::uint32_t round = 1; round <= rounds; ++round) {
        std::vector<std::uint32_t>& cells = halves[round % 2];
        cells[static_cast<std::size_t>(self)] = round;
        phases.post(first + round);
        if (!phases.wait({threads, first + round}, patience)) ++wrong;
        for (const std::uint32_t cell : cells) wrong += cell == round ? 0 : 1;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Phases, WhatWasWrittenBeforeIsSeenByThoseWhoWaited) {
  for (const std::int32_t threads : {1, 2, 5}) take_turns(SharedPhases(threads), threads, 0, 3000, {});
}

TEST(Phases, SleepersAreWoken) {
  Patience asleep;
  asleep.poll = std::chrono::microseconds(0);
  asleep.longest_sleep = std::chrono::hours(1);
  take_turns(SharedPhases(4), 4, 0, 3000, asleep);
}

TEST(Phases, TheirNumbersGoRound) {
  const SharedPhases shared(2);
  constexpr std::uint32_t almost_all = 0xfffffff0U;
  // Counted up in steps that stay comparable.
  for (const std::uint32_t phase : {0x40000000U, 0x80000000U, 0xc0000000U, almost_all}) {
    shared.of(0).post(phase);
    shared.of(1).post(phase);
  }
  take_turns(shared, 2, almost_all, 100, {});
}

TEST(Phases, OtherThingsAreLookedAfterMeanwhile) {
  const SharedPhases shared(2);
  Phases phases = shared.of(0);
  int looks = 0;
  const std::function<bool()> other_things = [&] {
    if (++looks == 5) shared.of(1).post(1);
    return true;
  };
  Patience patience;
  patience.other_things = &other_things;
  EXPECT_TRUE(phases.wait({2, 0}, patience));
  phases.post(1);
  EXPECT_TRUE(phases.wait({2, 1}, patience));
  EXPECT_EQ(looks, 5);
}

TEST(Phases, OtherThingsMayEndTheWait) {
  const SharedPhases shared(2);
  Phases phases = shared.of(0);
  int looks = 0;
  const std::function<bool()> other_things = [&] { return ++looks < 3; };
  Patience patience;
  patience.other_things = &other_things;
  phases.post(1);
  EXPECT_FALSE(phases.wait({2, 1}, patience));
  EXPECT_EQ(looks, 3);
  EXPECT_FALSE(phases.failed()) << "who waits for another phase goes on";
}

/// The limit counts from the last sign of life: two seconds pass here, with a limit of one.
TEST(Phases, WhoShowsSignsOfLifeIsWaitedFor) {
  const SharedPhases shared(2);
  Phases phases = shared.of(0);
  const auto begin = std::chrono::steady_clock::now();
  const std::function<bool()> other_things = [&] {
    shared.of(1).signs_of_life().fetch_add(1);
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(2)) shared.of(1).post(1);
    return true;
  };
  Patience patience;
  patience.limit = std::chrono::seconds(1);
  patience.other_things = &other_things;
  EXPECT_TRUE(phases.wait({2, 0}, patience));
  phases.post(1);
  EXPECT_TRUE(phases.wait({2, 1}, patience));
}

TEST(Phases, AProcessThatWasKilledIsGivenUpAndEverybodyLearnsOfIt) {
  const SharedPhases shared(3);
  const pid_t child = fork();
  if (child == 0) {
    Phases phases = shared.of(2);
    phases.post(1);
    kill(getpid(), SIGKILL);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  Patience patience;
  patience.limit = std::chrono::seconds(1);
  bool other = true;
  std::thread neighbour([&] {
    Phases phases = shared.of(1);
    phases.post(2);
    other = phases.wait({3, 2}, {});  // without a limit of its own
  });
  Phases phases = shared.of(0);
  phases.post(2);
  EXPECT_TRUE(phases.wait({3, 1}, patience));
  EXPECT_FALSE(phases.wait({3, 2}, patience));
  neighbour.join();
  EXPECT_FALSE(other);
  EXPECT_TRUE(phases.failed());
}

TEST(Phases, OnlyThoseWhoHaveNotComeShowSignsOfLife) {
  const SharedPhases shared(3);
  Phases phases = shared.of(0);
  EXPECT_TRUE(phases.have_come({0, 7}));
  phases.post(1);
  shared.of(1).post(1);
  EXPECT_TRUE(phases.have_come({2, 1}));
  EXPECT_FALSE(phases.have_come({3, 1}));
  const std::uint32_t before = phases.signs_of_missing({3, 1});
  shared.of(1).signs_of_life().fetch_add(1);
  EXPECT_EQ(phases.signs_of_missing({3, 1}), before);
  shared.of(2).signs_of_life().fetch_add(1);
  EXPECT_NE(phases.signs_of_missing({3, 1}), before);
  shared.of(2).post(2);
  EXPECT_TRUE(phases.have_come({3, 1}));
}

TEST(Phases, ChildrenWaitForEachOtherAsThreadsDo) {
  constexpr std::int32_t processes = 4;
  constexpr std::uint32_t rounds = 500;
  const SharedPhases shared(processes);
  std::vector<pid_t> children;
  for (std::int32_t self = 0; self < processes; ++self) {
    const pid_t child = fork();
    if (child == 0) {
      Phases phases = shared.of(self);
      for (std::uint32_t round = 1; round <= rounds; ++round) {
        phases.post(round);
        if (!phases.wait({processes, round}, {})) _exit(1);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

/// Threads that are far apart: who hears of a turn late must not see what only a later one does without.
TEST(CallOrder, WhatIsToldForATurnIsHeardInItAndAfterIt) {
  constexpr std::int32_t processes = 3;
  constexpr std::uint32_t turns = 2000;
  std::vector<std::uint64_t> memory(CallOrder::bytes(processes) / sizeof(std::uint64_t) + 32);
  auto* begin = reinterpret_cast<std::byte*>(memory.data());
  begin += (128 - reinterpret_cast<std::uintptr_t>(begin) % 128) % 128;
  const auto cables = [](std::uint32_t turn) {
    std::set<BidirectionalLink> gone;
    for (std::uint32_t each = 0; each <= turn / 400; ++each) {
      gone.emplace(static_cast<NodeId>(each), static_cast<NodeId>(each + 1));
    }
    return gone;
  };
  std::atomic<int> wrong{0};
  std::vector<std::thread> hearers;
  for (std::int32_t self = 1; self < processes; ++self) {
    hearers.emplace_back([&, self] {
      CallOrder own(begin, processes, self);
      for (std::uint32_t turn = 1; turn <= turns; ++turn) {
        wrong += own.hear(turn, {}) && own.cables(turn) == cables(turn) ? 0 : 1;
      }
    });
  }
  CallOrder own(begin, processes, 0);
  for (std::uint32_t turn = 1; turn <= turns; ++turn) own.tell(turn, cables(turn));
  for (std::thread& hearer : hearers) hearer.join();
  EXPECT_EQ(wrong, 0);
  own.fail();
  EXPECT_FALSE(CallOrder(begin, processes, 1).hear(turns + 1, {}));
}

}  // namespace
}  // namespace libcoll::node_threads_test
