/* Calls of libcoll and of the MPI library in turn within one process, and how many times as fast libcoll's are.
 *
 *   in_turn COLLECTIVE… [-m MIN:MAX] [-b BLOCKS] [-i CALLS] [-w] [-s]
 *   COLLECTIVE: allreduce, alltoall, allgather, reduce_scatter_block, bcast, reduce, and each with an i before it
 *
 * A virtual machine moves its processors: a cache line goes from one to the other in 100 ns for some seconds and in
 * 500 ns for others. Processes that run one after the other then meet different machines; blocks of a few milliseconds
 * do not. Size is counted as collective_sweep does. BLOCKS blocks of CALLS calls (0: about 3 ms) of each are timed; of
 * libcoll's the table says how many it served, and how many it left to MPI.
 * -w writes the whole send buffer before each call, outside of the time, as a program does that computes what it sends.
 * -s has the ranks leave a barrier before each call, outside of the time; otherwise roots of broadcasts run ahead. */
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plain_mpi.h"

enum { most_ways = 2, default_blocks = 40, block_microseconds = 3000, most_calls = 2000 };

/* The functions of one library. */
struct Library {
  int (*allreduce)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
  int (*alltoall)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
  int (*allgather)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
  int (*reduce_scatter_block)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
  int (*bcast)(void*, int, MPI_Datatype, int, MPI_Comm);
  int (*reduce)(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
  int (*iallreduce)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*);
  int (*ialltoall)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Request*);
  int (*iallgather)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Request*);
  int (*ireduce_scatter_block)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*);
  int (*ibcast)(void*, int, MPI_Datatype, int, MPI_Comm, MPI_Request*);
  int (*ireduce)(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Request*);
  int (*wait)(MPI_Request*, MPI_Status*);
};

struct Buffers {
  void* send;
  void* receive;
};

struct Kind {
  const char* name;
  int blocks_sent;     /* 1, or 0: as many as ranks */
  int blocks_received; /* the same */
  void (*call)(const struct Library* library, const struct Buffers* buffers, int bytes);
};

static void call_allreduce(const struct Library* library, const struct Buffers* buffers, int bytes) {
  library->allreduce(buffers->send, buffers->receive, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void call_alltoall(const struct Library* library, const struct Buffers* buffers, int bytes) {
  library->alltoall(buffers->send, bytes, MPI_CHAR, buffers->receive, bytes, MPI_CHAR, MPI_COMM_WORLD);
}

static void call_allgather(const struct Library* library, const struct Buffers* buffers, int bytes) {
  library->allgather(buffers->send, bytes, MPI_CHAR, buffers->receive, bytes, MPI_CHAR, MPI_COMM_WORLD);
}

static void call_reduce_scatter_block(const struct Library* library, const struct Buffers* buffers, int bytes) {
  library->reduce_scatter_block(buffers->send, buffers->receive, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void call_bcast(const struct Library* library, const struct Buffers* buffers, int bytes) {
  library->bcast(buffers->send, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static void call_reduce(const struct Library* library, const struct Buffers* buffers, int bytes) {
  library->reduce(buffers->send, buffers->receive, bytes / 4, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void call_iallreduce(const struct Library* library, const struct Buffers* buffers, int bytes) {
  MPI_Request request;
  library->iallreduce(buffers->send, buffers->receive, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
  library->wait(&request, MPI_STATUS_IGNORE);
}

static void call_ialltoall(const struct Library* library, const struct Buffers* buffers, int bytes) {
  MPI_Request request;
  library->ialltoall(buffers->send, bytes, MPI_CHAR, buffers->receive, bytes, MPI_CHAR, MPI_COMM_WORLD, &request);
  library->wait(&request, MPI_STATUS_IGNORE);
}

static void call_iallgather(const struct Library* library, const struct Buffers* buffers, int bytes) {
  MPI_Request request;
  library->iallgather(buffers->send, bytes, MPI_CHAR, buffers->receive, bytes, MPI_CHAR, MPI_COMM_WORLD, &request);
  library->wait(&request, MPI_STATUS_IGNORE);
}

static void call_ireduce_scatter_block(const struct Library* library, const struct Buffers* buffers, int bytes) {
  MPI_Request request;
  library->ireduce_scatter_block(buffers->send, buffers->receive, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                                 &request);
  library->wait(&request, MPI_STATUS_IGNORE);
}

static void call_ibcast(const struct Library* library, const struct Buffers* buffers, int bytes) {
  MPI_Request request;
  library->ibcast(buffers->send, bytes, MPI_CHAR, 0, MPI_COMM_WORLD, &request);
  library->wait(&request, MPI_STATUS_IGNORE);
}

static void call_ireduce(const struct Library* library, const struct Buffers* buffers, int bytes) {
  MPI_Request request;
  library->ireduce(buffers->send, buffers->receive, bytes / 4, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD, &request);
  library->wait(&request, MPI_STATUS_IGNORE);
}

static const struct Kind kinds[] = {
    {"allreduce", 1, 1, call_allreduce},   {"alltoall", 0, 0, call_alltoall},
    {"allgather", 1, 0, call_allgather},   {"reduce_scatter_block", 0, 1, call_reduce_scatter_block},
    {"bcast", 1, 1, call_bcast},           {"reduce", 1, 1, call_reduce},
    {"iallreduce", 1, 1, call_iallreduce}, {"ialltoall", 0, 0, call_ialltoall},
    {"iallgather", 1, 0, call_iallgather}, {"ireduce_scatter_block", 0, 1, call_ireduce_scatter_block},
    {"ibcast", 1, 1, call_ibcast},         {"ireduce", 1, 1, call_ireduce},
};

static const struct Kind* kind_named(const char* name) {
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
    if (strcmp(kinds[k].name, name) == 0) return &kinds[k];
  }
  return NULL;
}

/* `handle`: of a library, whose functions are meant, or RTLD_DEFAULT, where a preloaded library comes first. */
static void load_functions(void* handle, struct Library* library) {
  const struct {
    const char* name;
    void* pointer;
  } functions[] = {
      {"MPI_Allreduce", &library->allreduce},
      {"MPI_Alltoall", &library->alltoall},
      {"MPI_Allgather", &library->allgather},
      {"MPI_Reduce_scatter_block", &library->reduce_scatter_block},
      {"MPI_Bcast", &library->bcast},
      {"MPI_Reduce", &library->reduce},
      {"MPI_Iallreduce", &library->iallreduce},
      {"MPI_Ialltoall", &library->ialltoall},
      {"MPI_Iallgather", &library->iallgather},
      {"MPI_Ireduce_scatter_block", &library->ireduce_scatter_block},
      {"MPI_Ibcast", &library->ibcast},
      {"MPI_Ireduce", &library->ireduce},
      {"MPI_Wait", &library->wait},
  };
  for (size_t f = 0; f < sizeof functions / sizeof *functions; ++f) {
    void* symbol = dlsym(handle, functions[f].name);
    memcpy(functions[f].pointer, &symbol, sizeof symbol);
  }
}

/* The path of libmpi, whose own functions a preloaded library hides. */
static int find_mpi(struct dl_phdr_info* info, size_t size, void* path) {
  (void)size;
  const char* slash = strrchr(info->dlpi_name, '/');
  if (slash == NULL || (strncmp(slash, "/libmpi.so", 10) != 0 && strncmp(slash, "/libmpich.so", 12) != 0)) return 0;
  *(const char**)path = info->dlpi_name;
  return 1;
}

static int ascending(const void* one, const void* other) {
  const double a = *(const double*)one;
  const double b = *(const double*)other;
  return (a > b) - (a < b);
}

static double quantile(double* values, int count, double which) {
  qsort(values, (size_t)count, sizeof *values, ascending);
  return values[(int)(which * (count - 1) + 0.5)];
}

struct Options {
  int least_bytes;
  int most_bytes;
  int blocks;
  int calls;
  int writes;
  int synchronises;
};

/* Microseconds of a call, the most of all ranks. */
static double time_block(const struct Kind* kind, const struct Library* library, const struct Buffers* buffers,
                         int bytes, int calls, size_t written, int synchronises) {
  MPI_Barrier(MPI_COMM_WORLD);
  double seconds = 0;
  const int one_by_one = written > 0 || synchronises;
  if (!one_by_one) {
    const double start = MPI_Wtime();
    for (int call = 0; call < calls; ++call) kind->call(library, buffers, bytes);
    seconds = MPI_Wtime() - start;
  }
  for (int call = 0; call < calls && one_by_one; ++call) {
    memset(buffers->send, call & 1, written);
    if (synchronises) MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    kind->call(library, buffers, bytes);
    seconds += MPI_Wtime() - start;
  }
  const double here = seconds / calls * 1e6;
  double most = 0;
  MPI_Allreduce(&here, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

static void race(const struct Kind* kind, const struct Library* libraries, const struct Options* options, int bytes) {
  int rank;
  int ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const size_t sent = (size_t)bytes * (size_t)(kind->blocks_sent ? 1 : ranks);
  const size_t received = (size_t)bytes * (size_t)(kind->blocks_received ? 1 : ranks);
  struct Buffers buffers = {NULL, NULL};
  const size_t blocks = (size_t)options->blocks;
  double* const figures = malloc((most_ways + 1) * blocks * sizeof *figures);
  if (posix_memalign(&buffers.send, 4096, sent) != 0 || posix_memalign(&buffers.receive, 4096, received) != 0 ||
      figures == NULL) {
    fputs("in_turn: no memory\n", stderr);
    free(figures);
    MPI_Abort(MPI_COMM_WORLD, 1);
    return;
  }
  double* const times[most_ways] = {figures, figures + blocks};
  double* const ratios = figures + most_ways * blocks;
  memset(buffers.send, 0, sent);
  memset(buffers.receive, 0, received);
  const size_t written = options->writes ? sent : 0;
  int calls = options->calls;
  for (int way = 0; way < most_ways; ++way)
    time_block(kind, &libraries[way], &buffers, bytes, 50, written, options->synchronises);
  if (calls == 0) {
    const double microseconds = time_block(kind, &libraries[0], &buffers, bytes, 20, written, options->synchronises);
    calls = microseconds * most_calls < block_microseconds ? most_calls : (int)(block_microseconds / microseconds) + 4;
  }
  const long served_before = served_calls(kind->name);
  for (int block = 0; block < options->blocks; ++block) {
    for (int turn = 0; turn < most_ways; ++turn) {
      const int way = (block + turn) % most_ways;
      times[way][block] = time_block(kind, &libraries[way], &buffers, bytes, calls, written, options->synchronises);
    }
    ratios[block] = times[0][block] / times[1][block];
  }
  if (rank == 0) {
    const double served = (double)(served_calls(kind->name) - served_before) / calls / options->blocks;
    printf("%-22s%9d%10.2f%10.2f%8.2f%8.2f%8.2f%8.0f %%\n", kind->name, bytes, quantile(times[0], options->blocks, 0.5),
           quantile(times[1], options->blocks, 0.5), quantile(ratios, options->blocks, 0.5),
           quantile(ratios, options->blocks, 0.1), quantile(ratios, options->blocks, 0.9), 100 * served);
    fflush(stdout);
  }
  free(figures);
  free(buffers.send);
  free(buffers.receive);
}

/* Whether all arguments were understood. */
static int read_options(int argc, char** argv, struct Options* options) {
  int option;
  while ((option = getopt(argc, argv, "m:b:i:ws")) != -1) {
    if (option == 'm' && sscanf(optarg, "%d:%d", &options->least_bytes, &options->most_bytes) == 2) continue;
    if (option == 'b' && (options->blocks = atoi(optarg)) > 0) continue;
    if (option == 'i' && (options->calls = atoi(optarg)) >= 0) continue;
    if (option != 'w' && option != 's') return 0;
    *(option == 'w' ? &options->writes : &options->synchronises) = 1;
  }
  for (int argument = optind; argument < argc; ++argument) {
    if (kind_named(argv[argument]) == NULL) return 0;
  }
  return optind < argc && options->least_bytes >= 4 && options->most_bytes >= options->least_bytes;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  struct Options options = {8, 1 << 20, default_blocks, 0, 0, 0};
  const char* path = NULL;
  dl_iterate_phdr(find_mpi, &path);
  void* mpi = path != NULL ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
  if (mpi == NULL || !read_options(argc, argv, &options)) {
    if (rank == 0) {
      fputs(mpi == NULL ? "in_turn: no libmpi is loaded\n"
                        : "usage: in_turn COLLECTIVE… [-m MIN:MAX] [-b BLOCKS] [-i CALLS] [-w] [-s]\n",
            stderr);
    }
    MPI_Finalize();
    return 2;
  }
  struct Library libraries[most_ways];
  load_functions(mpi, &libraries[0]);
  load_functions(RTLD_DEFAULT, &libraries[1]);
  if (rank == 0) {
    if (libraries[0].allreduce == libraries[1].allreduce) puts("# libcoll is not preloaded");
    printf("%-22s%9s%10s%10s%8s%8s%8s%10s\n", "# collective", "bytes", "MPI, us", "ours, us", "ratio", "10 %", "90 %",
           "served");
  }
  for (int argument = optind; argument < argc; ++argument) {
    for (int bytes = options.least_bytes; bytes <= options.most_bytes && bytes > 0; bytes *= 2) {
      race(kind_named(argv[argument]), libraries, &options, bytes);
    }
  }
  dlclose(mpi);
  MPI_Finalize();
  return 0;
}
