// Files that may say what code to run or what plan to follow: read only when nobody else could have written them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "planner/base/result.h"

namespace libcoll {

/// A file descriptor that closes itself.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();

  [[nodiscard]] int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// What a trusted file may be besides regular and owned by this user or root.
struct FileTrust {
  bool follow_links = false;            ///< the last component may be a symbolic link
  bool group_may_write = false;         ///< mode bit 020 is accepted; 002 never is
  std::size_t max_bytes = 1024 * 1024;  ///< larger files are refused
};

/// The text of the file `name` in the open directory `directory` (AT_FDCWD: `name` is a path); nullopt when
/// there is none. Never blocks on a FIFO or device. The error is half a sentence ("is a symbolic link"), to
/// be put after the path.
Result<std::optional<std::string>> read_trusted_file(int directory, const std::string& name, const FileTrust& trust);

/// Opens a directory owned by this user or root that neither group nor others may write to; nullopt when there is
/// none. The error is half a sentence as above.
Result<std::optional<FileDescriptor>> open_trusted_directory(const std::string& path);

/// Puts `text` into the file `name` of the open directory so that readers see the old file or the whole new one
/// (mode 0600, temporary file beside it, then rename). The error is half a sentence as above.
Status replace_file(int directory, const std::string& name, const std::string& text);

}  // namespace libcoll
