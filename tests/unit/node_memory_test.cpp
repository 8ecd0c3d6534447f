// Memory of a node's ranks: nobody may be killed for a page that the machine does not have.
#include "libcoll/node/node_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <deque>
#include <string>
#include <vector>

#include "libcoll/base/page_size.h"
#include "libcoll/base/safe_file.h"

namespace libcoll::node_memory_test {

using namespace node;

namespace {

constexpr std::int64_t half_bytes = 1 << 20;
constexpr std::int64_t bytes_of_block = 512;  ///< as stat(2) has them

/// Three ranks, whose vectors leave a rest of each half.
TEST(NodeMemory, IsSetAsideAsAWhole) {
  const RankLayout layout = arrange({{0, 0, -1}, {0, 1, -1}, {0, 2, -1}}, 1, 0);
  NodeMemory first(layout, 0, half_bytes, true);
  NodeMemory second(layout, 1, half_bytes, true);
  NodeMemory third(layout, 2, half_bytes, true);
  const Result<std::string> name = first.create();
  ASSERT_TRUE(name.ok()) << name.error().message;
  const FileDescriptor file(shm_open(name->c_str(), O_RDONLY, 0));
  ASSERT_TRUE(file);
  ASSERT_TRUE(second.open(*name).ok());
  ASSERT_TRUE(third.open(*name).ok());
  ASSERT_LT(first.staging().vector_bytes() * 3, half_bytes);
  const std::vector<NodeMemory*> all{&first, &second, &third};
  for (NodeMemory* memory : all) ASSERT_TRUE(memory->reserve_own().ok());
  for (NodeMemory* memory : all) ASSERT_TRUE(memory->settle().ok());
  struct stat facts {};
  ASSERT_EQ(fstat(file.get(), &facts), 0);
  EXPECT_GT(facts.st_size, 2 * half_bytes);
  EXPECT_GE(facts.st_blocks * bytes_of_block, facts.st_size);
}

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

/// Each rank has a mapping of its own, as processes have.
TEST(NodeMemory, IsMappedBeforeRoundsComeToIt) {
  const RankLayout layout = arrange({{0, 0, -1}, {0, 1, -1}, {0, 2, -1}}, 1, 0);
  std::deque<NodeMemory> all;
  for (std::int32_t rank = 0; rank < 3; ++rank) all.emplace_back(layout, rank, half_bytes, true);
  const Result<std::string> name = all.front().create();
  ASSERT_TRUE(name.ok()) << name.error().message;
  ASSERT_TRUE(all[1].open(*name).ok());
  ASSERT_TRUE(all[2].open(*name).ok());
  for (NodeMemory& memory : all) ASSERT_TRUE(memory.reserve_own().ok());
  for (NodeMemory& memory : all) ASSERT_TRUE(memory.settle().ok());
  for (std::uint32_t round = 1; round <= 2; ++round) {
    for (NodeMemory& memory : all) ASSERT_EQ(memory.next_round(), round);
  }
  const std::int64_t vector_bytes = all.front().staging().vector_bytes_in_turn();
  ASSERT_GT(vector_bytes, half_bytes / 4);
  const auto page = static_cast<std::int64_t>(page_bytes());
  std::int64_t pages = 0;
  const long before = page_faults();
  for (const NodeMemory& memory : all) {
    for (std::uint32_t half = 0; half < 2; ++half) {
      for (std::int64_t local = 0; local < 3; ++local) {
        std::byte* const vector = memory.half(half).begin + local * memory.staging().vector_bytes();
        for (std::int64_t at = 0; at < vector_bytes; at += page, ++pages) vector[at] = std::byte{1};
      }
    }
  }
  EXPECT_LT(page_faults() - before, pages / 16);
}

}  // namespace
}  // namespace libcoll::node_memory_test
