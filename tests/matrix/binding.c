/* Where ranks and their memory are bound is theirs and the launcher's: it is the same after calls of all kinds as
 * before them, for every thread of the process. With LIBCOLL_PROGRESS_THREAD=yes one of them is libcoll's: it is on a
 * core of its own where no rank of the host is bound to it, as with FREE_CORE=yes one must be. */
#include <dirent.h>
#include <linux/mempolicy.h>
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

enum { count = 20000 };

static long memory_policy(void) {
  int mode = -1;
  CHECK(syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, 0) == 0, "the policy cannot be read");
  return mode;
}

/* Of a thread; 0 for the one that asks. */
static cpu_set_t binding_of(pid_t thread) {
  cpu_set_t processors;
  CHECK(sched_getaffinity(thread, sizeof processors, &processors) == 0, "the binding cannot be read");
  return processors;
}

static void check_threads(const cpu_set_t* expected) {
  int threads = 0;
  int elsewhere = 0;
  DIR* tasks = opendir("/proc/self/task");
  CHECK(tasks != NULL, "no /proc");
  for (const struct dirent* task = readdir(tasks); task != NULL; task = readdir(tasks)) {
    if (task->d_name[0] == '.') continue;
    const cpu_set_t found = binding_of((pid_t)atoi(task->d_name));
    ++threads;
    if (CPU_EQUAL(&found, expected)) continue;
    cpu_set_t both;
    CPU_AND(&both, &found, expected);
    CHECK(CPU_COUNT(&both) == 0, "thread %s is bound to %d processors of the rank's %d", task->d_name, CPU_COUNT(&both),
          CPU_COUNT(expected));
    ++elsewhere;
  }
  closedir(tasks);
  CHECK(threads > 1, "%d threads", threads);
  CHECK(elsewhere <= 1, "%d threads are not where the rank is", elsewhere);
  if (getenv("FREE_CORE") != NULL) CHECK(elsewhere == 1, "no thread is on the free core");
}

int main(int argc, char** argv) {
  const cpu_set_t before = binding_of(0);
  const long policy = memory_policy();
  MPI_Init(&argc, &argv);
  const int size = size_of(MPI_COMM_WORLD);
  long* sent = allocate(sizeof(long) * count * (uint64_t)size);
  long* received = allocate(sizeof(long) * count * (uint64_t)size);
  for (int i = 0; i < count * size; ++i) sent[i] = i;
  MPI_Allreduce(sent, received, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  expect_call("allreduce", 1, "bound");
  MPI_Alltoall(sent, count, MPI_LONG, received, count, MPI_LONG, MPI_COMM_WORLD);
  expect_call("alltoall", 1, "bound");
  MPI_Request request;
  MPI_Iallreduce(sent, received, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &request);
  expect_call("iallreduce", 1, "bound");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < count; ++i) CHECK(received[i] == (long)i * size, "sum %d is %ld", i, received[i]);
  check_threads(&before);
  CHECK(memory_policy() == policy, "another policy of memory");
  free(sent);
  free(received);
  MPI_Finalize();
  return 0;
}
