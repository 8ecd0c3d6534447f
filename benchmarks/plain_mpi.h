/* What the plain MPI programs of this folder share: digests, deterministic data, the served line. They know nothing
 * of libcoll but one symbol they look up at run time, so that a user's program could do what they do. */
#ifndef LIBCOLL_BENCHMARKS_PLAIN_MPI_H
#define LIBCOLL_BENCHMARKS_PLAIN_MPI_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* A well mixed 64-bit value for every key (the finaliser of splitmix64). */
static inline uint64_t mix64(uint64_t key) {
  key += 0x9e3779b97f4a7c15u;
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
  key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
  return key ^ (key >> 31);
}

/* Continues a digest over `bytes` bytes at `data`; equal only for equal bytes in equal order (as far as 64 bits go). */
uint64_t digest_bytes(uint64_t digest, const void* data, size_t bytes);

/* Collective: the digests of all ranks in rank order as one digest, on rank 0; 0 elsewhere. */
uint64_t digest_ranks(uint64_t digest, MPI_Comm communicator);

/* Fills a block of `size` bytes with what `source` sends to `destination`, and tells whether a block holds it. */
void fill_block(unsigned char* block, size_t size, int source, int destination);
int block_is(const unsigned char* block, size_t size, int source, int destination);

/* Element `index` of a rank's vector: integers of at most 100, whose sums over ranks are exact in float, in any order.
 */
static inline float small_integer(int rank, size_t index) { return (float)((index * 7 + (size_t)rank * 13) % 101); }

/* How many calls of `collective` ("allreduce", …) were served by libcoll on this rank; -1 when it is not loaded. */
long served_calls(const char* collective);

/* Collective: prints, on rank 0, "# Served by libcoll: N of M calls" for `collective`, N the least of all ranks.
 * Nothing when libcoll is not loaded. `made` < 0: the program does not know how many calls a library of its made. */
void print_served(const char* collective, long made, MPI_Comm communicator);

#endif
