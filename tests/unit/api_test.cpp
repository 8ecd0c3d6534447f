// The C API, as a program that is linked with libcoll.so meets it. Ranks are threads, with memory for a bootstrap.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "libcoll/api/libcoll.h"

namespace {

namespace fs = std::filesystem;

struct Deleter {
  void operator()(libcoll_topology* topology) const { libcoll_topology_free(topology); }
  void operator()(libcoll_schedule* schedule) const { libcoll_schedule_free(schedule); }
  void operator()(libcoll_communicator* communicator) const { libcoll_communicator_free(communicator); }
};
using Topology = std::unique_ptr<libcoll_topology, Deleter>;
using Schedule = std::unique_ptr<libcoll_schedule, Deleter>;
using Communicator = std::unique_ptr<libcoll_communicator, Deleter>;

Topology open_topology(const char* specification) {
  libcoll_topology* topology = nullptr;
  EXPECT_EQ(libcoll_topology_open(specification, &topology), LIBCOLL_SUCCESS) << libcoll_error_message();
  return Topology(topology);
}

Schedule plan(const Topology& topology, libcoll_collective collective, const char* algorithm = nullptr) {
  libcoll_schedule* schedule = nullptr;
  EXPECT_EQ(libcoll_plan(topology.get(), collective, algorithm, &schedule), LIBCOLL_SUCCESS) << libcoll_error_message();
  EXPECT_EQ(libcoll_schedule_verify(schedule), LIBCOLL_SUCCESS) << libcoll_error_message();
  return Schedule(schedule);
}

libcoll_figures figures_of(const Schedule& schedule) {
  libcoll_figures figures{};
  EXPECT_EQ(libcoll_schedule_figures(schedule.get(), &figures, sizeof figures), LIBCOLL_SUCCESS);
  return figures;
}

bool message_has(const std::string& part) {
  return std::string(libcoll_error_message()).find(part) != std::string::npos;
}

/// What the ranks say to each other: two slots a rank, in turn.
class Board {
 public:
  explicit Board(int ranks) : begun_(static_cast<std::size_t>(ranks)) {
    for (auto& slots : slots_) slots.resize(begun_.size());
  }
  void begin(std::size_t rank, const void* mine, std::size_t bytes) {
    const std::lock_guard guard(lock_);
    const auto* const text = static_cast<const char*>(mine);
    slots_[begun_[rank]++ % 2][rank].assign(text, text + bytes);
  }
  bool test(std::size_t rank, void* all) {
    const std::lock_guard guard(lock_);
    const std::size_t turn = begun_[rank];
    for (const std::size_t other : begun_) {
      if (other < turn) return false;
    }
    auto* out = static_cast<char*>(all);
    for (const std::string& said : slots_[(turn - 1) % 2]) out = std::copy(said.begin(), said.end(), out);
    return true;
  }

 private:
  std::mutex lock_;
  std::vector<std::size_t> begun_;
  std::vector<std::string> slots_[2];
};

struct Place {
  Board* board;
  std::size_t rank;
  void* all;
};

int begin_allgather(void* context, const void* mine, void* all, std::size_t bytes, void** /*request*/) {
  auto* const place = static_cast<Place*>(context);
  place->all = all;
  place->board->begin(place->rank, mine, bytes);
  return 0;
}

int test_allgather(void* context, void* /*request*/) {
  auto* const place = static_cast<Place*>(context);
  return place->board->test(place->rank, place->all) ? 1 : 0;
}

/// A thread for each rank.
void run_ranks(int ranks, const std::function<void(int rank, const libcoll_bootstrap& bootstrap)>& work) {
  Board board(ranks);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Place place{&board, static_cast<std::size_t>(rank), nullptr};
      work(rank, {&place, rank, ranks, &begin_allgather, &test_allgather});
    });
  }
  for (std::thread& thread : threads) thread.join();
}

class Api : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "libcoll-api-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    setenv("LIBCOLL_CACHE_DIR", directory_.c_str(), 1);
    setenv("LIBCOLL_COMMAND", LIBCOLL_COMMAND, 1);
  }
  void TearDown() override { fs::remove_all(directory_); }
  [[nodiscard]] std::string path(const std::string& name) const { return directory_ + "/" + name; }

  std::string directory_;
};

TEST_F(Api, OpensTopologies) {
  const Topology torus = open_topology("torus:2x2x2");
  EXPECT_EQ(libcoll_topology_hosts(torus.get()), 8);
  EXPECT_EQ(libcoll_topology_links(torus.get()), 24);  // three cables a node, two links each, shared by two
  libcoll_topology* none = nullptr;
  EXPECT_EQ(libcoll_topology_open("nonsense", &none), LIBCOLL_ERROR_INPUT);
  EXPECT_TRUE(message_has("'nonsense', expected")) << libcoll_error_message();
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(libcoll_topology_open(nullptr, &none), LIBCOLL_ERROR_ARGUMENT);
  EXPECT_EQ(libcoll_topology_open("ring:4", nullptr), LIBCOLL_ERROR_ARGUMENT);
  libcoll_topology_free(nullptr);
}

// (N-1)/N of M in each direction is the least there is, and rings and hypercubes reach it (paper 000, §3.2).
TEST_F(Api, PlansAndTellsFigures) {
  const libcoll_figures ring = figures_of(plan(open_topology("ring:4"), LIBCOLL_ALLGATHER));
  EXPECT_EQ(ring.hosts, 4);
  EXPECT_EQ(ring.steps, 2);  // its diameter
  EXPECT_DOUBLE_EQ(ring.bandwidth_time, 3.0 / 4);
  EXPECT_DOUBLE_EQ(ring.bandwidth_bound, 3.0 / 4);
  EXPECT_EQ(ring.collective, LIBCOLL_ALLGATHER);
  const Topology cube = open_topology("hypercube:3");
  const Schedule allreduce = plan(cube, LIBCOLL_ALLREDUCE, "forestcoll");
  EXPECT_STREQ(libcoll_schedule_algorithm(allreduce.get()), "forestcoll");
  EXPECT_DOUBLE_EQ(figures_of(allreduce).bandwidth_time, 2 * 7.0 / 8);
  EXPECT_STREQ(libcoll_schedule_algorithm(plan(cube, LIBCOLL_ALLTOALL, "bruck").get()), "bruck");

  libcoll_schedule* none = nullptr;
  EXPECT_EQ(libcoll_plan(cube.get(), LIBCOLL_ALLGATHER, "conquer", &none), LIBCOLL_ERROR_PLAN);
  EXPECT_TRUE(message_has("no planner \"conquer\"")) << libcoll_error_message();
  EXPECT_EQ(libcoll_plan(cube.get(), static_cast<libcoll_collective>(7), nullptr, &none), LIBCOLL_ERROR_ARGUMENT);
  EXPECT_EQ(libcoll_plan(nullptr, LIBCOLL_ALLGATHER, nullptr, &none), LIBCOLL_ERROR_ARGUMENT);
  libcoll_figures figures{};
  EXPECT_EQ(libcoll_schedule_figures(allreduce.get(), &figures, sizeof figures - 8), LIBCOLL_ERROR_ARGUMENT);
}

// The bound of all-to-all on a ring of four is F = 1/2: one shard each way round, two over two hops (paper 003, (25)).
TEST_F(Api, AlltoallsArePlannedByTheCommand) {
  const libcoll_figures ring = figures_of(plan(open_topology("ring:4"), LIBCOLL_ALLTOALL));
  EXPECT_NEAR(ring.flow_upper_bound, 0.5, 1e-9);
  EXPECT_NEAR(ring.flow, 0.5, 1e-9);
}

// The busiest link carries one shard of M/N at 25 Gbps, and the path of two hops has a latency of 2 us.
TEST_F(Api, TellsTimes) {
  const Topology ring = open_topology("ring:4");
  double small = 0;
  double large = 0;
  const Schedule schedule = plan(ring, LIBCOLL_ALLGATHER);
  ASSERT_EQ(libcoll_schedule_time(schedule.get(), 4, &small), LIBCOLL_SUCCESS);
  ASSERT_EQ(libcoll_schedule_time(schedule.get(), 1 << 30, &large), LIBCOLL_SUCCESS);
  EXPECT_NEAR(small, 2e-6, 1e-8);
  EXPECT_NEAR(large, 1.5 * (1 << 28) / 3.125e9, 1e-3 * large);
  EXPECT_EQ(libcoll_schedule_time(schedule.get(), 0, &small), LIBCOLL_ERROR_ARGUMENT);
}

TEST_F(Api, ReadsWhatItWrites) {
  const Schedule written = plan(open_topology("ring:4"), LIBCOLL_REDUCE_SCATTER);
  ASSERT_EQ(libcoll_schedule_write(written.get(), path("plan.xml").c_str()), LIBCOLL_SUCCESS);
  libcoll_schedule* pointer = nullptr;
  ASSERT_EQ(libcoll_schedule_read(path("plan.xml").c_str(), &pointer), LIBCOLL_SUCCESS) << libcoll_error_message();
  const Schedule read(pointer);
  EXPECT_EQ(libcoll_schedule_verify(read.get()), LIBCOLL_SUCCESS);
  const libcoll_figures before = figures_of(written);
  const libcoll_figures after = figures_of(read);
  EXPECT_EQ(after.collective, before.collective);
  EXPECT_EQ(after.hosts, before.hosts);
  EXPECT_EQ(after.chunks_per_shard, before.chunks_per_shard);
  EXPECT_EQ(after.steps, before.steps);
  EXPECT_EQ(after.transfers, before.transfers);
  EXPECT_EQ(after.bandwidth_time, before.bandwidth_time);
  EXPECT_EQ(after.bandwidth_bound, before.bandwidth_bound);

  // Without one of its transfers.
  std::stringstream text;
  text << std::ifstream(path("plan.xml")).rdbuf();
  std::string faulty = text.str();
  const std::size_t transfer = faulty.find("<t ");
  ASSERT_NE(transfer, std::string::npos);
  faulty.erase(transfer, faulty.find("/>", transfer) + 2 - transfer);
  std::ofstream(path("faulty.xml")) << faulty;
  ASSERT_EQ(libcoll_schedule_read(path("faulty.xml").c_str(), &pointer), LIBCOLL_SUCCESS);
  const Schedule bad(pointer);
  EXPECT_EQ(libcoll_schedule_verify(bad.get()), LIBCOLL_ERROR_SCHEDULE);
  EXPECT_STRNE(libcoll_error_message(), "");

  libcoll_schedule* none = nullptr;
  EXPECT_EQ(libcoll_schedule_read(path("missing.xml").c_str(), &none), LIBCOLL_ERROR_INPUT);
  EXPECT_TRUE(message_has("missing.xml")) << libcoll_error_message();
  std::ofstream(path("empty.xml")) << "<nothing/>";
  EXPECT_EQ(libcoll_schedule_read(path("empty.xml").c_str(), &none), LIBCOLL_ERROR_INPUT);
  EXPECT_TRUE(message_has("empty.xml:1")) << libcoll_error_message();
  EXPECT_EQ(libcoll_schedule_write(written.get(), path("no/such/folder").c_str()), LIBCOLL_ERROR_INPUT);
}

/// The numbers of one rank.
std::vector<std::int64_t> numbers(int rank, std::size_t count) {
  std::vector<std::int64_t> result(count);
  std::iota(result.begin(), result.end(), 1000 * rank);
  return result;
}

/// Every collective on `elements` 64-bit integers per rank or block.
void expect_right(libcoll_communicator* ranks, int rank, int size, std::int64_t elements) {
  const auto count = static_cast<std::size_t>(elements);
  const auto blocks = static_cast<std::size_t>(size);
  const std::int64_t bytes = elements * 8;
  std::vector<std::int64_t> expected(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (int from = 0; from < size; ++from) expected[i] += 1000 * from + static_cast<std::int64_t>(i);
  }
  std::vector<std::int64_t> in = numbers(rank, count);
  std::vector<std::int64_t> out(count);
  EXPECT_EQ(libcoll_allreduce(ranks, in.data(), out.data(), elements, LIBCOLL_INT64, LIBCOLL_SUM), LIBCOLL_SUCCESS)
      << libcoll_error_message();
  EXPECT_EQ(out, expected) << "allreduce of " << elements;
  EXPECT_EQ(libcoll_allreduce(ranks, in.data(), in.data(), elements, LIBCOLL_INT64, LIBCOLL_SUM), LIBCOLL_SUCCESS);
  EXPECT_EQ(in, expected) << "allreduce in place of " << elements;

  out.assign(count * blocks, 0);
  in = numbers(rank, count);
  EXPECT_EQ(libcoll_allgather(ranks, in.data(), out.data(), bytes), LIBCOLL_SUCCESS) << libcoll_error_message();
  for (int from = 0; from < size; ++from) {
    const auto begin = out.begin() + from * elements;
    EXPECT_EQ(std::vector(begin, begin + elements), numbers(from, count)) << "allgather of " << elements;
  }

  in = numbers(rank, count * blocks);
  EXPECT_EQ(libcoll_alltoall(ranks, in.data(), out.data(), bytes), LIBCOLL_SUCCESS) << libcoll_error_message();
  for (int from = 0; from < size; ++from) {
    EXPECT_EQ(out[static_cast<std::size_t>(from * elements)], 1000 * from + rank * elements) << "alltoall";
  }

  out.assign(count, 0);
  EXPECT_EQ(libcoll_reduce_scatter(ranks, in.data(), out.data(), elements, LIBCOLL_INT64, LIBCOLL_MAX), LIBCOLL_SUCCESS)
      << libcoll_error_message();
  EXPECT_EQ(out.back(), 1000 * (size - 1) + rank * elements + elements - 1) << "reduce_scatter";
}

TEST_F(Api, RunsCollectivesByItsOwnPlans) {
  const Topology topology = open_topology("ring:4");
  run_ranks(4, [&](int rank, const libcoll_bootstrap& bootstrap) {
    libcoll_communicator* pointer = nullptr;
    ASSERT_EQ(libcoll_communicator_create(&bootstrap, topology.get(), nullptr, 0, &pointer), LIBCOLL_SUCCESS)
        << libcoll_error_message();
    const Communicator ranks(pointer);
    for (const std::int64_t elements : {1, 5000}) expect_right(ranks.get(), rank, 4, elements);
    EXPECT_EQ(libcoll_allgather(ranks.get(), nullptr, nullptr, 0), LIBCOLL_SUCCESS);
    EXPECT_EQ(libcoll_allgather(ranks.get(), nullptr, nullptr, 8), LIBCOLL_ERROR_ARGUMENT);
    EXPECT_EQ(libcoll_allgather(ranks.get(), &rank, nullptr, -1), LIBCOLL_ERROR_ARGUMENT);
    float number = 0;
    EXPECT_EQ(libcoll_allreduce(ranks.get(), &number, &number, 1, LIBCOLL_FLOAT32, LIBCOLL_BAND),
              LIBCOLL_ERROR_ARGUMENT);
    EXPECT_TRUE(message_has("expected a reduction that MPI has")) << libcoll_error_message();
  });
}

TEST_F(Api, RunsCollectivesByTheCallersSchedules) {
  const Topology topology = open_topology("hypercube:2");
  std::vector<Schedule> owned;
  for (const auto& [collective, algorithm] :
       {std::pair{LIBCOLL_ALLREDUCE, "swing"}, std::pair{LIBCOLL_ALLGATHER, "recursive-doubling"},
        std::pair{LIBCOLL_REDUCE_SCATTER, "recursive-halving"}, std::pair{LIBCOLL_ALLTOALL, "bruck"}}) {
    owned.push_back(plan(topology, collective, algorithm));
  }
  std::vector<const libcoll_schedule*> schedules;
  schedules.reserve(owned.size());
  for (const Schedule& each : owned) schedules.push_back(each.get());
  setenv("LIBCOLL_COMMAND", "/nonexistent", 1);  // nobody needs it
  run_ranks(4, [&](int rank, const libcoll_bootstrap& bootstrap) {
    libcoll_communicator* pointer = nullptr;
    ASSERT_EQ(libcoll_communicator_create(&bootstrap, topology.get(), schedules.data(), schedules.size(), &pointer),
              LIBCOLL_SUCCESS)
        << libcoll_error_message();
    const Communicator ranks(pointer);
    for (const std::int64_t elements : {1, 3000}) expect_right(ranks.get(), rank, 4, elements);
  });
  EXPECT_TRUE(fs::is_empty(directory_)) << "plans were made beside the caller's";
}

TEST_F(Api, SumsHaveTheSameBitsOnEveryRank) {
  const Topology topology = open_topology("ring:5");
  std::vector<std::vector<double>> sums(5, std::vector<double>(2000));
  run_ranks(5, [&](int rank, const libcoll_bootstrap& bootstrap) {
    libcoll_communicator* pointer = nullptr;
    ASSERT_EQ(libcoll_communicator_create(&bootstrap, topology.get(), nullptr, 0, &pointer), LIBCOLL_SUCCESS);
    const Communicator ranks(pointer);
    std::vector<double>& sum = sums[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = 1.0 / static_cast<double>(3 + rank + 7 * i);
    EXPECT_EQ(libcoll_allreduce(ranks.get(), sum.data(), sum.data(), 2000, LIBCOLL_FLOAT64, LIBCOLL_SUM),
              LIBCOLL_SUCCESS);
  });
  for (const std::vector<double>& sum : sums) {
    EXPECT_EQ(std::memcmp(sum.data(), sums.front().data(), sum.size() * sizeof(double)), 0);
  }
  EXPECT_NEAR(sums[0][0], 1.0 / 3 + 1.0 / 4 + 1.0 / 5 + 1.0 / 6 + 1.0 / 7, 1e-12);
}

/// Where threads wait for each other without libcoll's help.
class Meeting {
 public:
  explicit Meeting(int size) : size_(size) {}
  /// False when one of them does not come.
  bool all_come() {
    std::unique_lock guard(lock_);
    const int round = came_ / size_;
    if (++came_ % size_ == 0) all_here_.notify_all();
    return all_here_.wait_for(guard, std::chrono::seconds(20), [&] { return came_ / size_ > round; });
  }

 private:
  const int size_;
  std::mutex lock_;
  std::condition_variable all_here_;
  int came_ = 0;
};

// Over tcp, UCX is done with what it sent when the receiver has answered, and that may be in no call any more.
TEST_F(Api, ACallEndsAlthoughOthersWaitElsewhere) {
  setenv("UCX_TLS", "tcp,self", 1);
  const Topology topology = open_topology("ring:4");
  Meeting meeting(4);
  run_ranks(4, [&](int rank, const libcoll_bootstrap& bootstrap) {
    libcoll_communicator* pointer = nullptr;
    ASSERT_EQ(libcoll_communicator_create(&bootstrap, topology.get(), nullptr, 0, &pointer), LIBCOLL_SUCCESS)
        << libcoll_error_message();
    const Communicator ranks(pointer);
    for (int call = 0; call < 300; ++call) {
      expect_right(ranks.get(), rank, 4, 1000);
      ASSERT_TRUE(meeting.all_come()) << "a call of another rank does not end";
    }
  });
  unsetenv("UCX_TLS");
}

TEST_F(Api, RanksRefuseTogether) {
  const Topology topology = open_topology("ring:3");
  const Topology other = open_topology("complete:3");
  const Schedule ring = plan(topology, LIBCOLL_ALLREDUCE, "ring");
  const Schedule bfb = plan(topology, LIBCOLL_ALLREDUCE, "bfb");
  run_ranks(3, [&](int rank, const libcoll_bootstrap& bootstrap) {
    libcoll_communicator* none = nullptr;
    const libcoll_schedule* mine = rank == 2 ? ring.get() : bfb.get();
    EXPECT_EQ(libcoll_communicator_create(&bootstrap, topology.get(), &mine, 1, &none), LIBCOLL_ERROR_SETUP);
    EXPECT_TRUE(message_has("ranks 0 and 2 have different schedules")) << libcoll_error_message();
    mine = bfb.get();
    const libcoll_topology* fabric = rank == 1 ? other.get() : topology.get();
    EXPECT_EQ(libcoll_communicator_create(&bootstrap, fabric, &mine, 1, &none),
              rank == 1 ? LIBCOLL_ERROR_ARGUMENT : LIBCOLL_ERROR_SETUP);
    EXPECT_TRUE(message_has(rank == 1 ? "expected one of complete:3" : "rank 1 were refused"))
        << libcoll_error_message();
    EXPECT_EQ(none, nullptr);
  });
  const libcoll_bootstrap alone{nullptr, 0, 1, &begin_allgather, &test_allgather};
  libcoll_communicator* none = nullptr;
  EXPECT_EQ(libcoll_communicator_create(&alone, topology.get(), nullptr, 0, &none), LIBCOLL_ERROR_ARGUMENT);
  EXPECT_EQ(libcoll_communicator_create(nullptr, topology.get(), nullptr, 0, &none), LIBCOLL_ERROR_ARGUMENT);
}

// Topologies that differ between ranks are found when the ranks agree on settings, not only where there are schedules.
TEST_F(Api, DifferentTopologiesAreNotRunOn) {
  const Topology ring = open_topology("ring:3");
  const Topology complete = open_topology("uniring:3");
  run_ranks(3, [&](int rank, const libcoll_bootstrap& bootstrap) {
    libcoll_communicator* pointer = nullptr;
    ASSERT_EQ(libcoll_communicator_create(&bootstrap, rank == 0 ? ring.get() : complete.get(), nullptr, 0, &pointer),
              LIBCOLL_SUCCESS);
    const Communicator ranks(pointer);
    std::int64_t number = 1;
    EXPECT_EQ(libcoll_allreduce(ranks.get(), &number, &number, 1, LIBCOLL_INT64, LIBCOLL_SUM), LIBCOLL_ERROR_SETUP);
    EXPECT_TRUE(message_has("allreduce cannot be run: ")) << libcoll_error_message();
  });
}

std::atomic<int> lines_heard{0};

TEST_F(Api, SaysNothingButToItsSink) {
  const Topology topology = open_topology("ring:3");
  setenv("LIBCOLL_LOG_LEVEL", "debug", 1);
  const auto run = [&] {
    run_ranks(3, [&](int /*rank*/, const libcoll_bootstrap& bootstrap) {
      libcoll_communicator* pointer = nullptr;
      ASSERT_EQ(libcoll_communicator_create(&bootstrap, topology.get(), nullptr, 0, &pointer), LIBCOLL_SUCCESS);
      const Communicator ranks(pointer);
      std::int64_t number = 1;
      EXPECT_EQ(libcoll_allreduce(ranks.get(), &number, &number, 1, LIBCOLL_INT64, LIBCOLL_SUM), LIBCOLL_SUCCESS);
    });
  };
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  run();
  EXPECT_EQ(lines_heard, 0);
  libcoll_set_log_sink(
      [](const char* level, const char* message) { lines_heard += *level != '\0' && *message != '\0' ? 1 : 0; });
  run();
  libcoll_set_log_sink(nullptr);
  unsetenv("LIBCOLL_LOG_LEVEL");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_GT(lines_heard, 0);
}

}  // namespace
