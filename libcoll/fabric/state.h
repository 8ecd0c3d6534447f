// What is known of a fabric that is up, and the private directory that keeps it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libcoll/base/safe_file.h"
#include "libcoll/fabric/processes.h"
#include "planner/base/result.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::fabric {

/// Everything a later command needs to know.
struct FabricState {
  std::string name;
  ProcessId control;
  std::vector<ProcessId> holders;  ///< by node
  /// The whole wiring, cut links included. Every node has a host name; bandwidths are the emulated rates.
  topology::Topology topology;
  std::vector<bool> cut;     ///< by link
  std::int32_t classes = 1;  ///< R
  std::int32_t ranks_per_node = 1;
  std::string default_routes;            ///< name of the algorithm
  std::vector<schedule::Route> planned;  ///< as they are in the tables now
  double up_since = 0;                   ///< seconds on CLOCK_BOOTTIME
  friend bool operator==(const FabricState&, const FabricState&) = default;
};

/// Letters, digits, '.', '_' and '-', not beginning with '.' or '-', at most 64.
Status check_fabric_name(const std::string& name);

/// In the environment of everything that is run inside a fabric, with the path of its directory: how processes that
/// outlive the namespaces' holders are recognised, and how they find the fabric, where they may be another user.
inline constexpr const char* fabric_variable = "FABRIC_OF_LIBCOLL";

/// Where nobody else can have made it first: /run/libcoll of root; libcoll in $XDG_RUNTIME_DIR, or else in
/// /run/user/UID, where that directory is this user's alone; /tmp/libcoll-fabric-UID where there is neither. Inside a
/// fabric the directory that it is in.
std::string fabrics_directory();
/// Where the files of a fabric are, whether it is up or not.
std::string state_directory(const std::string& fabric);
/// Names that have a directory there, in order.
std::vector<std::string> recorded_fabrics();

/// JSON; reading gives the same state.
std::string write_state(const FabricState& state);
Result<FabricState> read_state(const std::string& text);

/// The fabric as it is now, as a topology: cut links are gone, and then the name says so. Link ids are those of
/// the state's topology only while nothing is cut.
topology::Topology current_topology(const FabricState& state);

/// An open directory of this user, mode 0700, not reached through a symbolic link, with what it takes to read and
/// replace files in it.
class StateDirectory {
 public:
  /// Makes the directory where it is missing.
  static Result<StateDirectory> create(const std::string& fabric);
  /// nullopt when there is none.
  static Result<std::optional<StateDirectory>> open(const std::string& fabric);
  /// The same by path, as a process inside the fabric knows it.
  static Result<std::optional<StateDirectory>> open_path(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string path(const std::string& file) const { return path_ + "/" + file; }
  [[nodiscard]] Result<std::optional<std::string>> read(const std::string& file) const;
  [[nodiscard]] Status write(const std::string& file, const std::string& text) const;
  /// Makes a private directory in it, unless it is there.
  [[nodiscard]] Status make_directory(const std::string& name) const;
  /// Waits until no other command works on this fabric; held until the object is gone.
  Status lock();

 private:
  StateDirectory(std::string path, FileDescriptor directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}

  std::string path_;
  FileDescriptor directory_;
  FileDescriptor lock_;
};

/// Removes a fabric's directory with the files in it, and the directory above when it was the last.
void remove_state(const std::string& fabric);

}  // namespace libcoll::fabric
