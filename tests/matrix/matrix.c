/* Many cases in one launch, one after the other.
 *   matrix [-m] CASE [ARGUMENTS] [+ CASE [ARGUMENTS]]…
 *     -m  MPI is initialised for several threads
 * Rank 0 says on stdout when a case begins and ends, and how long it took: "matrix: begin N", "matrix: end N SECONDS"
 * for the Nth case of the command line, from 0. A check that fails ends the launch (check.h). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define CASE_NAMED(name) int name(int argc, char** argv);
#include "cases.def"
#undef CASE_NAMED

static const struct {
  const char* name;
  int (*run)(int argc, char** argv);
} cases[] = {
#define CASE_NAMED(name) {#name, &(name)},
#include "cases.def"
#undef CASE_NAMED
};
enum { case_count = sizeof cases / sizeof cases[0] };

static int run_case(int argc, char** argv) {
  for (int i = 0; i < case_count; ++i) {
    if (strcmp(cases[i].name, argv[0]) == 0) return cases[i].run(argc, argv);
  }
  CHECK(0, "there is no case %s", argv[0]);
}

static void run_numbered(int number, int argc, char** argv) {
  const int rank = rank_in(MPI_COMM_WORLD);
  PMPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    printf("matrix: begin %d\n", number);
    fflush(stdout);
  }
  begin_case();
  const double began = MPI_Wtime();
  const int code = run_case(argc, argv);
  CHECK(code == 0, "case %s ends with %d", argv[0], code);
  if (rank == 0) {
    printf("matrix: end %d %.3f\n", number, MPI_Wtime() - began);
    fflush(stdout);
  }
}

int main(int argc, char** argv) {
  int first = 1;
  if (argc > 1 && strcmp(argv[1], "-m") == 0) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    ++first;
  } else {
    MPI_Init(&argc, &argv);
  }
  CHECK(first < argc, "no case is named");
  for (int number = 0; first < argc; ++number) {
    int end = first;
    while (end < argc && strcmp(argv[end], "+") != 0) ++end;
    run_numbered(number, end - first, argv + first);
    first = end + 1;
  }
  MPI_Finalize();
  return finalized_well() ? 0 : 1;
}
