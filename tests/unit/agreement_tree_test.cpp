// The tree that ranks agree along when links have died.
#include "libcoll/recover/agreement_tree.h"

#include <gtest/gtest.h>

#include <vector>

#include "planner/base/index.h"

namespace libcoll::agreement_tree_test {

using namespace recover;
using namespace topology;

namespace {

using Neighbours = std::vector<std::vector<NodeId>>;

const Neighbours path_of_three{{1}, {0, 2}, {1}};

TEST(AgreementTree, OneRankPerNode) {
  EXPECT_EQ(agreement_tree({2, 0, 1}, {1, 2, 0}, path_of_three), (std::vector<int>{-1, 2, 0}));
}

/// Between nodes by speakers, which rank 0 need not be.
TEST(AgreementTree, SeveralRanksPerNode) {
  const std::vector<NodeId> node_of_rank{0, 0, 0, 1, 1, 2, 2};
  const std::vector<std::int32_t> speakers{1, 3, 6};
  const std::vector<int> parents = agreement_tree(node_of_rank, speakers, path_of_three);
  EXPECT_EQ(parents, (std::vector<int>{-1, 0, 0, 1, 3, 6, 3}));
}

TEST(AgreementTree, EveryStepIsInANodeOrOnALink) {
  const Neighbours ring{{1, 3}, {0, 2}, {1, 3}, {2, 0}};
  const std::vector<NodeId> node_of_rank{3, 1, 0, 2, 3, 1, 0, 2, 1};
  const std::vector<std::int32_t> speakers{6, 5, 3, 4};
  const std::vector<int> parents = agreement_tree(node_of_rank, speakers, ring);
  for (int rank = 0; rank < 9; ++rank) {
    int steps = 0;
    int each = rank;
    for (; each > 0; each = parents[at(each)], ++steps) {
      ASSERT_GE(parents[at(each)], 0);
      const NodeId from = node_of_rank[at(each)];
      const NodeId to = node_of_rank[at(parents[at(each)])];
      EXPECT_TRUE(from == to || (from + 1) % 4 == to || (to + 1) % 4 == from);
    }
    EXPECT_EQ(each, 0) << "rank " << rank;
    EXPECT_LE(steps, 4);
  }
}

TEST(AgreementTree, WhoCannotBeReachedHasNobodyAbove) {
  const Neighbours apart{{1}, {0}, {}};
  EXPECT_EQ(agreement_tree({0, 1, 2, 2}, {0, 1, 2}, apart), (std::vector<int>{-1, 0, -1, -1}));
}

}  // namespace
}  // namespace libcoll::agreement_tree_test
