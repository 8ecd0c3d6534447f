// A job whose ranks are threads, for tests: each has a runtime of its own, as a process under the preloaded library,
// with a progress thread beside it. UCX carries their messages.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "libcoll/comm/communicator.h"
#include "libcoll/comm/running_call.h"
#include "libcoll/comm/runtime.h"

namespace libcoll::test {

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
    const std::int64_t turn = call_order_;
    if (++here_ == size_) {
      here_ = 0;
      ++call_order_;
      all_here_.notify_all();
      return;
    }
    all_here_.wait(guard, [&] { return call_order_ != turn; });
  }

  const int size_;
  std::mutex lock_;
  std::condition_variable all_here_;
  std::vector<std::byte> said_;
  int here_ = 0;
  std::int64_t call_order_ = 0;
  std::atomic<int> begun_{0};
};

class ThreadHost final : public comm::HostCommunicator {
 public:
  ThreadHost(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return meeting_.size(); }
  [[nodiscard]] int world_rank() const override { return rank_; }
  [[nodiscard]] int world_size() const override { return meeting_.size(); }
  [[nodiscard]] std::vector<int> world_ranks() const override {
    std::vector<int> ranks(static_cast<std::size_t>(size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }
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
  bool reach_all(comm::Runtime&) override { return true; }
  void progress() override {}

 private:
  Meeting& meeting_;
  const int rank_;
  int barriers_ = 0;
};

/// What one rank does; what went wrong.
class ThreadRank {
 public:
  ThreadRank(Meeting& meeting, int rank, std::vector<std::string> settings)
      : rank_(rank), settings_(std::move(settings)), host_(meeting, rank) {
    for (std::string& setting : settings_) environment_.push_back(setting.data());
    environment_.push_back(nullptr);
  }
  virtual ~ThreadRank() = default;
  ThreadRank(const ThreadRank&) = delete;
  ThreadRank& operator=(const ThreadRank&) = delete;

  void run() {
    runtime_ = std::make_unique<comm::Runtime>(environment_.data(), "", rank_);
    runtime_->engine().use_progress_thread();
    make_communicator();
    work();
    runtime_->engine().stop_progress_thread();
    // What goes on beside calls comes to its end, as before MPI_Finalize.
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (good() && runtime_->engine().has_errands() && std::chrono::steady_clock::now() < patience) {
      runtime_->engine().progress();
      std::this_thread::yield();
    }
    // Nobody goes while another may still send to it.
    host_.begin_barrier();
    while (!host_.barrier_passed()) runtime_->engine().progress();
    communicator_.reset();
    earlier_.clear();
  }

  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 protected:
  virtual void work() = 0;

  void complain(const std::string& what) { wrong_ = "rank " + std::to_string(rank_) + ": " + what; }
  [[nodiscard]] bool good() const { return wrong_.empty(); }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] const comm::Communicator& communicator() const { return *communicator_; }
  [[nodiscard]] const std::shared_ptr<comm::Communicator>& shared_communicator() const { return communicator_; }

  /// Instead of the one that it had; all ranks do so.
  void make_communicator() { communicator_ = std::shared_ptr(comm::Communicator::make(*runtime_, host_)); }

  /// One more; calls of the one that it had go on. All ranks do so.
  void make_another_communicator() {
    earlier_.push_back(communicator_);
    make_communicator();
  }
  void free_earlier_communicators() { earlier_.clear(); }

  /// What this rank's communicators have agreed on; those that are there go on.
  void forget_agreements() { runtime_->agreed_groups()->forget(host_.world_ranks()); }

  /// What they would take over, and that something else is that.
  [[nodiscard]] std::shared_ptr<const comm::Communicator> known_agreement() {
    return runtime_->agreed_groups()->find(host_.world_ranks());
  }
  void know_agreement(std::shared_ptr<const comm::Communicator> agreed) {
    runtime_->agreed_groups()->keep(host_.world_ranks(), std::move(agreed));
  }

  [[nodiscard]] std::string transport_name() const { return runtime_->transport().name(); }

  /// An id that this rank's communicators cannot have.
  void take_id() { runtime_->communicator_ids()->take(runtime_->communicator_ids()->next_free(1)); }

  bool is_served(schedule::Collective collective, bool equal_shards) {
    const std::optional<observe::Reason> reason = communicator_->ready(collective, equal_shards, host_);
    if (reason) {
      complain(std::string("not served: ") + std::string(observe::to_string(*reason)));
      return false;
    }
    communicator_->before_served_call(host_);
    return true;
  }

  void wait_for(const execute::Call& call) {
    if (!communicator_->run(call, {[]() noexcept {}})) complain("a call failed");
  }

  /// Goes on beside others, and beside what this thread does.
  void begin(const execute::Call& call) { begin_on(*communicator_, call); }
  void begin_on(comm::Communicator& communicator, const execute::Call& call) {
    begun_.push_back(std::make_unique<comm::Unattended>(communicator.make_call(call, nullptr)));
    const std::lock_guard guard(runtime_->lock());
    begun_.back()->running().begin();
    if (begun_.back()->running().over()) return;
    runtime_->engine().look_after(*begun_.back());
    ++left_;
  }

  /// Until all that were begun are over, with the progress thread's help or by it alone.
  void wait_for_begun(bool alone) {
    while (left_ > 0) {
      if (!alone) runtime_->engine().progress();
      std::this_thread::yield();
      left_ -= runtime_->engine().take_ended().size();
    }
    const std::lock_guard guard(runtime_->lock());
    for (const auto& call : begun_) {
      if (call->running().failed()) complain("a call that nobody waited for failed");
    }
    begun_.clear();
  }

 private:
  const int rank_;
  std::vector<std::string> settings_;
  std::vector<char*> environment_;
  ThreadHost host_;
  std::unique_ptr<comm::Runtime> runtime_;
  std::shared_ptr<comm::Communicator> communicator_;
  std::vector<std::shared_ptr<comm::Communicator>> earlier_;
  std::vector<std::unique_ptr<comm::Unattended>> begun_;
  std::size_t left_ = 0;
  std::string wrong_;
};

/// `make` gives the meeting's ranks, and the directory that they have for plans.
inline void expect_all_well(
    int ranks, const std::function<std::unique_ptr<ThreadRank>(Meeting&, int rank, const std::string& cache)>& make) {
  std::string directory = (std::filesystem::temp_directory_path() / "libcoll-threads-XXXXXX").string();
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  Meeting meeting(ranks);
  std::vector<std::unique_ptr<ThreadRank>> job;
  job.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) job.push_back(make(meeting, rank, directory));
  std::vector<std::thread> threads;
  threads.reserve(job.size());
  for (auto& rank : job) threads.emplace_back([&rank] { rank->run(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& rank : job) EXPECT_EQ(rank->wrong(), "");
  job.clear();
  std::filesystem::remove_all(directory);
}

}  // namespace libcoll::test
