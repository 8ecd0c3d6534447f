/* Which calls libcoll serves: the one place that says so. */
#ifndef LIBCOLL_TESTS_CONFORMANCE_SERVED_H
#define LIBCOLL_TESTS_CONFORMANCE_SERVED_H

#include "calls.h"
#include "communicators.h"

/* `perhaps`: as libcoll likes, and by what it knows only later. */
enum Served { no, perhaps, yes };

/* What a call is, as far as that matters here. */
struct CallFacts {
  enum Collective collective;
  enum Mode mode;
  enum Shape shape;
  int ranks;   /* of the communicator */
  int is_own;  /* the suite's own operation */
  int nothing; /* every rank knows that there is nothing to move */
};

enum Served is_served(const struct CallFacts* facts);

/* `counted`: whether counts of served calls are to be looked at. */
void begin_counting(int counted);

/* To be said after each call: ends the job when the counts of served calls are not what they should be. */
void count_call(const struct CallFacts* facts, const char* what);

#endif
