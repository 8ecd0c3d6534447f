#include "pmpi/preload/settings.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcoll/setting_names.h"

enum { longest_path = 4096, longest_sentence = 2 * longest_path };

static const char* value_of(const char* variable) {
  const char* value = getenv(variable);
  return value == NULL ? "" : value;
}

static bool is_one_of(const char* word, const char* const* words, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (strcasecmp(word, words[i]) == 0) return true;
  }
  return false;
}

/* What is no value of a setting changes nothing; the core says so. */
static void assign(struct libcoll_preload_settings* settings, const char* name, const char* value) {
  static const char* const positives[] = {"1", "true", "yes", "on", "y"};
  static const char* const negatives[] = {"0", "false", "no", "off", "n"};
  static const char* const more_than_warn[] = {"info", "debug", "trace"};
  if (strcmp(name, "enable") == 0) {
    if (is_one_of(value, positives, sizeof positives / sizeof *positives)) settings->enable = true;
    if (is_one_of(value, negatives, sizeof negatives / sizeof *negatives)) settings->enable = false;
  } else if (strcmp(name, "topology") == 0) {
    settings->has_topology = value[0] != '\0';
  } else if (strcmp(name, "stats") == 0) {
    if (value[0] == '\0') settings->has_stats = false;
    if (strcmp(value, "summary") == 0 || (strncmp(value, "json:", 5) == 0 && value[5] != '\0'))
      settings->has_stats = true;
  } else if (strcmp(name, "log_level") == 0) {
    if (strcasecmp(value, "error") == 0) settings->log_level = libcoll_error;
    if (strcasecmp(value, "warn") == 0) settings->log_level = libcoll_warn;
    if (is_one_of(value, more_than_warn, sizeof more_than_warn / sizeof *more_than_warn))
      settings->log_level = libcoll_info;
  }
}

/* ---- configuration files */

/* What is done with a key and its value, which stand in `where`, "FILE:LINE". */
typedef void key_function(void* context, const char* where, const char* key, const char* value);

static char* skip_blanks(char* text) { return text + strspn(text, " \t"); }

/* Cuts a line in key and value. A value is what its quotes are around, or a word. */
static bool cut_line(char* line, char** key, char** value) {
  line = skip_blanks(line);
  const char quote = *line == '"' || *line == '\'' ? *line : '\0';
  if (quote != '\0') ++line;
  *key = line;
  while (isalnum((unsigned char)*line) || *line == '_' || *line == '-') ++line;
  if (line == *key) return false;
  char* const end = line;
  if (quote != '\0' && *line++ != quote) return false;
  line = skip_blanks(line);
  if (*line != '=') return false;
  line = skip_blanks(line + 1);
  *end = '\0';
  size_t length = strcspn(line, " \t\r\n#");
  if (*line == '"' || *line == '\'') {
    const char closing[] = {*line, '\0'};
    const size_t quotes = strspn(line, closing);
    line += quotes;
    /* Two and six are empty texts; three begin one of several lines. */
    length = quotes == 1 || quotes == 3 ? strcspn(line, closing) : 0;
  }
  line[length] = '\0';
  *value = line;
  return true;
}

static void read_lines(FILE* file, const char* path, key_function* found, void* context) {
  static const char byte_order_mark[] = "\xEF\xBB\xBF";
  char* line = NULL;
  size_t room = 0;
  for (unsigned number = 1; getline(&line, &room, file) >= 0; ++number) {
    char* text = line;
    if (number == 1 && strncmp(text, byte_order_mark, 3) == 0) text += 3;
    if (*skip_blanks(text) == '[') break; /* a table: no settings follow */
    char* key = NULL;
    char* value = NULL;
    if (!cut_line(text, &key, &value)) continue;
    char where[longest_path + 16]; /* a number at most */
    snprintf(where, sizeof where, "%s:%u", path, number);
    found(context, where, key, value);
  }
  free(line);
}

static void read_file(const char* directory, const char* name, key_function* found, void* context) {
  char path[longest_path];
  const int length = snprintf(path, sizeof path, "%s%s", directory, name);
  if (length <= 0 || (size_t)length >= sizeof path) return;
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return;
  struct stat status;
  const bool is_file = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  FILE* file = is_file ? fdopen(descriptor, "r") : NULL;
  if (file == NULL) {
    close(descriptor);
    return;
  }
  read_lines(file, path, found, context);
  fclose(file);
}

static void read_files(key_function* found, void* context) {
  read_file("", "/etc/libcoll.toml", found, context);
  const char* config_home = value_of("XDG_CONFIG_HOME");
  const char* home = value_of("HOME");
  if (config_home[0] == '/') {
    read_file(config_home, "/libcoll/libcoll.toml", found, context);
  } else if (home[0] != '\0') {
    read_file(home, "/.config/libcoll/libcoll.toml", found, context);
  }
  read_file("", "./libcoll.toml", found, context);
}

/* ---- what is asked */

static void assign_key(void* settings, const char* where, const char* key, const char* value) {
  (void)where;
  assign(settings, key, value);
}

struct libcoll_preload_settings libcoll_read_settings(void) {
  static const char* const variables[][2] = {{"enable", "LIBCOLL_ENABLE"},
                                             {"topology", "LIBCOLL_TOPOLOGY"},
                                             {"stats", "LIBCOLL_STATS"},
                                             {"log_level", "LIBCOLL_LOG_LEVEL"}};
  struct libcoll_preload_settings settings = {true, false, false, libcoll_warn};
  read_files(&assign_key, &settings);
  for (size_t i = 0; i < sizeof variables / sizeof *variables; ++i) {
    const char* value = getenv(variables[i][1]);
    if (value != NULL) assign(&settings, variables[i][0], value);
  }
  return settings;
}

bool libcoll_has_variables(void) {
  for (char** entry = environ; entry != NULL && *entry != NULL; ++entry) {
    if (strncmp(*entry, "LIBCOLL_", 8) == 0) return true;
  }
  return false;
}

typedef void tell_function(const char* sentence);

static void tell_of_key(void* context, const char* where, const char* key, const char* value) {
  (void)value;
  char sentence[longest_sentence];
  tell_function* const* tell = context;
  if (libcoll_is_unknown_key(where, key, sentence, sizeof sentence)) (*tell)(sentence);
}

void libcoll_tell_unknown_names(tell_function* tell) {
  char sentence[longest_sentence];
  read_files(&tell_of_key, &tell);
  for (char** entry = environ; entry != NULL && *entry != NULL; ++entry) {
    if (libcoll_is_unknown_variable(*entry, sentence, sizeof sentence)) tell(sentence);
  }
}
