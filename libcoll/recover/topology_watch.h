// The topology file under a running job.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "planner/topology/topology.h"

namespace libcoll::recover {

/// What the file says now.
struct FabricChange {
  std::uint32_t number = 0;                          ///< changes so far
  std::shared_ptr<const topology::Topology> fabric;  ///< null: as at the start
};

/// Looks at the file once a second at most. What it says is taken once the file has stayed as it is from one look to
/// the next, for it may be half written. A file that cannot be read is told of once, and changes nothing. Any thread
/// may call.
class TopologyWatch {
 public:
  /// Before the file is read for the first time. A specification is never looked at.
  void open(const std::string& specification_or_path);
  /// What was read then; it must outlive this.
  void set_start(const topology::Topology& start) { start_ = &start; }
  [[nodiscard]] bool is_file() const { return !path_.empty(); }

  FabricChange look(std::int64_t nanoseconds);
  /// Whether somebody has waited long enough or not: another process has seen it change.
  FabricChange look_at_once();
  /// Another process has seen the file change.
  void hear_of_change();
  /// This process, or one that it has heard of, has.
  [[nodiscard]] bool knows_of_change();

 private:
  /// Of a file; no two texts have the same.
  struct Identity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t bytes = -1;
    std::int64_t changed_seconds = 0;
    std::int64_t changed_nanoseconds = 0;
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  /// bytes is -1 where there is no such file.
  static Identity identity_of(const std::string& path);
  void take(const Identity& found);
  void tell(const std::string& sentence);

  std::mutex mutex_;
  std::string path_;
  const topology::Topology* start_ = nullptr;
  Identity taken_;  ///< of what change_ says, or of a file that is of no use
  Identity seen_;   ///< at the last look
  std::int64_t last_look_ = 0;
  std::string told_;
  FabricChange change_;
  bool heard_ = false;
};

}  // namespace libcoll::recover
