// Lists of UCX's transports without shared memory, in the forms that UCX_TLS may have.
#include "libcoll/transport/ucx/ucx_transports.h"

#include <gtest/gtest.h>

namespace libcoll::ucx_transports_test {

using namespace transport::ucx;

namespace {

TEST(WithoutSharedMemory, LeavesTheOthersInTheirOrder) {
  EXPECT_EQ(without_shared_memory("tcp,sm,self"), "tcp,self");
  EXPECT_EQ(without_shared_memory("shm,rc_x,cuda_copy,ud_x"), "rc_x,cuda_copy,ud_x");
  EXPECT_EQ(without_shared_memory("posix,sysv,xpmem,mm,cma,knem,dc"), "dc");
  EXPECT_EQ(without_shared_memory("\\posix,\\rc_verbs"), "\\rc_verbs");
  EXPECT_EQ(without_shared_memory("tcp"), "tcp");
}

TEST(WithoutSharedMemory, OfAllIsAnExclusion) {
  EXPECT_EQ(without_shared_memory("all"), "^sm");
  EXPECT_EQ(without_shared_memory("all,cuda_copy"), "^sm");
}

TEST(WithoutSharedMemory, JoinsWhatIsExcludedAnyway) {
  EXPECT_EQ(without_shared_memory("^ib"), "^sm,ib");
  EXPECT_EQ(without_shared_memory("^posix,tcp"), "^sm,tcp");
  EXPECT_EQ(without_shared_memory("^sm"), "^sm");
}

// Whoever allows nothing else wants to stay on the host; a class without any transport would serve nobody.
TEST(WithoutSharedMemory, IsNothingWhereNothingElseReachesOthers) {
  for (const char* only : {"sm", "sm,self", "self", "posix,cma", "cuda_copy,cuda_ipc,sm", "", "^all"}) {
    EXPECT_EQ(without_shared_memory(only), only);
  }
}

TEST(HasTcp, WhereItIsAllowedAndHasADevice) {
  for (const char* with : {"all", "tcp", "sm,tcp,self", "\\tcp", "^sm", "^ib,ud"}) {
    EXPECT_TRUE(has_tcp(with, "all")) << with;
    EXPECT_TRUE(has_tcp(with, "no_such_device:1,lo")) << with;
    EXPECT_FALSE(has_tcp(with, "no_such_device:1")) << with;
  }
  for (const char* without : {"", "rc_x,sm", "^tcp", "^sm,tcp", "^all"})
    EXPECT_FALSE(has_tcp(without, "all")) << without;
}

TEST(HasMemoryQueues, WhereOneOfTheirKindsIsAllowed) {
  for (const char* with : {"all", "sm", "tcp,shm", "posix,tcp", "\\sysv", "mm", "^tcp", "^posix,ib", "^cma"}) {
    EXPECT_TRUE(has_memory_queues(with, "all")) << with;
    EXPECT_TRUE(has_memory_queues(with, "memory")) << with;
    EXPECT_FALSE(has_memory_queues(with, "another")) << with;
  }
  for (const char* without : {"", "tcp,self", "cma", "^sm", "^shm,ib", "^mm", "^posix,sysv", "^all"}) {
    EXPECT_FALSE(has_memory_queues(without, "all")) << without;
  }
}

}  // namespace
}  // namespace libcoll::ucx_transports_test
