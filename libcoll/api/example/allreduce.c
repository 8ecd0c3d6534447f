/* Plans an allreduce (or reads its schedule), prints its figures, verifies it, and runs it between processes of this
 * machine, one for each host of the topology.
 *
 *   allreduce TOPOLOGY [SCHEDULE]       allreduce torus:2x2x2
 */
#define _DEFAULT_SOURCE
#include <libcoll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared_bootstrap.h"

enum { elements = 100000 };

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, libcoll_error_message());
  return 1;
}

/* Rank r adds r + i as element i. */
static int run_rank(struct shared_memory* memory, int rank, const libcoll_topology* topology,
                    const libcoll_schedule* schedule) {
  struct shared_state state;
  const libcoll_bootstrap bootstrap = shared_bootstrap(memory, rank, &state);
  libcoll_communicator* communicator;
  int64_t* vector = malloc(elements * sizeof *vector);
  int wrong = vector == NULL;
  int64_t i;
  if (wrong) return 1;
  if (libcoll_communicator_create(&bootstrap, topology, &schedule, 1, &communicator) != LIBCOLL_SUCCESS) {
    free(vector);
    return failed("libcoll_communicator_create");
  }
  for (i = 0; i < elements; ++i) vector[i] = rank + i;
  if (libcoll_allreduce(communicator, vector, vector, elements, LIBCOLL_INT64, LIBCOLL_SUM) != LIBCOLL_SUCCESS) {
    wrong = failed("libcoll_allreduce");
  }
  for (i = 0; i < elements && !wrong; ++i) {
    const int64_t ranks = bootstrap.size;
    wrong = vector[i] != ranks * (ranks - 1) / 2 + ranks * i;
    if (wrong) fprintf(stderr, "rank %d: element %ld is wrong\n", rank, (long)i);
  }
  libcoll_communicator_free(communicator);
  free(vector);
  return wrong;
}

static int run_all(const libcoll_topology* topology, const libcoll_schedule* schedule) {
  const int ranks = (int)libcoll_topology_hosts(topology);
  struct shared_memory* memory = open_shared_memory(ranks);
  int rank;
  int status;
  int wrong = memory == NULL;
  if (wrong) fprintf(stderr, "no shared memory for %d ranks\n", ranks);
  for (rank = 0; rank < ranks && !wrong; ++rank) {
    const pid_t child = fork();
    if (child < 0) wrong = 1;
    if (child == 0) _exit(run_rank(memory, rank, topology, schedule));
  }
  while (wait(&status) > 0) wrong |= status != 0;
  if (!wrong) printf("%d ranks have the right sums\n", ranks);
  return wrong;
}

static int show(const libcoll_schedule* schedule) {
  libcoll_figures figures;
  double seconds;
  if (libcoll_schedule_figures(schedule, &figures, sizeof figures) != LIBCOLL_SUCCESS ||
      libcoll_schedule_time(schedule, 1 << 20, &seconds) != LIBCOLL_SUCCESS) {
    return failed("figures");
  }
  printf("%s: %ld hosts, %ld steps, T_B %.6g M/B (bound %.6g), 1 MiB in %.1f us\n",
         libcoll_schedule_algorithm(schedule), (long)figures.hosts, (long)figures.steps, figures.bandwidth_time,
         figures.bandwidth_bound, seconds * 1e6);
  return 0;
}

int main(int argc, char** argv) {
  libcoll_topology* topology;
  libcoll_schedule* schedule;
  int wrong;
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: allreduce TOPOLOGY [SCHEDULE]\n");
    return 2;
  }
  if (libcoll_topology_open(argv[1], &topology) != LIBCOLL_SUCCESS) return failed(argv[1]);
  if ((argc == 3 ? libcoll_schedule_read(argv[2], &schedule)
                 : libcoll_plan(topology, LIBCOLL_ALLREDUCE, NULL, &schedule)) != LIBCOLL_SUCCESS) {
    libcoll_topology_free(topology);
    return failed("schedule");
  }
  wrong = libcoll_schedule_verify(schedule) == LIBCOLL_SUCCESS ? show(schedule) : failed("libcoll_schedule_verify");
  fflush(stdout); /* before it is in all processes */
  if (!wrong) wrong = run_all(topology, schedule);
  libcoll_schedule_free(schedule);
  libcoll_topology_free(topology);
  return wrong;
}
