/* Collectives with a check of every result and of who served it, and no other messages of MPI's once the first round is
 * over: what goes on when a cable is cut meanwhile, or a rank killed.
 *   endure WAY ROUNDS BYTES [RANK ROUND]
 * In every round an allreduce of BYTES bytes, an allgather and an alltoall of BYTES bytes per rank, and an alltoallv of
 * blocks of that length and of half of it:
 *   blocking     one after the other
 *   nonblocking  all at once; after the first round, nothing else
 *   mixed        nonblocking ones with a blocking one in between
 *   persistent   the same ones over and over; every ten rounds they are freed and planned anew after a blocking one
 *   parts        on pairs of ranks while others are under way on groups of four, then a blocking one of all
 * After the first round without any blocking one, nor other agreement of all:
 *   immediate    nonblocking ones
 *   starts       persistent ones, planned in the first round for good
 *   part         the immediate ones, on groups of four
 *   lone_part    the same where no collective of all ever was
 * Where ENDURE_UNTIL names a file, there are as many rounds as it takes until that is there; rank 0 tells the others.
 * Where ENDURE_LAST names one, there are rounds until it is there and up to the one whose number it has. Nobody tells
 * anybody, so the number must be well ahead of what rank 0 and, of groups of four, rank 4 have said.
 * With RANK and ROUND that rank kills itself there in the middle of a call (never, where ROUND is negative: somebody
 * else does), and the others say how long they waited for their error. */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
/* It needs the other. */
#include <mpi-ext.h>

enum Kind { allreduce, allgather, alltoall, alltoallv, kinds };
enum Form { blocking, nonblocking, persistent, forms };

static const char* const names[forms][kinds] = {
    {"allreduce", "allgather", "alltoall", "alltoallv"},
    {"iallreduce", "iallgather", "ialltoall", "ialltoallv"},
    {"allreduce_init", "allgather_init", "alltoall_init", "alltoallv_init"}};
static long begun[forms][kinds];

/* A collective on a communicator, with memory of its own. */
struct Call {
  int kind;
  int form;
  MPI_Comm comm;
  int rank;
  int size;
  int count; /* elements per block, at most */
  int* counts;
  int* places;
  uint64_t* sent;
  uint64_t* received;
  MPI_Request request;
};

static int world_rank;
static double round_began;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint64_t element(int from, int to, int round, int64_t index) {
  uint64_t bits = ((uint64_t)(unsigned)from << 48) ^ ((uint64_t)(unsigned)to << 40) ^
                  ((uint64_t)(unsigned)round << 24) ^ (uint64_t)index;
  bits = (bits ^ (bits >> 31)) * 0x9e3779b97f4a7c15u;
  return bits ^ (bits >> 29);
}

static void demand(int good, const char* what, int round) {
  if (good) return;
  fprintf(stderr, "endure[%d]: %s of round %d is wrong\n", world_rank, what, round);
  _exit(3);
}

static void* kill_soon(void* unused) {
  (void)unused;
  const struct timespec moment = {0, 20000000};
  nanosleep(&moment, NULL);
  kill(getpid(), SIGKILL);
  return NULL;
}

/* The number in a file; -1: it is not there. */
static int number_in(const char* path) {
  FILE* const file = fopen(path, "r");
  int number = -1;
  if (file == NULL) return number;
  if (fscanf(file, "%d", &number) != 1) number = -1;
  fclose(file);
  return number;
}

/* Whether there is another round. */
static int goes_on(int round, int rounds) {
  static int known_last = -1;
  const char* const last = getenv("ENDURE_LAST");
  if (last != NULL) {
    if (known_last < 0) known_last = number_in(last);
    return known_last < 0 || round <= known_last;
  }
  const char* const until = getenv("ENDURE_UNTIL");
  if (until == NULL) return round < rounds;
  int go = access(until, F_OK) != 0;
  MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return go;
}

static void survive(int code) {
  if (code == MPI_SUCCESS) return;
  fprintf(stderr, "endure[%d]: an error after %.1f s\n", world_rank, now() - round_began);
  _exit(0);
}

/* The same in both directions. */
static int block_length(const struct Call* call, int peer) {
  return call->kind == alltoallv && (call->rank + peer) % 2 != 0 ? call->count / 2 : call->count;
}

static struct Call make_call(int kind, int form, MPI_Comm comm, int count) {
  struct Call call = {kind, form, comm, 0, 0, count, NULL, NULL, NULL, NULL, MPI_REQUEST_NULL};
  MPI_Comm_rank(comm, &call.rank);
  MPI_Comm_size(comm, &call.size);
  call.sent = malloc((size_t)count * (size_t)call.size * 8);
  call.received = malloc((size_t)count * (size_t)call.size * 8);
  call.counts = malloc((size_t)call.size * sizeof(int));
  call.places = malloc((size_t)call.size * sizeof(int));
  for (int peer = 0; peer < call.size; ++peer) {
    call.counts[peer] = block_length(&call, peer);
    call.places[peer] = peer * count;
  }
  return call;
}

static void fill(struct Call* call, int round) {
  const int blocks = call->kind >= alltoall ? call->size : 1;
  for (int to = 0; to < blocks; ++to) {
    for (int i = 0; i < call->count; ++i) call->sent[to * call->count + i] = element(call->rank, to, round, i);
  }
  memset(call->received, 0, (size_t)call->count * (size_t)call->size * 8);
}

static uint64_t expected(const struct Call* call, int round, int block, int i) {
  if (call->kind != allreduce) return element(block, call->kind >= alltoall ? call->rank : 0, round, i);
  uint64_t sum = 0;
  for (int from = 0; from < call->size; ++from) sum += element(from, 0, round, i);
  return sum;
}

static void check(const struct Call* call, int round) {
  int good = 1;
  for (int block = 0; block < (call->kind == allreduce ? 1 : call->size); ++block) {
    for (int i = 0; i < block_length(call, block); ++i) {
      good &= call->received[block * call->count + i] == expected(call, round, block, i);
    }
  }
  demand(good, names[call->form][call->kind], round);
  /* What was sent may change as soon as the call is over. */
  memset(call->sent, 0xff, (size_t)call->count * (size_t)call->size * 8);
}

static void init(struct Call* call) {
  const int n = call->count;
  const MPI_Datatype type = MPI_UINT64_T;
  MPI_Request* request = &call->request;
  if (call->kind == allreduce) {
    MPIX_Allreduce_init(call->sent, call->received, n, type, MPI_SUM, call->comm, MPI_INFO_NULL, request);
  } else if (call->kind == allgather) {
    MPIX_Allgather_init(call->sent, n, type, call->received, n, type, call->comm, MPI_INFO_NULL, request);
  } else if (call->kind == alltoall) {
    MPIX_Alltoall_init(call->sent, n, type, call->received, n, type, call->comm, MPI_INFO_NULL, request);
  } else {
    MPIX_Alltoallv_init(call->sent, call->counts, call->places, type, call->received, call->counts, call->places, type,
                        call->comm, MPI_INFO_NULL, request);
  }
}

static void begin(struct Call* call, int round) {
  fill(call, round);
  const int n = call->count;
  const MPI_Datatype type = MPI_UINT64_T;
  MPI_Request* request = &call->request;
  ++begun[call->form][call->kind];
  if (call->form == persistent) {
    survive(MPI_Start(request));
  } else if (call->form == nonblocking && call->kind == allreduce) {
    survive(MPI_Iallreduce(call->sent, call->received, n, type, MPI_SUM, call->comm, request));
  } else if (call->form == nonblocking && call->kind == allgather) {
    survive(MPI_Iallgather(call->sent, n, type, call->received, n, type, call->comm, request));
  } else if (call->form == nonblocking && call->kind == alltoallv) {
    survive(MPI_Ialltoallv(call->sent, call->counts, call->places, type, call->received, call->counts, call->places,
                           type, call->comm, request));
  } else if (call->form == nonblocking) {
    survive(MPI_Ialltoall(call->sent, n, type, call->received, n, type, call->comm, request));
  } else if (call->kind == allreduce) {
    survive(MPI_Allreduce(call->sent, call->received, n, type, MPI_SUM, call->comm));
  } else if (call->kind == allgather) {
    survive(MPI_Allgather(call->sent, n, type, call->received, n, type, call->comm));
  } else if (call->kind == alltoall) {
    survive(MPI_Alltoall(call->sent, n, type, call->received, n, type, call->comm));
  } else {
    survive(MPI_Alltoallv(call->sent, call->counts, call->places, type, call->received, call->counts, call->places,
                          type, call->comm));
  }
}

static void end(struct Call* call, int round) {
  survive(MPI_Wait(&call->request, MPI_STATUS_IGNORE));
  check(call, round);
}

static void run(struct Call* call, int round) {
  begin(call, round);
  if (call->form == blocking) {
    check(call, round);
  } else {
    end(call, round);
  }
}

/* Every call that this process has begun was served. */
static void check_served(void) {
  long (*served)(const char*) = NULL;
  *(void**)&served = dlsym(RTLD_DEFAULT, "libcoll_calls_served");
  for (int form = 0; form < forms; ++form) {
    for (int kind = 0; kind < kinds; ++kind) {
      const long count = served == NULL ? -1 : served(names[form][kind]);
      if (count == begun[form][kind]) continue;
      fprintf(stderr, "endure[%d]: %ld of %ld calls of %s were served\n", world_rank, count, begun[form][kind],
              names[form][kind]);
      _exit(4);
    }
  }
}

int main(int argc, char** argv) {
  if (argc != 4 && argc != 6) return 2;
  const char* const way = argv[1];
  const int rounds = atoi(argv[2]);
  const int count = atoi(argv[3]) / 8;
  const int victim = argc == 6 ? atoi(argv[4]) : -1;
  const int last = argc == 6 ? atoi(argv[5]) : -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  if (victim >= 0 && getenv("ENDURE_FATAL") == NULL) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  struct Call calls[forms][kinds];
  for (int form = 0; form < forms; ++form) {
    for (int kind = 0; kind < kinds; ++kind) calls[form][kind] = make_call(kind, form, MPI_COMM_WORLD, count);
  }
  struct Call of_pairs[kinds];
  struct Call of_fours[kinds];
  const int on_part = strcmp(way, "part") == 0 || strcmp(way, "lone_part") == 0;
  fprintf(stderr, "endure[%d]: process %d\n", world_rank, (int)getpid());
  int round = 0;
  for (; goes_on(round, rounds); ++round) {
    pthread_t killer;
    if (world_rank == victim && round == last) pthread_create(&killer, NULL, kill_soon, NULL);
    round_began = now();
    /* Whether a call is served is agreed on in the first blocking one. */
    if ((round == 0 && strcmp(way, "lone_part") != 0) || strcmp(way, "blocking") == 0) {
      for (int kind = 0; kind < kinds; ++kind) run(&calls[blocking][kind], round);
    }
    if (strcmp(way, "nonblocking") == 0) {
      for (int kind = 0; kind < kinds; ++kind) begin(&calls[nonblocking][kind], round);
      for (int kind = kinds - 1; kind >= 0; --kind) end(&calls[nonblocking][kind], round);
    } else if (strcmp(way, "immediate") == 0) {
      for (int kind = 0; kind < kinds; ++kind) begin(&calls[nonblocking][kind], round);
      for (int kind = kinds - 1; kind >= 0; --kind) end(&calls[nonblocking][kind], round);
    } else if (on_part) {
      MPI_Comm four;
      if (round == 0) MPI_Comm_split(MPI_COMM_WORLD, world_rank / 4, world_rank, &four);
      for (int kind = 0; round == 0 && kind < kinds; ++kind) {
        of_fours[kind] = make_call(kind, blocking, four, count);
        run(&of_fours[kind], round);
        of_fours[kind].form = nonblocking;
      }
      for (int kind = 0; kind < kinds; ++kind) begin(&of_fours[kind], round);
      for (int kind = kinds - 1; kind >= 0; --kind) end(&of_fours[kind], round);
    } else if (strcmp(way, "starts") == 0) {
      for (int kind = 0; round == 0 && kind < kinds; ++kind) init(&calls[persistent][kind]);
      for (int i = 0; i < kinds; ++i) begin(&calls[persistent][(world_rank + i) % kinds], round);
      for (int kind = 0; kind < kinds; ++kind) end(&calls[persistent][kind], round);
    } else if (strcmp(way, "mixed") == 0) {
      begin(&calls[nonblocking][alltoall], round);
      begin(&calls[nonblocking][allreduce], round);
      run(&calls[blocking][round % kinds], round);
      begin(&calls[nonblocking][allgather], round);
      begin(&calls[nonblocking][alltoallv], round);
      for (int kind = kinds - 1; kind >= 0; --kind) end(&calls[nonblocking][kind], round);
    } else if (strcmp(way, "persistent") == 0) {
      if (round % 10 == 0) {
        run(&calls[blocking][allreduce], round);
        for (int kind = 0; kind < kinds; ++kind) {
          if (round > 0) MPI_Request_free(&calls[persistent][kind].request);
          init(&calls[persistent][kind]);
        }
      }
      /* The ranks may start them in any order. */
      for (int i = 0; i < kinds; ++i) begin(&calls[persistent][(world_rank + i) % kinds], round);
      for (int kind = 0; kind < kinds; ++kind) end(&calls[persistent][kind], round);
    } else if (strcmp(way, "parts") == 0) {
      for (int kind = 0; round == 0 && kind < kinds; ++kind) {
        MPI_Comm pair;
        MPI_Comm four;
        MPI_Comm_split(MPI_COMM_WORLD, world_rank / 2, world_rank, &pair);
        MPI_Comm_split(MPI_COMM_WORLD, world_rank / 4, world_rank, &four);
        of_pairs[kind] = make_call(kind, blocking, pair, count);
        of_fours[kind] = make_call(kind, blocking, four, count);
        run(&of_fours[kind], round);
        of_fours[kind].form = nonblocking;
      }
      for (int kind = 0; kind < kinds; ++kind) begin(&of_fours[kind], round);
      for (int kind = 0; kind < kinds; ++kind) run(&of_pairs[kind], round);
      for (int kind = 0; kind < kinds; ++kind) end(&of_fours[kind], round);
      run(&calls[blocking][allreduce], round);
    }
    if (world_rank == 0) fprintf(stderr, "endure: round %d in %.3f s\n", round, now() - round_began);
    if (on_part && world_rank == 4) fprintf(stderr, "endure[4]: round %d\n", round);
    if (on_part) usleep(20000); /* a group does not wait for the other */
  }
  check_served();
  fprintf(stderr, "endure[%d]: all %d rounds right\n", world_rank, round);
  for (int kind = 0; kind < kinds; ++kind) {
    if (calls[persistent][kind].request != MPI_REQUEST_NULL) MPI_Request_free(&calls[persistent][kind].request);
  }
  MPI_Finalize();
  return 0;
}
