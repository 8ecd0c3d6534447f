#include "libcoll/runtime/topology_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "libcoll/runtime/system_error.h"
#include "planner/topology/writer.h"

namespace libcoll {

Result<FileDescriptor> share_topology(const Topology& topology) {
  constexpr int least = 16;  // out of the way of those that a child gets
  const FileDescriptor file(memfd_create("topology", MFD_CLOEXEC));
  FileDescriptor inherited(fcntl(file.get(), F_DUPFD, least));
  if (!file || !inherited) return Error{std::string("memfd_create: ") + reason()};
  const std::string text = write_topology(topology);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t put = write(file.get(), text.data() + done, text.size() - done);
    if (put < 0 && errno != EINTR) return Error{std::string("writing a topology: ") + reason()};
    if (put > 0) done += static_cast<std::size_t>(put);
  }
  return inherited;
}

std::string shared_path(const FileDescriptor& file) { return "/proc/self/fd/" + std::to_string(file.get()); }

}  // namespace libcoll
