/* What a process has and takes besides its collectives: resident memory after MPI_Init and after the first allreduce,
 * in kB; what that took, in ms, from its beginning on any rank to its end on all; and the median time of making a
 * communicator, one allreduce there and freeing it, in µs: a duplicate of MPI_COMM_WORLD, and all its ranks split off.
 * One line by rank 0. All ranks on one host. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { rounds = 200 };

static long resident_kilobytes(void) {
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  char line[256];
  long kilobytes = -1;
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, "Rss:", 4) == 0) kilobytes = strtol(line + 4, NULL, 10);
  }
  if (file != NULL) fclose(file);
  return kilobytes;
}

/* The same clock in all processes of the host, as MPI_Wtime() need not be. */
static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Right on rank 0. */
static double milliseconds_of_first_allreduce(void) {
  int mine = 1;
  int sum = 0;
  PMPI_Barrier(MPI_COMM_WORLD);
  double begin = milliseconds();
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  double end = milliseconds();
  double first = begin;
  double last = end;
  PMPI_Reduce(&begin, &first, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  PMPI_Reduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return last - first;
}

static int by_value(const void* one, const void* other) {
  const double difference = *(const double*)one - *(const double*)other;
  return (difference > 0) - (difference < 0);
}

static int make_duplicate(MPI_Comm* made) { return MPI_Comm_dup(MPI_COMM_WORLD, made); }

static int make_split(MPI_Comm* made) { return MPI_Comm_split(MPI_COMM_WORLD, 0, 0, made); }

/* The median of the rounds. */
static double microseconds_with(int (*make)(MPI_Comm*)) {
  static double times[rounds];
  int mine = 1;
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    MPI_Comm made;
    make(&made);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, made);
    MPI_Comm_free(&made);
    times[round] = (MPI_Wtime() - begin) * 1e6;
  }
  qsort(times, rounds, sizeof *times, by_value);
  return times[rounds / 2];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const long after_init = resident_kilobytes();
  const double first_call = milliseconds_of_first_allreduce();
  const long after_call = resident_kilobytes();
  const double duplicate = microseconds_with(&make_duplicate);
  const double split = microseconds_with(&make_split);
  if (rank == 0) printf("%ld %ld %.2f %.1f %.1f\n", after_init, after_call, first_call, duplicate, split);
  MPI_Finalize();
  return 0;
}
