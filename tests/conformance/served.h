/* Which calls libcoll serves: the one place that says so. */
#ifndef LIBCOLL_TESTS_CONFORMANCE_SERVED_H
#define LIBCOLL_TESTS_CONFORMANCE_SERVED_H

#include <mpi.h>

#include "calls.h"

/* What a call is, as far as that matters here. */
struct CallFacts {
  enum Collective collective;
  enum Mode mode;
  int nodes;   /* that the communicator's ranks are on */
  int is_own;  /* an operation of the suite's own, or one that is left to MPI */
  int nothing; /* every rank knows that there is nothing to move */
};

int is_served(const struct CallFacts* facts);

/* Has the communicator's ranks agree, so that nonblocking calls are served from the first on. Collective. */
void agree_on(MPI_Comm comm);

/* `counted`: whether counts of served calls are to be looked at. */
void begin_counting(int counted);

/* To be said after each call: ends the job when the counts of served calls are not what they should be. */
void count_call(const struct CallFacts* facts, const char* what);

#endif
