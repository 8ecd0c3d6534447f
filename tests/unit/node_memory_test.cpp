// Memory of a node's ranks: nobody may be killed for a page that the machine does not have.
#include "libcoll/node/node_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <string>
#include <vector>

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

}  // namespace
}  // namespace libcoll::node_memory_test
