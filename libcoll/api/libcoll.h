/* libcoll: collectives planned for direct-connect fabrics, from C.
 *
 * A program opens a topology, plans a collective on it or reads a schedule file, asks the schedule's figures, verifies
 * it, and runs collectives between processes over libcoll's own transport. It needs no MPI.
 *
 * Errors are values: a function returns LIBCOLL_SUCCESS or another libcoll_status, and libcoll_error_message() then
 * says what was found and expected. Results come by the last argument, which is untouched on an error. No function
 * prints, ends the process or throws. Text is UTF-8 and ends with a zero byte. Sizes are bytes.
 *
 * Threads: topologies and schedules do not change once they are made; any threads may read them at the same time. A
 * communicator belongs to one thread at a time. Everything else may be called from any thread.
 *
 * Licence: this library links no GPL code. The planners that solve linear programs need GLPK (GPL-3) and are in the
 * command `libcoll` only. libcoll_plan() says which are in this library.
 */
#ifndef LIBCOLL_H
#define LIBCOLL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum libcoll_status {
  LIBCOLL_SUCCESS = 0,
  LIBCOLL_ERROR_ARGUMENT = 1,  /* a null pointer, a number out of range, arguments that do not fit each other */
  LIBCOLL_ERROR_INPUT = 2,     /* a specification or file that cannot be read, a file that cannot be written */
  LIBCOLL_ERROR_PLAN = 3,      /* no plan can be made */
  LIBCOLL_ERROR_SCHEDULE = 4,  /* the schedule is wrong */
  LIBCOLL_ERROR_SETUP = 5,     /* the ranks cannot run the collective; the same on all of them */
  LIBCOLL_ERROR_TRANSPORT = 6, /* a collective failed under way; the communicator runs no further ones */
  LIBCOLL_ERROR_MEMORY = 7,    /* out of memory */
  LIBCOLL_ERROR_INTERNAL = 8   /* a fault of libcoll's */
} libcoll_status;

/* The last of each enumeration is not for use: any int may be passed, and is refused. */
typedef enum libcoll_collective {
  LIBCOLL_ALLGATHER = 0,
  LIBCOLL_REDUCE_SCATTER = 1,
  LIBCOLL_ALLREDUCE = 2,
  LIBCOLL_ALLTOALL = 3,
  LIBCOLL_COLLECTIVE_MAX = 0x7fffffff
} libcoll_collective;

typedef enum libcoll_type {
  LIBCOLL_INT8 = 0,
  LIBCOLL_INT16 = 1,
  LIBCOLL_INT32 = 2,
  LIBCOLL_INT64 = 3,
  LIBCOLL_UINT8 = 4,
  LIBCOLL_UINT16 = 5,
  LIBCOLL_UINT32 = 6,
  LIBCOLL_UINT64 = 7,
  LIBCOLL_FLOAT32 = 8,
  LIBCOLL_FLOAT64 = 9,
  LIBCOLL_TYPE_MAX = 0x7fffffff
} libcoll_type;

/* As MPI's operations of these names. Bitwise and logical ones are for integers. */
typedef enum libcoll_operation {
  LIBCOLL_SUM = 0,
  LIBCOLL_PROD = 1,
  LIBCOLL_MIN = 2,
  LIBCOLL_MAX = 3,
  LIBCOLL_BAND = 4,
  LIBCOLL_BOR = 5,
  LIBCOLL_BXOR = 6,
  LIBCOLL_LAND = 7,
  LIBCOLL_LOR = 8,
  LIBCOLL_LXOR = 9,
  LIBCOLL_OPERATION_MAX = 0x7fffffff
} libcoll_operation;

typedef struct libcoll_topology libcoll_topology;
typedef struct libcoll_schedule libcoll_schedule;
typedef struct libcoll_communicator libcoll_communicator;

/* "0.12.0" */
const char* libcoll_version(void);

/* Of the last error in this thread, one sentence; "" when there was none. Valid until this thread's next call. */
const char* libcoll_error_message(void);

/* What libcoll would tell a user (warnings, plans that are used) goes to `sink`, at the level that the setting
 * LIBCOLL_LOG_LEVEL has (default: warn). NULL, as at the beginning: nowhere. Any thread may call the sink at any time;
 * it must not call libcoll. `level` is "error", "warning", "info", "debug" or "trace". */
typedef void (*libcoll_log_sink)(const char* level, const char* message);
void libcoll_set_log_sink(libcoll_log_sink sink);

/* ---- topologies ---------------------------------------------------------------------------------------------- */

/* A specification ("torus:3x3x3") or the path of a topology file: libcoll-topology(5). */
libcoll_status libcoll_topology_open(const char* specification_or_path, libcoll_topology** topology);
void libcoll_topology_free(libcoll_topology* topology);
/* N: nodes that send and receive. */
int64_t libcoll_topology_hosts(const libcoll_topology* topology);
/* Directed links: a cable is two. */
int64_t libcoll_topology_links(const libcoll_topology* topology);

/* ---- schedules ----------------------------------------------------------------------------------------------- */

/* Plans a collective. `algorithm` is a planner's name as `libcoll info --algorithms` lists them; NULL: the one of least
 * bandwidth time. The planners of allgather, reduce-scatter and allreduce run in this process, and so does bruck of
 * all-to-all. The other planners of all-to-all solve linear programs: the `libcoll` command makes the plan in a child
 * process, for LIBCOLL_PLANNING_SECONDS at most, and keeps it in the plan cache (libcoll-runtime(7)). The plan was
 * verified. */
libcoll_status libcoll_plan(const libcoll_topology* topology, libcoll_collective collective, const char* algorithm,
                            libcoll_schedule** schedule);
/* Reads a schedule file: libcoll-schedule(5). Nothing in it is believed before libcoll_schedule_verify(). */
libcoll_status libcoll_schedule_read(const char* path, libcoll_schedule** schedule);
libcoll_status libcoll_schedule_write(const libcoll_schedule* schedule, const char* path);
void libcoll_schedule_free(libcoll_schedule* schedule);

/* Proves by symbolic execution that the schedule computes its collective, and computes every figure that it claims
 * again. LIBCOLL_ERROR_SCHEDULE, with the first fault as the message, where either fails. */
libcoll_status libcoll_schedule_verify(const libcoll_schedule* schedule);

/* M is the size of the whole vector (all-to-all: the N blocks of a host), B the bandwidth of a host: its degree times
 * the bandwidth of a link. */
typedef struct libcoll_figures {
  int64_t hosts;            /* N */
  int64_t chunks_per_shard; /* pieces that a host's part of the data is cut into */
  int64_t steps;            /* T_L, in hops */
  int64_t transfers;
  int64_t routes;                /* 0: hosts forward */
  double bandwidth_time;         /* T_B, in M/B */
  double bandwidth_bound;        /* proven lower bound of T_B, in M/B; 0: none is known */
  double flow;                   /* all-to-all: F, the rate of every pair over a link's capacity; otherwise 0 */
  double flow_upper_bound;       /* all-to-all: certified; otherwise 0 */
  libcoll_collective collective; /* what is planned */
} libcoll_figures;

/* `bytes` is sizeof(libcoll_figures), so that later versions can add to it. */
libcoll_status libcoll_schedule_figures(const libcoll_schedule* schedule, libcoll_figures* figures, size_t bytes);
/* The planner's name. Belongs to the schedule. */
const char* libcoll_schedule_algorithm(const libcoll_schedule* schedule);
/* Seconds that it takes for M = `vector_bytes` on its topology, simulated transfer by transfer. It must be right. */
libcoll_status libcoll_schedule_time(const libcoll_schedule* schedule, int64_t vector_bytes, double* seconds);

/* ---- collectives --------------------------------------------------------------------------------------------- */

/* How the ranks of a communicator find each other: an allgather of the caller's own (over MPI, sockets, PMIx, shared
 * memory), as in UCC's out-of-band interface. It is used while libcoll_communicator_create() runs, at the first call
 * of each collective, and in libcoll_communicator_free(); one at a time, from the thread that is in that call. It must
 * not call libcoll. */
typedef struct libcoll_bootstrap {
  void* context; /* handed back */
  int rank;      /* 0 to size - 1; host `rank` of the topology where that names no hosts and has `size` of them */
  int size;      /* 2 at least */
  /* Begins an allgather: `bytes` bytes of every rank, in rank order, into `all` (size * bytes). Both stay where they
   * are until the end. May leave something for test() in *request. 0, or another number when it failed. */
  int (*allgather)(void* context, const void* mine, void* all, size_t bytes, void** request);
  /* 1: the allgather is over; 0: not yet, ask again; a negative number: it failed. Must not wait: the other ranks may
   * need this one's help until they come to the same place. */
  int (*test)(void* context, void* request);
} libcoll_bootstrap;

/* Collective over the ranks. `schedules` (`count` of them, at most one of each collective, the same on all ranks, each
 * of this topology) are what calls go by; other collectives go by plans that libcoll makes, as libcoll_plan() does, and
 * short allreduces and allgathers from rank to rank. Settings are the environment's: libcoll-runtime(7). The
 * communicator keeps copies of what it needs; `bootstrap->context` must outlive it. */
libcoll_status libcoll_communicator_create(const libcoll_bootstrap* bootstrap, const libcoll_topology* topology,
                                           const libcoll_schedule* const* schedules, size_t count,
                                           libcoll_communicator** communicator);
/* Collective. */
void libcoll_communicator_free(libcoll_communicator* communicator);

/* The collectives. All ranks call the same ones in the same order with the same counts. Each comes back when its result
 * is there. `input` and `output` do not overlap, but for an allreduce they may be the same. A reduction has the same
 * bits on every rank. */

/* output[i] = op over all ranks of input[i], i < count. */
libcoll_status libcoll_allreduce(libcoll_communicator* communicator, const void* input, void* output, int64_t count,
                                 libcoll_type type, libcoll_operation operation);
/* `input` is size * count elements; output[i] = op over all ranks of input[rank * count + i], i < count. */
libcoll_status libcoll_reduce_scatter(libcoll_communicator* communicator, const void* input, void* output,
                                      int64_t count, libcoll_type type, libcoll_operation operation);
/* `bytes` bytes of every rank, in rank order, into `output` (size * bytes). */
libcoll_status libcoll_allgather(libcoll_communicator* communicator, const void* input, void* output, int64_t bytes);
/* Block r of `input` (size * bytes) goes to rank r; block r of `output` comes from rank r. */
libcoll_status libcoll_alltoall(libcoll_communicator* communicator, const void* input, void* output, int64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
