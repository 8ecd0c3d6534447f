/* Allreduces of several sizes on the world, a copy of it and its halves: whatever way each goes, it is the same on all
 * ranks, and results are right.
 *   choice [corrupt|forge]: between the world and its copy, what was kept of the choice is spoilt, or another file is
 *   put in its place. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { calls = 5 };

static void allreduces(MPI_Comm comm, int count) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  int* values = allocate(sizeof(int) * (uint64_t)count);
  const long before = served_calls("allreduce");
  for (int call = 0; call < calls; ++call) {
    for (int i = 0; i < count; ++i) values[i] = (i % 1000 + call) * (rank + 1);
    MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < count; ++i) {
      CHECK(values[i] == (i % 1000 + call) * (size * (size + 1) / 2), "element %d of %d", i, count);
    }
  }
  free(values);
  const long served = served_calls("allreduce") - before;
  CHECK(served == 0 || served == calls, "%ld of %d calls of %d elements were served", served, calls, count);
  long all[64];
  MPI_Gather(&served, 1, MPI_LONG, all, 1, MPI_LONG, 0, comm);
  for (int other = 0; rank == 0 && other < size; ++other) {
    CHECK(all[other] == served, "rank %d served %ld calls of %d elements, not %ld", other, all[other], count, served);
  }
}

static void all_sizes(MPI_Comm comm) {
  for (int count = 2; count <= 1 << 18; count *= 8) allreduces(comm, count);
}

static void spoil(int with_link) {
  char path[4096];
  const char* directory = getenv("LIBCOLL_CACHE_DIR");
  CHECK(directory != NULL, "no LIBCOLL_CACHE_DIR");
  DIR* entries = opendir(directory);
  CHECK(entries != NULL, "no %s", directory);
  int found = 0;
  for (const struct dirent* entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
    if (strncmp(entry->d_name, "choices-", 8) != 0) continue;
    ++found;
    snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
    if (with_link) {
      CHECK(unlink(path) == 0 && symlink("/etc/passwd", path) == 0, "%s cannot be replaced", path);
    } else {
      FILE* file = fopen(path, "w");
      CHECK(file != NULL && fputs("[[choice", file) >= 0 && fclose(file) == 0, "%s cannot be written", path);
    }
  }
  closedir(entries);
  CHECK(found == 1, "%d files of choices", found);
}

int CASE(choice)(int argc, char** argv) {
  all_sizes(MPI_COMM_WORLD);
  if (argc > 1 && rank_in(MPI_COMM_WORLD) == 0) spoil(strcmp(argv[1], "forge") == 0);
  MPI_Comm copy = MPI_COMM_NULL;
  /* In another order: the same ranks would not look into the cache again. */
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_in(MPI_COMM_WORLD), &copy);
  all_sizes(copy);
  MPI_Comm_free(&copy);
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank < size_of(MPI_COMM_WORLD) / 2, rank, &half);
  if (size_of(half) > 1) all_sizes(half);
  MPI_Comm_free(&half);
  return 0;
}
