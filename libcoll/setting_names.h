/* The names of the settings (settings.def), and what is said of a name that is none of them. In C: the preload says so
 * where there is no core, the core where there is one. */
#ifndef LIBCOLL_SETTING_NAMES_H
#define LIBCOLL_SETTING_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct libcoll_setting_name {
  const char* name; /* "segment_bytes" */
  bool of_rank;     /* ranks of a communicator may have different values */
  bool for_users;   /* otherwise advanced */
};

/* NULL: there is no setting of that name. */
const struct libcoll_setting_name* libcoll_find_setting(const char* name);
/* Whether an entry of the environment ("LIBCOLL_TOPOLGY=ring:4") begins with LIBCOLL_ and is no setting's; then `text`
 * is a sentence that says so, and which setting may be meant. */
bool libcoll_is_unknown_variable(const char* entry, char* text, size_t size);
/* The same of a key of a configuration file; `where` is "FILE:LINE". */
bool libcoll_is_unknown_key(const char* where, const char* key, char* text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
