#include "pmpi/preload/presence.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcoll/version.h"
#include "pmpi/preload/export.h"
#include "pmpi/preload/mpi_family.h"
#include "pmpi/preload/next.h"
#include "pmpi/preload/pmi.h"
#include "pmpi/preload/pmix_library.h"
#include "pmpi/preload/settings.h"

/* The part of PMIx's binary interface that is used here (PMIx Standard 4.1, chapters 3 to 6; the same since version 3).
 * Its headers are no dependency, for most systems have the library alone. */
struct pmix_process {
  char nspace[256];
  uint32_t rank;
};
struct pmix_value {
  uint16_t type;
  union {
    bool flag;
    char* string;
    int integer;
    uint64_t room[2];
  } data;
};
struct pmix_info {
  char key[512];
  uint32_t directives;
  struct pmix_value value;
};
enum { pmix_bool = 1, pmix_string = 3, pmix_int = 6, pmix_global = 3, pmix_success = 0 };

typedef int pmix_init_function(struct pmix_process*, struct pmix_info*, size_t);
typedef int pmix_finalize_function(const struct pmix_info*, size_t);
typedef int pmix_put_function(uint8_t, const char*, struct pmix_value*);
typedef int pmix_get_function(const struct pmix_process*, const char*, const struct pmix_info*, size_t,
                              struct pmix_value**);

#define VERSION_KEY "libcoll.version"
#define HOST_KEY "pmix.hname"
#define SERVES_WORD " serves"
#define REPORTS_WORD " reports"
/* A server that does not know a key may ask another server. */
enum { most_seconds = 10, longest_text = 256, longest_key = 64 };

/* What the process knows once its PMIx has begun. */
static pmix_get_function* get_value;
static struct pmix_process self;
/* PMIx would wait for what this process itself never put there. */
static bool announced_to_pmix;
/* Until MPI has begun PMIx as well. */
static pmix_finalize_function* finalize;

static struct pmix_info make_info(const char* key, uint16_t type) {
  struct pmix_info info;
  memset(&info, 0, sizeof info);
  snprintf(info.key, sizeof info.key, "%s", key);
  info.value.type = type;
  return info;
}

/* What a process has put there, into `text`; false when there is no such key. */
static bool look_up(const struct pmix_process* process, const char* key, char* text, size_t size) {
  /* As a rule all keys came with the fence. Where they did not, the process's server is asked. */
  struct pmix_info here = make_info("pmix.optional", pmix_bool);
  here.value.data.flag = true;
  struct pmix_info elsewhere[2] = {make_info("pmix.immediate", pmix_bool), make_info("pmix.timeout", pmix_int)};
  elsewhere[0].value.data.flag = true;
  elsewhere[1].value.data.integer = most_seconds;
  struct pmix_value* value = NULL;
  text[0] = '\0';
  if (!announced_to_pmix && process->rank == self.rank) return false;
  if (get_value(process, key, &here, 1, &value) != pmix_success) {
    value = NULL;
    if (get_value(process, key, elsewhere, 2, &value) != pmix_success) return false;
  }
  if (value == NULL || value->type != pmix_string || value->data.string == NULL) return false;
  snprintf(text, size, "%s", value->data.string);
  free(value->data.string);
  free(value);
  return true;
}

static void describe_settings(char* text, size_t size) {
  const struct libcoll_preload_settings settings = libcoll_read_settings();
  snprintf(text, size, "%s%s%s", LIBCOLL_VERSION, settings.enable && settings.has_topology ? SERVES_WORD : "",
           settings.has_stats ? REPORTS_WORD : "");
}

/* PMIx counts who has begun it: MPI finds it begun, and its fence takes the key along. */
static void announce_to_pmix(void) {
  if (getenv("PMIX_NAMESPACE") == NULL || getenv("PMIX_RANK") == NULL || !libcoll_has_pmix_server()) return;
  const struct libcoll_pmix pmix = libcoll_find_pmix();
  pmix_init_function* init = LIBCOLL_FUNCTION(pmix_init_function*, pmix.init);
  pmix_put_function* put = LIBCOLL_FUNCTION(pmix_put_function*, pmix.put);
  if (init == NULL || init(&self, NULL, 0) != pmix_success) return;
  finalize = LIBCOLL_FUNCTION(pmix_finalize_function*, pmix.finalize);
  char text[longest_text];
  describe_settings(text, sizeof text);
  struct pmix_value value;
  memset(&value, 0, sizeof value);
  value.type = pmix_string;
  value.data.string = text;
  announced_to_pmix = put(pmix_global, VERSION_KEY, &value) == pmix_success;
  if (announced_to_pmix) get_value = LIBCOLL_FUNCTION(pmix_get_function*, pmix.get);
}

static void announce_to_hydra(const struct libcoll_mpi_family* family) {
  if (getenv("PMI_FD") == NULL || !libcoll_uses_hydra(family)) return;
  char text[longest_text];
  char key[longest_key];
  describe_settings(text, sizeof text);
  snprintf(key, sizeof key, VERSION_KEY ".%s", getenv("PMI_RANK") == NULL ? "" : getenv("PMI_RANK"));
  libcoll_pmi_put(key, text);
}

void libcoll_announce(void) {
  static bool announced;
  if (announced) return;
  announced = true;
  char reason[longest_text];
  const struct libcoll_mpi_family* family = libcoll_find_mpi_family(reason, sizeof reason);
  if (family == NULL) return;
  announce_to_pmix();
  announce_to_hydra(family);
}

void libcoll_end_announcement(void) {
  if (finalize != NULL) finalize(NULL, 0);
  finalize = NULL;
}

/* What the process of that rank announced; empty: nothing. */
static void look_up_version(int rank, char* text, size_t size) {
  if (get_value != NULL) {
    struct pmix_process process = self;
    process.rank = (uint32_t)rank;
    look_up(&process, VERSION_KEY, text, size);
    return;
  }
  char key[longest_key];
  snprintf(key, sizeof key, VERSION_KEY ".%d", rank);
  libcoll_pmi_get(key, text, size);
}

/* Where the process of that rank is; empty: not known. */
static void look_up_host(int rank, char* text, size_t size) {
  text[0] = '\0';
  if (get_value == NULL) return;
  struct pmix_process process = self;
  process.rank = (uint32_t)rank;
  look_up(&process, HOST_KEY, text, size);
}

/* "0.1.0 serves" → "0.1.0" */
static void cut_words(char* text) {
  char* space = strchr(text, ' ');
  if (space != NULL) *space = '\0';
}

/* One more absentee; false without memory. */
static bool add_absentee(struct libcoll_presence* presence, int rank, const char* version) {
  struct libcoll_absentee* list = (struct libcoll_absentee*)presence->list;
  const size_t number = (size_t)presence->absentees;
  /* At powers of two there is no room left. */
  if ((number & (number - 1)) == 0) {
    list = realloc(list, (number == 0 ? 1 : 2 * number) * sizeof *list);
    if (list == NULL) return false;
    presence->list = list;
  }
  list[number].world_rank = rank;
  look_up_host(rank, list[number].host, sizeof list[number].host);
  snprintf(list[number].version, sizeof list[number].version, "%.31s", version);
  ++presence->absentees;
  return true;
}

/* A process that could not announce itself, as its PMIx was not found before MPI_Init, can still see that others have,
 * and that it counts as absent for them. */
static void ask_as_a_stranger(void) {
  const char* job = getenv("PMIX_NAMESPACE");
  const char* rank = getenv("PMIX_RANK");
  if (job == NULL || rank == NULL || !libcoll_has_pmix_server()) return;
  memset(&self, 0, sizeof self);
  snprintf(self.nspace, sizeof self.nspace, "%s", job);
  self.rank = (uint32_t)strtoul(rank, NULL, 10);
  get_value = LIBCOLL_FUNCTION(pmix_get_function*, libcoll_find_loaded_pmix().get);
}

void libcoll_find_presence(int world_size, struct libcoll_presence* presence) {
  memset(presence, 0, sizeof *presence);
  if (get_value == NULL && libcoll_pmi_rank() < 0) ask_as_a_stranger();
  if (get_value == NULL && libcoll_pmi_rank() < 0) return;
  char text[longest_text];
  for (int rank = 0; rank < world_size; ++rank) {
    look_up_version(rank, text, sizeof text);
    if (strstr(text, SERVES_WORD) != NULL) presence->serves = 1;
    if (rank == 0 && strstr(text, REPORTS_WORD) != NULL) presence->root_reports = 1;
    cut_words(text);
    if (strcmp(text, LIBCOLL_VERSION) != 0 && !add_absentee(presence, rank, text)) return;
  }
  /* Where everybody is absent, nobody can say anything. */
  presence->known = presence->absentees < world_size;
}
