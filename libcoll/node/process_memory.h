// Memory of other processes of this host, read where it lies (process_vm_readv of Linux: "cross memory attach").
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace libcoll::node {

/// A process, and a word of its memory by which another one knows that it reads the right process.
struct ProcessMark {
  pid_t process = 0;
  std::uint64_t address = 0;
  std::uint64_t value = 0;
};

/// Of this process; the same at every call.
ProcessMark own_mark();

/// Whether this process may read the marked one's memory, and its number means that process here: containers have
/// numbers of their own.
bool can_read(const ProcessMark& mark);

/// Copies `bytes` bytes from `from` in that process. False: not all of them can be read.
bool read_memory(pid_t process, std::uint64_t from, std::byte* to, std::int64_t bytes);

}  // namespace libcoll::node
