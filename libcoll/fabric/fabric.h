// An emulated direct-connect fabric: up, down, and what can be changed while it is up.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libcoll/fabric/state.h"
#include "planner/base/result.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::fabric {

/// The fabric of commands that name none.
inline constexpr const char* default_fabric = "default";

/// A topology as it can be emulated: every node has a host name (its own, else n0, n1, …) and the slowest link has
/// `unit_bytes_per_second`, the others in proportion. Error: a host name twice, or more nodes than there are addresses.
Result<topology::Topology> emulated_topology(const topology::Topology& topology, std::int64_t unit_bytes_per_second);

/// The same routes on another topology whose nodes have the same names. Error when a link is missing there.
Result<std::vector<schedule::Route>> moved_routes(const topology::Topology& from, const topology::Topology& to,
                                                  std::span<const schedule::Route> routes);

/// What to bring up.
struct FabricOrder {
  std::string name;
  topology::Topology topology;  ///< an emulated_topology()
  std::int32_t classes = 1;
  std::int32_t ranks_per_node = 1;
  std::string default_routes;             ///< name of the algorithm, for the record
  std::vector<schedule::Route> defaults;  ///< one per ordered pair of hosts
  std::vector<schedule::Route> planned;   ///< with classes 1..classes
  /// Absolute paths that nodes see although /tmp, /run and /var are private to them.
  std::vector<std::string> shared_directories;
};

/// Ends whatever is left of a fabric of that name, then brings it up. On failure nothing is left.
Result<FabricState> bring_up(const FabricOrder& order);

/// Ends every process inside a fabric and its holders, and removes its directory. Works on ruins, too. Whether there
/// was anything to take down.
Result<bool> take_down(const std::string& name);

/// Names of fabrics that are up or left over: those with a directory, and those with a control process.
std::vector<std::string> known_fabrics();

/// The state of a fabric that is up. Error when there is none of that name, or it has come apart.
Result<FabricState> load_fabric(const std::string& name);
/// The same by the fabric's directory, for processes inside it, who may be another user there.
Result<FabricState> load_fabric_at(const std::string& directory);

/// Links to change; `cut` and the bandwidths of the topology are changed in the state, on the links, and in the files.
struct LinkChange {
  std::vector<topology::LinkId> links;
  enum class Kind : std::uint8_t { cut, mend, rate } kind = Kind::cut;
  std::int64_t bytes_per_second = 0;  ///< Kind::rate
};
Status change_links(FabricState& state, const LinkChange& change);

/// Puts other forwarding tables in place; everything given has link ids of state.topology. Messages on the way may be
/// lost for a moment.
Status change_routes(FabricState& state, const std::string& default_routes, std::span<const schedule::Route> defaults,
                     std::span<const schedule::Route> planned);

/// Holds the fabric against other commands that change it until the returned object is gone.
Result<StateDirectory> lock_fabric(const std::string& name);

/// Node by its name, host name, or number (in this order); -1 when there is none.
topology::NodeId find_node(const topology::Topology& topology, const std::string& text);

}  // namespace libcoll::fabric
