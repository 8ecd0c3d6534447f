/* Preloaded into jobs of MPICH that have more ranks than processors.
 * - Debian's MPICH 4.0 spins while it waits, and no setting changes that. With this library a rank that finds nothing
 *   to do yields its processor.
 * - Over TCP its MPI_Finalize waits for other ranks' progress in MPI, while those already wait for it in hydra and make
 *   none (pmodels/mpich pull request 6596). With this library it does not ask to disconnect. */
#include <dlfcn.h>
#include <sched.h>
#include <string.h>

__attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker);
__attribute__((visibility("default"))) void* ucp_disconnect_nb(void* endpoint);

static unsigned (*next_progress)(void*);

__attribute__((constructor)) static void find_next(void) {
  void* symbol = dlsym(RTLD_NEXT, "ucp_worker_progress");
  memcpy(&next_progress, &symbol, sizeof symbol);
}

unsigned ucp_worker_progress(void* worker) {
  const unsigned count = next_progress(worker);
  if (count == 0) sched_yield();
  return count;
}

/* A null pointer says that it is done. */
void* ucp_disconnect_nb(void* endpoint) {
  (void)endpoint;
  return NULL;
}
