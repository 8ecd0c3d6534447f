#include "libcoll/fabric/private_files.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "libcoll/base/safe_file.h"
#include "libcoll/base/system_error.h"

namespace libcoll::fabric {
namespace {

namespace fs = std::filesystem;

struct PrivateDirectory {
  const char* path;
  const char* mode;
};
constexpr std::array<PrivateDirectory, 3> private_directories = {
    {{"/tmp", "mode=1777"}, {"/run", "mode=0755"}, {"/var", "mode=0755"}}};

constexpr std::array<std::pair<const char*, mode_t>, 9> usual_directories = {{{"/run/lock", 01777},
                                                                              {"/run/user", 0755},
                                                                              {"/var/tmp", 01777},
                                                                              {"/var/cache", 0755},
                                                                              {"/var/lib", 0755},
                                                                              {"/var/log", 0755},
                                                                              {"/var/mail", 0755},
                                                                              {"/var/opt", 0755},
                                                                              {"/var/spool", 0755}}};

bool is_below(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) && path.size() > directory.size() && path[directory.size()] == '/';
}

bool is_hidden(const std::string& path) {
  return std::any_of(private_directories.begin(), private_directories.end(),
                     [&](const PrivateDirectory& each) { return is_below(path, each.path); });
}

/// A directory that is about to be hidden, and a handle on it.
struct Shared {
  std::string path;
  FileDescriptor handle;
};

/// Without links, for /var/run is /run; empty what does not exist.
std::vector<std::string> canonical_paths(std::vector<std::string> paths) {
  for (std::string& path : paths) {
    std::error_code error;
    const fs::path canonical = fs::canonical(path, error);
    path = error ? std::string() : canonical.string();
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Without those inside others, which come along with these. `paths` ascend.
std::vector<Shared> open_shared(const std::vector<std::string>& paths) {
  std::vector<Shared> shared;
  for (const std::string& path : paths) {
    if (!is_hidden(path)) continue;
    const bool is_inside = std::any_of(shared.begin(), shared.end(), [&](const Shared& each) {
      return path == each.path || is_below(path, each.path);
    });
    if (is_inside) continue;
    FileDescriptor handle(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (handle) shared.push_back({path, std::move(handle)});
  }
  return shared;
}

/// What programs expect in such a directory.
Status fill(const std::string& directory) {
  for (const auto& [path, mode] : usual_directories) {
    if (!is_below(path, directory)) continue;
    if (mkdir(path, mode) != 0 || chmod(path, mode) != 0) return Error{std::string(path) + ": " + reason()};
  }
  if (directory != "/var") return {};
  if (symlink("/run", "/var/run") != 0 || symlink("/run/lock", "/var/lock") != 0) {
    return Error{"/var/run cannot be made: " + reason()};
  }
  return {};
}

Status show(const Shared& shared) {
  std::error_code error;
  fs::create_directories(shared.path, error);
  const std::string source = "/proc/self/fd/" + std::to_string(shared.handle.get());
  if (error || mount(source.c_str(), shared.path.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
    return Error{shared.path + " cannot be shared with the nodes: " + (error ? error.message() : reason())};
  }
  return {};
}

}  // namespace

Status mount_private_view(const std::string& hosts_file) {
  if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    return Error{"mounts cannot be made private: " + reason()};
  }
  if (mount("sysfs", "/sys", "sysfs", 0, nullptr) != 0) return Error{"/sys cannot be mounted: " + reason()};
  if (mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0) {
    return Error{"/dev/shm cannot be mounted: " + reason()};
  }
  if (access("/etc/hosts", F_OK) == 0 && mount(hosts_file.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) != 0) {
    return Error{"/etc/hosts cannot be bound: " + reason()};
  }
  return {};
}

Status mount_private_directories(const std::vector<std::string>& shared) {
  const std::vector<std::string> paths = canonical_paths(shared);
  const std::vector<Shared> opened = open_shared(paths);
  for (const PrivateDirectory& each : private_directories) {
    // Who shares all of it has none.
    if (std::find(paths.begin(), paths.end(), each.path) != paths.end()) continue;
    if (mount("tmpfs", each.path, "tmpfs", MS_NOSUID | MS_NODEV, each.mode) != 0) {
      return Error{std::string(each.path) + " cannot be mounted: " + reason()};
    }
    if (Status filled = fill(each.path); !filled) return filled;
  }
  for (const Shared& each : opened) {
    if (Status shown = show(each); !shown) return shown;
  }
  return {};
}

}  // namespace libcoll::fabric
