#include "libcoll/comm/poll_history.h"

#include <gtest/gtest.h>

namespace libcoll::poll_history_test {

using comm::PollHistory;

TEST(PollHistory, LeavesOutPollingThatIsInVainButForATryNowAndThen) {
  PollHistory history;
  for (unsigned wait = 0; wait < PollHistory::fruitless_limit; ++wait) {
    EXPECT_TRUE(history.pays()) << wait;
    history.note(false);
  }
  unsigned tries = 0;
  for (unsigned wait = 0; wait < 4 * PollHistory::waits_per_try; ++wait) {
    if (history.pays()) ++tries;
  }
  EXPECT_EQ(tries, 4U);
}

TEST(PollHistory, PollsAgainOnceSomethingCameInTime) {
  PollHistory history;
  for (unsigned wait = 0; wait < 10; ++wait) history.note(false);
  history.note(true);
  EXPECT_TRUE(history.pays());
  history.note(false);
  EXPECT_TRUE(history.pays());
}

}  // namespace libcoll::poll_history_test
