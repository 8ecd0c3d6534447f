// Communicators of ranks that have agreed before: the agreement is taken over where all ranks know the same one, and
// made anew where one rank knows none or another one. Every rank is a thread with a runtime of its own.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/thread_ranks.h"

namespace libcoll::same_group_threads_test {

using namespace comm;
using namespace execute;
using namespace observe;
using namespace schedule;
using namespace test;

namespace {

constexpr int ranks = 4;

class RankOfGroup final : public ThreadRank {
 public:
  RankOfGroup(Meeting& meeting, int rank, const std::string& directory)
      : ThreadRank(meeting, rank,
                   {"LIBCOLL_TOPOLOGY=ring:4", "LIBCOLL_CACHE_DIR=" + directory, "LIBCOLL_COST_MODEL=no",
                    "LIBCOLL_TIMEOUT_SECONDS=120", "LIBCOLL_LOG_LEVEL=error"}) {}

 private:
  /// Whether the communicator was served from its beginning, as one that takes an agreement over is.
  void expect_known(bool known, const std::string& when) {
    const std::optional<Reason> reason = communicator().begins(Collective::allgather, true);
    if (reason.has_value() == known) complain(when + ": " + (known ? "not taken over" : "taken over"));
  }

  void gather(std::int64_t key) {
    if (!is_served(Collective::allgather, true)) return;
    const std::int64_t mine = key * ranks + rank();
    std::vector<std::int64_t> all(ranks);
    Call call;
    call.collective = Collective::allgather;
    call.input = reinterpret_cast<const std::byte*>(&mine);
    call.output = reinterpret_cast<std::byte*>(all.data());
    call.elements = 1;
    call.element_bytes = sizeof mine;
    wait_for(call);
    for (int other = 0; other < ranks; ++other) {
      if (all[static_cast<std::size_t>(other)] != key * ranks + other) complain("a call is wrong");
    }
  }

  void next(bool known, const std::string& when) {
    make_communicator();
    expect_known(known, when);
    gather(++calls_);
  }

  void work() override {
    expect_known(false, "the first");
    gather(0);
    next(true, "when all know");
    // Ids that are free differ by rank.
    for (int i = 0; i < rank(); ++i) take_id();
    next(true, "when other ids are free");
    if (rank() == 2) forget_agreements();
    next(false, "when one has forgotten");
    next(true, "when all know again");
    // Rank 1 knows what was agreed on before the others' last agreement.
    const std::shared_ptr<const Communicator> older = known_agreement();
    forget_agreements();
    next(false, "when all have forgotten");
    if (rank() == 1) know_agreement(older);
    next(false, "when one knows an older one");
    next(true, "after that");
  }

  std::int64_t calls_ = 0;
};

TEST(SameGroup, TakesOverWhatAllRanksKnow) {
  expect_all_well(ranks, [](Meeting& meeting, int rank, const std::string& directory) {
    return std::make_unique<RankOfGroup>(meeting, rank, directory);
  });
}

}  // namespace
}  // namespace libcoll::same_group_threads_test
