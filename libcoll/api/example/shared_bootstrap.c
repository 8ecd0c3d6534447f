#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "shared_bootstrap.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

/* libcoll's messages through the bootstrap are addresses, and plans in pieces: of 1 MiB together at most, or of 4 KiB.
 */
enum { most_ranks = 256, slot_bytes = 1 << 20 };

/* Two slots per rank: nobody begins allgather t + 2 before all have seen the end of allgather t. */
struct shared_memory {
  int ranks;
  atomic_long begun[most_ranks];
  unsigned char slots[];
};

static unsigned char* slot(struct shared_memory* memory, int rank, long turn) {
  return memory->slots + ((size_t)rank * 2 + (size_t)(turn % 2)) * slot_bytes;
}

struct shared_memory* open_shared_memory(int ranks) {
  struct shared_memory* memory;
  if (ranks < 1 || ranks > most_ranks) return NULL;
  memory = mmap(NULL, sizeof *memory + (size_t)ranks * 2 * slot_bytes, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  memory->ranks = ranks;
  return memory;
}

static int begin(void* context, const void* mine, void* all, size_t bytes, void** request) {
  struct shared_state* state = context;
  (void)request;
  if (bytes > slot_bytes) return 1;
  memcpy(slot(state->memory, state->rank, state->turn), mine, bytes);
  state->bytes = bytes;
  state->all = all;
  atomic_store(&state->memory->begun[state->rank], ++state->turn);
  return 0;
}

static int test(void* context, void* request) {
  struct shared_state* state = context;
  int rank;
  (void)request;
  for (rank = 0; rank < state->memory->ranks; ++rank) {
    if (atomic_load(&state->memory->begun[rank]) < state->turn) return 0;
  }
  for (rank = 0; rank < state->memory->ranks; ++rank) {
    memcpy((unsigned char*)state->all + (size_t)rank * state->bytes, slot(state->memory, rank, state->turn - 1),
           state->bytes);
  }
  return 1;
}

libcoll_bootstrap shared_bootstrap(struct shared_memory* memory, int rank, struct shared_state* state) {
  libcoll_bootstrap bootstrap = {state, rank, memory->ranks, begin, test};
  state->memory = memory;
  state->rank = rank;
  state->turn = 0;
  state->bytes = 0;
  state->all = NULL;
  return bootstrap;
}
