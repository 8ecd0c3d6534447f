#include "served.h"

#include "check.h"

static const enum Served by_collective[collective_count] = {
    [allreduce] = yes,  [reduce] = yes,   [reduce_scatter] = yes, [reduce_scatter_block] = yes, [allgather] = yes,
    [allgatherv] = yes, [alltoall] = yes, [alltoallv] = yes,      [alltoallw] = perhaps,        [bcast] = yes,
};

static const enum Served by_mode[mode_count] = {[blocking] = yes, [nonblocking] = perhaps, [persistent] = perhaps};

static const enum Served by_shape[shape_count] = {
    [world] = yes, [duplicated] = yes, [reversed] = yes, [grid] = yes,
    [half] = yes,  [row] = yes,        [later] = yes,    [self] = no,
};

static const enum Served own_operations = perhaps;

static enum Served least(enum Served a, enum Served b) { return a < b ? a : b; }

enum Served is_served(const struct CallFacts* facts) {
  if (facts->ranks == 1 || facts->nothing) return no;
  enum Served result = least(by_collective[facts->collective], by_mode[facts->mode]);
  result = least(result, by_shape[facts->shape]);
  return facts->is_own ? least(result, own_operations) : result;
}

static int is_counting;
static long counts[collective_count][mode_count];

/* 0 for calls that this libcoll does not know. */
static long count_of(enum Collective collective, enum Mode mode) {
  const long count = served_calls(name_of_call(collective, mode));
  return count < 0 ? 0 : count;
}

void begin_counting(int counted) {
  is_counting = counted;
  for (enum Collective collective = 0; counted && collective < collective_count; ++collective) {
    for (enum Mode mode = 0; mode < mode_count; ++mode) counts[collective][mode] = count_of(collective, mode);
  }
}

void count_call(const struct CallFacts* facts, const char* what) {
  const enum Served served = is_served(facts);
  for (enum Collective collective = 0; is_counting && collective < collective_count; ++collective) {
    for (enum Mode mode = 0; mode < mode_count; ++mode) {
      const long count = count_of(collective, mode);
      const long more = count - counts[collective][mode];
      counts[collective][mode] = count;
      const int is_it = collective == facts->collective && mode == facts->mode;
      const int may = is_it && served != no;
      const int must = is_it && served == yes;
      CHECK(more >= must && more <= may, "%s: %ld calls of %s served", what, more, name_of_call(collective, mode));
    }
  }
}
