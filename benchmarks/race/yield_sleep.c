/* Preloaded under native MPI runs on the emulated fabric: a rank that yields sleeps a moment instead. All nodes share
 * the processors of one machine, and ranks that spin while they wait would slow the links they wait for; with this
 * library native MPI is measured at its best. YIELD_SLEEP_MICROSECONDS changes the 50 us. Tests of jobs that have more
 * ranks than processors use it, too; with YIELD_SLEEP_EVERY=N only every Nth yield sleeps, so that short waits end
 * soon on a machine that has nothing else to do. */
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct timespec pause_of_a_yield = {0, 50000};
static unsigned yields_to_a_pause = 1;

static long setting(const char* name, long most, long otherwise) {
  const char* text = getenv(name);
  char* end = NULL;
  const long value = text != NULL ? strtol(text, &end, 10) : 0;
  return end != text && value > 0 && value < most ? value : otherwise;
}

__attribute__((constructor)) static void read_settings(void) {
  pause_of_a_yield.tv_nsec = setting("YIELD_SLEEP_MICROSECONDS", 1000000, 50) * 1000;
  yields_to_a_pause = (unsigned)setting("YIELD_SLEEP_EVERY", INT_MAX, 1);
}

__attribute__((visibility("default"))) int sched_yield(void) {
  static _Thread_local unsigned yields;
  if (++yields % yields_to_a_pause != 0) return (int)syscall(SYS_sched_yield);
  nanosleep(&pause_of_a_yield, NULL);
  return 0;
}
