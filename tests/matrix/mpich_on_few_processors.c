/* Preloaded into jobs of MPICH that have more ranks than processors.
 * - Debian's MPICH 4.0 spins while it waits, and no setting changes that. With this library a rank that finds nothing
 *   to do yields its processor. With MPI_THREAD_MULTIPLE MPICH asks for messages with its lock held, and the thread
 *   yields when MPICH has released the lock: the other threads would wait as long otherwise.
 * - Over TCP its MPI_Finalize waits for other ranks' progress in MPI, while those already wait for it in hydra and make
 *   none (pmodels/mpich pull request 6596). With this library it does not ask to disconnect. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

typedef int MutexFunction(pthread_mutex_t* mutex);
typedef unsigned ProgressFunction(void* worker);

EXPORTED ProgressFunction ucp_worker_progress;
EXPORTED void* ucp_disconnect_nb(void* endpoint);

static ProgressFunction* next_progress;
static MutexFunction* next_lock;
static MutexFunction* next_unlock;
static uintptr_t mpich_begin;
static uintptr_t mpich_end;
static _Thread_local int mutexes_of_mpich;
static _Thread_local int has_to_yield;

static void find(void* function, const char* name) {
  void* symbol = dlsym(RTLD_NEXT, name);
  memcpy(function, &symbol, sizeof symbol);
}

static int find_mpich(struct dl_phdr_info* library, size_t size, void* unused) {
  (void)size;
  (void)unused;
  if (strstr(library->dlpi_name, "/libmpich.so") == NULL) return 0;
  mpich_begin = library->dlpi_addr;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const uintptr_t end = library->dlpi_addr + library->dlpi_phdr[i].p_vaddr + library->dlpi_phdr[i].p_memsz;
    if (library->dlpi_phdr[i].p_type == PT_LOAD && end > mpich_end) mpich_end = end;
  }
  return 1;
}

__attribute__((constructor)) static void find_next(void) {
  find(&next_progress, "ucp_worker_progress");
  dl_iterate_phdr(&find_mpich, NULL);
}

/* MPICH's mutexes are variables of its own. */
static int is_of_mpich(const pthread_mutex_t* mutex) {
  return (uintptr_t)mutex >= mpich_begin && (uintptr_t)mutex < mpich_end;
}

/* Other libraries' constructors may lock before this one's has run. */
EXPORTED int pthread_mutex_lock(pthread_mutex_t* mutex) {
  if (next_lock == NULL) find(&next_lock, "pthread_mutex_lock");
  const int error = next_lock(mutex);
  if (error == 0 && is_of_mpich(mutex)) ++mutexes_of_mpich;
  return error;
}

EXPORTED int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  if (next_unlock == NULL) find(&next_unlock, "pthread_mutex_unlock");
  const int error = next_unlock(mutex);
  if (error != 0 || !is_of_mpich(mutex)) return error;
  if (mutexes_of_mpich > 0) --mutexes_of_mpich;
  if (mutexes_of_mpich > 0) return error;
  if (has_to_yield) sched_yield();
  has_to_yield = 0;
  return error;
}

unsigned ucp_worker_progress(void* worker) {
  const unsigned count = next_progress(worker);
  if (count > 0) return count;
  has_to_yield = mutexes_of_mpich > 0;
  if (!has_to_yield) sched_yield();
  return 0;
}

/* A null pointer says that it is done. */
void* ucp_disconnect_nb(void* endpoint) {
  (void)endpoint;
  return NULL;
}
