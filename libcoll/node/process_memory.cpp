#include "libcoll/node/process_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <random>

namespace libcoll::node {
namespace {

std::uint64_t draw_value() {
  std::random_device random;
  return (static_cast<std::uint64_t>(random()) << 32U) ^ random();
}

}  // namespace

ProcessMark own_mark() {
  static const std::uint64_t value = draw_value();
  return {getpid(), reinterpret_cast<std::uint64_t>(&value), value};
}

bool can_read(const ProcessMark& mark) {
  std::uint64_t value = 0;
  return read_memory(mark.process, mark.address, reinterpret_cast<std::byte*>(&value), sizeof value) &&
         value == mark.value;
}

bool read_memory(pid_t process, std::uint64_t from, std::byte* to, std::int64_t bytes) {
  const int error_before = errno;
  auto left = static_cast<std::size_t>(bytes);
  while (left > 0) {
    const iovec here{to, left};
    const iovec there{reinterpret_cast<void*>(from), left};  // NOLINT(performance-no-int-to-ptr): not an address here
    const ssize_t copied = process_vm_readv(process, &here, 1, &there, 1, 0);
    if (copied < 0 && errno == EINTR) continue;
    if (copied <= 0) break;
    from += static_cast<std::uint64_t>(copied);
    to += copied;
    left -= static_cast<std::size_t>(copied);
  }
  errno = error_before;
  return left == 0;
}

}  // namespace libcoll::node
