/* Every name that a compiler of C or Fortran may give a call that libcoll knows is libcoll's: of the collectives, and
 * of the functions that start, complete and free requests. Some are called by all of Fortran's spellings. */
#include <ctype.h>
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

static const char* const collectives[] = {
    "allreduce",  "allgather", "alltoall",  "reduce_scatter", "reduce_scatter_block",
    "allgatherv", "alltoallv", "alltoallw", "bcast",          "reduce"};
static const char* const others[] = {"wait",    "test",     "waitall",      "testall",
                                     "waitany", "testany",  "waitsome",     "testsome",
                                     "start",   "startall", "request_free", "request_get_status",
                                     "barrier", "finalize"};

static void check_symbol(const char* name) {
  Dl_info place;
  void* symbol = dlsym(RTLD_DEFAULT, name);
  CHECK(symbol != NULL && dladdr(symbol, &place) != 0, "nobody has %s", name);
  CHECK(strstr(place.dli_fname, "libcoll_pmpi") != NULL, "%s is that of %s", name, place.dli_fname);
}

/* `prefix` is MPI_ or MPIX_, `name` in lower case. */
static void check_spellings(const char* prefix, const char* name) {
  enum { longest = 64 };
  static const char* const ends[] = {"", "_", "__", "_f08_"};
  char plain[longest];
  char symbol[longest + 8];
  snprintf(plain, sizeof plain, "%s%s", prefix, name);
  plain[strlen(prefix)] = (char)toupper((unsigned char)plain[strlen(prefix)]);
  check_symbol(plain);
  for (char* letter = plain; *letter != '\0'; ++letter) *letter = (char)toupper((unsigned char)*letter);
  check_symbol(plain);
  for (char* letter = plain; *letter != '\0'; ++letter) *letter = (char)tolower((unsigned char)*letter);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i) {
    snprintf(symbol, sizeof symbol, "%s%s", plain, ends[i]);
    check_symbol(symbol);
  }
}

static void check_all_symbols(void) {
  char name[64];
  for (size_t i = 0; i < sizeof collectives / sizeof *collectives; ++i) {
    check_spellings("MPI_", collectives[i]);
    snprintf(name, sizeof name, "i%s", collectives[i]);
    check_spellings("MPI_", name);
    snprintf(name, sizeof name, "%s_init", collectives[i]);
    check_spellings("MPIX_", name);
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) check_spellings("MPI_", others[i]);
}

/* As a compiler of Fortran calls them: by address, error code last. */
typedef void Allreduce(const void*, void*, const MPI_Fint*, const MPI_Fint*, const MPI_Fint*, const MPI_Fint*,
                       MPI_Fint*);
typedef void Iallreduce(const void*, void*, const MPI_Fint*, const MPI_Fint*, const MPI_Fint*, const MPI_Fint*,
                        MPI_Fint*, MPI_Fint*);
typedef void Wait(MPI_Fint*, MPI_Fint*, MPI_Fint*);
#define SPELLED(each)                                                                            \
  each(mpi_allreduce, mpi_iallreduce, mpi_wait) each(mpi_allreduce_, mpi_iallreduce_, mpi_wait_) \
      each(mpi_allreduce__, mpi_iallreduce__, mpi_wait__) each(MPI_ALLREDUCE, MPI_IALLREDUCE, MPI_WAIT)
#define DECLARE(allreduce, iallreduce, wait) \
  Allreduce allreduce;                       \
  Iallreduce iallreduce;                     \
  Wait wait;
SPELLED(DECLARE)

static void check_sum(Allreduce* allreduce, Iallreduce* iallreduce, Wait* wait) {
  const MPI_Fint one = 1;
  const MPI_Fint type = MPI_Type_c2f(MPI_INT);
  const MPI_Fint op = MPI_Op_c2f(MPI_SUM);
  const MPI_Fint comm = MPI_Comm_c2f(MPI_COMM_WORLD);
  const int ranks = size_of(MPI_COMM_WORLD);
  const int mine = rank_in(MPI_COMM_WORLD) + 1;
  int sum = 0;
  MPI_Fint error = -1;
  MPI_Fint request = 0;
  MPI_Fint status[sizeof(MPI_Status) / sizeof(MPI_Fint)];
  allreduce(&mine, &sum, &one, &type, &op, &comm, &error);
  expect_call("allreduce", 1, "spelled");
  CHECK(error == MPI_SUCCESS && sum == ranks * (ranks + 1) / 2, "error %d, sum %d", error, sum);
  sum = 0;
  iallreduce(&mine, &sum, &one, &type, &op, &comm, &request, &error);
  expect_call("iallreduce", 1, "spelled");
  wait(&request, status, &error);
  CHECK(error == MPI_SUCCESS && sum == ranks * (ranks + 1) / 2, "error %d, sum %d", error, sum);
  CHECK(request == MPI_Request_c2f(MPI_REQUEST_NULL), "the request is left");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  check_all_symbols();
#define CHECK_SUM(allreduce, iallreduce, wait) check_sum(&(allreduce), &(iallreduce), &(wait));
  SPELLED(CHECK_SUM)
  MPI_Finalize();
  return 0;
}
