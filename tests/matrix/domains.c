/* Ranks of a node that are bound to different NUMA domains: sums go domain by domain, those of unbound ranks first,
 * then over the node, which shows in their last bits; exchanges come out right. domains PLACE…   NODE:DOMAIN of every
 * rank; without a domain ("0:") it is bound to none. Domain k is processor k. */
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* Two nodes: their sums are added in either order to the same bits. */
enum { most_ranks = 64, most_nodes = 2, unbound = -1, most_domains = 2 };

static int node_of[most_ranks];
static int domain_of[most_ranks];

static void read_places(int argc, char** argv, int size) {
  CHECK(argc == size + 1 && size <= most_ranks, "%d places for %d ranks", argc - 1, size);
  for (int rank = 0; rank < size; ++rank) {
    char* end = NULL;
    node_of[rank] = (int)strtol(argv[rank + 1], &end, 10);
    CHECK(*end == ':' && node_of[rank] < most_nodes, "%s", argv[rank + 1]);
    domain_of[rank] = end[1] == '\0' ? unbound : atoi(end + 1);
    CHECK(domain_of[rank] < most_domains, "%s", argv[rank + 1]);
  }
}

static void check_binding(int domain) {
  cpu_set_t processors;
  CHECK(sched_getaffinity(0, sizeof processors, &processors) == 0, "the binding cannot be read");
  if (domain == unbound) {
    CHECK(CPU_COUNT(&processors) > 1, "bound to one processor");
  } else {
    CHECK(CPU_COUNT(&processors) == 1 && CPU_ISSET((size_t)domain, &processors), "not bound to processor %d", domain);
  }
}

/* Values of all sizes and both signs, so that every other order of adding them rounds otherwise. */
static double value(int rank, int element) {
  const uint64_t bits = mixed((uint64_t)rank * 1000003u + (uint64_t)element);
  const double fraction = (double)(bits >> 12) / 4503599627370496.0 - 0.5;
  return fraction * (double)(UINT64_C(1) << (bits % 40));
}

struct Sum {
  double total;
  int terms;
};

static void add(struct Sum* sum, double term) { sum->total = sum->terms++ == 0 ? term : sum->total + term; }

/* With `by_domain` as it is to be, otherwise from rank to rank of a node. */
static double expected_sum(int size, int element, int by_domain) {
  struct Sum all = {0, 0};
  for (int node = 0; node < most_nodes; ++node) {
    struct Sum on_node = {0, 0};
    for (int domain = by_domain ? unbound : most_domains; domain <= most_domains; ++domain) {
      struct Sum in_domain = {0, 0};
      for (int rank = 0; rank < size; ++rank) {
        if (node_of[rank] == node && (!by_domain || domain_of[rank] == domain)) add(&in_domain, value(rank, element));
      }
      if (in_domain.terms > 0) add(&on_node, in_domain.total);
    }
    if (on_node.terms > 0) add(&all, on_node.total);
  }
  return all.total;
}

static int several_domains(int size) {
  int differ = 0;
  for (int rank = 1; rank < size; ++rank) differ |= node_of[rank] == node_of[0] && domain_of[rank] != domain_of[0];
  return differ;
}

static void check_sums(const double* sums, int first, int count, int size, const char* what) {
  int others = 0;
  for (int i = 0; i < count; ++i) {
    const double wanted = expected_sum(size, first + i, 1);
    CHECK(same_bits(&sums[i], &wanted, sizeof wanted), "%s of %d: element %d is %a, expected %a", what, count,
          first + i, sums[i], wanted);
    others += expected_sum(size, first + i, 0) != wanted;
  }
  CHECK((others > 0) == several_domains(size), "%s of %d: %d sums tell their order", what, count, others);
}

/* The input lies where the sum is to be. */
static void reductions_in_place(int rank, int size, int count, const double* mine, double* sums) {
  const int root = size - 1;
  memcpy(sums, mine, sizeof(double) * (uint64_t)count);
  MPI_Reduce(rank == root ? MPI_IN_PLACE : mine, sums, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
  expect_call("reduce", 1, "domains, in place");
  if (rank == root) check_sums(sums, 0, count, size, "reduce in place");
  int lengths[most_ranks];
  int begin = 0;
  for (int each = 0; each < size; ++each) {
    lengths[each] = each % 2 == 0 ? count - count / 2 : count + count / 2;
    if (each < rank) begin += lengths[each];
  }
  memcpy(sums, mine, sizeof(double) * (uint64_t)(count * size));
  MPI_Reduce_scatter(MPI_IN_PLACE, sums, lengths, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  expect_call("reduce_scatter", 1, "domains, in place");
  check_sums(sums, begin, lengths[rank], size, "reduce_scatter in place");
}

static void reductions(int rank, int size, int count) {
  double* mine = allocate(sizeof(double) * (uint64_t)(count * size));
  double* sums = allocate(sizeof(double) * (uint64_t)(count * size));
  for (int i = 0; i < count * size; ++i) mine[i] = value(rank, i);
  MPI_Allreduce(mine, sums, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  expect_call("allreduce", 1, "domains");
  check_sums(sums, 0, count, size, "allreduce");
  MPI_Reduce(mine, sums, count, MPI_DOUBLE, MPI_SUM, size - 1, MPI_COMM_WORLD);
  expect_call("reduce", 1, "domains");
  if (rank == size - 1) check_sums(sums, 0, count, size, "reduce");
  MPI_Reduce_scatter_block(mine, sums, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  expect_call("reduce_scatter_block", 1, "domains");
  check_sums(sums, rank * count, count, size, "reduce_scatter_block");
  reductions_in_place(rank, size, count, mine, sums);
  free(mine);
  free(sums);
}

static void exchanges(int rank, int size, int count) {
  int* sent = allocate(sizeof(int) * (uint64_t)(count * size));
  int* received = allocate(sizeof(int) * (uint64_t)(count * size));
  for (int i = 0; i < count * size; ++i) sent[i] = (int)mixed((uint64_t)rank * (uint64_t)(count * size) + (uint64_t)i);
  MPI_Alltoall(sent, count, MPI_INT, received, count, MPI_INT, MPI_COMM_WORLD);
  expect_call("alltoall", 1, "domains");
  for (int i = 0; i < count * size; ++i) {
    const int from = i / count;
    const int wanted = (int)mixed((uint64_t)from * (uint64_t)(count * size) + (uint64_t)rank * (uint64_t)count +
                                  (uint64_t)(i % count));
    CHECK(received[i] == wanted, "alltoall of %d: element %d of %d", count, i % count, from);
  }
  MPI_Allgather(sent, count, MPI_INT, received, count, MPI_INT, MPI_COMM_WORLD);
  expect_call("allgather", 1, "domains");
  for (int i = 0; i < count * size; ++i) {
    const int from = i / count;
    const int wanted = (int)mixed((uint64_t)from * (uint64_t)(count * size) + (uint64_t)(i % count));
    CHECK(received[i] == wanted, "allgather of %d: element %d of %d", count, i % count, from);
  }
  free(sent);
  free(received);
}

int CASE(domains)(int argc, char** argv) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  read_places(argc, argv, size);
  check_binding(domain_of[rank]);
  /* Added by one rank of the node, by all of them, and in several rounds where there is little memory. */
  const int counts[] = {50, 3001, 40000};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
    reductions(rank, size, counts[i]);
    exchanges(rank, size, counts[i]);
  }
  return 0;
}
