/* The settings that the preload goes by, and what it says of names that are no settings'. All others are the core's. */
#ifndef LIBCOLL_PMPI_PRELOAD_SETTINGS_H
#define LIBCOLL_PMPI_PRELOAD_SETTINGS_H

#include <stdbool.h>

enum libcoll_level { libcoll_error, libcoll_warn, libcoll_info };

struct libcoll_preload_settings {
  bool enable;
  bool has_topology; /* one is named; whether it can be read is not asked */
  bool has_stats;
  enum libcoll_level log_level; /* debug and trace count as info */
};

/* From configuration files and the environment, in the core's order. Of a file, only what stands on one line
 * `key = value` before any table is seen: so are all settings. */
struct libcoll_preload_settings libcoll_read_settings(void);
/* Some LIBCOLL_ variable is set. */
bool libcoll_has_variables(void);
/* A sentence for every variable and key that is no setting's. */
void libcoll_tell_unknown_names(void (*tell)(const char* sentence));

#endif
