#include "pmpi/preload/next.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int count_loads(struct dl_phdr_info* info, size_t size, void* loads) {
  (void)size;
  *(unsigned long long*)loads = info->dlpi_adds;
  return 1; /* every object tells the same */
}

static void* search_mpi_library(void) {
  /* In this order: the first may have one of the others do its work. */
  static const char* const names[] = {"libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi.so.40", "libmpich.so.12",
                                      "libmpi.so.12"};
  void* library = NULL;
  for (size_t i = 0; library == NULL && i < sizeof names / sizeof *names; ++i)
    library = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
  return library;
}

/* Of the MPI library that is loaded, else NULL. The search goes through directories for those that are not, and MPIs
 * lack dozens of the names that are looked up: it is made again only after something was loaded. */
static void* mpi_library(void) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static unsigned long long loads_at_search;
  static void* found;
  unsigned long long loads = 0;
  dl_iterate_phdr(&count_loads, &loads);
  pthread_mutex_lock(&mutex);
  const bool is_current = loads == loads_at_search;
  void* library = found;
  pthread_mutex_unlock(&mutex);
  if (is_current) return library;
  library = search_mpi_library(); /* without the mutex: a constructor that another dlopen() runs may want it */
  pthread_mutex_lock(&mutex);
  loads_at_search = loads;
  found = library;
  pthread_mutex_unlock(&mutex);
  return library;
}

void* libcoll_next_symbol(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found != NULL) return found;
  void* library = mpi_library();
  return library == NULL ? NULL : dlsym(library, name);
}

void* libcoll_open_beside(const char* library) {
  Dl_info own;
  char path[4096];
  if (dladdr((void*)(uintptr_t)&libcoll_next_symbol, &own) == 0 || own.dli_fname == NULL)
    return dlopen(library, RTLD_NOW);
  const char* slash = strrchr(own.dli_fname, '/');
  const int directory = slash == NULL ? 0 : (int)(slash - own.dli_fname) + 1;
  const int length = snprintf(path, sizeof path, "%.*s%s", directory, own.dli_fname, library);
  return length > 0 && (size_t)length < sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}
