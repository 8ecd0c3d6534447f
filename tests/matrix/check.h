/* What the programs of this folder share: checks that end the whole job, and the count of served calls. They know
 * nothing of libcoll but one symbol that is looked up at run time. */
#ifndef LIBCOLL_TESTS_CHECK_H
#define LIBCOLL_TESTS_CHECK_H

#include <mpi.h>
#include <stdint.h>

#define CHECK(condition, ...)                                                    \
  do {                                                                           \
    if (!(condition)) check_failed(__FILE__, __LINE__, #condition, __VA_ARGS__); \
  } while (0)

/* What a case of matrix.c is called; variants.h and a program of one case (standalone.c) have other names for it. */
#ifdef STANDALONE
#define CASE(name) standalone
#elif !defined CASE
#define CASE(name) name
#endif

/* Says what failed, on which rank, and aborts the job with exit code 1. */
_Noreturn void check_failed(const char* file, int line, const char* condition, const char* format, ...)
    __attribute__((format(printf, 4, 5)));

/* MPI's own definition of a function, for results to compare with: libcoll serves PMPI_ names too. */
#define NATIVE(name) ((__typeof__(&PMPI_##name))(uintptr_t)native_symbol("PMPI_" #name))
void* native_symbol(const char* name);

/* Calls of `collective` ("allreduce", "reduce_scatter_block", …) served in this process; ends the job when the library
 * is not loaded. */
long served_calls(const char* collective);

/* To be said after each call of a collective: whether it should have been served. Ends the job when the count differs
 * from what all calls so far should have made of it. Not for several threads. */
void expect_call(const char* collective, int served, const char* what);

/* Before each case: expectations start from what the process has served before. With MATRIX_SERVED=any in the
 * environment (default settings, where measurements may leave calls to MPI) a call that should be served may be left to
 * MPI. */
void begin_case(void);

/* Whether calls that should be served may be left to MPI. */
int may_be_native(void);

/* A check for after MPI_Finalize, one per process; finalized_well() makes it. */
void after_finalize(int (*is_right)(void));
int finalized_well(void);

/* The same for calls that came together: to be said of each, before expect_call(). */
void add_expected(const char* collective, int served);

int rank_in(MPI_Comm comm);
int size_of(MPI_Comm comm);

/* How many nodes the ranks of a communicator are on: by LIBCOLL_HOST, without it every rank is on its own. Collective.
 */
int nodes_spanned(MPI_Comm comm);

/* A well mixed 64-bit value for every key (the finaliser of splitmix64). */
static inline uint64_t mixed(uint64_t key) {
  key += 0x9e3779b97f4a7c15u;
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
  key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
  return key ^ (key >> 31);
}

/* Whether two objects have the same bytes: for floating-point results that must be equal bit for bit. */
int same_bits(const void* one, const void* other, uint64_t bytes);

/* The order of the first ranks with that number, from 0 (as they are) to ranks! - 1. */
void order_ranks(int number, int ranks, int* order);

/* malloc that ends the job when there is no memory. */
void* allocate(uint64_t bytes);

#endif
