/* A bootstrap for processes of one machine that have a parent in common: an allgather through memory that they share.
 */
#ifndef SHARED_BOOTSTRAP_H
#define SHARED_BOOTSTRAP_H

#include <libcoll.h>

struct shared_memory;

/* Before the processes fork. NULL when there is no memory. */
struct shared_memory* open_shared_memory(int ranks);

/* In each process. The pointer that libcoll gets in it must stay valid: it is `state`. */
struct shared_state {
  struct shared_memory* memory;
  int rank;
  long turn; /* allgathers that this rank has begun */
  size_t bytes;
  void* all;
};
libcoll_bootstrap shared_bootstrap(struct shared_memory* memory, int rank, struct shared_state* state);

#endif
