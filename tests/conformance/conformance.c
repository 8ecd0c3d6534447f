/* Each collective × way of calling it × datatype × operation × count × communicator, in place and not, with results
 * computed here; every byte of every buffer is looked at, gaps and what lies around included. Of the product of all
 * these a part is run, chosen by a hash of the case's number, so that every run of a part has most pairs of properties.
 *   conformance [every=N] [seed=N] [only=NUMBER] [uncounted] [verbose]
 * every: one case in N, 1 for all; seed: another part; only: this case alone, as a failure names it; uncounted:
 * whatever libcoll serves; also where it is not loaded. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "check.h"
#include "communicators.h"
#include "operations.h"
#include "served.h"
#include "types.h"

enum { most_ranks = 64, margin = 128, count_choices = 6, starts_of_persistent = 3 };

struct Case {
  long number;
  enum Collective collective;
  enum Mode mode;
  const struct Type* type;
  enum Op op; /* of reductions */
  int count;  /* elements, or units of them where types are layouts of the same */
  int in_place;
  enum Shape shape;
  MPI_Comm comm;
  int rank;
  int ranks;
  int nodes;
  int root;
  int is_alike; /* every rank has the same datatypes */
  uint64_t bits;
  char text[160];
};

static int is_reduction(enum Collective collective) { return collective <= reduce_scatter_block; }
static int is_exchange(enum Collective collective) { return collective >= alltoall && collective <= alltoallw; }
static int is_gather(enum Collective collective) { return collective == allgather || collective == allgatherv; }

/* ---- sides: where the blocks of one buffer lie ------------------------------------------------------------------- */

struct Side {
  int blocks;
  const struct Type* types[most_ranks];
  int counts[most_ranks];        /* elements */
  long places[most_ranks];       /* bytes from the buffer's address */
  int displacements[most_ranks]; /* as MPI's calls have it: in extents of the type, or bytes */
  MPI_Datatype handles[most_ranks];
  long bytes;
};

enum Arrangement { in_a_row, backwards_with_gaps, in_bytes };

static enum Arrangement arrangement_of(enum Collective collective) {
  if (collective == alltoallw) return in_bytes;
  return collective == allgatherv || collective == alltoallv ? backwards_with_gaps : in_a_row;
}

static void arrange(struct Side* side, enum Arrangement arrangement) {
  long next = 0;
  for (int i = 0; i < side->blocks; ++i) {
    const int block = arrangement == backwards_with_gaps ? side->blocks - 1 - i : i;
    const struct Type* type = side->types[block];
    const int gap = arrangement == in_a_row ? 0 : 1;
    side->handles[block] = type->handle;
    side->places[block] = arrangement == in_bytes ? next : next * type->extent;
    side->displacements[block] = (int)next;
    next += arrangement == in_bytes ? (side->counts[block] + gap) * type->extent + margin : side->counts[block] + gap;
  }
  const long extent = side->blocks > 0 && arrangement != in_bytes ? side->types[0]->extent : 1;
  side->bytes = 2 * margin + next * extent;
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

static void fill_background(unsigned char* memory, long bytes, uint64_t key) {
  for (long i = 0; i < bytes; ++i) memory[i] = (unsigned char)(mixed(key) >> (i % 8 * 8)) ^ (unsigned char)(i * 37);
}

/* What `source` has for `destination`, in the order of the type map, whatever the type's layout. */
static void put_block(const struct Side* side, int block, unsigned char* memory, uint64_t key) {
  const struct Type* type = side->types[block];
  unsigned char* element = memory + margin + side->places[block];
  uint64_t number = mixed(key);
  for (int i = 0; i < side->counts[block]; ++i, element += type->extent) {
    for (int e = 0; e < type->entry_count; ++e) {
      ++number;
      const uint64_t words[4] = {mixed(number), number, ~number, number * 31};
      memcpy(element + type->entries[e].offset, words, (size_t)size_of_form(type->entries[e].form));
    }
  }
}

static uint64_t key_of(int start, int source, int destination) {
  return ((uint64_t)start * 1000 + (uint64_t)source) * 1000 + (uint64_t)destination;
}

/* Units in a block: some, none, others. Symmetric in place, where one count stands for both ways. */
static int units_between(const struct Case* c, int source, int destination) {
  if (arrangement_of(c->collective) == in_a_row) return c->count;
  if (c->collective == allgatherv) destination = 0;
  if (c->in_place && source > destination && is_exchange(c->collective)) {
    return units_between(c, destination, source);
  }
  const int choices[4] = {c->count, 0, c->count > 0 ? c->count + 1 : 0, c->count / 2};
  return choices[mixed(c->bits + key_of(0, source, destination)) % 4];
}

/* ---- calls that move blocks -------------------------------------------------------------------------------------- */

enum { everyone = 999 };

/* The types of a rank: its own, and for each peer another where calls allow it. */
static const struct Type* type_for(const struct Case* c, int is_receiving, int peer) {
  int which = is_receiving ? 1 : 0;
  if (!c->is_alike) which += is_receiving ? 3 * c->rank : c->rank;
  if (c->collective == alltoallw) which += peer * 5;
  return relative_of(c->type, c->collective == bcast ? which - 1 : which);
}

static void describe_side(const struct Case* c, int is_receiving, struct Side* side) {
  side->blocks = is_exchange(c->collective) || (is_receiving && is_gather(c->collective)) ? c->ranks : 1;
  for (int block = 0; block < side->blocks; ++block) {
    const int source = is_receiving && c->collective != bcast ? block : c->rank;
    const int destination = is_receiving ? c->rank : block;
    side->types[block] = type_for(c, is_receiving, block);
    side->counts[block] = units_between(c, source, destination) * side->types[block]->unit;
  }
  arrange(side, arrangement_of(c->collective));
}

static long elements_of(const struct Side* side) {
  long total = 0;
  for (int block = 0; block < side->blocks; ++block) total += side->counts[block];
  return total;
}

struct Buffers {
  unsigned char* send;
  unsigned char* kept;
  unsigned char* receive;
  unsigned char* expected;
};

static struct Buffers make_buffers(long send_bytes, long receive_bytes) {
  return (struct Buffers){allocate((uint64_t)send_bytes), allocate((uint64_t)send_bytes),
                          allocate((uint64_t)receive_bytes), allocate((uint64_t)receive_bytes)};
}

static void free_buffers(struct Buffers* buffers) {
  free(buffers->send);
  free(buffers->kept);
  free(buffers->receive);
  free(buffers->expected);
}

static void fill_moved(const struct Case* c, int start, const struct Side* send, const struct Side* receive,
                       struct Buffers* buffers) {
  fill_background(buffers->send, send->bytes, 1);
  fill_background(buffers->receive, receive->bytes, 2);
  fill_background(buffers->expected, receive->bytes, 2);
  const int exchanges = is_exchange(c->collective);
  for (int block = 0; block < send->blocks; ++block) {
    put_block(send, block, buffers->send, key_of(start, c->rank, exchanges ? block : everyone));
  }
  for (int block = 0; block < receive->blocks; ++block) {
    const int source = c->collective == bcast ? c->root : block;
    put_block(receive, block, buffers->expected, key_of(start, source, exchanges ? c->rank : everyone));
    const int is_there = c->collective == bcast ? c->rank == c->root : c->in_place && (exchanges || block == c->rank);
    if (is_there) put_block(receive, block, buffers->receive, key_of(start, c->rank, exchanges ? block : everyone));
  }
  memcpy(buffers->kept, buffers->send, (size_t)send->bytes);
}

static void check_bytes(const struct Case* c, const unsigned char* found, const unsigned char* expected, long bytes,
                        const char* which) {
  if (memcmp(found, expected, (size_t)bytes) == 0) return;
  long at = 0;
  while (found[at] == expected[at]) ++at;
  CHECK(0, "%s: %s differs at byte %ld of %ld: %d, not %d", c->text, which, at - margin, bytes - 2 * margin, found[at],
        expected[at]);
}

static struct Arguments arguments_of(const struct Case* c, const struct Side* send, const struct Side* receive,
                                     const struct Buffers* buffers) {
  return (struct Arguments){
      .send = c->in_place ? MPI_IN_PLACE : buffers->send + margin,
      .receive = buffers->receive + margin,
      .send_count = send->counts[0],
      .receive_count = receive->counts[0],
      .send_counts = send->counts,
      .receive_counts = receive->counts,
      .send_places = send->displacements,
      .receive_places = receive->displacements,
      .send_type = send->handles[0],
      .receive_type = receive->handles[0],
      .send_types = send->handles,
      .receive_types = receive->handles,
      .op = is_reduction(c->collective) ? handle_of(c->op) : MPI_OP_NULL,
      .root = c->root,
      .comm = c->comm,
  };
}

static int starts_of(const struct Case* c) { return c->mode == persistent ? starts_of_persistent : 1; }

/* Reductions that libcoll has no kernel for and MPI does: where MPI's progress does not call libcoll's, only blocking
 * ones are served. */
static int needs_mpi(const struct Case* c) {
#ifdef OPEN_MPI
  (void)c;
  return 0;
#else
  const enum Form form = c->type->entries[0].form;
  const int has_kernel = c->type->kind == whole || c->type->kind == natural || c->type->kind == byte ||
                         form == form_quad || (c->type->kind == real && form != form_long_double);
  return c->mode != blocking && (!has_kernel || c->op == maxloc || c->op == minloc);
#endif
}

static struct CallFacts facts_of(const struct Case* c, long total) {
  /* Everybody knows what is gathered; in an exchange somebody else may have something to send. */
  const int is_known = c->collective != alltoallv && c->collective != alltoallw;
  return (struct CallFacts){c->collective, c->mode, c->nodes,
                            is_reduction(c->collective) && (is_own(c->op) || needs_mpi(c)),
                            is_known && total * size_of_type(c->type) == 0};
}

/* One call, or of a persistent one one of its starts. */
static void call_once(const struct Case* c, const struct Arguments* arguments, MPI_Request* request,
                      const struct CallFacts* facts) {
  start_call(c->collective, c->mode, arguments, request);
  finish_call(c->mode, request, (unsigned)(c->bits >> 32));
  count_call(facts, c->text);
}

static void check_moved(const struct Case* c) {
  struct Side send;
  struct Side receive;
  describe_side(c, 0, &send);
  describe_side(c, 1, &receive);
  struct Buffers buffers = make_buffers(send.bytes, receive.bytes);
  const struct Arguments arguments = arguments_of(c, &send, &receive, &buffers);
  const struct CallFacts facts = facts_of(c, elements_of(&receive));
  MPI_Request request = MPI_REQUEST_NULL;
  for (int start = 0; start < starts_of(c); ++start) {
    fill_moved(c, start, &send, &receive, &buffers);
    call_once(c, &arguments, &request, &facts);
    check_bytes(c, buffers.receive, buffers.expected, receive.bytes, "what was received");
    check_bytes(c, buffers.send, buffers.kept, send.bytes, "what was sent");
  }
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  free_buffers(&buffers);
}

/* ---- calls that reduce ------------------------------------------------------------------------------------------- */

/* Of the reduced vector, a rank gets `number` elements from `first` on. */
struct Share {
  int total;
  int first;
  int number;
  int counts[most_ranks];
};

static struct Share share_of(const struct Case* c) {
  struct Share share = {0, 0, c->count, {0}};
  if (c->collective == allreduce || c->collective == reduce) {
    share.total = c->count;
    if (c->collective == reduce && c->rank != c->root) share.number = 0;
    return share;
  }
  for (int r = 0; r < c->ranks; ++r) {
    const int choices[4] = {c->count, 0, c->count > 0 ? c->count + 1 : 0, c->count / 2};
    share.counts[r] = c->collective == reduce_scatter ? choices[mixed(c->bits + (uint64_t)r) % 4] : c->count;
    if (r == c->rank) share.first = share.total;
    share.total += share.counts[r];
  }
  share.number = share.counts[c->rank];
  return share;
}

static void fill_reduced(const struct Case* c, int start, const struct Share* share, long bytes,
                         struct Buffers* buffers) {
  const long extent = c->type->extent;
  fill_background(buffers->send, bytes, 1);
  for (int i = 0; i < share->total; ++i) {
    store_value(c->type, input_value(c->type, c->rank, i + start * 100), buffers->send + margin + i * extent);
  }
  memcpy(buffers->kept, buffers->send, (size_t)bytes);
  if (c->in_place) {
    memcpy(buffers->receive, buffers->send, (size_t)bytes);
  } else {
    fill_background(buffers->receive, bytes, 2);
  }
  memcpy(buffers->expected, buffers->receive, (size_t)bytes);
}

/* Numbers are compared as numbers, for some have bytes that mean nothing; all else by bytes. In place, what follows a
 * rank's share of its input is MPI's to use. */
static void check_reduced(const struct Case* c, int start, const struct Share* share, long bytes,
                          struct Buffers* buffers) {
  const long extent = c->type->extent;
  for (int i = 0; i < share->number; ++i) {
    unsigned char* found = buffers->receive + margin + i * extent;
    const struct Value value = load_value(c->type, found);
    const struct Value right = reduced_value(c->op, c->type, c->ranks, share->first + i + start * 100);
    CHECK(value.first == right.first && value.second == right.second,
          "%s: element %d of %d is %lld %lld, not %lld %lld", c->text, i, share->number, (long long)value.first,
          (long long)value.second, (long long)right.first, (long long)right.second);
    store_value(c->type, right, found);
    store_value(c->type, right, buffers->expected + margin + i * extent);
  }
  const int is_used_up = c->in_place && share->number < share->total;
  check_bytes(c, buffers->receive, buffers->expected,
              is_used_up ? margin + share->number * extent + c->type->lower_bound : bytes, "what was received");
  check_bytes(c, buffers->send, buffers->kept, bytes, "what was sent");
}

static void check_reduction(const struct Case* all_ranks) {
  struct Case here = *all_ranks;
  /* A reduction to one rank is in place on that one only. */
  if (here.collective == reduce && here.rank != here.root) here.in_place = 0;
  const struct Case* c = &here;
  const struct Share share = share_of(c);
  struct Side side = {1, {c->type}, {share.total}, {0}, {0}, {c->type->handle}, 0};
  arrange(&side, in_a_row);
  struct Buffers buffers = make_buffers(side.bytes, side.bytes);
  struct Arguments arguments = arguments_of(c, &side, &side, &buffers);
  if (c->collective == reduce_scatter) arguments.receive_counts = share.counts;
  if (c->collective == reduce_scatter_block) arguments.receive_count = c->count;
  const struct CallFacts facts = facts_of(c, share.total);
  MPI_Request request = MPI_REQUEST_NULL;
  for (int start = 0; start < starts_of(c); ++start) {
    fill_reduced(c, start, &share, side.bytes, &buffers);
    call_once(c, &arguments, &request, &facts);
    check_reduced(c, start, &share, side.bytes, &buffers);
  }
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  free_buffers(&buffers);
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

/* Elements that a rank receives, or that are reduced; 0 on all ranks or on none, but in an exchange. */
static long total_of(const struct Case* c) {
  if (is_reduction(c->collective)) return share_of(c).total;
  struct Side receive;
  describe_side(c, 1, &receive);
  return elements_of(&receive);
}

struct Options {
  long every;
  long seed;
  long only; /* -1 for all */
  int is_counted;
  int is_verbose;
};

/* Of types that Open MPI 4.1.4 has no arithmetic for. */
static int is_quad_reduction(const struct Case* c) {
  return is_reduction(c->collective) && c->type->entry_count > 0 && c->type->entries[0].form == form_quad;
}

/* Of libnbc's in place, a rank that has nothing at all leaves early, and is out of step from then on. */
static int is_out_of_step(const struct Case* c) {
  return c->mode != blocking && c->in_place && (c->collective == alltoallv || c->collective == alltoallw);
}

/* Open MPI 4.1.4 holds as many of the datatypes as the grid has neighbours, of which a small grid has more than ranks.
 */
static int has_too_few_types(const struct Case* c) {
  enum { neighbours = 4 };
  return c->mode != blocking && c->collective == alltoallw && c->shape == grid && c->ranks < neighbours;
}

/* What Open MPI 4.1.4 and MPICH 4.0.2 themselves get wrong: such cases are left out where libcoll leaves them to these.
 */
static int is_wrong_in_mpi(const struct Case* c) {
#ifndef OPEN_MPI
  /* All are compared with a sign; operations of the program's own on types with gaps go astray. */
  if (is_reduction(c->collective) && (c->op == max || c->op == min) && c->type->kind == natural) return 1;
  if (is_reduction(c->collective) && is_own(c->op) && c->type->extent != size_of_type(c->type)) return 1;
  /* Every start of a persistent call lets go of its derived types, which one init holds: the second frees them. */
  if (c->mode == persistent) return 1;
#endif
  if (!is_reduction(c->collective)) return is_out_of_step(c) || has_too_few_types(c);
  if (is_quad_reduction(c)) return 1;
  /* One is compared with a sign, the other without. */
  const int has_order = c->op == max || c->op == min;
  if (has_order && (c->type->handle == MPI_UNSIGNED_LONG || c->type->handle == MPI_OFFSET)) return 1;
  /* libnbc writes before the beginning of its memory. */
  return c->mode != blocking && c->type->lower_bound < 0;
}

/* Its own init, which comes first in any case. */
static int is_wrong_in_init(const struct Case* c) {
  return c->mode == persistent && (is_quad_reduction(c) || is_out_of_step(c) || has_too_few_types(c));
}

static void check_case(struct Case* c, const struct Options* options, int count_choice) {
  c->bits = mixed((uint64_t)c->number * 64 + (uint64_t)options->seed);
  if (options->only >= 0 ? c->number != options->only : mixed(c->bits) % (uint64_t)options->every != 0) return;
  if (c->comm == MPI_COMM_NULL) return;
  MPI_Comm_rank(c->comm, &c->rank);
  MPI_Comm_size(c->comm, &c->ranks);
  const int counts[count_choices] = {0, 1, c->ranks - 1, c->ranks, c->ranks + 1, 101};
  c->count = counts[count_choice];
  c->root = (int)((c->bits >> 8) % (uint64_t)c->ranks);
  c->is_alike = 1;
  const struct CallFacts facts = facts_of(c, total_of(c));
  const int is_ours = options->is_counted && is_served(&facts);
  if (is_wrong_in_init(c) || (!is_ours && is_wrong_in_mpi(c))) return;
  /* Algorithms of Open MPI's own are chosen by the rank's datatype, and hang where ranks choose differently. */
  c->is_alike = !is_ours || c->bits % 2 == 0;
  const int is_reducing = is_reduction(c->collective);
  snprintf(c->text, sizeof c->text, "case %ld (%s, %s%s%s, count %d, root %d, %s%s)", c->number,
           name_of_call(c->collective, c->mode), c->type->name, is_reducing ? ", " : "",
           is_reducing ? name_of(c->op) : "", c->count, c->root, name_of_shape(c->shape),
           c->in_place ? ", in place" : "");
  if (options->is_verbose) fprintf(stderr, "%d of %s: %s\n", c->rank, name_of_shape(c->shape), c->text);
  if (is_reducing) {
    check_reduction(c);
  } else {
    check_moved(c);
  }
}

struct Communicators {
  MPI_Comm comms[shape_count];
  int nodes[shape_count];
};

/* All of one collective, mode, type and operation. */
static void check_subject(struct Case* c, const struct Options* options, const struct Communicators* all) {
  for (enum Shape shape = world; shape < shape_count; ++shape) {
    for (int in_place = 0; in_place < (c->collective == bcast ? 1 : 2); ++in_place) {
      for (int choice = 0; choice < count_choices; ++choice) {
        ++c->number;
        c->shape = shape;
        c->comm = all->comms[shape];
        c->nodes = all->nodes[shape];
        c->in_place = in_place;
        check_case(c, options, choice);
      }
    }
  }
}

static void check_all(const struct Options* options, const struct Communicators* all) {
  int number = 0;
  const struct Type* types = all_types(&number);
  struct Case c = {.number = -1};
  for (c.collective = 0; c.collective < collective_count; ++c.collective) {
    for (c.mode = 0; c.mode < mode_count; ++c.mode) {
      for (c.type = types; c.type < types + number; ++c.type) {
        if (!is_reduction(c.collective)) check_subject(&c, options, all);
        for (c.op = 0; is_reduction(c.collective) && c.op < op_count; ++c.op) {
          if (is_defined(c.op, c.type)) check_subject(&c, options, all);
        }
      }
    }
  }
}

/* ---- several at once --------------------------------------------------------------------------------------------- */

/* Calls on one communicator that are under way together, finished in another order than begun, with one that blocks
 * between them. */
static void check_outstanding(MPI_Comm comm, int counted) {
  enum { calls = 6, length = 1000 };
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int* sums[calls];
  int* gathered[calls];
  MPI_Request requests[2 * calls];
  for (int call = 0; call < calls; ++call) {
    sums[call] = allocate(sizeof(int) * length);
    gathered[call] = allocate(sizeof(int) * (uint64_t)size);
    for (int i = 0; i < length; ++i) sums[call][i] = (rank + 1) * (i + call);
    gathered[call][rank] = rank * 100 + call;
    MPI_Iallreduce(MPI_IN_PLACE, sums[call], length, MPI_INT, MPI_SUM, comm, &requests[2 * call]);
    MPI_Iallgather(MPI_IN_PLACE, 0, MPI_INT, gathered[call], 1, MPI_INT, comm, &requests[2 * call + 1]);
  }
  int blocked = rank;
  MPI_Allreduce(MPI_IN_PLACE, &blocked, 1, MPI_INT, MPI_MAX, comm);
  CHECK(blocked == size - 1, "a call among others brought %d", blocked);
  for (int i = 2 * calls - 1; i >= calls; --i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  MPI_Waitall(calls, requests, MPI_STATUSES_IGNORE);
  for (int call = 0; call < calls; ++call) {
    for (int i = 0; i < length; ++i) {
      CHECK(sums[call][i] == size * (size + 1) / 2 * (i + call), "call %d, element %d is %d", call, i, sums[call][i]);
    }
    for (int r = 0; r < size; ++r) {
      CHECK(gathered[call][r] == r * 100 + call, "call %d, rank %d is %d", call, r, gathered[call][r]);
    }
    free(sums[call]);
    free(gathered[call]);
  }
  begin_counting(counted);
}

static long number_after(const char* text, const char* name, long otherwise) {
  const size_t length = strlen(name);
  return strncmp(text, name, length) == 0 ? strtol(text + length, NULL, 10) : otherwise;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct Options options = {1, 0, -1, 1, 0};
  for (int i = 1; i < argc; ++i) {
    options.every = number_after(argv[i], "every=", options.every);
    options.seed = number_after(argv[i], "seed=", options.seed);
    options.only = number_after(argv[i], "only=", options.only);
    if (strcmp(argv[i], "uncounted") == 0) options.is_counted = 0;
    if (strcmp(argv[i], "verbose") == 0) options.is_verbose = 1;
  }
  CHECK(options.every > 0, "usage: conformance [every=N] [seed=N] [only=NUMBER] [uncounted] [verbose]");
  struct Communicators all;
  make_communicators(all.comms);
  for (enum Shape shape = world; shape < shape_count; ++shape) {
    if (all.comms[shape] == MPI_COMM_NULL) continue;
    all.nodes[shape] = nodes_spanned(all.comms[shape]);
    agree_on(all.comms[shape]);
  }
  begin_counting(options.is_counted);
  check_all(&options, &all);
  for (enum Shape shape = world; options.only < 0 && shape < shape_count; ++shape) {
    if (all.comms[shape] != MPI_COMM_NULL) check_outstanding(all.comms[shape], options.is_counted);
  }
  free_communicators(all.comms);
  free_operations();
  free_types();
  MPI_Finalize();
  return 0;
}
