#include "pmpi/preload/pmix_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmpi/preload/next.h"

/* Open MPI 4 can bring its own PMIx, whose names it prefixes. */
static const char* const prefixes[] = {"", "OPAL_MCA_PMIX3X_"};

/* By a library's handle; without one, as MPI's library sees them. */
static struct libcoll_pmix functions_of(void* library, const char* prefix) {
  static const char* const names[] = {"PMIx_Init", "PMIx_Finalize", "PMIx_Put", "PMIx_Get"};
  const struct libcoll_pmix none = {NULL, NULL, NULL, NULL};
  void* found[sizeof names / sizeof *names];
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    char symbol[64];
    snprintf(symbol, sizeof symbol, "%s%s", prefix, names[i]);
    found[i] = library == NULL ? libcoll_next_symbol(symbol) : dlsym(library, symbol);
    if (found[i] == NULL) return none;
  }
  return (struct libcoll_pmix){found[0], found[1], found[2], found[3]};
}

static struct libcoll_pmix functions_in(void* library) {
  struct libcoll_pmix pmix = {NULL, NULL, NULL, NULL};
  for (size_t i = 0; pmix.init == NULL && i < sizeof prefixes / sizeof *prefixes; ++i)
    pmix = functions_of(library, prefixes[i]);
  return pmix;
}

/* The folder of MPI's library, links followed; false when it is not known. */
static bool find_mpi_folder(char folder[PATH_MAX]) {
  Dl_info mpi;
  void* function = libcoll_next_symbol("PMPI_Init");
  if (function == NULL || dladdr(function, &mpi) == 0 || realpath(mpi.dli_fname, folder) == NULL) return false;
  char* slash = strrchr(folder, '/');
  if (slash != NULL) *slash = '\0';
  return slash != NULL;
}

/* Open MPI 4 reaches PMIx by a component that it loads from its folder below MPI's library (Debian's has more levels).
 */
static struct libcoll_pmix search_components(void) {
  static const char* const places[] = {"openmpi", "openmpi/lib/openmpi*"};
  struct libcoll_pmix pmix = {NULL, NULL, NULL, NULL};
  char folder[PATH_MAX];
  const bool is_open_mpi = libcoll_next_symbol("ompi_mpi_comm_world") != NULL;
  /* Components of another folder may have another PMIx. */
  const bool is_elsewhere =
      getenv("OMPI_MCA_mca_base_component_path") != NULL || getenv("OMPI_MCA_mca_component_path") != NULL;
  if (!is_open_mpi || is_elsewhere || !find_mpi_folder(folder)) return pmix;
  for (size_t place = 0; pmix.init == NULL && place < sizeof places / sizeof *places; ++place) {
    char pattern[PATH_MAX + 64];
    glob_t components;
    snprintf(pattern, sizeof pattern, "%s/%s/mca_pmix_*[0-9]x.so", folder, places[place]);
    if (glob(pattern, 0, NULL, &components) != 0) continue;
    for (size_t i = 0; pmix.init == NULL && i < components.gl_pathc; ++i) {
      void* component = dlopen(components.gl_pathv[i], RTLD_LAZY | RTLD_LOCAL);
      if (component != NULL) pmix = functions_in(component); /* MPI loads it as well: it stays */
    }
    globfree(&components);
  }
  return pmix;
}

struct libcoll_pmix libcoll_find_pmix(void) {
  const struct libcoll_pmix in_component = search_components();
  return in_component.init != NULL ? in_component : functions_in(NULL);
}
