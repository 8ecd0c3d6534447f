/* One collective at several sizes, raced: at every call all ranks start at one moment of CLOCK_MONOTONIC, which the
 * nodes of an emulated fabric share, and what counts is when the last rank was done. (After a barrier over the links
 * ranks start apart, and early starters delay it further.) Results are checked at the first and the last call of every
 * size. Plain MPI: nothing here knows which library serves the calls.
 *
 *   collective_race COLLECTIVE -s SIZE,SIZE,… [-i TIMES] [-w WARMUP] [-b CALLS] [-t SECONDS] [-l SECONDS]
 *                   [-m MILLISECONDS]
 *
 * Sizes are in bytes, multiples of 4: what each rank sends to each (alltoall), and the N-th part of the vector in all
 * others, so that N sizes are what allgather receives and allreduce reduces. -b calls, one right after the other, are
 * timed as one (1), and all times are divided by them. -t ends a size once its calls took that long, -l the whole run;
 * -m is the time between agreeing on a start and starting.
 *
 * Rank 0 prints a JSON object per line: one for every timed call ("seconds": last end − common start; "late": of the
 * rank that started last; "idle": part of the machine's processor time, null for calls too short to tell), one for
 * every size ("served": calls that libcoll served on every rank, null without libcoll) and one at the end. */
#include <errno.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "plain_mpi.h"

enum { most_sizes = 64, poison_value = 0x5a };

struct Options {
  size_t sizes[most_sizes];
  int size_count;
  int calls;
  int warmup;
  int in_a_row; /* calls that are timed together */
  double seconds_per_size;
  double seconds_in_all;
  double margin; /* seconds */
};

struct Race;

struct Collective {
  const char* name;
  const char* served_as;
  int sends_per_rank; /* whether the send buffer holds N parts */
  int receives_per_rank;
  void (*fill)(const struct Race* race, size_t size);
  int (*call)(const struct Race* race, size_t size);
  int (*correct)(const struct Race* race, size_t size);
};

struct Race {
  const struct Collective* collective;
  struct Options options;
  int rank;
  int ranks;
  int* counts; /* of MPI_Reduce_scatter */
  unsigned char* send;
  unsigned char* receive;
};

/* ---- collectives ------------------------------------------------------------------------------------------------ */

static void fill_alltoall(const struct Race* race, size_t size) {
  for (int to = 0; to < race->ranks; ++to) fill_block(race->send + (size_t)to * size, size, race->rank, to);
}

static int call_alltoall(const struct Race* race, size_t size) {
  return MPI_Alltoall(race->send, (int)size, MPI_CHAR, race->receive, (int)size, MPI_CHAR, MPI_COMM_WORLD);
}

static int correct_alltoall(const struct Race* race, size_t size) {
  int correct = 1;
  for (int from = 0; from < race->ranks; ++from) {
    correct = correct && block_is(race->receive + (size_t)from * size, size, from, race->rank);
  }
  return correct;
}

static void fill_allgather(const struct Race* race, size_t size) { fill_block(race->send, size, race->rank, 0); }

static int call_allgather(const struct Race* race, size_t size) {
  return MPI_Allgather(race->send, (int)size, MPI_CHAR, race->receive, (int)size, MPI_CHAR, MPI_COMM_WORLD);
}

static int correct_allgather(const struct Race* race, size_t size) {
  int correct = 1;
  for (int from = 0; from < race->ranks; ++from) {
    correct = correct && block_is(race->receive + (size_t)from * size, size, from, 0);
  }
  return correct;
}

static void fill_vector(const struct Race* race, size_t size) {
  for (size_t i = 0; i < size / sizeof(float) * (size_t)race->ranks; ++i) {
    const float value = small_integer(race->rank, i);
    memcpy(race->send + i * sizeof value, &value, sizeof value);
  }
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Whether `count` received sums are those of the elements from `first` on; they are exact in any order. */
static int sums_are(const struct Race* race, size_t first, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    float expected = 0;
    float value;
    for (int rank = 0; rank < race->ranks; ++rank) expected += small_integer(rank, first + i);
    memcpy(&value, race->receive + i * sizeof value, sizeof value);
    if (bits_of(value) != bits_of(expected)) return 0;
  }
  return 1;
}

static int call_reduce_scatter_block(const struct Race* race, size_t size) {
  return MPI_Reduce_scatter_block(race->send, race->receive, (int)(size / sizeof(float)), MPI_FLOAT, MPI_SUM,
                                  MPI_COMM_WORLD);
}

static int call_reduce_scatter(const struct Race* race, size_t size) {
  for (int rank = 0; rank < race->ranks; ++rank) race->counts[rank] = (int)(size / sizeof(float));
  return MPI_Reduce_scatter(race->send, race->receive, race->counts, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static int correct_reduce_scatter(const struct Race* race, size_t size) {
  const size_t count = size / sizeof(float);
  return sums_are(race, (size_t)race->rank * count, count);
}

static int call_allreduce(const struct Race* race, size_t size) {
  return MPI_Allreduce(race->send, race->receive, (int)(size / sizeof(float)) * race->ranks, MPI_FLOAT, MPI_SUM,
                       MPI_COMM_WORLD);
}

static int correct_allreduce(const struct Race* race, size_t size) {
  return sums_are(race, 0, size / sizeof(float) * (size_t)race->ranks);
}

/* Rank 0 is the root; its vector has a shard for each rank. */
static void fill_broadcast(const struct Race* race, size_t size) {
  fill_block(race->send, size * (size_t)race->ranks, 0, 0);
}

/* What was received is overwritten before each call, at the root, too. */
static int call_bcast(const struct Race* race, size_t size) {
  if (race->rank == 0) memcpy(race->receive, race->send, size * (size_t)race->ranks);
  return MPI_Bcast(race->receive, (int)size * race->ranks, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static int correct_bcast(const struct Race* race, size_t size) {
  return block_is(race->receive, size * (size_t)race->ranks, 0, 0);
}

static int call_reduce(const struct Race* race, size_t size) {
  return MPI_Reduce(race->send, race->receive, (int)(size / sizeof(float)) * race->ranks, MPI_FLOAT, MPI_SUM, 0,
                    MPI_COMM_WORLD);
}

static int correct_reduce(const struct Race* race, size_t size) {
  return race->rank != 0 || correct_allreduce(race, size);
}

static const struct Collective collectives[] = {
    {"alltoall", "alltoall", 1, 1, fill_alltoall, call_alltoall, correct_alltoall},
    {"allgather", "allgather", 0, 1, fill_allgather, call_allgather, correct_allgather},
    {"reduce_scatter_block", "reduce_scatter_block", 1, 0, fill_vector, call_reduce_scatter_block,
     correct_reduce_scatter},
    {"reduce_scatter", "reduce_scatter", 1, 0, fill_vector, call_reduce_scatter, correct_reduce_scatter},
    {"allreduce", "allreduce", 1, 1, fill_vector, call_allreduce, correct_allreduce},
    {"bcast", "bcast", 1, 1, fill_broadcast, call_bcast, correct_bcast},
    {"reduce", "reduce", 1, 1, fill_vector, call_reduce, correct_reduce},
};

static size_t receive_bytes(const struct Race* race, size_t size) {
  return race->collective->receives_per_rank ? size * (size_t)race->ranks : size;
}

/* ---- clocks ----------------------------------------------------------------------------------------------------- */

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void sleep_until(double moment) {
  struct timespec time;
  time.tv_sec = (time_t)moment;
  time.tv_nsec = (long)((moment - (double)time.tv_sec) * 1e9);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) {
  }
}

/* Sleeps, but until shortly before the moment lets MPI deliver what it still holds for ranks that know less. */
static void wait_for(double moment) {
  const double quiet = 3e-3;
  const double nap = 1e-3;
  int found;
  while (moment - now() > quiet + nap) {
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    sleep_until(now() + nap);
  }
  sleep_until(moment);
}

/* Processor time of the whole machine in clock ticks since it was started. */
struct Ticks {
  unsigned long long idle;
  unsigned long long all;
};

static struct Ticks ticks_now(void) {
  struct Ticks ticks = {0, 0};
  FILE* file = fopen("/proc/stat", "r");
  if (file == NULL) return ticks;
  unsigned long long field[8] = {0};
  if (fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &field[0], &field[1], &field[2], &field[3], &field[4],
             &field[5], &field[6], &field[7]) == 8) {
    ticks.idle = field[3] + field[4];
    for (int i = 0; i < 8; ++i) ticks.all += field[i];
  }
  fclose(file);
  return ticks;
}

static void print_idle(struct Ticks from, struct Ticks to, double seconds) {
  const double least_seconds = 0.1; /* a tick is 10 ms */
  if (seconds < least_seconds || to.all == from.all) {
    printf("null");
  } else {
    printf("%.3f", (double)(to.idle - from.idle) / (double)(to.all - from.all));
  }
}

/* ---- the race --------------------------------------------------------------------------------------------------- */

/* Completes a request without spinning: a rank that is done must not take the processor from those that are not. */
static void nap_until_done(MPI_Request* request) {
  const double nap = 2e-4;
  int done = 0;
  MPI_Test(request, &done, MPI_STATUS_IGNORE);
  while (!done) {
    sleep_until(now() + nap);
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
  }
}

/* Collective. The largest of all ranks' values, on rank 0. */
static void largest_of_all(const double* here, double* largest, int count) {
  MPI_Request request;
  MPI_Ireduce(here, largest, count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD, &request);
  nap_until_done(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Collective. Rank 0's value, everywhere. */
static double broadcast(double value) {
  MPI_Request request;
  MPI_Ibcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request);
  nap_until_done(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return value;
}

/* Collective. A common moment to start at, or a negative number when rank 0 says that there is nothing more to do.
 * Nothing that is agreed on here goes through a collective that libcoll serves. */
static double agree_on_start(const struct Race* race, int go_on) {
  const double here = now();
  double start = 0;
  largest_of_all(&here, &start, 1);
  return broadcast(go_on ? start + race->options.margin : -1);
}

struct Call {
  double seconds; /* on rank 0: from the common start to the last end, of all calls in a row */
  double late;
  int failed;
  struct Ticks before;
  struct Ticks after;
};

/* Calls in a row, timed as one. */
static struct Call timed_calls(const struct Race* race, size_t size, double start) {
  struct Call call = {.failed = 0};
  if (race->rank == 0) call.before = ticks_now();
  wait_for(start);
  const double begin = now();
  for (int i = 0; i < race->options.in_a_row; ++i) {
    call.failed = race->collective->call(race, size) != MPI_SUCCESS || call.failed;
  }
  const double here[2] = {now() - start, begin - start};
  double last[2] = {0, 0};
  if (race->rank == 0) call.after = ticks_now();
  largest_of_all(here, last, 2);
  call.seconds = last[0];
  call.late = last[1];
  return call;
}

static void print_call(const struct Race* race, size_t size, int number, const struct Call* call) {
  if (race->rank != 0) return;
  printf("{\"collective\": \"%s\", \"size\": %zu, \"call\": %d, \"seconds\": %.9f, \"late\": %.6f, \"idle\": ",
         race->collective->name, size, number, call->seconds / race->options.in_a_row, call->late);
  print_idle(call->before, call->after, call->seconds);
  printf("}\n");
  fflush(stdout);
}

/* Collective. Whether all ranks hold the right result; every rank knows. */
static int correct_everywhere(const struct Race* race, size_t size) {
  const int here = race->collective->correct(race, size);
  const double wrong_here = !here;
  double wrong = 0;
  if (!here) {
    fprintf(stderr, "collective_race: rank %d received wrong data from %s of %zu bytes.\n", race->rank,
            race->collective->name, size);
  }
  largest_of_all(&wrong_here, &wrong, 1);
  return broadcast(wrong) < 0.5;
}

static void print_size(const struct Race* race, size_t size, long made, long served_before, int correct) {
  const long here = served_before < 0 ? -1 : served_calls(race->collective->served_as) - served_before;
  const double negative = -(double)here;
  double largest = 0;
  largest_of_all(&negative, &largest, 1);
  const long served = -(long)largest;
  if (race->rank != 0) return;
  printf("{\"collective\": \"%s\", \"size\": %zu, \"calls\": %ld, \"served\": ", race->collective->name, size, made);
  if (served < 0) {
    printf("null");
  } else {
    printf("%ld", served);
  }
  printf(", \"correct\": %s}\n", correct ? "true" : "false");
  fflush(stdout);
}

static int rank_zero_goes_on(const struct Race* race, int number, double spent, double spent_in_all) {
  if (number < 1) return 1;
  return number < race->options.calls && spent < race->options.seconds_per_size &&
         spent_in_all < race->options.seconds_in_all;
}

/* Collective. Warm-up calls have negative numbers. On rank 0, adds what the calls took to `spent_in_all` and leaves in
 * `last_call` what the last one took: long ones are not warmed up, connections have been used by then. */
static int race_size(const struct Race* race, size_t size, double* spent_in_all, double* last_call) {
  const double long_call = 0.5;
  const long served_before = served_calls(race->collective->served_as);
  long made = 0;
  double spent = 0;
  int correct = 1;
  race->collective->fill(race, size);
  memset(race->receive, poison_value, receive_bytes(race, size));
  for (int number = *last_call > long_call ? 0 : -race->options.warmup; correct; ++number) {
    const double start = agree_on_start(race, rank_zero_goes_on(race, number, spent, *spent_in_all));
    if (start < 0) break;
    const struct Call call = timed_calls(race, size, start);
    *last_call = call.seconds;
    *spent_in_all += call.seconds;
    if (number >= 0) {
      spent += call.seconds;
      print_call(race, size, number, &call);
    }
    if (made++ == 0) {
      correct = !call.failed && correct_everywhere(race, size);
      memset(race->receive, poison_value, receive_bytes(race, size));
    }
  }
  if (made > 1) correct = correct && correct_everywhere(race, size);
  print_size(race, size, made * race->options.in_a_row, served_before, correct);
  return correct;
}

static size_t largest_size(const struct Options* options) {
  size_t largest = sizeof(float);
  for (int i = 0; i < options->size_count; ++i) {
    if (options->sizes[i] > largest) largest = options->sizes[i];
  }
  return largest;
}

static int make_buffers(struct Race* race) {
  const size_t largest = largest_size(&race->options);
  race->send = malloc(race->collective->sends_per_rank ? largest * (size_t)race->ranks : largest);
  race->receive = malloc(receive_bytes(race, largest));
  race->counts = malloc((size_t)race->ranks * sizeof *race->counts);
  return race->send != NULL && race->receive != NULL && race->counts != NULL;
}

/* Collective. 1 when every result was right. */
static int run_race(struct Race* race) {
  if (!make_buffers(race)) {
    fprintf(stderr, "collective_race: rank %d has no memory for the buffers.\n", race->rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
  }
  double spent = 0;
  double last_call = 0;
  int correct = 1;
  int go_on = 1;
  for (int i = 0; i < race->options.size_count && correct && go_on; ++i) {
    correct = race_size(race, race->options.sizes[i], &spent, &last_call);
    go_on = broadcast(spent < race->options.seconds_in_all) > 0.5;
  }
  if (race->rank == 0) {
    printf("{\"done\": true, \"ranks\": %d, \"correct\": %s}\n", race->ranks, correct ? "true" : "false");
  }
  free(race->send);
  free(race->receive);
  free(race->counts);
  return correct;
}

/* ---- command line ----------------------------------------------------------------------------------------------- */

static int parse_sizes(const char* text, struct Options* options) {
  const long largest = 64l << 20;
  for (options->size_count = 0; options->size_count < most_sizes; ++text) {
    char* end;
    const long size = strtol(text, &end, 10);
    if (end == text || size < (long)sizeof(float) || size > largest || size % (long)sizeof(float) != 0) return 0;
    options->sizes[options->size_count++] = (size_t)size;
    if (*end == '\0') return 1;
    if (*end != ',') return 0;
    text = end;
  }
  return 0;
}

static int parse_count(const char* text, long least, int* count) {
  char* end;
  const long value = strtol(text, &end, 10);
  *count = (int)value;
  return end != text && *end == '\0' && value >= least && value <= 1000000;
}

static int parse_seconds(const char* text, double* seconds) {
  char* end;
  *seconds = strtod(text, &end);
  return end != text && *end == '\0' && *seconds >= 0;
}

static int parse_option(int letter, const char* text, struct Options* options) {
  int good = 0;
  if (letter == 's') good = parse_sizes(text, options);
  if (letter == 'i') good = parse_count(text, 1, &options->calls);
  if (letter == 'w') good = parse_count(text, 0, &options->warmup);
  if (letter == 'b') good = parse_count(text, 1, &options->in_a_row);
  if (letter == 't') good = parse_seconds(text, &options->seconds_per_size);
  if (letter == 'l') good = parse_seconds(text, &options->seconds_in_all);
  if (letter == 'm') {
    good = parse_seconds(text, &options->margin);
    options->margin *= 1e-3;
  }
  return good;
}

static const struct Collective* parse(int argc, char** argv, struct Options* options) {
  int letter;
  int good = 1;
  while ((letter = getopt(argc, argv, "s:i:w:b:t:l:m:")) != -1) good = parse_option(letter, optarg, options) && good;
  if (!good || optind != argc - 1 || options->size_count == 0) return NULL;
  for (size_t i = 0; i < sizeof collectives / sizeof *collectives; ++i) {
    if (strcmp(argv[optind], collectives[i].name) == 0) return &collectives[i];
  }
  return NULL;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct Race race = {
      .options = {
          .calls = 5, .warmup = 1, .in_a_row = 1, .seconds_per_size = 1e6, .seconds_in_all = 1e6, .margin = 0.03}};
  MPI_Comm_rank(MPI_COMM_WORLD, &race.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &race.ranks);
  opterr = race.rank == 0;
  race.collective = parse(argc, argv, &race.options);
  int status = 2;
  if (race.collective != NULL) {
    status = run_race(&race) ? 0 : 1;
  } else if (race.rank == 0) {
    fprintf(stderr,
            "usage: collective_race alltoall|allgather|reduce_scatter|reduce_scatter_block|allreduce|bcast|reduce -s "
            "SIZE,SIZE,...\n"
            "       [-i TIMES] [-w WARMUP] [-b CALLS_IN_A_ROW] [-t SECONDS_PER_SIZE] [-l SECONDS_IN_ALL]\n"
            "       [-m MILLISECONDS_TO_START]\n");
  }
  MPI_Finalize();
  return status;
}
