/* A sweep of collectives, one after the other, over message sizes, in the column format of the OSU micro-benchmarks,
 * that checks what it receives at every size. Plain MPI: nothing here knows which library serves the calls.
 *
 *   collective_sweep COLLECTIVE… [-m MIN:MAX] [-g GROWTH] [-i ITERATIONS] [-x WARMUP] [-f]
 *   COLLECTIVE: allreduce, alltoall, allgather, bcast, reduce
 *
 * Size is, as OSU defines it, in bytes: the vector of each rank (allreduce), what each rank sends to each
 * (alltoall), what each rank contributes (allgather), what the root has or gets (bcast, reduce). Latency of a rank is
 * the mean over iterations; the table shows mean, least and largest over ranks (the latter two with -f, which also
 * counts the calls libcoll served). */
#include <float.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plain_mpi.h"

enum { guard_bytes = 64, guard_value = 0xa5, poison_value = 0x5a };
enum { small_size = 8192, medium_size = 262144 };

struct Options {
  size_t least_size;
  size_t largest_size;
  int growth; /* from size to size */
  int iterations;
  int warmup;
  int full;
};

struct Sweep;

/* One collective: how much it sends and receives, what it must receive, how it is called. */
struct Collective {
  const char* name;
  const char* title;
  size_t (*send_bytes)(const struct Sweep* sweep, size_t size);
  size_t (*receive_bytes)(const struct Sweep* sweep, size_t size);
  void (*fill)(const struct Sweep* sweep, size_t size, unsigned char* send);
  void (*place)(const struct Sweep* sweep, size_t size, const unsigned char* send, unsigned char* receive);
  int (*call)(struct Sweep* sweep, size_t size, const void* send, void* receive);
  int (*correct)(const struct Sweep* sweep, size_t size, const unsigned char* receive);
};

struct Sweep {
  const struct Collective* collective;
  int rank;
  int ranks;
  long calls;
  uint64_t digest;
  unsigned char* send;    /* largest send size, between guards */
  unsigned char* receive; /* largest receive size, between guards */
};

/* ---- data ------------------------------------------------------------------------------------------------------- */

/* Fractions of both signs: their sums depend on the order. */
static double fraction(int rank, size_t index) {
  return (double)(int64_t)mix64(index * 65537u + (uint64_t)rank) / 9223372036854775808.0;
}

/* ---- allreduce -------------------------------------------------------------------------------------------------- */

static size_t one_message(const struct Sweep* sweep, size_t size) {
  (void)sweep;
  return size;
}

static size_t message_per_rank(const struct Sweep* sweep, size_t size) { return size * (size_t)sweep->ranks; }

static void fill_allreduce(const struct Sweep* sweep, size_t size, unsigned char* send) {
  for (size_t i = 0; i < size / sizeof(float); ++i) {
    const float value = small_integer(sweep->rank, i);
    memcpy(send + i * sizeof value, &value, sizeof value);
  }
}

static void place_same(const struct Sweep* sweep, size_t size, const unsigned char* send, unsigned char* receive) {
  memcpy(receive, send, sweep->collective->send_bytes(sweep, size));
}

static int call_allreduce(struct Sweep* sweep, size_t size, const void* send, void* receive) {
  ++sweep->calls;
  return MPI_Allreduce(send, receive, (int)(size / sizeof(float)), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static int correct_allreduce(const struct Sweep* sweep, size_t size, const unsigned char* receive) {
  for (size_t i = 0; i < size / sizeof(float); ++i) {
    float expected = 0;
    float value;
    for (int rank = 0; rank < sweep->ranks; ++rank) expected += small_integer(rank, i);
    memcpy(&value, receive + i * sizeof value, sizeof value);
    if (bits_of(value) != bits_of(expected)) return 0;
  }
  return 1;
}

/* Whether a sum of `ranks` terms is as close to the exact one as ranks − 1 roundings, in any order, allow: each adds at
 * most u·Σ|x| (Higham, Accuracy and Stability of Numerical Algorithms, (4.4)). The reference here rounds as well. */
static int close_enough(const struct Sweep* sweep, size_t index, double value) {
  double expected = 0;
  double magnitude = 0;
  for (int rank = 0; rank < sweep->ranks; ++rank) {
    expected += fraction(rank, index);
    magnitude += fabs(fraction(rank, index));
  }
  return fabs(value - expected) <= 2 * (sweep->ranks - 1) * (DBL_EPSILON / 2) * magnitude * (1 + 1e-6);
}

/* The sum of doubles whose order matters: within the bound everywhere, and the same bits on every rank. */
static int inexact_sum_is_correct(struct Sweep* sweep, size_t size) {
  const size_t count = size / sizeof(double);
  double* values = (double*)(void*)sweep->send;
  double* sums = (double*)(void*)sweep->receive;
  if (count == 0) return 1;
  for (size_t i = 0; i < count; ++i) values[i] = fraction(sweep->rank, i);
  ++sweep->calls;
  MPI_Allreduce(values, sums, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  int correct = 1;
  for (size_t i = 0; i < count && correct; ++i) correct = close_enough(sweep, i, sums[i]);
  uint64_t digests[2] = {digest_bytes(0, sums, count * sizeof *sums), 0};
  digests[1] = ~digests[0];
  uint64_t largest[2] = {0, 0};
  MPI_Reduce(digests, largest, 2, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
  return correct && (sweep->rank != 0 || largest[0] == ~largest[1]);
}

/* ---- alltoall --------------------------------------------------------------------------------------------------- */

static void fill_alltoall(const struct Sweep* sweep, size_t size, unsigned char* send) {
  for (int to = 0; to < sweep->ranks; ++to) fill_block(send + (size_t)to * size, size, sweep->rank, to);
}

static int call_alltoall(struct Sweep* sweep, size_t size, const void* send, void* receive) {
  ++sweep->calls;
  return MPI_Alltoall(send, (int)size, MPI_CHAR, receive, (int)size, MPI_CHAR, MPI_COMM_WORLD);
}

static int correct_alltoall(const struct Sweep* sweep, size_t size, const unsigned char* receive) {
  int correct = 1;
  for (int from = 0; from < sweep->ranks; ++from) {
    correct = correct && block_is(receive + (size_t)from * size, size, from, sweep->rank);
  }
  return correct;
}

/* ---- allgather -------------------------------------------------------------------------------------------------- */

static void fill_allgather(const struct Sweep* sweep, size_t size, unsigned char* send) {
  fill_block(send, size, sweep->rank, 0);
}

static void place_own_block(const struct Sweep* sweep, size_t size, const unsigned char* send, unsigned char* receive) {
  memcpy(receive + (size_t)sweep->rank * size, send, size);
}

static int call_allgather(struct Sweep* sweep, size_t size, const void* send, void* receive) {
  ++sweep->calls;
  return MPI_Allgather(send, (int)size, MPI_CHAR, receive, (int)size, MPI_CHAR, MPI_COMM_WORLD);
}

static int correct_allgather(const struct Sweep* sweep, size_t size, const unsigned char* receive) {
  int correct = 1;
  for (int from = 0; from < sweep->ranks; ++from) {
    correct = correct && block_is(receive + (size_t)from * size, size, from, 0);
  }
  return correct;
}

/* ---- bcast and reduce: rank 0 is the root ------------------------------------------------------------------------ */

static void fill_bcast(const struct Sweep* sweep, size_t size, unsigned char* send) {
  (void)sweep;
  fill_block(send, size, 0, 0);
}

static void place_at_root(const struct Sweep* sweep, size_t size, const unsigned char* send, unsigned char* receive) {
  if (sweep->rank == 0) memcpy(receive, send, size);
}

/* The root's buffer is filled again before each call, as the others' are by it. */
static int call_bcast(struct Sweep* sweep, size_t size, const void* send, void* receive) {
  ++sweep->calls;
  if (send != MPI_IN_PLACE) place_at_root(sweep, size, send, receive);
  return MPI_Bcast(receive, (int)size, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static int correct_bcast(const struct Sweep* sweep, size_t size, const unsigned char* receive) {
  (void)sweep;
  return block_is(receive, size, 0, 0);
}

static int call_reduce(struct Sweep* sweep, size_t size, const void* send, void* receive) {
  ++sweep->calls;
  if (sweep->rank != 0 && send == MPI_IN_PLACE) send = sweep->send; /* only the root may say so */
  return MPI_Reduce(send, receive, (int)(size / sizeof(float)), MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
}

static int correct_reduce(const struct Sweep* sweep, size_t size, const unsigned char* receive) {
  return sweep->rank != 0 || correct_allreduce(sweep, size, receive);
}

static const struct Collective collectives[] = {
    {"allreduce", "MPI_Allreduce", one_message, one_message, fill_allreduce, place_same, call_allreduce,
     correct_allreduce},
    {"alltoall", "MPI_Alltoall", message_per_rank, message_per_rank, fill_alltoall, place_same, call_alltoall,
     correct_alltoall},
    {"allgather", "MPI_Allgather", one_message, message_per_rank, fill_allgather, place_own_block, call_allgather,
     correct_allgather},
    {"bcast", "MPI_Bcast", one_message, one_message, fill_bcast, place_at_root, call_bcast, correct_bcast},
    {"reduce", "MPI_Reduce", one_message, one_message, fill_allreduce, place_at_root, call_reduce, correct_reduce},
};

/* ---- buffers ---------------------------------------------------------------------------------------------------- */

static void* allocate(size_t bytes) {
  void* memory = malloc(bytes);
  if (memory != NULL) return memory;
  fprintf(stderr, "collective_sweep: no memory for a buffer of %zu bytes.\n", bytes);
  MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}

static unsigned char* guarded_buffer(size_t bytes) {
  unsigned char* memory = allocate(bytes + 2 * guard_bytes);
  return memory + guard_bytes;
}

static void set_guards(unsigned char* buffer, size_t bytes) {
  memset(buffer - guard_bytes, guard_value, guard_bytes);
  memset(buffer + bytes, guard_value, guard_bytes);
}

static int guards_hold(const unsigned char* buffer, size_t bytes) {
  int hold = 1;
  for (size_t i = 0; i < guard_bytes; ++i) {
    hold = hold && buffer[i - guard_bytes] == guard_value && buffer[bytes + i] == guard_value;
  }
  return hold;
}

/* Fewer for larger messages: a whole tenth of the given number for medium ones, a fiftieth for large ones. */
static int fewer(int number, size_t size) {
  const int reduced = size <= small_size ? number : size <= medium_size ? number / 10 : number / 50;
  return reduced > 0 || number == 0 ? reduced : 1;
}

/* ---- checks ----------------------------------------------------------------------------------------------------- */

static int received_well(struct Sweep* sweep, size_t size) {
  const size_t bytes = sweep->collective->receive_bytes(sweep, size);
  sweep->digest = digest_bytes(sweep->digest, sweep->receive, bytes);
  return sweep->collective->correct(sweep, size, sweep->receive) && guards_hold(sweep->receive, bytes);
}

static void prepare(struct Sweep* sweep, size_t size) {
  const struct Collective* collective = sweep->collective;
  const size_t receive_bytes = collective->receive_bytes(sweep, size);
  memset(sweep->receive, poison_value, receive_bytes);
  set_guards(sweep->receive, receive_bytes);
  set_guards(sweep->send, collective->send_bytes(sweep, size));
  collective->fill(sweep, size, sweep->send);
}

static int out_of_place_is_correct(struct Sweep* sweep, size_t size) {
  const size_t send_bytes = sweep->collective->send_bytes(sweep, size);
  const uint64_t sent = digest_bytes(0, sweep->send, send_bytes);
  sweep->collective->call(sweep, size, sweep->send, sweep->receive);
  return received_well(sweep, size) && digest_bytes(0, sweep->send, send_bytes) == sent;
}

static int in_place_is_correct(struct Sweep* sweep, size_t size) {
  memset(sweep->receive, poison_value, sweep->collective->receive_bytes(sweep, size));
  sweep->collective->place(sweep, size, sweep->send, sweep->receive);
  sweep->collective->call(sweep, size, MPI_IN_PLACE, sweep->receive);
  return received_well(sweep, size);
}

/* Calls in a row with nothing between: messages of the next call meet ranks that are still in the last one. */
static int burst_is_correct(struct Sweep* sweep, size_t size) {
  const int calls = fewer(50, size);
  memset(sweep->receive, poison_value, sweep->collective->receive_bytes(sweep, size));
  for (int i = 0; i < calls; ++i) sweep->collective->call(sweep, size, sweep->send, sweep->receive);
  return received_well(sweep, size);
}

/* Collective, by functions that no sweep is about: whether all ranks say yes. */
static int all_say(const struct Sweep* sweep, int yes) {
  int* answers = allocate(sizeof *answers * (size_t)sweep->ranks);
  MPI_Gather(&yes, 1, MPI_INT, answers, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (sweep->rank == 0) {
    for (int rank = 0; rank < sweep->ranks; ++rank) yes = yes && answers[rank];
    for (int rank = 0; rank < sweep->ranks; ++rank) answers[rank] = yes;
  }
  MPI_Scatter(answers, 1, MPI_INT, &yes, 1, MPI_INT, 0, MPI_COMM_WORLD);
  free(answers);
  return yes;
}

/* Collective. Says what was wrong, on every rank that saw it; true when no rank did. */
static int agree(const struct Sweep* sweep, size_t size, int correct, const char* what) {
  if (!correct) {
    fprintf(stderr, "collective_sweep: rank %d received wrong data from %s of %s with %zu bytes.\n", sweep->rank, what,
            sweep->collective->title, size);
  }
  return all_say(sweep, correct);
}

/* ---- timing ----------------------------------------------------------------------------------------------------- */

/* Mean seconds of one call on this rank. A barrier between the calls keeps the ranks in step, as OSU does. */
static double time_calls(struct Sweep* sweep, const struct Options* options, size_t size) {
  const int iterations = fewer(options->iterations, size);
  const int warmup = fewer(options->warmup, size);
  double seconds = 0;
  memset(sweep->receive, poison_value, sweep->collective->receive_bytes(sweep, size));
  for (int i = -warmup; i < iterations; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    sweep->collective->call(sweep, size, sweep->send, sweep->receive);
    const double stop = MPI_Wtime();
    if (i >= 0) seconds += stop - start;
  }
  return seconds / iterations;
}

static void print_header(const struct Sweep* sweep, const struct Options* options) {
  if (sweep->rank != 0) return;
  printf("# %s Latency, checked, %d ranks (column format of the OSU micro-benchmarks)\n", sweep->collective->title,
         sweep->ranks);
  printf("%-10s%20s", "# Size", "Avg Latency(us)");
  if (options->full) printf("%20s%20s%12s", "Min Latency(us)", "Max Latency(us)", "Iterations");
  if (options->full && served_calls(sweep->collective->name) >= 0) printf("%12s%12s", "Served", "Calls");
  printf("\n");
}

/* What rank 0 counts before and after one size. */
struct Count {
  long served;
  long calls;
};

static struct Count count_now(const struct Sweep* sweep) {
  const struct Count count = {served_calls(sweep->collective->name), sweep->calls};
  return count;
}

static void print_row(const struct Sweep* sweep, const struct Options* options, size_t size, double seconds,
                      struct Count before) {
  double* all = allocate(sizeof *all * (size_t)sweep->ranks);
  MPI_Gather(&seconds, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  double total = 0;
  double least = seconds;
  double largest = seconds;
  for (int rank = 0; sweep->rank == 0 && rank < sweep->ranks; ++rank) {
    total += all[rank];
    if (all[rank] < least) least = all[rank];
    if (all[rank] > largest) largest = all[rank];
  }
  free(all);
  if (sweep->rank != 0) return;
  printf("%-10zu%20.2f", size, total / sweep->ranks * 1e6);
  if (options->full) printf("%20.2f%20.2f%12d", least * 1e6, largest * 1e6, fewer(options->iterations, size));
  const struct Count now = count_now(sweep);
  if (options->full && now.served >= 0) printf("%12ld%12ld", now.served - before.served, now.calls - before.calls);
  printf("\n");
  fflush(stdout);
}

/* ---- the sweep -------------------------------------------------------------------------------------------------- */

/* Collective. One size: checked from buffer to buffer, in place, after calls in a row and after the timed calls. */
static int run_size(struct Sweep* sweep, const struct Options* options, size_t size) {
  const struct Count before = count_now(sweep);
  prepare(sweep, size);
  int correct = agree(sweep, size, out_of_place_is_correct(sweep, size), "a call");
  correct = agree(sweep, size, in_place_is_correct(sweep, size), "a call with MPI_IN_PLACE") && correct;
  correct = agree(sweep, size, burst_is_correct(sweep, size), "the last of several calls") && correct;
  const double seconds = time_calls(sweep, options, size);
  correct = agree(sweep, size, received_well(sweep, size), "the last timed call") && correct;
  if (sweep->collective->call == call_allreduce) {
    correct = agree(sweep, size, inexact_sum_is_correct(sweep, size), "a call on fractions") && correct;
  }
  print_row(sweep, options, size, seconds, before);
  return correct;
}

static int run_sweep(struct Sweep* sweep, const struct Options* options) {
  const struct Collective* collective = sweep->collective;
  sweep->send = guarded_buffer(collective->send_bytes(sweep, options->largest_size));
  sweep->receive = guarded_buffer(collective->receive_bytes(sweep, options->largest_size));
  int correct = 1;
  print_header(sweep, options);
  for (size_t size = options->least_size; size <= options->largest_size && correct; size *= (size_t)options->growth) {
    correct = run_size(sweep, options, size);
  }
  const uint64_t digest = digest_ranks(sweep->digest, MPI_COMM_WORLD);
  print_served(collective->name, sweep->calls, MPI_COMM_WORLD);
  if (sweep->rank == 0) printf("# Checksum: %016llx\n", (unsigned long long)digest);
  free(sweep->send - guard_bytes);
  free(sweep->receive - guard_bytes);
  return correct;
}

/* ---- command line ----------------------------------------------------------------------------------------------- */

static int parse_number(const char* text, long least, long largest, long* value, char** end) {
  *value = strtol(text, end, 10);
  return *end != text && *value >= least && *value <= largest;
}

static int parse_sizes(const char* text, struct Options* options) {
  const long largest_allowed = 64l << 20;
  long least;
  long largest;
  char* end;
  if (!parse_number(text, sizeof(float), largest_allowed, &least, &end) || *end != ':') return 0;
  if (!parse_number(end + 1, least, largest_allowed, &largest, &end) || *end != '\0') return 0;
  if (least % (long)sizeof(float) != 0) return 0;
  options->least_size = (size_t)least;
  options->largest_size = (size_t)largest;
  return 1;
}

static int parse_count(const char* text, long least, int* count) {
  long value;
  char* end;
  if (!parse_number(text, least, 1000000, &value, &end) || *end != '\0') return 0;
  *count = (int)value;
  return 1;
}

static const struct Collective* find_collective(const char* name) {
  for (size_t i = 0; i < sizeof collectives / sizeof *collectives; ++i) {
    if (strcmp(name, collectives[i].name) == 0) return &collectives[i];
  }
  return NULL;
}

/* Leaves the names of collectives from argv[optind] on. */
static int parse(int argc, char** argv, struct Options* options) {
  int letter;
  int good = 1;
  while ((letter = getopt(argc, argv, "m:g:i:x:f")) != -1) {
    if (letter == 'm') good = good && parse_sizes(optarg, options);
    if (letter == 'g') good = good && parse_count(optarg, 2, &options->growth);
    if (letter == 'i') good = good && parse_count(optarg, 1, &options->iterations);
    if (letter == 'x') good = good && parse_count(optarg, 0, &options->warmup);
    if (letter == 'f') options->full = 1;
    if (letter == '?') good = 0;
  }
  for (int i = optind; i < argc; ++i) good = good && find_collective(argv[i]) != NULL;
  return good && optind < argc;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct Options options = {
      .least_size = 4, .largest_size = 4u << 20, .growth = 2, .iterations = 200, .warmup = 10, .full = 0};
  int rank;
  int ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  opterr = rank == 0;
  const int good = parse(argc, argv, &options);
  int correct = 1;
  for (int i = optind; good && i < argc; ++i) {
    const struct Collective* collective = find_collective(argv[i]);
    if (collective == NULL) continue; /* parse() has looked */
    struct Sweep sweep = {.collective = collective, .rank = rank, .ranks = ranks};
    correct = run_sweep(&sweep, &options) && correct;
  }
  if (!good && rank == 0) {
    fprintf(
        stderr,
        "usage: collective_sweep allreduce|alltoall|allgather|bcast|reduce... [-m MIN:MAX] [-g GROWTH] [-i ITERATIONS] "
        "[-x WARMUP] [-f]\n"
        "       MIN and MAX in bytes, MIN a multiple of 4, MAX at most 64 MiB\n");
  }
  MPI_Finalize();
  if (!good) return 2;
  return correct ? 0 : 1;
}
