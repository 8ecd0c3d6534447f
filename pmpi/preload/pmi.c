#include "pmpi/preload/pmi.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_milliseconds = 10000, longest_line = 1024 };

static int descriptor = -1;
static int rank = -1;
static char space[256];

static bool write_all(const char* text) {
  for (size_t left = strlen(text); left > 0;) {
    const ssize_t written = write(descriptor, text, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text += written;
    left -= (size_t)written;
  }
  return true;
}

/* Byte by byte: what follows the line is for MPI's own client. */
static bool read_line(char* line) {
  for (size_t length = 0; length + 1 < longest_line;) {
    struct pollfd ready = {descriptor, POLLIN, 0};
    const int found = poll(&ready, 1, most_milliseconds);
    if (found < 0 && errno == EINTR) continue;
    if (found <= 0 || read(descriptor, &line[length], 1) != 1) return false;
    if (line[length] == '\n') {
      line[length] = '\0';
      return true;
    }
    ++length;
  }
  return false;
}

/* After one that fails nothing else is asked. */
static bool ask(const char* question, const char* expected, char* answer) {
  if (descriptor < 0) return false;
  if (write_all(question) && read_line(answer) && strstr(answer, expected) != NULL) return true;
  descriptor = -1;
  return false;
}

/* Values end at a space. */
static void exchange(char* text, char from, char to) {
  for (; *text != '\0'; ++text) {
    if (*text == from) *text = to;
  }
}

static bool open_space(void) {
  const char* number = getenv("PMI_FD");
  const char* own_rank = getenv("PMI_RANK");
  /* Other managers of processes speak other protocols there. */
  if (number == NULL || own_rank == NULL || getenv("HYDI_CONTROL_FD") == NULL) return false;
  descriptor = (int)strtol(number, NULL, 10);
  char answer[longest_line];
  if (!ask("cmd=init pmi_version=1 pmi_subversion=1\n", "cmd=response_to_init", answer) ||
      !ask("cmd=get_my_kvsname\n", "kvsname=", answer)) {
    return false;
  }
  rank = (int)strtol(own_rank, NULL, 10);
  snprintf(space, sizeof space, "%.*s", (int)strcspn(strstr(answer, "kvsname=") + 8, " "),
           strstr(answer, "kvsname=") + 8);
  return true;
}

bool libcoll_pmi_put(const char* key, const char* value) {
  if (descriptor < 0 && !open_space()) return false;
  char text[longest_line];
  char encoded[256];
  snprintf(encoded, sizeof encoded, "%s", value);
  exchange(encoded, ' ', '+');
  snprintf(text, sizeof text, "cmd=put kvsname=%s key=%s value=%s\n", space, key, encoded);
  return ask(text, "rc=0", text);
}

bool libcoll_pmi_get(const char* key, char* value, size_t size) {
  char text[longest_line];
  value[0] = '\0';
  snprintf(text, sizeof text, "cmd=get kvsname=%s key=%s\n", space, key);
  if (!ask(text, "cmd=get_result", text) || strstr(text, "rc=0") == NULL) return false;
  const char* found = strstr(text, "value=");
  if (found == NULL) return false;
  snprintf(value, size, "%.*s", (int)strcspn(found + 6, " "), found + 6);
  exchange(value, '+', ' ');
  return true;
}

int libcoll_pmi_rank(void) { return rank; }
