#include "libcoll/base/safe_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "libcoll/base/system_error.h"

namespace libcoll {
namespace {

bool missing(int error) { return error == ENOENT || error == ENOTDIR; }

/// Owner and mode; what is wrong, or success.
Status check_trust(const struct stat& facts, bool group_may_write) {
  if (facts.st_uid != geteuid() && facts.st_uid != 0) {
    return Error{"belongs to another user (uid " + std::to_string(facts.st_uid) + ")"};
  }
  if ((facts.st_mode & S_IWOTH) != 0) return Error{"may be written by everybody; chmod o-w would mend it"};
  if (!group_may_write && (facts.st_mode & S_IWGRP) != 0) {
    return Error{"may be written by its group; chmod g-w would mend it"};
  }
  return {};
}

Status check_file(int file, const FileTrust& trust) {
  struct stat facts {};
  if (fstat(file, &facts) != 0) return Error{"cannot be examined: " + reason(errno)};
  if (!S_ISREG(facts.st_mode)) return Error{"is not a regular file"};
  if (static_cast<std::size_t>(facts.st_size) > trust.max_bytes) {
    return Error{"is larger than " + std::to_string(trust.max_bytes) + " bytes"};
  }
  return check_trust(facts, trust.group_may_write);
}

Result<std::string> read_all(int file, std::size_t max_bytes) {
  std::string text;
  // Most files are short, and a long piece may cost two system calls: for the heap's end, and back.
  constexpr std::size_t shortest_piece = 4096;
  for (;;) {
    const std::size_t done = text.size();
    const std::size_t piece = std::max(shortest_piece, done);
    text.resize(done + piece);
    const ssize_t got = read(file, text.data() + done, piece);
    if (got < 0 && errno != EINTR) return Error{"cannot be read: " + reason(errno)};
    text.resize(done + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0) return text;
    if (text.size() > max_bytes) return Error{"grew beyond " + std::to_string(max_bytes) + " bytes while it was read"};
  }
}

Status write_all(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t put = write(file, text.data() + done, text.size() - done);
    if (put < 0 && errno != EINTR) return Error{"cannot be written: " + reason(errno)};
    if (put > 0) done += static_cast<std::size_t>(put);
  }
  return {};
}

/// A new file in the directory under a name no other process or thread uses.
Result<FileDescriptor> create_temporary(int directory, const std::string& name, std::string& temporary) {
  static std::atomic<unsigned> counter{0};
  constexpr int attempts = 100;  // left-overs of a crashed process with our pid are stepped over
  for (int attempt = 0; attempt < attempts; ++attempt) {
    temporary = "." + name + "." + std::to_string(getpid()) + "." + std::to_string(counter++);
    const int file = openat(directory, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file >= 0) return FileDescriptor(file);
    if (errno != EEXIST) break;
  }
  return Error{"cannot be created: " + reason(errno)};
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (number_ >= 0) close(number_);
}

Result<std::optional<std::string>> read_trusted_file(int directory, const std::string& name, const FileTrust& trust) {
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (trust.follow_links ? 0 : O_NOFOLLOW);
  const FileDescriptor file(openat(directory, name.c_str(), flags));
  if (!file) {
    if (missing(errno)) return std::optional<std::string>();
    if (errno == ELOOP && !trust.follow_links) return Error{"is a symbolic link"};
    return Error{"cannot be opened: " + reason(errno)};
  }
  if (Status good = check_file(file.get(), trust); !good) return good.error();
  Result<std::string> text = read_all(file.get(), trust.max_bytes);
  if (!text) return text.error();
  return std::optional<std::string>(std::move(text).value());
}

Result<std::optional<FileDescriptor>> open_trusted_directory(const std::string& path) {
  FileDescriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) {
    if (errno == ENOENT) return std::optional<FileDescriptor>();
    return Error{"cannot be opened as a directory: " + reason(errno)};
  }
  struct stat facts {};
  if (fstat(directory.get(), &facts) != 0) return Error{"cannot be examined: " + reason(errno)};
  if (Status good = check_trust(facts, false); !good) return good.error();
  return std::optional<FileDescriptor>(std::move(directory));
}

Status replace_file(int directory, const std::string& name, const std::string& text) {
  std::string temporary;
  Result<FileDescriptor> file = create_temporary(directory, name, temporary);
  if (!file) return file.error();
  Status written = write_all(file->get(), text);
  if (written.ok() && renameat(directory, temporary.c_str(), directory, name.c_str()) != 0) {
    written = Error{"cannot be put in place: " + reason(errno)};
  }
  if (!written) unlinkat(directory, temporary.c_str(), 0);
  return written;
}

}  // namespace libcoll
