/* What crosses between libcoll_pmpi.so, which is preloaded, and libcoll_core.so, which it loads when it is needed.
 * Plain C: neither sees the other's libraries. Both have to be of one version. */
#ifndef LIBCOLL_PMPI_CORE_INTERFACE_H
#define LIBCOLL_PMPI_CORE_INTERFACE_H

#include "pmpi/mpi_interface.h"

/* The intercepted functions, as numbers. */
enum libcoll_intercepted {
#define LIBCOLL_INTERCEPTED(symbol, number) LIBCOLL_##symbol,
#include "pmpi/intercepted.def"
#undef LIBCOLL_INTERCEPTED
  libcoll_intercepted_count
};

/* A process of the job that has no libcoll, or another version. */
struct libcoll_absentee {
  int world_rank;
  char host[256];   /* empty: not known */
  char version[32]; /* of its libcoll; empty: it has none */
};

/* What the processes of the job announced; equal in all that have libcoll. */
struct libcoll_presence {
  int known;        /* 0: the job has no PMIx, or one that cannot be asked; nothing else counts then */
  int serves;       /* some process has a topology and is not disabled */
  int root_reports; /* rank 0 is set up to write the job's statistics */
  int absentees;
  const struct libcoll_absentee* list; /* in the order of ranks */
};

/* What the preload offers to the core. */
struct libcoll_preload {
  const char* version;
  const struct libcoll_mpi_interface* mpi;
  const struct libcoll_presence* presence;
  /* The definition of a name that comes after the preload's in load order; NULL when there is none. */
  void* (*next_symbol)(const char* name);
};

/* What the core offers to the preload. */
struct libcoll_core {
  const char* version;
  /* By libcoll_intercepted: functions with MPI's parameters; of handles narrower than 64 bits the rest means nothing.
   */
  void* const* functions;
  /* After MPI_Init, on all ranks of the world. */
  void (*after_init)(void);
  /* As libcoll_calls_served(). */
  long (*calls_served)(const char* collective);
};

#define LIBCOLL_CORE_LIBRARY "libcoll_core.so"

/* The one symbol of the core. NULL when the versions differ, or MPI lacks a function that the core calls. `preload` has
 * to stay. Without `preload->mpi` the core says which version it is, and has no functions. */
#define LIBCOLL_OPEN_CORE "libcoll_open_core"
typedef const struct libcoll_core* libcoll_open_core_function(const struct libcoll_preload* preload);

#endif
