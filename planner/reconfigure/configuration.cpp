#include "planner/reconfigure/configuration.h"

#include <algorithm>
#include <utility>

namespace libcoll::reconfigure {

using namespace topology;

Configuration make_configuration(std::string name, std::int32_t nodes, std::vector<Wire> wires) {
  std::sort(wires.begin(), wires.end());
  Configuration result{std::move(name), nodes, {}};
  for (const Wire& wire : wires) {
    if (wire.from == wire.to || wire.count == 0) continue;
    if (!result.wires.empty() && result.wires.back().from == wire.from && result.wires.back().to == wire.to) {
      result.wires.back().count += wire.count;
    } else {
      result.wires.push_back(wire);
    }
  }
  return result;
}

Configuration shifted(std::string name, std::int32_t nodes, const std::vector<Shift>& shifts) {
  std::vector<Wire> wires;
  for (NodeId node = 0; node < nodes; ++node) {
    for (const Shift& shift : shifts) wires.push_back({node, ((node + shift.by) % nodes + nodes) % nodes, shift.count});
  }
  return make_configuration(std::move(name), nodes, std::move(wires));
}

std::int32_t ports_used(const Configuration& configuration) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(configuration.nodes), 0);
  std::vector<std::int32_t> in(out.size(), 0);
  std::int32_t most = 0;
  for (const Wire& wire : configuration.wires) {
    most = std::max(most, out[static_cast<std::size_t>(wire.from)] += wire.count);
    most = std::max(most, in[static_cast<std::size_t>(wire.to)] += wire.count);
  }
  return most;
}

bool same_wires(const Configuration& a, const Configuration& b) { return a.wires == b.wires; }

Result<Configuration> configuration_of(const Topology& topology) {
  if (topology.host_count() != topology.node_count()) {
    return Error{topology.name() + ": found switches, expected hosts whose ports the fabric connects"};
  }
  std::vector<Wire> wires;
  for (LinkId id = 0; id < topology.link_count(); ++id) {
    const Rational capacity = topology.capacity(id);
    if (capacity.denominator() != 1) {
      return Error{topology.name() +
                   ": found links whose bandwidth is no multiple of the slowest one's, expected links "
                   "of one or several equal ports"};
    }
    const Link& link = topology.link(id);
    wires.push_back({link.from, link.to, static_cast<std::int32_t>(capacity.numerator())});
  }
  return make_configuration(topology.name(), topology.host_count(), std::move(wires));
}

std::vector<std::size_t> first_wires(const Configuration& configuration) {
  std::vector<std::size_t> begin(static_cast<std::size_t>(configuration.nodes) + 1, 0);
  for (const Wire& wire : configuration.wires) ++begin[static_cast<std::size_t>(wire.from) + 1];
  for (std::size_t node = 1; node < begin.size(); ++node) begin[node] += begin[node - 1];
  return begin;
}

}  // namespace libcoll::reconfigure
