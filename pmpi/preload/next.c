#include "pmpi/preload/next.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

void* libcoll_next_symbol(const char* name) {
  /* In this order: the first may have one of the others do its work. */
  static const char* const mpi_libraries[] = {"libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi.so.40", "libmpich.so.12",
                                              "libmpi.so.12"};
  void* found = dlsym(RTLD_NEXT, name);
  for (size_t i = 0; found == NULL && i < sizeof mpi_libraries / sizeof *mpi_libraries; ++i) {
    void* handle = dlopen(mpi_libraries[i], RTLD_LAZY | RTLD_NOLOAD);
    if (handle != NULL) return dlsym(handle, name);
  }
  return found;
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
