#include "libcoll/recover/topology_watch.h"

#include <sys/stat.h>

#include <utility>

#include "libcoll/base/log.h"
#include "planner/topology/reader.h"

namespace libcoll::recover {

using namespace topology;

namespace {

constexpr std::int64_t between_looks = 1'000'000'000;  // nanoseconds

}  // namespace

TopologyWatch::Identity TopologyWatch::identity_of(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
  return {static_cast<std::uint64_t>(found.st_dev), static_cast<std::uint64_t>(found.st_ino),
          static_cast<std::int64_t>(found.st_size), static_cast<std::int64_t>(found.st_mtim.tv_sec),
          static_cast<std::int64_t>(found.st_mtim.tv_nsec)};
}

void TopologyWatch::open(const std::string& specification_or_path) {
  if (specification_or_path.find('/') == std::string::npos) return;
  taken_ = seen_ = identity_of(specification_or_path);
  if (taken_.bytes >= 0) path_ = specification_or_path;
}

FabricChange TopologyWatch::look(std::int64_t nanoseconds) {
  const std::lock_guard guard(mutex_);
  if (path_.empty() || start_ == nullptr) return change_;
  if (last_look_ != 0 && nanoseconds - last_look_ < between_looks) return change_;
  last_look_ = nanoseconds;
  const Identity found = identity_of(path_);
  const bool stayed = found == std::exchange(seen_, found);
  if (stayed && found != taken_) take(found);
  return change_;
}

FabricChange TopologyWatch::look_at_once() {
  const std::lock_guard guard(mutex_);
  if (path_.empty() || start_ == nullptr) return change_;
  const Identity found = seen_ = identity_of(path_);
  if (found != taken_) take(found);
  return change_;
}

void TopologyWatch::take(const Identity& found) {
  taken_ = found;
  if (found.bytes < 0) return tell("found no topology file '" + path_ + "'");
  Result<Topology> read = load_topology(path_);
  if (identity_of(path_) != found) {
    taken_ = {};  // it is being written
    return;
  }
  if (!read) return tell(read.error().message);
  told_.clear();
  if (*read == (change_.fabric != nullptr ? *change_.fabric : *start_)) return;
  ++change_.number;
  change_.fabric = *read == *start_ ? nullptr : std::make_shared<const Topology>(std::move(*read));
}

void TopologyWatch::tell(const std::string& sentence) {
  if (std::exchange(told_, sentence) == sentence) return;
  log(LogLevel::warn, sentence + "; the plans stay as they are");
}

void TopologyWatch::hear_of_change() {
  const std::lock_guard guard(mutex_);
  heard_ = true;
}

bool TopologyWatch::knows_of_change() {
  const std::lock_guard guard(mutex_);
  return heard_ || change_.number > 0;
}

}  // namespace libcoll::recover
