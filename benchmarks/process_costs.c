/* What a process has and takes besides its collectives: resident memory after MPI_Init and after the first allreduce,
 * in kB, and the median time of making a communicator, one allreduce there and freeing it, in µs: a duplicate of
 * MPI_COMM_WORLD, and all its ranks split off. One line by rank 0. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  int mine = 1;
  int sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const long after_call = resident_kilobytes();
  const double duplicate = microseconds_with(&make_duplicate);
  const double split = microseconds_with(&make_split);
  if (rank == 0) printf("%ld %ld %.1f %.1f\n", after_init, after_call, duplicate, split);
  MPI_Finalize();
  return 0;
}
