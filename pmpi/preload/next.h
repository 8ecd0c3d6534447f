/* The next definition of a symbol in load order: MPI's own, or that of another tool that is stacked after libcoll. */
#ifndef LIBCOLL_PMPI_PRELOAD_NEXT_H
#define LIBCOLL_PMPI_PRELOAD_NEXT_H

#include <stdint.h>

/* What dlsym() has found as a function; ISO C does not convert pointers to objects. */
#define LIBCOLL_FUNCTION(type, found) ((type)(uintptr_t)(found))

/* NULL when there is none. Interpreters load MPI for their modules alone, out of load order: it is found, too. */
void* libcoll_next_symbol(const char* name);
/* Loads a library that lies beside the preload, for the caller alone. NULL: dlerror() says why. */
void* libcoll_open_beside(const char* library);

#endif
