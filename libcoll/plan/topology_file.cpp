#include "libcoll/plan/topology_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "libcoll/base/system_error.h"
#include "planner/topology/writer.h"

namespace libcoll::plan {

using namespace topology;

Result<FileDescriptor> make_nameless_file(const char* name) {
  FileDescriptor file(memfd_create(name, MFD_CLOEXEC));
  if (!file) return Error{std::string("memfd_create: ") + reason()};
  return file;
}

Result<FileDescriptor> share_file(const FileDescriptor& file) {
  constexpr int least = 16;  // out of the way of those that a child gets
  FileDescriptor inherited(fcntl(file.get(), F_DUPFD, least));
  if (!inherited) return Error{std::string("sharing a file: ") + reason()};
  return inherited;
}

Result<FileDescriptor> share_topology(const Topology& topology) {
  const Result<FileDescriptor> file = make_nameless_file("topology");
  if (!file) return file.error();
  const std::string text = write_topology(topology);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t put = write(file->get(), text.data() + done, text.size() - done);
    if (put < 0 && errno != EINTR) return Error{std::string("writing a topology: ") + reason()};
    if (put > 0) done += static_cast<std::size_t>(put);
  }
  return share_file(*file);
}

std::string shared_path(const FileDescriptor& file) { return "/proc/self/fd/" + std::to_string(file.get()); }

}  // namespace libcoll::plan
