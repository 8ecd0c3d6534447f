#include "pmpi/preload/pmix_library.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* Libraries that may have PMIx. They are opened later: the linker holds a lock while it lists them. */
struct candidates {
  char* paths[16];
  size_t count;
};

static int list_candidate(struct dl_phdr_info* info, size_t size, void* list) {
  (void)size;
  struct candidates* candidates = list;
  const bool may_have_it = strstr(info->dlpi_name, "pmix") != NULL || strstr(info->dlpi_name, "libopen-pal") != NULL;
  if (!may_have_it || candidates->count == sizeof candidates->paths / sizeof *candidates->paths) return 0;
  char* path = strdup(info->dlpi_name);
  if (path != NULL) candidates->paths[candidates->count++] = path;
  return 0;
}

struct libcoll_pmix libcoll_find_loaded_pmix(void) {
  struct libcoll_pmix pmix = {NULL, NULL, NULL, NULL};
  struct candidates candidates = {{NULL}, 0};
  dl_iterate_phdr(&list_candidate, &candidates);
  for (size_t i = 0; i < candidates.count; ++i) {
    void* library = pmix.init != NULL ? NULL : dlopen(candidates.paths[i], RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) pmix = functions_in(library); /* as long as MPI, it stays */
    free(candidates.paths[i]);
  }
  return pmix;
}

/* "[::1]:4000" or "127.0.0.1:4000" into `address`; its size, or 0. */
static socklen_t read_address(const char* text, bool is_ipv6, struct sockaddr_storage* address) {
  char host[INET6_ADDRSTRLEN + 2];
  const char* colon = strrchr(text, ':');
  if (colon == NULL || (size_t)(colon - text) >= sizeof host) return 0;
  const bool in_brackets = text[0] == '[' && colon > text && colon[-1] == ']';
  const int length = (int)(colon - text) - (in_brackets ? 2 : 0);
  snprintf(host, sizeof host, "%.*s", length, text + (in_brackets ? 1 : 0));
  const uint16_t port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
  memset(address, 0, sizeof *address);
  if (is_ipv6) {
    struct sockaddr_in6* six = (struct sockaddr_in6*)address;
    six->sin6_family = AF_INET6;
    six->sin6_port = port;
    return port != 0 && inet_pton(AF_INET6, host, &six->sin6_addr) == 1 ? sizeof *six : 0;
  }
  struct sockaddr_in* four = (struct sockaddr_in*)address;
  four->sin_family = AF_INET;
  four->sin_port = port;
  return port != 0 && inet_pton(AF_INET, host, &four->sin_addr) == 1 ? sizeof *four : 0;
}

/* Nobody can listen twice at an address of this host. The other side sees nothing of the question. */
static bool is_listened_at(const char* text, bool is_ipv6) {
  struct sockaddr_storage address;
  const socklen_t size = read_address(text, is_ipv6, &address);
  const int descriptor = size == 0 ? -1 : socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return false;
  /* What is left of connections of a server that is gone does not count. */
  const int yes = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const bool is_taken = bind(descriptor, (struct sockaddr*)&address, size) != 0 && errno == EADDRINUSE;
  close(descriptor);
  return is_taken;
}

bool libcoll_has_pmix_server(void) {
  static const char variable[] = "PMIX_SERVER_URI"; /* and a version's number: "=NAMESPACE.RANK;tcp4://ADDRESS:PORT" */
  for (char** entry = environ; entry != NULL && *entry != NULL; ++entry) {
    if (strncmp(*entry, variable, sizeof variable - 1) != 0) continue;
    const char* scheme = strstr(*entry, "tcp4://");
    if (scheme == NULL) scheme = strstr(*entry, "tcp6://");
    if (scheme != NULL && is_listened_at(scheme + 7, scheme[3] == '6')) return true;
  }
  return false;
}
