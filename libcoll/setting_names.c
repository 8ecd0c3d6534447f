#include "libcoll/setting_names.h"

#include <stdio.h>
#include <string.h>

#define PREFIX "LIBCOLL_"

enum { of_job = false, of_rank = true, advanced = false, for_users = true };
enum { longest_name = 64, most_edits = 3 };

static const struct libcoll_setting_name settings[] = {
#define LIBCOLL_SETTING(name, scope, audience) {#name, scope, audience},
#include "libcoll/settings.def"
};
enum { setting_count = sizeof settings / sizeof *settings };

/* Of ASCII letters alone, whatever the program's locale. */
static char lower(char letter) { return (char)(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter); }
static char upper(char letter) { return (char)(letter >= 'a' && letter <= 'z' ? letter - 'a' + 'A' : letter); }

/* The first `length` letters of `from`, each changed; cut to `longest_name`. */
static void change(char* to, const char* from, size_t length, char (*letter)(char)) {
  if (length > longest_name) length = longest_name;
  for (size_t i = 0; i < length; ++i) to[i] = letter(from[i]);
  to[length] = '\0';
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Levenshtein distance of two names that are no longer than `longest_name`. */
static size_t edit_distance(const char* a, const char* b) {
  size_t row[longest_name + 1];
  const size_t length = strlen(b);
  for (size_t j = 0; j <= length; ++j) row[j] = j;
  for (size_t i = 0; a[i] != '\0'; ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < length; ++j) {
      const size_t swapped = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = least(swapped, least(row[j], row[j + 1]) + 1);
    }
  }
  return row[length];
}

/* The setting whose name is nearest, when it is near enough to be what was meant. */
static const struct libcoll_setting_name* nearest_setting(const char* name) {
  const struct libcoll_setting_name* best = NULL;
  size_t best_distance = most_edits + 1;
  for (size_t i = 0; i < setting_count; ++i) {
    const size_t distance = edit_distance(name, settings[i].name);
    if (distance < best_distance && distance * 2 < strlen(settings[i].name)) {
      best = &settings[i];
      best_distance = distance;
    }
  }
  return best;
}

const struct libcoll_setting_name* libcoll_find_setting(const char* name) {
  for (size_t i = 0; i < setting_count; ++i) {
    if (strcmp(settings[i].name, name) == 0) return &settings[i];
  }
  return NULL;
}

bool libcoll_is_unknown_variable(const char* entry, char* text, size_t size) {
  const size_t prefix = strlen(PREFIX);
  if (strncmp(entry, PREFIX, prefix) != 0) return false;
  const size_t length = strcspn(entry, "=");
  char key[longest_name + 1];
  char variable[longest_name + 1];
  change(key, entry + prefix, length - prefix, &lower);
  change(variable, key, strlen(key), &upper);
  const bool is_upper = strlen(variable) == length - prefix && memcmp(variable, entry + prefix, length - prefix) == 0;
  if (is_upper && libcoll_find_setting(key) != NULL) return false;
  const struct libcoll_setting_name* meant = nearest_setting(key);
  if (meant != NULL) change(variable, meant->name, strlen(meant->name), &upper);
  // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling): the C library has no _s
  snprintf(text, size, "unknown variable %.*s, it has no effect%s%s%s", (int)length, entry,
           meant == NULL ? "" : "; did you mean " PREFIX, meant == NULL ? "" : variable, meant == NULL ? "" : "?");
  return true;
}

bool libcoll_is_unknown_key(const char* where, const char* key, char* text, size_t size) {
  if (libcoll_find_setting(key) != NULL) return false;
  char lowered[longest_name + 1];
  change(lowered, key, strlen(key), &lower);
  const struct libcoll_setting_name* meant = nearest_setting(lowered);
  // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling): the C library has no _s
  snprintf(text, size, "%s: unknown key \"%s\", it has no effect%s%s%s", where, key,
           meant == NULL ? "" : "; did you mean \"", meant == NULL ? "" : meant->name, meant == NULL ? "" : "\"?");
  return true;
}
