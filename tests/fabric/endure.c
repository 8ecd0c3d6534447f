/* Collectives one after the other with a check of every result, and no other messages of MPI's: what goes on when a
 * cable is cut meanwhile, or a rank killed.
 *   endure ROUNDS BYTES [RANK ROUND]
 * In every round an allreduce of BYTES bytes, an allgather and an alltoall of BYTES bytes per rank. With RANK and ROUND
 * that rank kills itself there in the middle of a call, and the others say how long they waited for their error. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size;

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

static void check(int good, const char* what, int round) {
  if (good) return;
  fprintf(stderr, "endure[%d]: %s of round %d is wrong\n", rank, what, round);
  _exit(3);
}

static void* kill_soon(void* unused) {
  (void)unused;
  const struct timespec moment = {0, 20000000};
  nanosleep(&moment, NULL);
  kill(getpid(), SIGKILL);
  return NULL;
}

static void survive(int code, double begin) {
  if (code == MPI_SUCCESS) return;
  fprintf(stderr, "endure[%d]: an error after %.1f s\n", rank, now() - begin);
  _exit(0);
}

int main(int argc, char** argv) {
  if (argc != 3 && argc != 5) return 2;
  const int rounds = atoi(argv[1]);
  const int count = atoi(argv[2]) / 8;
  const int victim = argc == 5 ? atoi(argv[3]) : -1;
  const int last = argc == 5 ? atoi(argv[4]) : -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (victim >= 0 && getenv("ENDURE_FATAL") == NULL) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const size_t all = (size_t)count * (size_t)size;
  uint64_t* sent = malloc(all * 8);
  uint64_t* received = malloc(all * 8);
  uint64_t* sums = malloc((size_t)count * 8);
  for (int round = 0; round < rounds; ++round) {
    pthread_t killer;
    if (rank == victim && round == last) pthread_create(&killer, NULL, kill_soon, NULL);
    for (int i = 0; i < count; ++i) {
      sent[i] = element(rank, 0, round, i);
      sums[i] = 0;
      for (int from = 0; from < size; ++from) sums[i] += element(from, 0, round, i);
    }
    double begin = now();
    survive(MPI_Allreduce(sent, received, count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD), begin);
    check(memcmp(received, sums, (size_t)count * 8) == 0, "allreduce", round);

    memset(received, 0, all * 8);
    begin = now();
    survive(MPI_Allgather(sent, count, MPI_UINT64_T, received, count, MPI_UINT64_T, MPI_COMM_WORLD), begin);
    int good = 1;
    for (int from = 0; from < size; ++from) {
      for (int i = 0; i < count; ++i) good &= received[from * count + i] == element(from, 0, round, i);
    }
    check(good, "allgather", round);

    for (int to = 0; to < size; ++to) {
      for (int i = 0; i < count; ++i) sent[to * count + i] = element(rank, to, round, i);
    }
    memset(received, 0, all * 8);
    begin = now();
    survive(MPI_Alltoall(sent, count, MPI_UINT64_T, received, count, MPI_UINT64_T, MPI_COMM_WORLD), begin);
    good = 1;
    for (int from = 0; from < size; ++from) {
      for (int i = 0; i < count; ++i) good &= received[from * count + i] == element(from, rank, round, i);
    }
    check(good, "alltoall", round);
    /* What was sent may change as soon as the call is over. */
    memset(sent, 0xff, all * 8);
    if (rank == 0) fprintf(stderr, "endure: round %d in %.3f s\n", round, now() - begin);
  }
  fprintf(stderr, "endure[%d]: all %d rounds right\n", rank, rounds);
  free(sent);
  free(received);
  free(sums);
  MPI_Finalize();
  return 0;
}
