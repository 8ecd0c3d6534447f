#include "planner/exchange/subnet_tables.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "planner/base/index.h"

namespace libcoll::exchange {

using namespace route;
using namespace topology;

namespace {

std::int32_t lids_of_port(const SubnetDevice& device, std::int32_t lmc) {
  return device.is_switch ? 1 : std::int32_t{1} << static_cast<unsigned>(lmc);
}

/// LIDs that are given away.
class LidPool {
 public:
  LidPool() : taken_(at(largest_unicast_lid) + 1, false) { taken_[0] = true; }

  /// Takes `count` LIDs from `first` on, where they fit.
  bool take(std::int32_t first, std::int32_t count) {
    if (first <= 0 || first % count != 0 || first + count - 1 > largest_unicast_lid) return false;
    const auto begin = taken_.begin() + first;
    if (std::find(begin, begin + count, true) != begin + count) return false;
    std::fill(begin, begin + count, true);
    return true;
  }

  /// The lowest that are free; 0 where none are.
  std::int32_t take_any(std::int32_t count) {
    std::int32_t& first = count == 1 ? next_single_ : next_range_;
    for (first = std::max(count, first); first <= largest_unicast_lid; first += count) {
      if (take(first, count)) return first;
    }
    return 0;
  }

 private:
  std::vector<bool> taken_;
  std::int32_t next_single_ = 1;
  std::int32_t next_range_ = 1;
};

/// Channels by number: every cabled port of every device.
class Channels {
 public:
  explicit Channels(const Subnet& subnet) {
    constexpr std::size_t most_ports = 256;
    for (const SubnetDevice& device : subnet.devices) {
      std::vector<std::int32_t>& numbers = number_.emplace_back(most_ports, -1);
      for (const SubnetPort& port : device.ports) numbers[at(port.number)] = count_++;
    }
  }
  [[nodiscard]] std::int32_t number(DeviceId device, std::int32_t port) const { return number_[at(device)][at(port)]; }
  [[nodiscard]] std::int32_t count() const { return count_; }

 private:
  std::vector<std::vector<std::int32_t>> number_;
  std::int32_t count_ = 0;
};

/// Which channel waits for which, in one lane.
class WaitGraph {
 public:
  explicit WaitGraph(std::int32_t channels) : after_(at(channels)) {}

  void add(std::int32_t before, std::int32_t after) {
    std::vector<std::int32_t>& known = after_[at(before)];
    if (std::find(known.begin(), known.end(), after) == known.end()) known.push_back(after);
  }

  /// Takes away what nothing points at until nothing, or only circles, are left.
  [[nodiscard]] bool acyclic() const {
    std::vector<std::int32_t> pointing_at(after_.size(), 0);
    for (const auto& each : after_) {
      for (const std::int32_t next : each) ++pointing_at[at(next)];
    }
    std::vector<std::size_t> free;
    for (std::size_t channel = 0; channel < after_.size(); ++channel) {
      if (pointing_at[channel] == 0) free.push_back(channel);
    }
    for (std::size_t taken = 0; taken < free.size(); ++taken) {
      for (const std::int32_t next : after_[free[taken]]) {
        if (--pointing_at[at(next)] == 0) free.push_back(at(next));
      }
    }
    return free.size() == after_.size();
  }

 private:
  std::vector<std::vector<std::int32_t>> after_;
};

std::uint8_t entry(const SubnetTables& tables, DeviceId device, std::int32_t lid) {
  const std::vector<std::uint8_t>& table = tables.port[at(device)];
  return at(lid) < table.size() ? table[at(lid)] : no_port;
}

/// Every LID, whose it is, and how packets to it are sent.
struct Target {
  std::int32_t lid = 0;
  DeviceId device = 0;
  std::int32_t path_bits = 0;
};

std::vector<Target> targets(const Subnet& subnet, const SubnetLids& lids, std::size_t path_bits) {
  std::vector<Target> all;
  for (DeviceId id = 0; at(id) < subnet.devices.size(); ++id) {
    const SubnetDevice& device = subnet.devices[at(id)];
    for (const std::int32_t base : lids.base[at(id)]) {
      const auto bits = device.is_switch ? 1 : static_cast<std::int32_t>(path_bits);
      for (std::int32_t k = 0; k < bits && base > 0; ++k) all.push_back({base + k, id, k});
    }
  }
  return all;
}

/// Follows everything that is sent to one LID.
class Walk {
 public:
  Walk(const Subnet& subnet, const SubnetTables& tables, const Channels& channels, const Target& target,
       WaitGraph& waits)
      : subnet_(subnet),
        tables_(tables),
        channels_(channels),
        target_(target),
        waits_(waits),
        walk_of_(subnet.devices.size(), 0) {}

  /// From every adapter, and from every switch that has an entry.
  Status run() {
    for (DeviceId id = 0; at(id) < subnet_.devices.size(); ++id) {
      const SubnetDevice& device = subnet_.devices[at(id)];
      if (id == target_.device) continue;
      if (device.is_switch) {
        if (target_.path_bits == 0 && entry(tables_, id, target_.lid) != no_port) {
          if (Status status = follow(id, -1); !status) return status;
        }
        continue;
      }
      for (const SubnetPort& port : device.ports) {
        const std::int32_t channel = channels_.number(id, port.number);
        if (const Status status = follow(port.peer, channel); !status) {
          return Error{"from '" + device.description + "' to LID " + std::to_string(target_.lid) + ": " +
                       status.error().message};
        }
      }
    }
    return {};
  }

 private:
  /// `before` is the channel it came by.
  Status follow(DeviceId device, std::int32_t before) {
    ++walk_;
    while (device != target_.device) {
      const std::uint8_t port = entry(tables_, device, target_.lid);
      const SubnetPort* cable = find_port(subnet_.devices[at(device)], port);
      if (cable == nullptr) {
        return Error{"found no entry at '" + subnet_.devices[at(device)].description + "', expected a port"};
      }
      const std::int32_t channel = channels_.number(device, port);
      if (before >= 0) waits_.add(before, channel);
      if (walk_of_[at(device)] == walk_) return Error{"found a loop, expected a path"};
      if (walk_of_[at(device)] != 0) return {};  // the rest is known
      walk_of_[at(device)] = walk_;
      before = channel;
      device = cable->peer;
    }
    return {};
  }

  const Subnet& subnet_;
  const SubnetTables& tables_;
  const Channels& channels_;
  const Target& target_;
  WaitGraph& waits_;
  std::vector<std::int32_t> walk_of_;  ///< by device: the first walk that came by; 0: none
  std::int32_t walk_ = 0;
};

/// Gives every switch an entry towards a switch: where the class has none, by the fewest hops to one that has.
void complete(const Subnet& subnet, DeviceId target, std::int32_t lid, SubnetTables& tables) {
  std::vector<DeviceId> reached{target};
  std::vector<bool> seen(subnet.devices.size(), false);
  seen[at(target)] = true;
  for (std::size_t taken = 0; taken < reached.size(); ++taken) {
    for (const SubnetPort& port : subnet.devices[at(reached[taken])].ports) {
      std::vector<std::uint8_t>& table = tables.port[at(port.peer)];
      if (seen[at(port.peer)] || table.empty()) continue;
      if (table[at(lid)] == no_port) table[at(lid)] = static_cast<std::uint8_t>(port.peer_port);
      if (table[at(lid)] != port.peer_port) continue;
      seen[at(port.peer)] = true;
      reached.push_back(port.peer);
    }
  }
}

}  // namespace

Result<SubnetLids> assign_lids(const Subnet& subnet, std::int32_t lmc) {
  SubnetLids lids{lmc, {}};
  LidPool pool;
  std::int64_t wanted = 0;
  for (const SubnetDevice& device : subnet.devices) {
    const std::int32_t count = lids_of_port(device, lmc);
    std::vector<std::int32_t>& base = lids.base.emplace_back();
    const auto keep = [&](std::int32_t present) {
      base.push_back(pool.take(present, count) ? present : 0);
      wanted += count;
    };
    if (device.is_switch) {
      keep(device.lid);
    } else {
      for (const SubnetPort& port : device.ports) keep(port.lid);
    }
  }
  for (std::size_t device = 0; device < subnet.devices.size(); ++device) {
    for (std::int32_t& base : lids.base[device]) {
      if (base == 0) base = pool.take_any(lids_of_port(subnet.devices[device], lmc));
      if (base != 0) continue;
      return Error{"found " + std::to_string(wanted) + " LIDs with an LMC of " + std::to_string(lmc) +
                   ", expected no more than InfiniBand has: unicast LIDs end at " +
                   std::to_string(largest_unicast_lid)};
    }
  }
  return lids;
}

SubnetLids present_lids(const Subnet& subnet) {
  SubnetLids lids;
  for (const SubnetDevice& device : subnet.devices) {
    std::vector<std::int32_t>& base = lids.base.emplace_back();
    if (device.is_switch) base.push_back(device.lid);
    for (const SubnetPort& port : device.ports) {
      if (device.is_switch) continue;
      base.push_back(port.lid);
      lids.lmc = std::max(lids.lmc, port.lmc);
    }
  }
  return lids;
}

std::int32_t base_lid(const Subnet& subnet, const SubnetLids& lids, const PortId& port) {
  const std::vector<SubnetPort>& ports = subnet.devices[at(port.device)].ports;
  const auto found =
      std::find_if(ports.begin(), ports.end(), [&](const SubnetPort& each) { return each.number == port.port; });
  return found == ports.end() ? 0 : lids.base[at(port.device)][at(found - ports.begin())];
}

SubnetTables subnet_tables(const Subnet& subnet, const SubnetTopology& fabric, const DestinationClasses& classes,
                           const SubnetLids& lids) {
  SubnetTables tables;
  tables.port.resize(subnet.devices.size());
  const Topology& topology = fabric.topology;
  // The way of a class on from a node; -1 where there is none.
  const auto way = [&](std::size_t table, NodeId destination, NodeId node) -> int {
    const LinkId link = classes.classes[table].next[at(destination)][at(node)];
    if (link < 0) return -1;
    const std::vector<PortId>& ports = fabric.egress[at(link)];
    return ports[(at(destination) + table) % ports.size()].port;
  };
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    const DeviceId device = fabric.forwarder[at(node)];
    if (device < 0) continue;
    std::vector<std::uint8_t>& table = tables.port[at(device)];
    table.assign(at(largest_unicast_lid) + 1, no_port);
    const auto set = [&](std::int32_t lid, int port) {
      if (port >= 0) table[at(lid)] = static_cast<std::uint8_t>(port);
    };
    for (NodeId host = 0; host < topology.host_count(); ++host) {
      for (const PortId& port : fabric.host_ports[at(host)]) {
        const SubnetPort& cable = *find_port(subnet.devices[at(port.device)], port.port);
        const std::int32_t base = base_lid(subnet, lids, port);
        for (std::int32_t bits = 0; bits < std::int32_t{1} << static_cast<unsigned>(lids.lmc); ++bits) {
          const std::size_t used = at(bits) < classes.classes.size() ? at(bits) : 0;
          set(base + bits, cable.peer == device ? cable.peer_port : way(used, host, node));
        }
      }
    }
    for (NodeId other = 0; other < topology.node_count(); ++other) {
      const DeviceId forwarder = fabric.forwarder[at(other)];
      if (forwarder >= 0) set(lids.base[at(forwarder)].front(), other == node ? 0 : way(0, other, node));
    }
  }
  for (DeviceId id = 0; at(id) < subnet.devices.size(); ++id) {
    if (subnet.devices[at(id)].is_switch) complete(subnet, id, lids.base[at(id)].front(), tables);
  }
  return tables;
}

Result<std::vector<PortId>> trace(const Subnet& subnet, const SubnetTables& tables, const SubnetLids& lids,
                                  const PortId& source, std::int32_t lid) {
  std::vector<PortId> hops{source};
  DeviceId device = find_port(subnet.devices[at(source.device)], source.port)->peer;
  const auto has_lid = [&](DeviceId id) {
    const SubnetDevice& candidate = subnet.devices[at(id)];
    const std::vector<std::int32_t>& bases = lids.base[at(id)];
    return std::any_of(bases.begin(), bases.end(), [&](std::int32_t base) {
      return base > 0 && lid >= base && lid < base + lids_of_port(candidate, lids.lmc);
    });
  };
  while (!has_lid(device)) {
    const SubnetDevice& at_device = subnet.devices[at(device)];
    const std::string where = (at_device.is_switch ? "switch '" : "adapter '") + at_device.description + "'";
    if (!at_device.is_switch) return Error{"found it at " + where + ", expected it at another adapter"};
    if (tables.port[at(device)].empty()) return Error{"found no table of " + where + ", expected one"};
    const std::uint8_t port = entry(tables, device, lid);
    if (port == no_port) return Error{"found no entry at " + where + ", expected a port"};
    const SubnetPort* cable = find_port(at_device, port);
    if (cable == nullptr) {
      return Error{"found port " + std::to_string(port) + " at " + where + ", expected one that is cabled"};
    }
    hops.push_back({device, port});
    if (hops.size() > subnet.devices.size() + 1) return Error{"found a loop through " + where + ", expected a path"};
    device = cable->peer;
  }
  return hops;
}

Status check_tables(const Subnet& subnet, const SubnetTables& tables, const SubnetLids& lids,
                    std::span<const std::int32_t> service_levels) {
  const Channels channels(subnet);
  std::int32_t lanes = 0;
  for (const std::int32_t level : service_levels) lanes = std::max(lanes, level + 1);
  std::vector<WaitGraph> waits(at(lanes), WaitGraph(channels.count()));
  for (const Target& target : targets(subnet, lids, service_levels.size())) {
    WaitGraph of_switch(channels.count());
    const bool to_switch = subnet.devices[at(target.device)].is_switch;
    WaitGraph& lane = to_switch ? of_switch : waits[at(service_levels[at(target.path_bits)])];
    if (Status status = Walk(subnet, tables, channels, target, lane).run(); !status) return status;
  }
  for (std::int32_t lane = 0; lane < lanes; ++lane) {
    if (waits[at(lane)].acyclic()) continue;
    return Error{"found a circle of waiting channels in service level " + std::to_string(lane) + ", expected none"};
  }
  return {};
}

}  // namespace libcoll::exchange
