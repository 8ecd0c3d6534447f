/* MPI's names as the program finds them. Each goes through a table: to MPI, or to the core, which is loaded when MPI
 * runs and there is something to do for it.
 *
 * The core gets calls under MPI_ and PMPI_ names alike. So Fortran's procedures, which call PMPI_, are served without
 * entry points of their own, and a profiling tool (PMPI) sees every call, whether it is before libcoll in load order or
 * after it: where the next MPI_ name is a tool's, the tool gets the call first, and hands it on to the PMPI_ name.
 *
 * No type of MPI's is used here (words.h). */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcoll/version.h"
#include "pmpi/core_interface.h"
#include "pmpi/preload/export.h"
#include "pmpi/preload/mpi_family.h"
#include "pmpi/preload/next.h"
#include "pmpi/preload/presence.h"
#include "pmpi/preload/settings.h"
#include "pmpi/words.h"

/* ---- what was decided */

typedef void any_function(void);

/* By 2 * libcoll_intercepted, + 1 for the PMPI_ name: where the call goes. At first to what looks that up. */
static _Atomic(any_function*) targets[2 * libcoll_intercepted_count];

static const char* const names[] = {
#define LIBCOLL_INTERCEPTED(symbol, number) "P" #symbol,
#include "pmpi/intercepted.def"
#undef LIBCOLL_INTERCEPTED
};

static const struct libcoll_mpi_family* family;
static const struct libcoll_core* core;
static struct libcoll_preload_settings settings;
static struct libcoll_presence presence;
static struct libcoll_preload preload = {LIBCOLL_VERSION, NULL, &presence, &libcoll_next_symbol};

static pthread_mutex_t deciding = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool decided;
static _Thread_local bool in_decision;

static const char* name_of(unsigned target) { return names[target / 2] + (target % 2 == 0 ? 1 : 0); }

/* ---- MPI, as far as it is asked before the core is there */

static bool says(const char* function) {
  int (*ask)(int*) = LIBCOLL_FUNCTION(int (*)(int*), libcoll_next_symbol(function));
  int answer = 0;
  return ask != NULL && ask(&answer) == 0 && answer != 0;
}

static bool mpi_runs(void) { return says("PMPI_Initialized") && !says("PMPI_Finalized"); }

/* What PMPI_Comm_size or PMPI_Comm_rank says of the world. */
static int number_in_world(const char* function, int otherwise) {
  typedef int number_function(libcoll_word, int*);
  number_function* ask = LIBCOLL_FUNCTION(number_function*, libcoll_next_symbol(function));
  int number = otherwise;
  if (ask != NULL) ask(preload.mpi->comm_world, &number);
  return number;
}

/* Whether all ranks of the world say yes; collective. */
static bool all_agree(bool mine) {
  typedef int allreduce_function(const void*, void*, int, libcoll_word, libcoll_word, libcoll_word);
  allreduce_function* allreduce = LIBCOLL_FUNCTION(allreduce_function*, libcoll_next_symbol("PMPI_Allreduce"));
  int vote = mine ? 1 : 0;
  int least = 0;
  return allreduce != NULL &&
         allreduce(&vote, &least, 1, preload.mpi->int_type, preload.mpi->min, preload.mpi->comm_world) == 0 &&
         least == 1;
}

/* ---- the log, until there is one */

static void say(const char* kind, const char* sentence, const char* end) {
  enum { longest_line = 16384 };
  char line[longest_line];
  const int length = snprintf(line, sizeof line, "libcoll: %s: %s%s\n", kind, sentence, end);
  if (length < 0) return;
  const size_t size = (size_t)length < sizeof line ? (size_t)length : sizeof line - 1;
  /* Nothing sensible can be done about a closed stderr. */
  if (write(STDERR_FILENO, line, size) < 0) return;
}

static bool says_warnings(void) { return settings.enable && settings.log_level >= libcoll_warn; }

static void warn(const char* obstacle) {
  if (says_warnings()) say("warning", obstacle, "; every call falls through");
}

static void warn_of_name(const char* sentence) { say("warning", sentence, ""); }

/* Without a topology nothing is served, and there is no core to tell of odd settings. */
static void tell_of_settings(void) {
  if (!says_warnings() || number_in_world("PMPI_Comm_rank", 0) != 0) return;
  libcoll_tell_unknown_names(&warn_of_name);
  if (settings.has_stats) {
    warn("no topology is set, so there are no statistics");
  } else if (settings.log_level >= libcoll_info) {
    say("info", "no topology is set", "; every call falls through");
  }
}

/* Whether the core knows this MPI, and there is a job that it can do something for. */
static bool mpi_is_supported(void) {
  char message[256];
  family = libcoll_find_mpi_family(message, sizeof message);
  if (family != NULL && !libcoll_is_foreign_launcher(family, message, sizeof message)) return true;
  if (libcoll_has_variables()) warn(message);
  return family != NULL;
}

/* ---- the decision */

static void open_core(void) {
  void* library = libcoll_open_beside(LIBCOLL_CORE_LIBRARY);
  libcoll_open_core_function* open =
      library == NULL ? NULL : LIBCOLL_FUNCTION(libcoll_open_core_function*, dlsym(library, LIBCOLL_OPEN_CORE));
  if (open == NULL) {
    const char* reason = dlerror();
    warn(reason == NULL ? "libcoll's core is not what it should be" : reason);
    return;
  }
  core = open(&preload);
  if (core == NULL) warn("libcoll's core is of another version, or MPI lacks what it needs");
}

/* A name of MPI_ that is defined by a tool, and not where the PMPI_ name is. */
static bool is_tool(void* plain, void* profiling) {
  Dl_info tool;
  Dl_info mpi;
  if (plain == profiling || plain == NULL || profiling == NULL) return false;
  return dladdr(plain, &tool) != 0 && dladdr(profiling, &mpi) != 0 && tool.dli_fbase != mpi.dli_fbase;
}

static void set_target(unsigned target, void* found) {
  atomic_store_explicit(&targets[target], LIBCOLL_FUNCTION(any_function*, found), memory_order_release);
}

static void aim_at_core(void) {
  for (unsigned each = 0; each < libcoll_intercepted_count; ++each) {
    void* next = libcoll_next_symbol(names[each] + 1);
    const bool tool = is_tool(next, libcoll_next_symbol(names[each]));
    set_target(2 * each, tool ? next : core->functions[each]);
    set_target(2 * each + 1, core->functions[each]);
  }
}

/* Whether a topology is set: here, or on some rank. Where the ranks know of each other, all of them come to the same
 * answer as to what they have to do together; where they do not, one that has none may be asked by one that has. */
static bool needs_core(void) {
  const int size = number_in_world("PMPI_Comm_size", 1);
  if (size > 1) libcoll_find_presence(size, &presence);
  if (settings.has_topology) return true;
  return size > 1 && (!presence.known || (presence.serves && presence.absentees == 0));
}

/* `together`: all ranks of the world are here. */
static void decide(bool together) {
  settings = libcoll_read_settings();
  if (!mpi_is_supported()) return;
  preload.mpi = libcoll_describe_mpi(family);
  if (!needs_core()) {
    tell_of_settings();
    return;
  }
  open_core();
  /* The ranks that have a core would wait for those that have none. */
  const bool serve = together && presence.known && presence.serves && presence.absentees == 0;
  if (serve && !all_agree(core != NULL)) {
    if (core != NULL) warn("another rank could not load libcoll's core");
    core = NULL;
  }
  if (core == NULL) return;
  aim_at_core();
  if (together) core->after_init();
}

/* Once, when MPI runs. What it calls of MPI is not decided about. */
static void decide_once(bool together) {
  if (in_decision || atomic_load_explicit(&decided, memory_order_acquire) || !mpi_runs()) return;
  in_decision = true;
  pthread_mutex_lock(&deciding);
  if (!atomic_load_explicit(&decided, memory_order_relaxed)) {
    decide(together);
    atomic_store_explicit(&decided, true, memory_order_release);
  }
  pthread_mutex_unlock(&deciding);
  in_decision = false;
}

/* In place of a function that this MPI does not have: an error code. Programs of this MPI do not call it. */
static libcoll_word no_function(void) { return 16; }

/* Where a call goes that comes first. */
static any_function* find_target(unsigned target) {
  any_function* const before = atomic_load_explicit(&targets[target], memory_order_acquire);
  decide_once(false);
  any_function* const now = atomic_load_explicit(&targets[target], memory_order_acquire);
  if (now != before) return now;
  void* next = libcoll_next_symbol(name_of(target));
  if (next == NULL) next = (void*)(uintptr_t)&no_function;
  if (atomic_load_explicit(&decided, memory_order_acquire)) set_target(target, next);
  return LIBCOLL_FUNCTION(any_function*, next);
}

/* ---- the names */

#define FORWARD(symbol, target, parameters, ...)                                                        \
  static libcoll_word first_##symbol(parameters) {                                                      \
    return LIBCOLL_FUNCTION(libcoll_word(*)(parameters), find_target(target))(__VA_ARGS__);             \
  }                                                                                                     \
  LIBCOLL_EXPORT libcoll_word symbol(parameters) {                                                      \
    return LIBCOLL_FUNCTION(libcoll_word(*)(parameters),                                                \
                            atomic_load_explicit(&targets[target], memory_order_acquire))(__VA_ARGS__); \
  }
#define FORWARD_BOTH(symbol, index, number)                                           \
  FORWARD(symbol, 2 * (index), LIBCOLL_PARAMETERS(number), LIBCOLL_ARGUMENTS(number)) \
  FORWARD(P##symbol, 2 * (index) + 1, LIBCOLL_PARAMETERS(number), LIBCOLL_ARGUMENTS(number))
#define LIBCOLL_INTERCEPTED(symbol, number) FORWARD_BOTH(symbol, LIBCOLL_##symbol, number)
#include "pmpi/intercepted.def"
#undef LIBCOLL_INTERCEPTED

static _Atomic(any_function*) targets[] = {
#define LIBCOLL_INTERCEPTED(symbol, number) (any_function*)&first_##symbol, (any_function*)&first_P##symbol,
#include "pmpi/intercepted.def"
#undef LIBCOLL_INTERCEPTED
};

/* Whichever of the two names is called first, MPI runs after it. */
#define INIT(symbol, parameters, ...)                                                                  \
  LIBCOLL_EXPORT int symbol(parameters) {                                                              \
    libcoll_announce();                                                                                \
    const int code = LIBCOLL_FUNCTION(int (*)(parameters), libcoll_next_symbol(#symbol))(__VA_ARGS__); \
    decide_once(true);                                                                                 \
    libcoll_end_announcement();                                                                        \
    return code;                                                                                       \
  }
#define FORWARD_INIT(symbol, number) INIT(symbol, LIBCOLL_PARAMETERS(number), LIBCOLL_ARGUMENTS(number))
FORWARD_INIT(MPI_Init, 2)
FORWARD_INIT(PMPI_Init, 2)
FORWARD_INIT(MPI_Init_thread, 4)
FORWARD_INIT(PMPI_Init_thread, 4)

/* For `libcoll doctor`. */
LIBCOLL_EXPORT const char libcoll_preload_version[] = LIBCOLL_VERSION;

/* Calls of a collective ("allreduce", "reduce_scatter_block", …: MPI's names in lower case) that libcoll served in
 * this process so far; -1 for an unknown name. A program finds it with dlsym(RTLD_DEFAULT, "libcoll_calls_served"). */
LIBCOLL_EXPORT long libcoll_calls_served(const char* collective) {
  static const char* const collectives[] = {
#define LIBCOLL_ENTRY(name, ...) #name, "i" #name, #name "_init",
#include "pmpi/entry_points.def"
#undef LIBCOLL_ENTRY
  };
  if (core != NULL) return core->calls_served(collective);
  for (size_t i = 0; i < sizeof collectives / sizeof *collectives; ++i) {
    if (collective != NULL && strcmp(collectives[i], collective) == 0) return 0;
  }
  return -1;
}
