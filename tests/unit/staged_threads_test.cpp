// Calls of ranks that share nodes, as the preloaded library runs them: every rank is a thread with a runtime of its
// own, and has a progress thread beside it.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "libcoll/runtime/communicator.h"
#include "libcoll/runtime/running_call.h"
#include "libcoll/runtime/runtime.h"

namespace libcoll {
namespace {

/// Where the threads meet in place of the program's MPI.
class Meeting {
 public:
  explicit Meeting(int size) : size_(size) {}

  [[nodiscard]] int size() const { return size_; }

  void allgather(int rank, const void* mine, std::size_t bytes, void* all) {
    std::unique_lock guard(lock_);
    said_.resize(static_cast<std::size_t>(size_) * bytes);
    std::memcpy(said_.data() + static_cast<std::size_t>(rank) * bytes, mine, bytes);
    wait_for_all(guard);
    std::memcpy(all, said_.data(), said_.size());
    wait_for_all(guard);
  }
  void begin_barrier() { begun_.fetch_add(1); }
  [[nodiscard]] bool passed(int barriers) const { return begun_.load() >= barriers * size_; }

 private:
  void wait_for_all(std::unique_lock<std::mutex>& guard) {
    const std::int64_t turn = turns_;
    if (++here_ == size_) {
      here_ = 0;
      ++turns_;
      all_here_.notify_all();
      return;
    }
    all_here_.wait(guard, [&] { return turns_ != turn; });
  }

  const int size_;
  std::mutex lock_;
  std::condition_variable all_here_;
  std::vector<std::byte> said_;
  int here_ = 0;
  std::int64_t turns_ = 0;
  std::atomic<int> begun_{0};
};

class ThreadHost final : public HostCommunicator {
 public:
  ThreadHost(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return meeting_.size(); }
  [[nodiscard]] int world_rank() const override { return rank_; }
  [[nodiscard]] int world_size() const override { return meeting_.size(); }
  [[nodiscard]] std::string host_name() const override { return "host"; }
  [[nodiscard]] std::string name() const override { return "threads"; }
  bool allgather(const void* mine, std::size_t bytes, void* all) override {
    meeting_.allgather(rank_, mine, bytes, all);
    return true;
  }
  bool broadcast(void* data, std::size_t bytes) override {
    std::vector<std::byte> all(bytes * static_cast<std::size_t>(size()));
    meeting_.allgather(rank_, data, bytes, all.data());
    std::memcpy(data, all.data(), bytes);
    return true;
  }
  bool begin_barrier() override {
    ++barriers_;
    meeting_.begin_barrier();
    return true;
  }
  bool barrier_passed() override { return meeting_.passed(barriers_); }
  bool reach_all(Runtime&) override { return true; }
  void progress() override {}

 private:
  Meeting& meeting_;
  const int rank_;
  int barriers_ = 0;
};

using Words = std::vector<std::uint64_t>;

void add(const void*, void* destination, const void* left, const void* right, std::int64_t elements) noexcept {
  for (std::int64_t i = 0; i < elements; ++i) {
    static_cast<std::uint64_t*>(destination)[i] =
        static_cast<const std::uint64_t*>(left)[i] + static_cast<const std::uint64_t*>(right)[i];
  }
}

std::uint64_t value(int rank, int call, std::size_t i) {
  return static_cast<std::uint64_t>(rank) * 1'000'003 + static_cast<std::uint64_t>(call) * 10'007 + i * 31 + 1;
}

/// One call with its buffers.
struct Job {
  Job(Collective collective, int rank, int ranks, int number, std::size_t elements) : input(elements) {
    const bool reduces = collective == Collective::allreduce;
    for (std::size_t i = 0; i < elements; ++i) input[i] = value(rank, number, i);
    output.resize(reduces ? elements : elements * static_cast<std::size_t>(ranks));
    expected.resize(output.size());
    for (int from = 0; from < ranks; ++from) {
      const std::size_t begin = reduces ? 0 : static_cast<std::size_t>(from) * elements;
      for (std::size_t i = 0; i < elements; ++i) expected[begin + i] += value(from, number, i);
    }
    call.collective = collective;
    call.input = reinterpret_cast<const std::byte*>(input.data());
    call.output = reinterpret_cast<std::byte*>(output.data());
    call.elements = static_cast<std::int64_t>(elements);
    call.element_bytes = sizeof(std::uint64_t);
    call.reducer.apply = &add;
  }

  Words input;
  Words output;
  Words expected;
  Call call;
};

constexpr int ranks_per_node = 3;
constexpr int world = 2 * ranks_per_node;
constexpr int repetitions = 12;
constexpr std::array<std::size_t, 3> lengths{1, 700, 20'000};

/// What one rank does; what went wrong.
class RankThread {
 public:
  RankThread(Meeting& meeting, int rank, const std::string& cache)
      : rank_(rank),
        settings_{"LIBCOLL_TOPOLOGY=ring:2",     "LIBCOLL_HOST=node" + std::to_string(rank / ranks_per_node),
                  "LIBCOLL_CACHE_DIR=" + cache,  "LIBCOLL_BACKGROUND_PLANNING=no",
                  "LIBCOLL_COST_MODEL=no",       "LIBCOLL_PROGRESS_THREAD=yes",
                  "LIBCOLL_TIMEOUT_SECONDS=120", "LIBCOLL_ALLREDUCE=bfb",
                  "LIBCOLL_ALLGATHER=bfb",       "LIBCOLL_LOG_LEVEL=warn"},
        host_(meeting, rank) {
    for (std::string& setting : settings_) environment_.push_back(setting.data());
    environment_.push_back(nullptr);
  }

  void run() {
    runtime_ = std::make_unique<Runtime>(environment_.data(), "", rank_);
    communicator_ = std::shared_ptr(Communicator::make(*runtime_, host_));
    for (const Collective collective : {Collective::allreduce, Collective::allgather}) {
      const Reason reason = communicator_->ready(collective, true, host_);
      if (reason != Reason::count_) return complain(std::string("not served: ") + std::string(to_string(reason)));
    }
    for (int number = 0; number < repetitions && wrong_.empty(); number += 2) {
      wait_for_one(number);
      begin_several(number + 1);
    }
    runtime_->stop_progress_thread();
    // Nobody goes while another may still send to it.
    host_.begin_barrier();
    while (!host_.barrier_passed()) runtime_->progress();
    communicator_.reset();
  }

  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  void complain(const std::string& what) { wrong_ = "rank " + std::to_string(rank_) + ": " + what; }

  void check(const Job& job) {
    if (job.output != job.expected) complain("a wrong result of " + std::to_string(job.call.elements) + " elements");
  }

  void wait_for_one(int number) {
    for (const std::size_t elements : lengths) {
      Job job(number % 4 == 0 ? Collective::allreduce : Collective::allgather, rank_, world, number, elements);
      if (!communicator_->run(job.call, hook())) return complain("a call failed");
      check(job);
    }
  }

  static ProgressHook hook() {
    return {[]() noexcept {}};
  }

  /// Several under way at once, which the progress thread moves along as this one does.
  void begin_several(int number) {
    std::vector<std::unique_ptr<Job>> jobs;
    std::vector<std::unique_ptr<Unattended>> calls;
    jobs.reserve(2 * lengths.size());
    calls.reserve(2 * lengths.size());
    std::size_t left = 0;
    for (const std::size_t elements : lengths) {
      for (const Collective collective : {Collective::allgather, Collective::allreduce}) {
        jobs.push_back(std::make_unique<Job>(collective, rank_, world, number, elements));
        calls.push_back(std::make_unique<Unattended>(communicator_->make_call(jobs.back()->call, nullptr)));
        const std::lock_guard guard(runtime_->lock());
        calls.back()->running().begin();
        if (calls.back()->running().over()) continue;
        runtime_->look_after(*calls.back());
        ++left;
      }
    }
    while (left > 0) {
      if (number % 4 == 1) runtime_->progress();
      std::this_thread::yield();
      left -= runtime_->take_ended().size();
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const std::lock_guard guard(runtime_->lock());
      if (calls[i]->running().failed()) return complain("a call that nobody waited for failed");
      check(*jobs[i]);
    }
  }

  const int rank_;
  std::vector<std::string> settings_;
  std::vector<char*> environment_;
  ThreadHost host_;
  std::unique_ptr<Runtime> runtime_;
  std::shared_ptr<Communicator> communicator_;
  std::string wrong_;
};

TEST(StagedCall, RanksOfNodesWithProgressThreads) {
  std::string directory = (std::filesystem::temp_directory_path() / "libcoll-staged-XXXXXX").string();
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  Meeting meeting(world);
  std::vector<std::unique_ptr<RankThread>> ranks;
  ranks.reserve(world);
  for (int rank = 0; rank < world; ++rank) ranks.push_back(std::make_unique<RankThread>(meeting, rank, directory));
  std::vector<std::thread> threads;
  threads.reserve(ranks.size());
  for (auto& rank : ranks) threads.emplace_back([&rank] { rank->run(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& rank : ranks) EXPECT_EQ(rank->wrong(), "");
  ranks.clear();
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace libcoll
