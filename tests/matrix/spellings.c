/* Calls are served by whatever name they come. Every function that libcoll knows is libcoll's under its MPI_ and its
 * PMPI_ name, and the procedures of Fortran, under all spellings of its compilers, lead there. */
#include <ctype.h>
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

static const char* const collectives[] = {
    "Allreduce",  "Allgather", "Alltoall",  "Reduce_scatter", "Reduce_scatter_block",
    "Allgatherv", "Alltoallv", "Alltoallw", "Bcast",          "Reduce"};
static const char* const others[] = {"Wait",    "Test",     "Waitall",      "Testall",
                                     "Waitany", "Testany",  "Waitsome",     "Testsome",
                                     "Start",   "Startall", "Request_free", "Request_get_status",
                                     "Barrier", "Finalize", "Init",         "Init_thread"};

static void check_symbol(const char* prefix, const char* name) {
  enum { longest = 64 };
  char symbol_name[longest];
  Dl_info place;
  snprintf(symbol_name, sizeof symbol_name, "%s%s", prefix, name);
  void* symbol = dlsym(RTLD_DEFAULT, symbol_name);
  CHECK(symbol != NULL && dladdr(symbol, &place) != 0, "nobody has %s", symbol_name);
  CHECK(strstr(place.dli_fname, "libcoll_pmpi") != NULL, "%s is that of %s", symbol_name, place.dli_fname);
}

#ifdef OPEN_MPI
static const char* const persistent_prefix = "MPIX_";
#else
static const char* const persistent_prefix = "MPI_";
#endif

static void check_all_symbols(void) {
  char name[64];
  char prefix[8];
  for (size_t i = 0; i < sizeof collectives / sizeof *collectives; ++i) {
    check_symbol("MPI_", collectives[i]);
    check_symbol("PMPI_", collectives[i]);
    snprintf(name, sizeof name, "I%s", collectives[i]);
    name[1] = (char)tolower((unsigned char)name[1]);
    check_symbol("MPI_", name);
    check_symbol("PMPI_", name);
    snprintf(name, sizeof name, "%s_init", collectives[i]);
    check_symbol(persistent_prefix, name);
    snprintf(prefix, sizeof prefix, "P%s", persistent_prefix);
    check_symbol(prefix, name);
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    check_symbol("MPI_", others[i]);
    check_symbol("PMPI_", others[i]);
  }
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
