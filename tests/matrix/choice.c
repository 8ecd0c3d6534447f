/* Calls of several sizes on the world, a copy of it and its halves: whatever way each goes, it is the same on all
 * ranks, and results are right. Allreduces, or with `blocks` allgatherv and reduce_scatter.
 *
 *   choice [blocks] [long|split|all]
 *   choice corrupt|forge
 *
 * `long`: calls of 256 KiB are served. `split`: where there are more than two ranks, calls of up to 1 KiB a rank (of
 * reduce_scatter 128 bytes) are left to MPI, and all others are served. `all`: all are served. `corrupt`, `forge`:
 * between the world and its copy, what was kept of the choice is spoilt, or another file is put in its place. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { calls = 5, most_ranks = 64, first_count = 2, least_long = 65536 };
enum { nothing, long_ones, all_but_short_ones, all_of_them };
static int served_are;

/* Nothing is expected of a communicator's first calls, which may not wait for the ranks to agree. `shortest`: bytes a
 * rank up to which a call is short. */
static void expect_choice(MPI_Comm comm, const char* collective, long served, int count, int bytes, int shortest) {
  const int is_short = size_of(comm) > 2 && bytes <= shortest * size_of(comm);
  const int is_served = served_are == all_of_them || (served_are == all_but_short_ones && !is_short) ||
                        (served_are == long_ones && count >= least_long);
  if (count == first_count) return;
  CHECK(served == calls || !is_served, "%s of %d elements is not served", collective, count);
  CHECK(served == 0 || served_are != all_but_short_ones || !is_short, "%s of %d elements is served", collective, count);
}

/* Of `calls` calls of that size all were served since, or none, and the same on all ranks. */
static void expect_alike(MPI_Comm comm, const char* collective, long before, int count, int bytes, int shortest) {
  const long served = served_calls(collective) - before;
  CHECK(served == 0 || served == calls, "%ld of %d calls of %s of %d elements were served", served, calls, collective,
        count);
  expect_choice(comm, collective, served, count, bytes, shortest);
  long all[most_ranks];
  MPI_Gather(&served, 1, MPI_LONG, all, 1, MPI_LONG, 0, comm);
  for (int other = 0; rank_in(comm) == 0 && other < size_of(comm); ++other) {
    CHECK(all[other] == served, "rank %d served %ld calls of %s of %d elements, not %ld", other, all[other], collective,
          count, served);
  }
}

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
  expect_alike(comm, "allreduce", before, count, count * (int)sizeof(int), 1024);
}

/* Blocks of lengths that differ, one after the other. Returns the number of elements. */
static int lay_out(MPI_Comm comm, int count, int* counts, int* begins) {
  int all = 0;
  for (int rank = 0; rank < size_of(comm); ++rank) {
    begins[rank] = all;
    all += counts[rank] = count / size_of(comm) + rank;
  }
  return all;
}

static void allgathers(MPI_Comm comm, int count) {
  const int rank = rank_in(comm);
  int counts[most_ranks];
  int begins[most_ranks];
  const int all = lay_out(comm, count, counts, begins);
  int* sent = allocate(sizeof(int) * (uint64_t)(counts[rank] + 1));
  int* received = allocate(sizeof(int) * (uint64_t)all);
  const long before = served_calls("allgatherv");
  for (int call = 0; call < calls; ++call) {
    for (int i = 0; i < counts[rank]; ++i) sent[i] = begins[rank] + i + call;
    MPI_Allgatherv(sent, counts[rank], MPI_INT, received, counts, begins, MPI_INT, comm);
    for (int i = 0; i < all; ++i) CHECK(received[i] == i + call, "element %d of %d", i, all);
  }
  free(sent);
  free(received);
  expect_alike(comm, "allgatherv", before, count, all * (int)sizeof(int), 1024);
}

static void reduce_scatters(MPI_Comm comm, int count) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  int counts[most_ranks];
  int begins[most_ranks];
  const int all = lay_out(comm, count, counts, begins);
  int* values = allocate(sizeof(int) * (uint64_t)all);
  int* sums = allocate(sizeof(int) * (uint64_t)(counts[rank] + 1));
  const long before = served_calls("reduce_scatter");
  for (int call = 0; call < calls; ++call) {
    for (int i = 0; i < all; ++i) values[i] = (i % 1000 + call) * (rank + 1);
    MPI_Reduce_scatter(values, sums, counts, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < counts[rank]; ++i) {
      CHECK(sums[i] == ((begins[rank] + i) % 1000 + call) * (size * (size + 1) / 2), "element %d of %d", i, all);
    }
  }
  free(values);
  free(sums);
  expect_alike(comm, "reduce_scatter", before, count, all * (int)sizeof(int), 128);
}

static void all_sizes(MPI_Comm comm, int of_blocks) {
  for (int count = first_count; count <= 1 << 18; count *= 8) {
    MPI_Barrier(comm); /* where ranks agree on nonblocking calls */
    if (of_blocks) {
      allgathers(comm, count);
      reduce_scatters(comm, count);
    } else {
      allreduces(comm, count);
    }
  }
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
  const int of_blocks = argc > 1 && strcmp(argv[1], "blocks") == 0;
  const char* const expected = argv[argc - 1];
  if (argc > 1 && strcmp(expected, "long") == 0) served_are = long_ones;
  if (argc > 1 && strcmp(expected, "split") == 0) served_are = all_but_short_ones;
  if (argc > 1 && strcmp(expected, "all") == 0) served_are = all_of_them;
  all_sizes(MPI_COMM_WORLD, of_blocks);
  const int spoils = argc > 1 && !of_blocks && served_are == nothing;
  if (spoils && rank_in(MPI_COMM_WORLD) == 0) spoil(strcmp(argv[1], "forge") == 0);
  MPI_Comm copy = MPI_COMM_NULL;
  /* In another order: the same ranks would not look into the cache again. */
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_in(MPI_COMM_WORLD), &copy);
  all_sizes(copy, of_blocks);
  MPI_Comm_free(&copy);
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank < size_of(MPI_COMM_WORLD) / 2, rank, &half);
  if (size_of(half) > 1) all_sizes(half, of_blocks);
  MPI_Comm_free(&half);
  return 0;
}
