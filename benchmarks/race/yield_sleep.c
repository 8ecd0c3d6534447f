/* Preloaded under native MPI runs on the emulated fabric: a rank that yields sleeps a moment instead. All nodes share
 * the processors of one machine, and ranks that spin while they wait would slow the links they wait for; with this
 * library native MPI is measured at its best. YIELD_SLEEP_MICROSECONDS changes the 50 us. Tests of jobs that have more
 * ranks than processors use it, too. */
#include <sched.h>
#include <stdlib.h>
#include <time.h>

static struct timespec pause_of_a_yield = {0, 50000};

__attribute__((constructor)) static void read_pause(void) {
  const char* text = getenv("YIELD_SLEEP_MICROSECONDS");
  char* end = NULL;
  const long microseconds = text != NULL ? strtol(text, &end, 10) : 0;
  if (end != text && microseconds > 0 && microseconds < 1000000) pause_of_a_yield.tv_nsec = microseconds * 1000;
}

__attribute__((visibility("default"))) int sched_yield(void) {
  nanosleep(&pause_of_a_yield, NULL);
  return 0;
}
