// What a photonic fabric can be wired to: N nodes with d ports out and d ports in (paper 002 §3.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::reconfigure {

/// `count` optical paths from→to, each with the bandwidth of one port: x_{u,v} of appendix A.
struct Wire {
  topology::NodeId from = 0;
  topology::NodeId to = 0;
  std::int32_t count = 1;
  friend bool operator==(const Wire&, const Wire&) = default;
  friend bool operator<(const Wire& a, const Wire& b) {
    return std::tie(a.from, a.to, a.count) < std::tie(b.from, b.to, b.count);
  }
};

/// A topology G of the fabric: by ascending ends, one entry per pair, no self-links.
struct Configuration {
  std::string name;  ///< "ring", "step 3", "generalized Kautz", …
  std::int32_t nodes = 0;
  std::vector<Wire> wires;
};

/// From wires in any order, some perhaps given twice (their counts add up); self-links are dropped: ports left dark.
Configuration make_configuration(std::string name, std::int32_t nodes, std::vector<Wire> wires);

/// Every node's `shifts` (mod N, not 0) with their counts: u→u+s.
struct Shift {
  std::int32_t by = 0;
  std::int32_t count = 1;
};
Configuration shifted(std::string name, std::int32_t nodes, const std::vector<Shift>& shifts);

/// The most ports that a node uses, out or in.
std::int32_t ports_used(const Configuration& configuration);

/// E_i = E_j of Equation 2.
bool same_wires(const Configuration& a, const Configuration& b);

/// The wiring of a fabric that is there already. Error for switches and for links that are no whole multiple of the
/// slowest one, which is taken for the bandwidth of a port.
Result<Configuration> configuration_of(const topology::Topology& topology);

/// The wires out of each node, for walks: those of `node` are wires[begin[node]]..wires[begin[node + 1] − 1].
std::vector<std::size_t> first_wires(const Configuration& configuration);

}  // namespace libcoll::reconfigure
