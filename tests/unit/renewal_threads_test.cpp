// The topology file loses a cable and gets it back while calls go on: all ranks change to new plans at the same call,
// and every result is right. Every rank is a thread with a runtime of its own.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "planner/base/index.h"
#include "tests/unit/thread_ranks.h"

namespace libcoll::renewal_threads_test {

using namespace execute;
using namespace schedule;
using namespace test;

namespace {

constexpr int ranks = 4;
constexpr std::chrono::seconds most_time{100};

void write_fabric(const std::string& path, const std::string& more) {
  std::ofstream(path + ".new") << "name = \"fabric\"\ngenerator = \"ring:4\"\n" << more;
  std::filesystem::rename(path + ".new", path);
}

class RankOnItsOwn final : public ThreadRank {
 public:
  RankOnItsOwn(Meeting& meeting, int rank, const std::string& directory)
      : ThreadRank(meeting, rank,
                   {"LIBCOLL_TOPOLOGY=" + directory + "/fabric.toml", "LIBCOLL_CACHE_DIR=" + directory,
                    "LIBCOLL_COST_MODEL=no", "LIBCOLL_TIMEOUT_SECONDS=120", "LIBCOLL_LOG_LEVEL=error"}),
        path_(directory + "/fabric.toml") {}

 private:
  void work() override {
    if (!is_served(Collective::allgather, true)) return;
    if (!communicator().can_go_direct(Collective::allgather)) return complain("calls need a plan at the start");
    change("removed_links = [[\"0\", \"1\"]]\n");
    call_until(false);
    // What is made now begins with the fabric as it is.
    make_communicator();
    if (!is_served(Collective::allgather, true)) return;
    if (communicator().can_go_direct(Collective::allgather)) complain("a new communicator has the plans of the start");
    allgather(0);
    change("");
    call_until(true);
  }

  void change(const std::string& more) {
    if (rank() == 0) write_fabric(path_, more);
  }

  /// Whether a call may go without a plan tells which ones it goes by. Were that not the same on all ranks, some would
  /// call more often than others, and not end.
  void call_until(bool direct) {
    const auto began = std::chrono::steady_clock::now();
    for (int number = 0; good(); ++number) {
      allgather(number);
      if (communicator().can_go_direct(Collective::allgather) == direct) return;
      if (std::chrono::steady_clock::now() - began > most_time) return complain("the plans stay as they are");
    }
  }

  /// Every other one goes on while the next is under way.
  void allgather(int number) {
    if (!is_served(Collective::allgather, true)) return;
    std::vector<std::int64_t> mine(1000, element(number, rank()));
    std::vector<std::int64_t> all(mine.size() * ranks);
    Call call;
    call.collective = Collective::allgather;
    call.input = reinterpret_cast<const std::byte*>(mine.data());
    call.output = reinterpret_cast<std::byte*>(all.data());
    call.elements = static_cast<std::int64_t>(mine.size());
    call.element_bytes = sizeof(std::int64_t);
    if (number % 2 == 0) {
      wait_for(call);
    } else {
      begin(call);
      wait_for_begun(false);
    }
    for (int from = 0; from < ranks; ++from) {
      for (std::size_t i = 0; i < mine.size(); ++i) {
        if (all[at(from) * mine.size() + i] == element(number, from)) continue;
        return complain("allgather " + std::to_string(number) + " is wrong");
      }
    }
  }

  static std::int64_t element(int number, int from) { return number * 100 + from; }

  const std::string path_;
};

TEST(Renewal, TheFileLosesACableAndGetsItBack) {
  expect_all_well(ranks, [](Meeting& meeting, int rank, const std::string& directory) {
    if (rank == 0) write_fabric(directory + "/fabric.toml", "");
    return std::make_unique<RankOnItsOwn>(meeting, rank, directory);
  });
}

}  // namespace
}  // namespace libcoll::renewal_threads_test
