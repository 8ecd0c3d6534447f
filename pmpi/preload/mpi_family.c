#include "pmpi/preload/mpi_family.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmpi/preload/next.h"

/* The program's own definition of a name, else MPI's. */
static void* object(const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  return found != NULL ? found : libcoll_next_symbol(name);
}

#ifdef LIBCOLL_OTHER_MPIS
#define DESCRIBE_STANDARD_ABI (&libcoll_describe_standard_abi)
#else
#define DESCRIBE_STANDARD_ABI NULL
#endif
#ifdef LIBCOLL_HAS_MPICH
#define DESCRIBE_MPICH (&libcoll_describe_mpich)
#else
#define DESCRIBE_MPICH NULL
#endif

enum { open_mpi, mpich, standard_abi, family_count };
static const struct libcoll_mpi_family families[family_count] = {
    {"Open MPI", &libcoll_describe_openmpi, "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"MPICH", DESCRIBE_MPICH, "PMI_SIZE", "PMI_RANK"},
    /* Any MPI can be behind it, and any launcher before it. */
    {"the MPI standard ABI", DESCRIBE_STANDARD_ABI, NULL, NULL},
};

const struct libcoll_mpi_interface* libcoll_describe_mpi(const struct libcoll_mpi_family* family) {
  return family->describe(&object);
}

static bool is_loaded(const char* library) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (handle != NULL) dlclose(handle);
  return handle != NULL;
}

/* MPICH calls its library libmpi.so.12, as do those that share its interface (Intel MPI, Cray MPICH, MVAPICH); Debian
 * calls it libmpich.so.12. */
static bool has_mpich(void) { return is_loaded("libmpich.so.12") || is_loaded("libmpi.so.12"); }

/* The library of the standard's binary interface: its number is that interface's version. MPICH 5.0 calls it 0. */
static bool has_standard_abi(void) { return is_loaded("libmpi_abi.so.1") || is_loaded("libmpi_abi.so.0"); }

/* Whether the program's calls go to that library. */
static bool is_bound_to(const char* library) {
  static const char name[] = "PMPI_Comm_size";
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  void* own = handle == NULL ? NULL : dlsym(handle, name);
  if (handle != NULL) dlclose(handle);
  return own != NULL && own == libcoll_next_symbol(name);
}

/* An MPI of another binary interface may be loaded because it does the work behind the standard's. */
static bool is_bound_to_another(void) {
  return is_bound_to("libmpi.so.40") || is_bound_to("libmpich.so.12") || is_bound_to("libmpi.so.12");
}

/* In one line, from a static buffer. */
static const char* library_version(void) {
  enum { longest_version = 8192 }; /* MPICH's tells how it was configured */
  static char version[longest_version];
  int (*get_version)(char*, int*) = LIBCOLL_FUNCTION(int (*)(char*, int*), object("PMPI_Get_library_version"));
  int length = 0;
  if (get_version != NULL) get_version(version, &length);
  version[sizeof version - 1] = '\0';
  version[strcspn(version, "\n")] = '\0';
  for (char* tab = version; (tab = strchr(tab, '\t')) != NULL;) *tab = ' ';
  return version;
}

static bool is_known_open_mpi(const char* version) {
  return strncmp(version, "Open MPI v4.", 12) == 0 || strncmp(version, "Open MPI v5.", 12) == 0;
}

static const struct libcoll_mpi_family* find_family(char* reason, size_t size) {
  if (has_standard_abi()) {
    if (!is_bound_to_another()) return &families[standard_abi];
    snprintf(reason, size, "the process has two MPIs, one of them by the MPI standard ABI, and calls the other");
    return NULL;
  }
  const bool has_open_mpi = object("ompi_mpi_comm_world") != NULL;
  if (has_open_mpi && has_mpich()) {
    snprintf(reason, size, "the process has two MPIs, Open MPI and MPICH");
    return NULL;
  }
  if (!has_open_mpi && has_mpich()) return &families[mpich];
  const char* version = library_version();
  if (has_open_mpi && is_known_open_mpi(version)) return &families[open_mpi];
  snprintf(reason, size, "unsupported MPI (expected Open MPI 4 or 5, MPICH or the MPI standard ABI, found %.40s)",
           version);
  return NULL;
}

const struct libcoll_mpi_family* libcoll_find_mpi_family(char* reason, size_t size) {
  reason[0] = '\0';
  const struct libcoll_mpi_family* found = find_family(reason, size);
  if (found == NULL || found->describe != NULL) return found;
  snprintf(reason, size, "this libcoll was built without %s", found->name);
  return NULL;
}

bool libcoll_uses_hydra(const struct libcoll_mpi_family* family) {
  if (family != &families[standard_abi]) return family == &families[mpich];
  static const char* const of_mpich[] = {"MPICH", "MVAPICH", "Intel(R) MPI"};
  const char* version = library_version();
  for (size_t i = 0; i < sizeof of_mpich / sizeof *of_mpich; ++i) {
    if (strstr(version, of_mpich[i]) != NULL) return true;
  }
  return false;
}

static const char* value_of(const char* variable) {
  const char* value = getenv(variable);
  return value == NULL ? "" : value;
}

bool libcoll_is_foreign_launcher(const struct libcoll_mpi_family* family, char* text, size_t size) {
  if (family->size_variable == NULL) return false;
  for (int each = 0; each < family_count; ++each) {
    const struct libcoll_mpi_family* other = &families[each];
    if (other == family || other->size_variable == NULL || strtol(value_of(other->size_variable), NULL, 10) < 2)
      continue;
    if (strtol(value_of(family->size_variable), NULL, 10) >= 2) return false;
    snprintf(text, size, "the program has %s and was started by a launcher of %s, so each process is a job of its own",
             family->name, other->name);
    return strcmp(value_of(other->rank_variable), "0") == 0;
  }
  return false;
}
