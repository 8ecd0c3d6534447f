#include "planner/base/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace libcoll {
namespace {

std::string cause_of(int error) { return std::generic_category().message(error); }

Error too_large(std::size_t most_bytes) {
  return Error{"larger than " + std::to_string(most_bytes >> 20U) + " MiB, the most that is read"};
}

/// Some devices never end, and no file of ours is one.
Status check_kind(int file, std::size_t most_bytes) {
  struct stat facts {};
  if (fstat(file, &facts) != 0) return Error{cause_of(errno)};
  if (S_ISDIR(facts.st_mode)) return Error{"a directory"};
  if (S_ISBLK(facts.st_mode) || (S_ISCHR(facts.st_mode) && isatty(file) == 0)) {
    return Error{"a device, expected a file or a pipe"};
  }
  const bool too_long = S_ISREG(facts.st_mode) && static_cast<std::size_t>(facts.st_size) > most_bytes;
  return too_long ? Status(too_large(most_bytes)) : Status();
}

Result<std::string> read_descriptor(int file, std::size_t most_bytes) {
  if (const Status good = check_kind(file, most_bytes); !good) return good.error();
  std::string text;
  std::size_t done = 0;
  constexpr std::size_t least_piece = 64 * 1024;
  for (;;) {
    if (done == text.size()) text.resize(done + std::max(least_piece, done));
    const ssize_t got = read(file, text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{cause_of(errno)};
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
    if (done > most_bytes) return too_large(most_bytes);
  }
  text.resize(done);
  return text;
}

}  // namespace

Result<std::string> read_text_file(const std::string& path, std::size_t most_bytes) {
  if (path == "-") return read_descriptor(STDIN_FILENO, most_bytes);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return Error{cause_of(errno)};
  Result<std::string> text = read_descriptor(file, most_bytes);
  close(file);
  return text;
}

}  // namespace libcoll
