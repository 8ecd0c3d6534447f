#include "pmpi/preload/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "libcoll/version.h"

static const char* value_of(const char* variable) {
  const char* value = getenv(variable);
  return value == NULL ? "" : value;
}

static bool is_readable(const char* directory, const char* file) {
  char path[4096];
  const int length = snprintf(path, sizeof path, "%s%s", directory, file);
  return length > 0 && (size_t)length < sizeof path && access(path, R_OK) == 0;
}

bool libcoll_has_configuration_file(void) {
  if (is_readable("", "/etc/libcoll.toml") || is_readable("", "./libcoll.toml")) return true;
  const char* config_home = value_of("XDG_CONFIG_HOME");
  if (config_home[0] == '/') return is_readable(config_home, "/libcoll/libcoll.toml");
  const char* home = value_of("HOME");
  return home[0] != '\0' && is_readable(home, "/.config/libcoll/libcoll.toml");
}

bool libcoll_has_variables(void) {
  for (char** entry = environ; entry != NULL && *entry != NULL; ++entry) {
    if (strncmp(*entry, "LIBCOLL_", 8) == 0) return true;
  }
  return false;
}

bool libcoll_is_enabled(void) {
  static const char* const negatives[] = {"0", "false", "no", "off", "n"};
  const char* enable = value_of("LIBCOLL_ENABLE");
  for (size_t i = 0; i < sizeof negatives / sizeof *negatives; ++i) {
    if (strcasecmp(enable, negatives[i]) == 0) return false;
  }
  return true;
}

void libcoll_describe_environment(char* text, size_t size) {
  const bool serves = libcoll_is_enabled() && value_of("LIBCOLL_TOPOLOGY")[0] != '\0';
  const bool reports = value_of("LIBCOLL_STATS")[0] != '\0';
  snprintf(text, size, "%s%s%s", LIBCOLL_VERSION, serves ? " serves" : "", reports ? " reports" : "");
}
