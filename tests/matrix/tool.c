/* A profiling tool: it counts calls and hands them on, by PMPI_ names, or to the next MPI_ names (TOOL_NEXT). */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <string.h>

#ifdef TOOL_NEXT
#define NEXT(name) ((__typeof__(&MPI_##name))(uintptr_t)dlsym(RTLD_NEXT, "MPI_" #name))
#define COUNT next_calls
#else
#define NEXT(name) PMPI_##name
#define COUNT tool_calls
#endif

static struct {
  const char* name;
  long calls;
} seen[] = {{"init", 0}, {"allreduce", 0}, {"alltoall", 0}, {"iallreduce", 0}, {"wait", 0}, {"finalize", 0}};

static void count(const char* name) {
  for (size_t i = 0; i < sizeof seen / sizeof *seen; ++i) seen[i].calls += strcmp(seen[i].name, name) == 0;
}

long COUNT(const char* name);
long COUNT(const char* name) {
  for (size_t i = 0; i < sizeof seen / sizeof *seen; ++i) {
    if (strcmp(seen[i].name, name) == 0) return seen[i].calls;
  }
  return -1;
}

int MPI_Init(int* argc, char*** argv) {
  count("init");
  return NEXT(Init)(argc, argv);
}

int MPI_Allreduce(const void* input, void* output, int number, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  count("allreduce");
  return NEXT(Allreduce)(input, output, number, type, op, comm);
}

int MPI_Alltoall(const void* input, int number, MPI_Datatype type, void* output, int output_number,
                 MPI_Datatype output_type, MPI_Comm comm) {
  count("alltoall");
  return NEXT(Alltoall)(input, number, type, output, output_number, output_type, comm);
}

int MPI_Iallreduce(const void* input, void* output, int number, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  count("iallreduce");
  return NEXT(Iallreduce)(input, output, number, type, op, comm, request);
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  count("wait");
  return NEXT(Wait)(request, status);
}

int MPI_Finalize(void) {
  count("finalize");
  return NEXT(Finalize)();
}
